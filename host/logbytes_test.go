package host

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/plugins"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLogGrowsWithTheText: a run of 1,000 turns with up to 200 kB before the model at a time. What the log takes is
// bounded by the text of its messages, whatever is sent over and over again.
func TestLogGrowsWithTheText(t *testing.T) {
	turns, visible := 1000, 200_000
	if raced {
		turns = 300 // which has as much before the model in the end
	}
	text := strings.Repeat("what was found so far. ", 18)[:400]
	sub := bare()
	sub.Tools = []*plugins.Inspection{guest(t, "lookup")}
	sub.Config.Tools = map[string]map[string]any{"lookup": {"table": map[string]any{"0": "a" + text, "1": "b" + text}}}
	sub.Config.Conversation.MaxTurns = new(int64(turns + 1))
	sub.Config.Conversation.ContextLimit.Window, sub.Config.Compaction.Threshold = new(int64(100_000)), new(int64(60_000))

	calls, turn, most, sent := 0, 0, 0, 0
	m := modelFunc(func(_ context.Context, req model.Request) (*model.Reply, error) {
		calls++
		now := 0
		for i := range req.Messages {
			now += len(req.Messages[i].Content)
		}
		most, sent = max(most, now), sent+now
		if req.Tools == nil {
			r := says("it was looked up often. " + text)
			return &r, nil
		}
		if turn++; turn > turns {
			r := says("done")
			return &r, nil
		}
		r := callsTool("lookup", fmt.Sprintf(`{"key":"%d"}`, turn%2))
		r.Message.Content = text
		return &r, nil
	})
	log := newLog(t)
	r, err := open(t, log, m, Events{}).Run(t.Context(), sub)
	require.NoError(t, err)
	require.Equal(t, "succeeded", r.Phase)
	require.Equal(t, turns+1, turn)
	require.Greater(t, calls, turn, "nothing was summed up")
	require.Greater(t, most, visible)

	records, err := log.Read(t.Context(), r.Task, 0, 0)
	require.NoError(t, err)
	stored, said := 0, 0
	for _, record := range records {
		stored += len(record.Data)
		e, err := event.Decode(r.Task, record.Seq, record.Data)
		require.NoError(t, err)
		said += textOf(e.Payload)
	}
	ratio := float64(stored) / float64(said)
	t.Logf("%d events; %d bytes stored for %d bytes of text: %.2f; %d bytes sent, %d at most at once", len(records), stored, said, ratio, sent, most)
	assert.LessOrEqual(t, ratio, 2.0)
}

// textOf counts the text of the message that an event brings, in bytes.
func textOf(p event.Payload) int {
	m := &event.Message{}
	switch p := p.(type) {
	case *event.ModelReplied:
		m = &p.Message
	case *event.ToolSucceeded:
		m.Content = p.Result
	case *event.MessageAppended:
		if p.Message != nil {
			m = p.Message
		}
	}
	n := len(m.Content) + len(m.Reasoning)
	for _, c := range m.ToolCalls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}
