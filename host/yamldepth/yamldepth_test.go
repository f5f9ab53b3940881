package yamldepth

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for name, open := range map[string]string{"lists": "[", "maps": "{", "list marks": "- ", "key marks": "? ", "indentation": " "} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, Check([]byte(strings.Repeat(open, Max/len(open))+"a")))
			require.EqualError(t, Check([]byte(strings.Repeat(open, Max/len(open)+1)+"a")), "nested deeper than 500")
		})
	}
	require.NoError(t, Check([]byte(strings.Repeat("a: [1, {b: 2}]\n", 10*Max))), "wide is not deep")
	require.NoError(t, Check(nil))
}
