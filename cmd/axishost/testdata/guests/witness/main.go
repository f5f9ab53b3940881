// Command witness is a tool whose every execution leaves a trace outside of the event log: it says so in a log
// line, which is in the terminal before the tool has done anything else.
package main

import (
	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() { guest.Tool("note", note) }

func main() {}

func note(call guest.Call) guest.Result {
	var arguments struct {
		Text string `json:"text"`
		Spin int    `json:"spin"` // how long it works: rounds of a loop
	}
	if err := call.Decode(&arguments); err != nil {
		return guest.Invalid("%v", err)
	}
	guest.Log(abi.LogInfo, "executed "+call.OperationID)
	x := uint32(1)
	for range arguments.Spin {
		x = x*1664525 + 1013904223
	}
	if x == 0 {
		return guest.Invalid("cannot be")
	}
	return guest.OK("noted " + arguments.Text)
}
