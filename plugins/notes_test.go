package plugins

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		imports  []string
		manifest string
		want     []string
	}{
		{[]string{abi.FuncLog}, "", nil},
		{[]string{abi.FuncHostCall}, `"optional": ["config/1"], `, nil},
		{[]string{abi.FuncHostCall}, "", []string{"imports host_call and declares no operation (requires, optional): each that it asks for is denied"}},
		{[]string{abi.FuncHostCall}, `"optional": ["http.fetch/1"], "caps": {"http": ["a.example"]}, `, nil},
		{[]string{abi.FuncHostCall}, `"requires": ["http.fetch/1"], `, []string{"declares http.fetch/1 and no host in caps.http: its users cannot see what it wants to reach"}},
		{[]string{abi.FuncHostCall}, `"requires": ["config/1"], "caps": {"http": ["a.example"]}, `, []string{"has hosts in caps.http and does not declare http.fetch/1: it cannot reach any"}},
		{nil, `"requires": ["config/1"], `, []string{"declares config/1 and does not import host_call: it cannot ask for any"}},
	} {
		m := pt.New(pt.Host(tt.imports...)...)
		m.Hook("refusal", pt.Const(0))
		m.Manifest(manifest("refusal", tt.manifest))
		i, err := Inspect(m.Bytes())
		require.NoError(t, err)
		assert.Equal(t, tt.want, i.Notes())
	}
	i, err := Inspect([]byte("prose"))
	require.Error(t, err)
	assert.Empty(t, i.Notes())
	assert.Zero(t, i.Limits())
}

func TestInspectionLimits(t *testing.T) {
	i, err := Inspect(behave(t))
	require.NoError(t, err)
	assert.Equal(t, abi.Limits{MemoryBytes: 32 << 20, OutputBytes: abi.DefaultOutputBytes}, i.Limits())
}
