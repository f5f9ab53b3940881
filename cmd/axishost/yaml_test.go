package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestYAMLThatIsRefused: what costs more than it says, or is not what it says, is refused before it is
// decoded.
func TestYAMLThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"brackets":    {"x: " + strings.Repeat("[", 200_000), "nested deeper than 500"},
		"braces":      {strings.Repeat("{a: ", 200_000), "nested deeper than 500"},
		"lists":       {strings.Repeat("- ", 200_000) + "x", "nested deeper than 500"},
		"indentation": {strings.Repeat(" ", 1000) + "a: 1", "nested deeper than 500"},
		"aliases":     {"a: &a [1, 2]\nb: *a", "is not taken"},
		"a cycle":     {"recipe: &r {x: *r}", "is not taken"},
		"a tag":       {"a: !!float abc", "a tag (line 1) is not taken"},
		"two":         {"a: 1\n---\nb: 2", "more than one YAML document"},
		"no YAML":     {"a: [", "[1:"},
	} {
		t.Run(name, func(t *testing.T) {
			var v any
			require.ErrorContains(t, decodeYAML([]byte(c.text), &v), c.want)
		})
	}
	var v map[string]any
	require.NoError(t, decodeYAML([]byte("a: {b: [1, two]}\nc: |\n  [[[[ text\n"), &v))
	assert.Equal(t, "[[[[ text\n", v["c"])
	require.NoError(t, decodeYAML(nil, &v))
}
