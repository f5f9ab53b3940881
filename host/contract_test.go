package host

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/ledgertest"
	"github.com/axishost/axishost/plugins"
)

// calcWith is calc with more in its tool's manifest entry.
func calcWith(t *testing.T, fields string) *plugins.Inspection {
	manifest, err := os.ReadFile("../recipes/calc/axis.json")
	require.NoError(t, err)
	text := strings.Replace(string(manifest), `"effect": "pure",`, `"effect": "pure", `+fields+`,`, 1)
	require.NotEqual(t, string(manifest), text)
	packed, err := plugins.Pack(guest(t, "calc").File(), []byte(text), plugins.PackOptions{Replace: true})
	require.NoError(t, err)
	i, err := plugins.Inspect(packed)
	require.NoError(t, err)
	return i
}

// TestContract: a call whose precondition does not hold is not made; a result that is not what the tool promises is told
// to the model as that, and is no evidence.
func TestContract(t *testing.T) {
	for name, tt := range map[string]struct {
		fields, call string
		denied       string
		failed       string
	}{
		"precondition holds":  {`"precondition": {"properties": {"expression": {"pattern": "^[0-9 +]+$"}}}`, "1 + 2", "", ""},
		"precondition fails":  {`"precondition": {"properties": {"expression": {"pattern": "^[0-9 +]+$"}}}`, "1 - 2", "calc may not be called so: expression: ", ""},
		"output fits":         {`"output_schema": {"type": "integer"}`, "1 + 2", "", ""},
		"output does not fit": {`"output_schema": {"type": "string"}`, "1 + 2", "", "3\n\n(This is not what the tool promises: "},
		"success holds":       {`"success": {"properties": {"result": {"maximum": 5}}}`, "1 + 2", "", ""},
		"success fails":       {`"success": {"properties": {"result": {"maximum": 2}}}`, "1 + 2", "", "(This is not what the tool promises: result: "},
	} {
		t.Run(name, func(t *testing.T) {
			sub := bare()
			sub.Tools = []*plugins.Inspection{calcWith(t, tt.fields)}
			h := open(t, newLog(t), &fakeModel{replies: []any{calls(tt.call), says("done")}}, Events{})
			r, err := h.Run(t.Context(), sub)
			require.NoError(t, err)
			events := history(t, h, r.Task)
			var denied, failed string
			for _, e := range events {
				switch p := e.Payload.(type) {
				case *event.StepDenied:
					denied = p.Text
					assert.Equal(t, "precondition", p.Reason)
				case *event.ToolFailed:
					failed = p.Reason
				}
			}
			assert.Contains(t, denied, tt.denied)
			assert.Contains(t, failed, tt.failed)
			assert.Equal(t, tt.denied == "", denied == "")
			assert.Equal(t, tt.failed == "", failed == "")
		})
	}
}

// TestContractThatIsBad: a schema of the contract that is none is a reason to refuse the plugin, with its field.
func TestContractThatIsBad(t *testing.T) {
	for _, field := range []string{"precondition", "output_schema", "success"} {
		i := calcWith(t, `"`+field+`": {"type": "text"}`)
		err := CheckSchemas(i)
		require.ErrorContains(t, err, `has a bad `+field+` in tool "calc": it is no JSON Schema`)
	}
}

// TestCheck: the tool itself refuses a call that no schema forbids, before anything is sent.
func TestCheck(t *testing.T) {
	s := newLedger(t, ledgertest.Options{})
	h := open(t, newLog(t), &fakeModel{replies: []any{appends("cash", 0), says("no")}}, Events{})
	r, err := h.Run(t.Context(), ledgerTask(t, s))
	require.NoError(t, err)
	requireOnce(t, s, 0)
	events := history(t, h, r.Task)
	assert.Equal(t, 1, count(events, event.TypeStepDenied))
	assert.Zero(t, count(events, event.TypeHostOperation))
}
