package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
)

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{usage(errors.New("x")), 2},
		{&codeError{code: 3}, 3},
		{host.ErrGoal, 2},
		{host.ErrNoTask, 2},
		{host.ErrAmbiguous, 2},
		{&host.PluginSetError{}, 2},
		{&host.StoppedError{}, 7},
		{&host.StoppedError{Plugin: true}, 10},
		{&host.StoppedError{Step: 1}, 6},
		{host.ErrNotAwaited, 2},
		{&plugins.RefusedError{}, 8},
		{&plugins.CallError{}, 10},
		{store.ErrInUse, 9},
		{store.ErrFailed, 9},
		{store.ErrVersion, 9},
		{&store.CorruptError{}, 9},
		{host.ErrInterrupted, 130},
		{context.Canceled, 130},
		{errors.New("a bug"), 1},
	} {
		assert.Equal(t, test.code, exitCode(test.err), "%T %v", test.err, test.err)
		assert.Equal(t, test.code, exitCode(fmt.Errorf("while running: %w", test.err)), "%T %v, wrapped", test.err, test.err)
	}
}

func TestEveryExitCodeIsExplained(t *testing.T) {
	help := exitHelp(allExits()...)
	for _, code := range []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 130} {
		assert.Regexp(t, fmt.Sprintf(`(?m)^ +%d  \S`, code), help)
	}
}

func TestShowError(t *testing.T) {
	var b bytes.Buffer
	showError(&b, "one\ntwo \x1b[31mred\u202e\n  command to copy")
	assert.Equal(t, "axishost: one\naxishost: two \\x1b[31mred\\u202e\n  command to copy\n", b.String())
	b.Reset()
	showError(&b, "")
	assert.Empty(t, b.String())
}
