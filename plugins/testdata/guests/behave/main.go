// Command behave is a plugin that does what its input says, for the tests of package plugins. The input of
// refusal is a verb and its argument.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

// calls counts the calls of this instance: the host must never let it pass 1.
var calls int

// kept holds what was allocated, so that it is not collected.
var kept [][]byte

// early is what the host answered when it was asked too early.
var early error

func init() {
	early = guest.Config(&struct{}{})
	guest.Log(abi.LogInfo, "behave starts")
	guest.Refusal(do)
	guest.Start(func(in abi.StartInput) (abi.StartOutput, bool, error) {
		return abi.StartOutput{}, false, errors.New(in.Task)
	})
	guest.Tool("bare", func(guest.Call) guest.Result { return guest.OK("") })
	guest.Tool("act", func(c guest.Call) guest.Result {
		text, err := act(c)
		if err != nil {
			return guest.Invalid("%v", err)
		}
		return guest.OK(text)
	}).Reconcile(func(c guest.Call) guest.Reconciliation {
		text, err := act(c)
		if err != nil {
			return guest.Inconclusive("%v", err)
		}
		return guest.Found(text)
	}).Compensate(func(u guest.Undo) guest.Result {
		text, err := act(u)
		if err != nil {
			return guest.Invalid("%v", err)
		}
		return guest.OK(text)
	}).Preview(func(c guest.Call) (abi.PreviewOutput, error) {
		text, err := act(c)
		return abi.PreviewOutput{Impact: text, Reversible: abi.ReversibleNo}, err
	}).Check(func(c guest.Checked) (bool, string) {
		text, _ := act(c)
		return false, text
	})
}

// act does what the arguments of a tool's function say.
func act(c interface{ Decode(v any) error }) (string, error) {
	var arguments struct{ Do string }
	if err := c.Decode(&arguments); err != nil {
		return "", err
	}
	words, _ := do(arguments.Do)
	return strings.Join(words, " "), nil
}

func main() {}

func do(input string) (words []string, ok bool) {
	calls++
	verb, rest, _ := strings.Cut(input, " ")
	switch verb {
	case "none":
		return nil, false
	case "echo":
		return []string{rest}, true
	case "count":
		return []string{strconv.Itoa(calls)}, true
	case "world":
		return world(), true
	case "early":
		return []string{fmt.Sprint(early)}, true
	case "config":
		var config struct{ Key string }
		if err := guest.Config(&config); err != nil {
			return []string{err.Error()}, true
		}
		return []string{config.Key}, true
	case "speak":
		guest.Log(abi.LogWarn, rest)
		guest.Progress(rest)
		return nil, true
	case "grow":
		n, _ := strconv.Atoi(rest)
		for range n {
			b := make([]byte, 1<<20)
			b[0] = 1
			kept = append(kept, b)
		}
		return []string{strconv.Itoa(len(kept))}, true
	default:
		die(verb, rest)
		return nil, false
	}
}

// die ends the call in the way that verb says.
func die(verb, rest string) {
	switch verb {
	case "panic":
		panic(rest)
	case "nil":
		var p *time.Time
		fmt.Println(p.Year())
	case "exit":
		code, text, _ := strings.Cut(rest, " ")
		fmt.Fprint(os.Stderr, text)
		n, _ := strconv.Atoi(code)
		os.Exit(n)
	case "recurse":
		recurse([4 << 10]byte{})
	case "loop":
		for i := 0; ; i++ {
			kept = kept[:0]
		}
	}
}

// recurse calls itself until its stack has no room.
func recurse(frame [4 << 10]byte) byte {
	frame[0]++
	return recurse(frame) + frame[1]
}

// world is everything in which one run could differ from another.
func world() []string {
	fmt.Println("printed")
	n, stdinErr := os.Stdin.Read(make([]byte, 8))
	before := time.Now()
	time.Sleep(time.Hour)
	return []string{
		before.String(), time.Since(before).String(), strconv.FormatUint(rand.Uint64(), 16),
		fmt.Sprint(os.Environ()), fmt.Sprint(os.Args), fmt.Sprint(n, stdinErr),
		fmt.Sprint(mapOrder()),
	}
}

// mapOrder is the order in which a map is gone through, which the runtime draws.
func mapOrder() (order []int) {
	m := map[int]bool{}
	for i := range 20 {
		m[i] = true
	}
	for i := range m {
		order = append(order, i)
	}
	return order
}
