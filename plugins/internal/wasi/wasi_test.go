package wasi

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestFunctionsAreTheContract(t *testing.T) {
	var names []string
	for _, f := range Functions() {
		assert.Equal(t, abi.WASIModule, f.Module)
		names = append(names, f.Type.Name)
	}
	assert.Equal(t, abi.WASIImports(), names)
}

// arg is an argument of a WASI function; wide makes it an i64.
type arg struct {
	value int64
	wide  bool
}

func args(values ...int64) []arg {
	out := make([]arg, len(values))
	for i, v := range values {
		out[i].value = v
	}
	return out
}

// invoke calls a WASI function and leaves its errno, 0 where it gives none.
func invoke(name string, args ...arg) []byte {
	var code []byte
	for _, a := range args {
		if a.wide {
			code = append(code, pt.Const64(a.value)...)
		} else {
			code = append(code, pt.Const(a.value)...)
		}
	}
	code = append(code, pt.Call(slices.Index(abi.WASIImports(), name))...)
	if name == "proc_exit" {
		code = append(code, pt.Const(0)...)
	}
	return code
}

// load64 leaves the i64 at an address on the stack as an i32.
func load64(at int64) []byte { return pt.Code(pt.Const(at), []byte{0x29, 0, 0, 0xa7}) }

// load32 leaves the i32 at an address on the stack.
func load32(at int64) []byte { return pt.Code(pt.Const(at), []byte{0x28, 0, 0}) }

// guest runs code in a guest whose memory begins with data, and gives what it leaves.
func guest(t *testing.T, w *World, data []byte, code ...[]byte) (int32, error) {
	t.Helper()
	m := pt.New(imports()...)
	m.Data(0, data)
	m.Hook("run", code...)
	ctx := context.Background()
	module, err := wasmrt.Compile(ctx, m.Bytes(), wasmrt.Options{MemoryPages: 1, Functions: Functions()})
	require.NoError(t, err)
	defer func() { require.NoError(t, module.Close(ctx)) }()
	i, err := module.Instantiate(With(ctx, w), nil)
	require.NoError(t, err)
	defer i.Close()
	return i.Call(With(ctx, w), "axis_v1_run", 0)
}

func imports() []pt.Import {
	var out []pt.Import
	for _, f := range Functions() {
		i := pt.Import{Module: f.Module, Name: f.Type.Name}
		for _, p := range f.Type.Params {
			i.Params = append(i.Params, map[abi.ValueType]byte{abi.I32: pt.I32, abi.I64: pt.I64}[p])
		}
		if len(f.Type.Results) > 0 {
			i.Results = []byte{pt.I32}
		}
		out = append(out, i)
	}
	return out
}

func world() *World { return New([32]byte{1}) }

func answer(t *testing.T, w *World, data []byte, code ...[]byte) int32 {
	t.Helper()
	got, err := guest(t, w, data, code...)
	require.NoError(t, err)
	return got
}

// TestEmptyWorld: what a guest asks of files, arguments and environment, and what it finds.
func TestEmptyWorld(t *testing.T) {
	seek := []arg{{value: 1}, {0, true}, {value: 0}, {value: 8}}
	for name, tt := range map[string]struct {
		code []byte
		want int32
	}{
		"args_get":                    {invoke("args_get", args(0, 0)...), errnoSuccess},
		"environ_get":                 {invoke("environ_get", args(0, 0)...), errnoSuccess},
		"fd_close of stdout":          {invoke("fd_close", args(1)...), errnoBadf},
		"fd_close of a file":          {invoke("fd_close", args(3)...), errnoBadf},
		"fd_fdstat_get":               {invoke("fd_fdstat_get", args(1, 0)...), errnoSuccess},
		"fd_fdstat_get of a file":     {invoke("fd_fdstat_get", args(3, 0)...), errnoBadf},
		"fd_fdstat_set_flags":         {invoke("fd_fdstat_set_flags", args(0, 4)...), errnoSuccess},
		"fd_fdstat_set_flags, a file": {invoke("fd_fdstat_set_flags", args(3, 4)...), errnoBadf},
		"fd_prestat_get":              {invoke("fd_prestat_get", args(3, 0)...), errnoBadf},
		"fd_prestat_dir_name":         {invoke("fd_prestat_dir_name", args(3, 0, 8)...), errnoBadf},
		"fd_read":                     {invoke("fd_read", args(0, 0, 0, 8)...), errnoSuccess},
		"fd_read of stdout":           {invoke("fd_read", args(1, 0, 0, 8)...), errnoBadf},
		"fd_seek":                     {invoke("fd_seek", seek...), errnoSpipe},
		"fd_seek of a file":           {invoke("fd_seek", append(args(3), seek[1:]...)...), errnoBadf},
		"fd_write of stdin":           {invoke("fd_write", args(0, 0, 0, 8)...), errnoBadf},
		"fd_write of a file":          {invoke("fd_write", args(3, 0, 0, 8)...), errnoBadf},
		"fd_write, 1025 vectors":      {invoke("fd_write", args(1, 0, 1025, 8)...), errnoInval},
		"fd_write, wrapping vectors":  {invoke("fd_write", args(1, 0, 0x20000000, 8)...), errnoInval},
		"poll_oneoff of nothing":      {invoke("poll_oneoff", args(0, 0, 0, 8)...), errnoInval},
		"poll_oneoff of too much":     {invoke("poll_oneoff", args(0, 0, 65, 8)...), errnoInval},
		"sched_yield":                 {invoke("sched_yield"), errnoSuccess},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, answer(t, world(), nil, tt.code)) })
	}
	garbage := []byte(strings.Repeat("\xff", 64))
	for _, name := range []string{"args_sizes_get", "environ_sizes_get"} {
		sum := pt.Code(invoke(name, args(8, 16)...), load32(8), pt.Add(), load32(16), pt.Add())
		assert.Zero(t, answer(t, world(), garbage, sum), name)
	}
	assert.Zero(t, answer(t, world(), garbage, invoke("fd_read", args(0, 0, 0, 8)...), load32(8), pt.Add()), "bytes read")
}

// TestRanges: pointers outside of memory trap, in every function that takes one.
func TestRanges(t *testing.T) {
	clock := func(ptr int64) []byte { return invoke("clock_time_get", arg{value: 0}, arg{0, true}, arg{value: ptr}) }
	for name, code := range map[string][]byte{
		"args_sizes_get, count":    invoke("args_sizes_get", args(0xffffffff, 0)...),
		"args_sizes_get, size":     invoke("args_sizes_get", args(0, 65533)...),
		"clock_time_get":           clock(65529),
		"clock_time_get, wrapping": clock(0xfffffffc),
		"random_get":               invoke("random_get", args(0xffffffff, 2)...),
		"random_get, too long":     invoke("random_get", args(0, 65537)...),
		"fd_fdstat_get":            invoke("fd_fdstat_get", args(1, 65513)...),
		"fd_read, count":           invoke("fd_read", args(0, 0, 0, 65533)...),
		"fd_write, vectors":        invoke("fd_write", args(1, 65529, 1, 0)...),
		"fd_write, bytes":          invoke("fd_write", args(1, 0, 1, 100)...),
		"fd_write, count":          invoke("fd_write", args(1, 0, 0, 65533)...),
		"poll_oneoff, in":          invoke("poll_oneoff", args(65500, 0, 1, 0)...),
		"poll_oneoff, out":         invoke("poll_oneoff", args(0, 65510, 1, 0)...),
		"poll_oneoff, count":       invoke("poll_oneoff", args(0, 100, 1, 65533)...),
	} {
		t.Run(name, func(t *testing.T) {
			data := binary.LittleEndian.AppendUint32(nil, 0xffffffff) // the pointer of the first vector
			data = binary.LittleEndian.AppendUint32(data, 2)
			_, err := guest(t, world(), data, code)
			var trap *wasmrt.Trap
			assert.ErrorAs(t, err, &trap)
		})
	}
}

func TestExit(t *testing.T) {
	for _, code := range []int64{0, 1, 0xffffffff} {
		_, err := guest(t, world(), nil, invoke("proc_exit", args(code)...))
		var exit *wasmrt.Exit
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, uint32(code), exit.Code)
	}
}

// TestClock: it steps with each reading, the same from each start, and a sleep moves it on.
func TestClock(t *testing.T) {
	read := func(id int64) []byte { return invoke("clock_time_get", arg{value: id}, arg{0, true}, arg{value: 200}) }
	at := load64(200)
	low := func(v int64) int32 { return int32(uint32(v)) }
	assert.Equal(t, low(start+step), answer(t, world(), nil, read(0), pt.Drop(), at))
	assert.Equal(t, low(start+3*step), answer(t, world(), nil, read(0), pt.Drop(), read(0), pt.Drop(), read(0), pt.Drop(), at))
	assert.Equal(t, low(step), answer(t, world(), nil, read(clockMonotonic), pt.Drop(), at))

	for name, tt := range map[string]struct {
		clock, timeout uint64
		flags          uint16
		want           int64
	}{
		"for a while":         {clockMonotonic, 5_000_000, 0, 5_000_000},
		"until then":          {clockMonotonic, 7_000_000, flagAbsolute, 7_000_000},
		"until then, wall":    {0, start + 7_000_000, flagAbsolute, 7_000_000},
		"until it was":        {0, 5, flagAbsolute, 0},
		"for ever":            {clockMonotonic, 1<<64 - 1, 0, 1 << 60},
		"until the end, wall": {0, 1<<64 - 1, flagAbsolute, 1<<61 - start},
	} {
		t.Run(name, func(t *testing.T) {
			sub := make([]byte, subscriptionBytes)
			binary.LittleEndian.PutUint64(sub, 0x0123456789abcdef)
			binary.LittleEndian.PutUint32(sub[16:], uint32(tt.clock))
			binary.LittleEndian.PutUint64(sub[24:], tt.timeout)
			binary.LittleEndian.PutUint16(sub[40:], tt.flags)
			w := world()
			sleep := invoke("poll_oneoff", args(0, 64, 1, 128)...)
			assert.Zero(t, answer(t, w, sub, sleep))
			assert.Equal(t, tt.want, w.nanos)
			assert.Equal(t, int32(1), answer(t, world(), sub, sleep, pt.Drop(), load32(128)), "events")
			var userdata int64 = 0x0123456789abcdef
			assert.Equal(t, low(userdata), answer(t, world(), sub, sleep, pt.Drop(), load64(64)))
		})
	}
}

func TestPollOfAFile(t *testing.T) {
	sub := make([]byte, subscriptionBytes)
	sub[8] = 1 // fd_read
	w := world()
	poll := invoke("poll_oneoff", args(0, 64, 1, 128)...)
	event := answer(t, w, sub, poll, pt.Drop(), load32(64+8))
	assert.Equal(t, int32(errnoBadf|1<<16), event, "errno and kind")
	assert.Zero(t, w.nanos)
}

func TestRandom(t *testing.T) {
	code := pt.Code(invoke("random_get", args(0, 8)...), pt.Drop(), load64(0))
	first := answer(t, world(), nil, code)
	assert.Equal(t, first, answer(t, world(), nil, code), "same seed")
	assert.NotEqual(t, first, answer(t, New([32]byte{2}), nil, code), "other seed")
	assert.NotEqual(t, first, answer(t, world(), nil, code, pt.Drop(), code), "it goes on")
}

func TestSaid(t *testing.T) {
	write := func(fd, vectors int64) []byte { return invoke("fd_write", args(fd, 0, vectors, 60)...) }
	data := make([]byte, 64, 100)
	for i, v := range []uint32{64, 5, 69, 6, 64, 0} { // "hello", " world", ""
		binary.LittleEndian.PutUint32(data[4*i:], v)
	}
	data = append(data, "hello world"...)
	w := world()
	assert.Equal(t, int32(11), answer(t, w, data, write(2, 3), pt.Drop(), load32(60)))
	assert.Equal(t, "hello world", string(w.Said()))
	answer(t, w, data, write(1, 1))
	assert.Equal(t, "hello worldhello", string(w.Said()))
}

func TestSaidKeepsTheLastPart(t *testing.T) {
	var w World
	w.write([]byte(strings.Repeat("a", keep)))
	w.write([]byte("bc"))
	assert.Len(t, w.Said(), keep)
	assert.True(t, strings.HasSuffix(string(w.Said()), "aabc"))
	w.write([]byte(strings.Repeat("d", 3*keep)))
	assert.Equal(t, strings.Repeat("d", keep), string(w.Said()))
}

// TestReset: a world that was put back is as it was at its mark, and what was written is gone at both.
func TestReset(t *testing.T) {
	w := world()
	w.now()
	w.write([]byte("starting"))
	w.Mark()
	assert.Empty(t, w.Said())
	observe := func() (int64, [8]byte) {
		var b [8]byte
		_, _ = w.random.Read(b[:])
		w.write([]byte("said"))
		return w.now(), b
	}
	nanos, random := observe()
	w.Reset()
	assert.Empty(t, w.Said())
	againNanos, againRandom := observe()
	assert.Equal(t, nanos, againNanos)
	assert.Equal(t, random, againRandom)
}

// ends is a context that has ended when it was asked so often.
type ends struct {
	context.Context
	after int
}

func (e *ends) Err() error {
	if e.after--; e.after < 0 {
		return context.Canceled
	}
	return nil
}

// TestRandomGetEnds: many random bytes are given in pieces, which are those that one after the other gives, and no more
// of them once the time is over.
func TestRandomGetEnds(t *testing.T) {
	want := make([]byte, 5*randomPiece/2)
	w := New([32]byte{7})
	_, _ = w.random.Read(want)
	for after, filled := range map[int]int{0: 0, 1: randomPiece, 2: 2 * randomPiece, 3: len(want)} {
		got := make([]byte, len(want))
		w := New([32]byte{7})
		err := w.fill(&ends{t.Context(), after}, got)
		assert.Equal(t, want[:filled], got[:filled])
		assert.Equal(t, make([]byte, len(want)-filled), got[filled:])
		assert.Equal(t, filled < len(want), err != nil)
	}
}
