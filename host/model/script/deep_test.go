package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNestedScripts: nesting is refused before the YAML library, whose memory grows with its square, sees it.
func TestNestedScripts(t *testing.T) {
	for _, text := range []string{
		"replies: " + strings.Repeat("{a: ", 100_000), "replies: " + strings.Repeat("[", 100_000),
		strings.Repeat("- ", 100_000), strings.Repeat(" ", 1000) + "replies: []",
	} {
		_, err := Parse(strings.NewReader(text), "deep.yaml")
		require.EqualError(t, err, "script deep.yaml is nested deeper than 500")
	}
}
