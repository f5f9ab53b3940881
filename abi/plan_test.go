package abi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/axishost/axishost/abi"
)

func TestCheckPlan(t *testing.T) {
	for output, want := range map[string]string{
		`{"items": []}`: "",
		`{"items": [{"id": "a"}, {"id": "b", "needs": ["a"]}, {"id": "c", "needs": ["a", "b"], "call_id": "c1"}]}`: "",
		`{"items": [{"id": "b", "needs": ["a"]}, {"id": "a"}]}`:                                                    "",
		`{"items": [{"text": "x"}]}`:                                            `item "" must have an id of 1 to 64 bytes`,
		`{"items": [{"id": "a"}, {"id": "a"}]}`:                                 `item "a" is there twice`,
		`{"items": [{"id": "a", "needs": ["b"]}]}`:                              `item "a" needs "b", which is not in the plan`,
		`{"items": [{"id": "a", "needs": ["a"]}]}`:                              "items need each other in a circle",
		`{"items": [{"id": "a", "needs": ["b"]}, {"id": "b", "needs": ["a"]}]}`: "items need each other in a circle",
		`[]`: "not a JSON object",
	} {
		err := abi.CheckOutput(abi.HookPlan, []byte(output))
		if want == "" {
			assert.NoError(t, err, output)
		} else {
			assert.EqualError(t, err, want, output)
		}
	}
}
