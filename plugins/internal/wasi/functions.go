package wasi

import (
	"context"
	"encoding/binary"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// Error numbers of WASI preview 1.
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoInval   = 28
	errnoSpipe   = 70
)

// Sizes and values of the records of WASI preview 1.
const (
	fdstatBytes       = 24
	subscriptionBytes = 48
	eventBytes        = 32
	iovecBytes        = 8
	maxSubscriptions  = 64
	filetypeCharacter = 2
	rightFdWrite      = 1 << 6
	clockMonotonic    = 1
	eventClock        = 0
	flagAbsolute      = 1
)

type call func(w *World, mem wasmrt.Memory, p []uint64) (errno uint32, err error)

// Functions gives the functions of abi.WASIImports.
func Functions() []wasmrt.HostFunction {
	const i, l = abi.I32, abi.I64
	define := func(name string, f call, params ...abi.ValueType) wasmrt.HostFunction {
		return wasmrt.HostFunction{
			Module: abi.WASIModule,
			Type:   abi.Function{Name: name, Params: params, Results: []abi.ValueType{i}},
			Call: func(ctx context.Context, mem wasmrt.Memory, stack []uint64) error {
				errno, err := f(from(ctx), mem, stack)
				stack[0] = uint64(errno)
				return err
			},
		}
	}
	random := define("random_get", nil, i, i)
	random.Call = func(ctx context.Context, mem wasmrt.Memory, stack []uint64) error {
		return randomGet(ctx, from(ctx), mem, stack)
	}
	exit := define("proc_exit", procExit, i)
	exit.Type.Results = nil
	exit.Call = func(_ context.Context, mem wasmrt.Memory, stack []uint64) error {
		_, err := procExit(nil, mem, stack)
		return err
	}
	return []wasmrt.HostFunction{
		define("args_get", nothing, i, i),
		define("args_sizes_get", noneSizes, i, i),
		define("clock_time_get", clockTimeGet, i, l, i),
		define("environ_get", nothing, i, i),
		define("environ_sizes_get", noneSizes, i, i),
		define("fd_close", badFd, i),
		define("fd_fdstat_get", fdstatGet, i, i),
		define("fd_fdstat_set_flags", standardFd, i, i),
		define("fd_prestat_dir_name", badFd, i, i, i),
		define("fd_prestat_get", badFd, i, i),
		define("fd_read", fdRead, i, i, i, i),
		define("fd_seek", fdSeek, i, l, i, i),
		define("fd_write", fdWrite, i, i, i, i),
		define("poll_oneoff", pollOneoff, i, i, i, i),
		exit,
		random,
		define("sched_yield", nothing),
	}
}

func nothing(*World, wasmrt.Memory, []uint64) (uint32, error) { return errnoSuccess, nil }

func badFd(*World, wasmrt.Memory, []uint64) (uint32, error) { return errnoBadf, nil }

// standardFd answers for the three standard streams alone.
func standardFd(_ *World, _ wasmrt.Memory, p []uint64) (uint32, error) {
	if uint32(p[0]) > 2 {
		return errnoBadf, nil
	}
	return errnoSuccess, nil
}

func fdSeek(w *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	if errno, _ := standardFd(w, mem, p); errno != errnoSuccess {
		return errno, nil
	}
	return errnoSpipe, nil
}

// noneSizes says that there are no arguments, or no environment.
func noneSizes(_ *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	for _, ptr := range p[:2] {
		if err := putUint32(mem, uint32(ptr), 0); err != nil {
			return 0, err
		}
	}
	return errnoSuccess, nil
}

func clockTimeGet(w *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	b, err := mem.View(uint32(p[2]), 8)
	if err != nil {
		return 0, err
	}
	now := w.now()
	if uint32(p[0]) != clockMonotonic {
		now += start
	}
	binary.LittleEndian.PutUint64(b, uint64(now))
	return errnoSuccess, nil
}

// randomPiece is how much randomGet gives between two looks at the time: 30 µs.
const randomPiece = 64 << 10

// randomGet is the one function here whose work grows with a length that the guest gives, up to all of its memory.
func randomGet(ctx context.Context, w *World, mem wasmrt.Memory, stack []uint64) error {
	b, err := mem.View(uint32(stack[0]), uint32(stack[1]))
	if err != nil {
		return err
	}
	stack[0] = errnoSuccess
	return w.fill(ctx, b)
}

// fill puts random bytes into b, until ctx ends.
func (w *World) fill(ctx context.Context, b []byte) error {
	for len(b) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, _ := w.random.Read(b[:min(len(b), randomPiece)]) // it has no errors
		b = b[n:]
	}
	return nil
}

func fdstatGet(w *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	if errno, _ := standardFd(w, mem, p); errno != errnoSuccess {
		return errno, nil
	}
	b, err := mem.View(uint32(p[1]), fdstatBytes)
	if err != nil {
		return 0, err
	}
	clear(b)
	b[0] = filetypeCharacter
	if uint32(p[0]) > 0 {
		binary.LittleEndian.PutUint64(b[8:], rightFdWrite)
	}
	return errnoSuccess, nil
}

// fdRead finds standard input at its end.
func fdRead(_ *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	if uint32(p[0]) != 0 {
		return errnoBadf, nil
	}
	return errnoSuccess, putUint32(mem, uint32(p[3]), 0)
}

// fdWrite keeps what goes to standard output and error, to explain a guest that dies: results leave it by
// output_write alone.
func fdWrite(w *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	fd := uint32(p[0])
	if fd != 1 && fd != 2 {
		return errnoBadf, nil
	}
	count := uint32(p[2])
	if count > 1024 {
		return errnoInval, nil
	}
	vectors, err := mem.View(uint32(p[1]), count*iovecBytes)
	if err != nil {
		return 0, err
	}
	total := uint32(0)
	for ; len(vectors) > 0; vectors = vectors[iovecBytes:] {
		b, err := mem.View(binary.LittleEndian.Uint32(vectors), binary.LittleEndian.Uint32(vectors[4:]))
		if err != nil {
			return 0, err
		}
		w.write(b)
		total += uint32(len(b))
	}
	return errnoSuccess, putUint32(mem, uint32(p[3]), total)
}

// pollOneoff answers each subscription at once: a sleep moves the clock on by its length, so that a guest
// which waits sees time pass without any passing; files are not there to be ready.
func pollOneoff(w *World, mem wasmrt.Memory, p []uint64) (uint32, error) {
	count := uint32(p[2])
	if count == 0 || count > maxSubscriptions {
		return errnoInval, nil
	}
	in, err := mem.View(uint32(p[0]), count*subscriptionBytes)
	if err != nil {
		return 0, err
	}
	out, err := mem.View(uint32(p[1]), count*eventBytes)
	if err != nil {
		return 0, err
	}
	for n := range int(count) {
		sub, event := in[n*subscriptionBytes:], out[n*eventBytes:][:eventBytes]
		userdata, kind := binary.LittleEndian.Uint64(sub), sub[8]
		if kind == eventClock {
			w.sleep(sub)
		}
		clear(event)
		binary.LittleEndian.PutUint64(event, userdata)
		if kind != eventClock {
			binary.LittleEndian.PutUint16(event[8:], errnoBadf)
		}
		event[10] = kind
	}
	return errnoSuccess, putUint32(mem, uint32(p[3]), count)
}

// sleep moves the clock to where the clock subscription sub ends.
func (w *World) sleep(sub []byte) {
	const longest = 1 << 60 // ns; far past it the clock would overflow
	id := binary.LittleEndian.Uint32(sub[16:])
	until := int64(min(binary.LittleEndian.Uint64(sub[24:]), 2*longest)) // the wall clock stands past longest
	if binary.LittleEndian.Uint16(sub[40:])&flagAbsolute == 0 {
		until += w.nanos
	} else if id != clockMonotonic {
		until -= start
	}
	w.nanos = min(max(w.nanos, until), longest)
}

func procExit(_ *World, _ wasmrt.Memory, p []uint64) (uint32, error) {
	return 0, &wasmrt.Exit{Code: uint32(p[0])}
}

func putUint32(mem wasmrt.Memory, ptr, v uint32) error {
	b, err := mem.View(ptr, 4)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b, v)
	return nil
}
