package host

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	pt "github.com/axishost/axishost/plugins/plugintest"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/pebblestore"
)

// trivialTool is a hand-made tool of half a kilobyte that answers at once, so that what is measured is the host.
func trivialTool(tb testing.TB) *plugins.Inspection {
	tb.Helper()
	const says = `{"status":"ok","result":"1"}`
	m := pt.New(pt.Host(abi.FuncOutputWrite)...)
	m.Data(0, []byte(says))
	m.Hook("tool_call", pt.Code(pt.Const(0), pt.Const(int64(len(says))), pt.Call(0), pt.Drop(), pt.Const(1)))
	m.Manifest(`{"abi": {"major": 1, "minor": 0}, "name": "trivial", "version": "1.0.0", "kind": "tools", "tools": [
		{"name": "act", "description": "", "input_schema": {"type": "object"}, "effect": "pure"}]}`)
	i, err := plugins.Inspect(m.Bytes())
	require.NoError(tb, err)
	return i
}

// trivialTask is a task that may take so many steps.
func trivialTask(tb testing.TB, steps int) Submission {
	sub := bare()
	sub.Tools = []*plugins.Inspection{trivialTool(tb)}
	sub.Config.Conversation.MaxTurns = new(int64(steps) + 1)
	sub.Config.Limits.CallsPerTask = new(int64(steps))
	return sub
}

// stepping answers at once: a call for each of so many steps, and the end.
func stepping(steps int) modelFunc {
	return func(_ context.Context, req model.Request) (*model.Reply, error) {
		r := says("done")
		if req.Ordinal <= steps {
			r = callsTool("act", `{"n":`+strconv.Itoa(req.Ordinal)+`}`)
		}
		return &r, nil
	}
}

// onDisk opens a log in a directory of its own, with every commit synced.
func onDisk(tb testing.TB) store.Log {
	tb.Helper()
	log, err := pebblestore.Open(filepath.Join(tb.TempDir(), "log"), pebblestore.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, log.Close()) })
	return log
}

// benchHost opens a host whose plugins are compiled once.
func benchHost(tb testing.TB, log store.Log, m Model, committed *atomic.Int64) *Host {
	tb.Helper()
	h, err := Open(Options{Log: log, Model: m, CacheDir: filepath.Join(tb.TempDir(), "cache"), Events: Events{
		Committed: func(*event.Event) { committed.Add(1) },
	}})
	require.NoError(tb, err)
	return h
}

// runSteps runs one trivial task to its end.
func runSteps(ctx context.Context, h *Host, sub Submission) error {
	r, err := h.Run(ctx, sub)
	if err == nil && r.Phase != "succeeded" {
		err = fmt.Errorf("the task ended %s: %s", r.Phase, r.Reason)
	}
	return err
}
