package abi_test

import (
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNesting: what is nested so deep that it could not be read again once it is stored inside something else
// is refused; brackets in texts do not count.
func TestNesting(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tool := func(evidence string) error {
		return abi.CheckOutput(abi.HookToolCall, []byte(`{"status":"ok","result":"r","evidence":`+evidence+`}`))
	}
	require.NoError(t, tool(nested(abi.MaxNesting-1)))
	assert.ErrorContains(t, tool(nested(abi.MaxNesting)), "nested deeper than 200")
	assert.ErrorContains(t, tool(nested(9999)), "nested deeper than 200")
	require.NoError(t, tool(`"`+strings.Repeat("[", 500)+`\"`+strings.Repeat("{", 500)+`"`))
	assert.ErrorContains(t, abi.CheckOutput(abi.HookVerify, []byte(`{"verified":true,"evidence":`+nested(300)+`}`)), "nested deeper")

	_, err := abi.ParseManifest([]byte(`{"abi":{"major":1,"minor":0},"config_schema":{"x":` + nested(300) + `}}`))
	assert.ErrorContains(t, err, "manifest is nested deeper than 200")
}
