package host

import (
	"testing"

	"github.com/axishost/axishost/host/model"
	"github.com/stretchr/testify/require"
)

// requirePairs holds requests against what strict endpoints ask of a history: each call is answered exactly once, right
// behind its message and in order, nothing is answered that was not asked, and it does not end with the assistant.
func requirePairs(t testing.TB, requests []model.Request) {
	t.Helper()
	for _, r := range requests {
		var open []model.ToolCall
		for _, m := range r.Messages {
			if m.Role == "tool" {
				require.NotEmpty(t, open, "a result without its call")
				require.Equal(t, open[0].ID, m.ToolCallID, "a result out of order")
				open = open[1:]
				continue
			}
			require.Empty(t, open, "a call without its result")
			open = m.ToolCalls
		}
		require.Empty(t, open, "a call without its result")
		require.NotEqual(t, "assistant", r.Messages[len(r.Messages)-1].Role, "nothing is asked")
	}
}
