package plugins

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins/internal/hostfn"
	"github.com/axishost/axishost/plugins/internal/wasi"
	"github.com/axishost/axishost/plugins/internal/wasmrt"
)

// instance is one instance and the world it finds.
type instance struct {
	guest *wasmrt.Instance
	world *wasi.World
}

// instantiate makes an instance and runs its initialiser, within the time of a hook.
func (p *Plugin) instantiate(ctx context.Context) (*instance, error) {
	var seed [32]byte
	_, _ = hex.Decode(seed[:], []byte(p.digest)) // the digest is 64 hexadecimal digits
	i := &instance{world: wasi.New(seed)}
	call := &hostfn.Call{Initializing: true, Log: p.logger()}
	ctx, cancel := p.hookTimeout().bound(ctx)
	defer cancel()
	ctx, leave, err := p.closing.enter(ctx)
	if err != nil {
		return nil, p.closedError()
	}
	defer leave()
	i.guest, err = p.module.Instantiate(wasi.With(hostfn.With(ctx, call), i.world), p.globals)
	p.tellDropped(call)
	if err != nil {
		return nil, p.fault(ctx, "", err, i.world)
	}
	if cause := context.Cause(ctx); cause != nil { // see Hook
		i.close()
		return nil, p.fault(ctx, "", cause, i.world)
	}
	i.world.Mark()
	return i, nil
}

// snapshot keeps the instance as it is, for restore.
func (i *instance) snapshot() { i.guest.Snapshot() }

// restore puts the instance back to its snapshot; false when that is not possible.
func (i *instance) restore() bool {
	i.world.Reset()
	return i.guest.Restore()
}

func (i *instance) close() { i.guest.Close() }

func (p *Plugin) logger() func(abi.LogLevel, string) {
	if p.opts.Events.Log == nil {
		return nil
	}
	return func(level abi.LogLevel, text string) { p.opts.Events.Log(p.manifest.Name, level, text) }
}

// tellDropped tells the log what of a call is not in it or not in its answer, which the guest may not have heeded.
func (p *Plugin) tellDropped(call *hostfn.Call) {
	if call.Log == nil {
		return
	}
	if n := call.DroppedLines; n > 0 {
		call.Log(abi.LogWarn, fmt.Sprintf("%d lines were dropped, past the limit of %d in one call", n, abi.MaxLogLines))
	}
	if call.Refused {
		call.Log(abi.LogWarn, fmt.Sprintf("output past the limit of %s was refused", size(int64(call.OutputLimit))))
	}
}
