// Command calc is a tool plugin with one tool, calc: exact arithmetic on integers, decimals and fractions.
package main

import "github.com/axishost/axishost/abi/guest"

func init() { guest.Tool("calc", calc) }

func main() {}

func calc(call guest.Call) guest.Result {
	var arguments struct {
		Expression string `json:"expression"`
	}
	if err := call.Decode(&arguments); err != nil {
		return guest.Invalid("%v", err)
	}
	value, err := evaluate(arguments.Expression)
	if err != nil {
		return guest.Invalid("%v", err)
	}
	return guest.OK(format(value))
}
