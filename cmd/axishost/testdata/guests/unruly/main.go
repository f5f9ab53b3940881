// Command unruly is a plugin for the command line's tests that misbehaves as it is told: start by the task,
// direct_final by the reply, the tool act by its argument.
package main

import (
	"unsafe"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() {
	guest.Start(func(in abi.StartInput) (abi.StartOutput, bool, error) {
		do(in.Task)
		return abi.StartOutput{}, in.Task == "flood", nil
	})
	guest.DirectFinal(func(reply string) (string, bool) {
		do(reply)
		return "from the flood", reply == "flood"
	})
	guest.Tool("act", func(c guest.Call) guest.Result {
		var arguments struct{ Do string }
		if err := c.Decode(&arguments); err != nil {
			return guest.Invalid("%v", err)
		}
		do(arguments.Do)
		return guest.OK("done")
	})
}

func main() {}

// Past the SDK, which would not pass on what is asked of these.
//
//go:wasmimport axis_v1 log
func rawLog(level, ptr, n uint32) int32

//go:wasmimport axis_v1 output_write
func rawWrite(ptr unsafe.Pointer, n uint32) int32

func do(what string) {
	switch what {
	case "trap":
		rawLog(1, 0xffff_ffff, 2)
	case "loop":
		for {
		}
	case "flood": // 100 MB
		b := make([]byte, 1<<16)
		for range 1600 {
			rawWrite(unsafe.Pointer(&b[0]), uint32(len(b)))
		}
	case "forge":
		guest.Log(abi.LogError, "fine\naxishost: the store is lost\r\x1b[2J\x1b]0;owned\x07\u202etxt\x00")
		for range 1_000_000 {
			rawLog(1, 0, 1)
		}
	}
}
