package plugins

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// question is a call whose answer is known: a text, or the way in which the guest fails.
type question struct {
	ask  func(ctx context.Context, p *Plugin, n int) (string, error)
	want func(n int) string
	kind FaultKind
}

// asks makes a question of a hook; N in its input and in what is wanted is a number that is drawn.
func asks(hook abi.Hook, input, want string, kind FaultKind) question {
	number := func(text string, n int) string { return strings.Replace(text, "N", strconv.Itoa(n), 1) }
	return question{
		ask: func(ctx context.Context, p *Plugin, n int) (string, error) {
			answer, err := p.Hook(ctx, hook, []byte(number(input, n)))
			return string(answer.Output), err
		},
		want: func(n int) string { return number(want, n) },
		kind: kind,
	}
}

// calls makes a question of the tool act.
func calls(do, want string) question {
	return question{
		ask: func(ctx context.Context, p *Plugin, n int) (string, error) {
			out, err := p.CallTool(ctx, act(do), nil)
			return out.Result, err
		},
		want: func(int) string { return want },
	}
}

// examined is a plugin and what it is asked.
type examined struct {
	file      []byte
	timeout   time.Duration
	questions []question
}

// tenPlugins are a Go guest and nine small ones, of which three do nothing but fail.
func tenPlugins(t *testing.T) []examined {
	const patience = time.Minute // the machine may be busy, and the race detector on
	only := func(code []byte, q question, timeout time.Duration) examined {
		exit := pt.Import{Module: abi.WASIModule, Name: "proc_exit", Params: []byte{pt.I32}}
		m := pt.New(append(pt.Host(abi.FuncInputRead, abi.FuncOutputWrite), exit)...)
		m.Hook("direct_final", code)
		m.Manifest(manifest("direct_final"))
		return examined{m.Bytes(), timeout, []question{q}}
	}
	list := []examined{
		{behave(t), patience, []question{
			asks(abi.HookRefusal, "echo N", `{"keywords":["N"]}`, 0),
			asks(abi.HookRefusal, "count", `{"keywords":["1"]}`, 0),
			asks(abi.HookRefusal, "panic N", "", FaultPanic),
			asks(abi.HookRefusal, "exit 3 N", "", FaultExit),
			asks(abi.HookStart, "N", "", FaultFailed),
			calls("count", "1"),
		}},
		{toolBase(), patience, []question{calls("", "1")}},
		only(pt.Unreachable(), asks(abi.HookDirectFinal, "", "", FaultTrap), patience),
		only(pt.Code(pt.Const(7), pt.Call(2), pt.Unreachable()), asks(abi.HookDirectFinal, "", "", FaultExit), patience),
		only(pt.Code(pt.Forever(), pt.Const(0)), asks(abi.HookDirectFinal, "", "", FaultTimeout), 20*time.Millisecond),
		// Gives back what it is given.
		only(pt.Code(pt.Const(0), pt.Const(0), pt.Const(100), pt.Call(0), pt.Drop(), pt.Const(0), pt.Local(0), pt.Call(1), pt.Drop(), pt.Const(1)),
			asks(abi.HookDirectFinal, "it is N", "it is N", 0), patience),
	}
	for _, b := range bases() {
		switch b.name {
		case "answer", "globals", "whole", "tables": // the last one is never put back
			list = append(list, examined{b.file, patience, []question{asks(abi.HookDirectFinal, "", "x", 0)}})
		}
	}
	require.Len(t, list, 10)
	return list
}

// TestManyPlugins loads ten plugins side by side and asks them from 16 goroutines, some of which change their
// mind: whatever the other nine do, each gives its own answers or fails in its own way.
func TestManyPlugins(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	list := tenPlugins(t)
	loaded := make([]*Plugin, len(list))
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for n, a := range list {
		wg.Go(func() {
			i, err := Inspect(a.file)
			if errs[n] = err; err == nil {
				loaded[n], errs[n] = Load(t.Context(), i, Options{CacheDir: filepath.Join(scratch(), "cache"), HookTimeout: a.timeout, ToolTimeout: time.Minute})
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for worker := range 16 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 9))
			for range long(100, 20) {
				n := random.IntN(len(list))
				askOne(t, random, loaded[n], list[n].questions)
			}
		})
	}
	wg.Wait()
	for _, p := range loaded {
		assert.Len(t, p.hooks.slots, len(p.hooks.idle), "nothing is in use")
		require.NoError(t, p.Close())
		assert.Empty(t, p.hooks.slots)
	}
	goleak.VerifyNone(t, ignore)
}

// askOne asks one question; one time in three its context ends before or meanwhile.
func askOne(t *testing.T, random *rand.Rand, p *Plugin, questions []question) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changes := random.IntN(3) == 0
	switch {
	case changes && random.IntN(2) == 0:
		cancel()
	case changes:
		stop := time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, cancel)
		defer stop.Stop()
	}
	q, n := questions[random.IntN(len(questions))], random.IntN(1000)
	got, err := q.ask(ctx, p, n)
	var fault *CallError
	switch {
	case changes && errors.Is(err, context.Canceled):
		assert.Empty(t, got)
	case q.kind == 0:
		assert.NoError(t, err)
		assert.Equal(t, q.want(n), got)
	case assert.ErrorAs(t, err, &fault):
		assert.Equal(t, q.kind, fault.Kind, err)
		assert.Equal(t, p.manifest.Name, fault.Plugin)
	}
}
