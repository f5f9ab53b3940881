package ledgertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// postIf sends a POST with headers, as pairs of name and value.
func postIf(t *testing.T, s *Server, key string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/entries", strings.NewReader(rent))
	require.NoError(t, err)
	r.Header.Set("Idempotency-Key", key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// TestVersions: each change of an account is a version of it, and a condition on the version holds or refuses.
func TestVersions(t *testing.T) {
	s := start(t, Options{})
	account := func() answered { return must(t, s, "GET", "/accounts/a", "", "") }
	assert.JSONEq(t, `{"account":"a","balance":0,"version":0}`, account().text)
	assert.Equal(t, 412, postIf(t, s, "k1", "If-Match", `"1"`))
	assert.Equal(t, 201, postIf(t, s, "k1", "If-Match", `"0"`))
	assert.Equal(t, 200, postIf(t, s, "k1", "If-Match", `"0"`), "it is there")
	assert.Equal(t, 412, postIf(t, s, "k2", "If-Match", `"0"`))
	assert.Equal(t, 400, postIf(t, s, "k2", "If-Match", "*"))
	assert.Equal(t, 201, postIf(t, s, "k2"))
	assert.Equal(t, `"2"`, account().header.Get("ETag"))
	must(t, s, "DELETE", "/entries/e1", "v", "")
	assert.JSONEq(t, `{"account":"a","balance":-700,"version":3}`, account().text)
}

// TestLeases: what comes under an earlier lease of an account than it was written to under is refused, keys or none.
func TestLeases(t *testing.T) {
	s := start(t, Options{Raw: true})
	assert.Equal(t, 201, postIf(t, s, "k1", "Lease-Fence", "5"))
	assert.Equal(t, 412, postIf(t, s, "k2", "Lease-Fence", "4"))
	assert.Equal(t, 201, postIf(t, s, "k2", "Lease-Fence", "5"))
	assert.Equal(t, 201, postIf(t, s, "k3"), "who has no lease is not asked")
	assert.Equal(t, 400, postIf(t, s, "k4", "Lease-Fence", "-1"))
	other := start(t, Options{})
	require.NoError(t, other.Restore(s.Effects()))
	assert.Equal(t, 412, postIf(t, other, "k4", "Lease-Fence", "4"))
}
