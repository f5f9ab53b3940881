package main

import (
	"errors"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/timeline"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnfollowed: who stops following is told what that does to the task.
func TestUnfollowed(t *testing.T) {
	other := errors.New("other")
	assert.Equal(t, other, unfollowed(host.Summary{}, other))
	require.NoError(t, unfollowed(host.Summary{}, nil))
	err := unfollowed(host.Summary{Process: 7}, host.ErrInterrupted)
	assert.EqualError(t, err, "no longer following; the task goes on")
	assert.Equal(t, exitInterrupted, exitCode(err))
	assert.EqualError(t, unfollowed(host.Summary{}, host.ErrInterrupted), "no longer following")
}

func TestLogKind(t *testing.T) {
	assert.Equal(t, timeline.Detail, logKind(abi.LogDebug))
	assert.Equal(t, timeline.Plain, logKind(abi.LogInfo))
	assert.Equal(t, timeline.Notice, logKind(abi.LogWarn))
	assert.Equal(t, timeline.Notice, logKind(abi.LogError))
}
