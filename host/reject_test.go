package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
	"github.com/axishost/axishost/store"
)

// rejectedIn gives the refusals in a task's log.
func rejectedIn(events []*Event) []event.PluginRejected {
	var out []event.PluginRejected
	for _, e := range events {
		if p, ok := e.Payload.(*event.PluginRejected); ok {
			out = append(out, *p)
		}
	}
	return out
}

// TestRunRejects: plugins that loading refuses are all named, by error and log, and the task has failed.
func TestRunRejects(t *testing.T) {
	sub := submission(t)
	sub.Config.Limits.PluginMemory = 1 << 16
	h := open(t, newLog(t), &fakeModel{}, Events{})
	r, err := h.Run(t.Context(), sub)
	var refused *plugins.RefusedError
	require.ErrorAs(t, err, &refused)
	require.NotNil(t, r)
	assert.Equal(t, "failed", r.Phase)
	events := history(t, h, r.Task)
	got := rejectedIn(events)
	require.Len(t, got, 2)
	for i, want := range []*plugins.Inspection{sub.Recipe, sub.Tools[0]} {
		assert.Equal(t, want.Manifest.Name, got[i].Name)
		assert.Equal(t, want.Digest, got[i].Digest)
		assert.Equal(t, "grant", got[i].Class)
		assert.Contains(t, got[i].Reason, "of memory, over the 64 KiB that it is given here")
		assert.ErrorContains(t, err, got[i].Reason)
		assert.Contains(t, r.Reason, got[i].Reason)
	}
	assert.Equal(t, event.TypeTaskFailed, events[len(events)-1].Payload.Type())
	again, err := h.Resume(t.Context(), r.Task)
	require.NoError(t, err)
	assert.Equal(t, r, again)
}

// TestResumeRejects: a task that pins a plugin which this host refuses stays as it is, with why in its log.
func TestResumeRejects(t *testing.T) {
	module := []byte("once accepted")
	sum := sha256.Sum256(module)
	digest := hex.EncodeToString(sum[:])
	h := open(t, newLog(t), &fakeModel{}, Events{})
	r := newRun(h, "01task", "fake", core.New(), nil)
	r.onlooker = true
	r.blobs = []store.Blob{{Task: "01task", Key: digest, Value: module}}
	require.NoError(t, r.feed(t.Context(), core.TaskSubmitted{Task: "01task", Worker: "w", Created: event.TaskCreated{
		Goal: "goal", Config: json.RawMessage("{}"), Recipe: &event.Plugin{Name: "old", Version: "1.0.0", Digest: digest, Hooks: []string{"refusal"}},
	}}))
	for n := range 2 {
		_, err := h.Resume(t.Context(), "01task")
		var refused *plugins.RefusedError
		require.ErrorAs(t, err, &refused)
		assert.EqualError(t, err, `plugin "old" 1.0.0 is not WebAssembly (it starts with "once acc")`)
		events := history(t, h, "01task")
		got := rejectedIn(events)
		require.Len(t, got, n+1)
		assert.Equal(t, event.PluginRejected{Name: "old", Digest: digest, Class: "format", Reason: `is not WebAssembly (it starts with "once acc")`}, got[n])
		list, err := h.List(t.Context(), Query{})
		require.NoError(t, err)
		assert.Equal(t, "planning", list[0].Phase)
	}
}

// TestRejectUnkept: where the log fails, the refusal is told all the same.
func TestRejectUnkept(t *testing.T) {
	log := newLog(t)
	h := open(t, log, &fakeModel{}, Events{})
	require.NoError(t, log.Close())
	sub := submission(t)
	r, err := h.Reject(t.Context(), sub, sub.Recipe.Refuse(plugins.RefusedVersion, "needs another host"))
	assert.Nil(t, r)
	assert.ErrorContains(t, err, `plugin "boxed" 1.0.0 needs another host`)
	assert.ErrorContains(t, err, "this was not kept in the log")
	assert.ErrorIs(t, err, store.ErrClosed)
}
