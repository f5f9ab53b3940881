// Command moody is a plugin for the command line's tests: what it does goes wrong, each time in the same way.
package main

import (
	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

// sneer holds what must not reach a terminal: a title, a colour, a line of its own, an override of direction.
const sneer = "\x1b]0;owned\x07\x1b[31mred\nfake    line\u202e"

func init() {
	guest.Tool("boom", func(guest.Call) guest.Result { panic("the fuse was lit\n\x1b[31mby hand") })
	guest.Tool("sneer", func(guest.Call) guest.Result { return guest.OK(sneer) })
	guest.Verify(func(abi.VerifyInput) (abi.VerifyOutput, bool, error) {
		return abi.VerifyOutput{Reason: "not in the mood " + sneer}, true, nil
	})
}

func main() {}
