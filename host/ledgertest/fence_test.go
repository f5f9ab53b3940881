package ledgertest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// post sends an attempt.
func post(t *testing.T, s *Server, key, attempt string) int {
	t.Helper()
	return postIf(t, s, key, "Idempotency-Attempt", attempt)
}

func TestFence(t *testing.T) {
	for _, raw := range []bool{true, false} {
		s := start(t, Options{Raw: raw})
		fence := func(key, body string) answered { return must(t, s, "PUT", "/fences/"+key, "", body) }
		assert.Equal(t, 201, fence("k", `{"attempts":2}`).status)
		assert.Equal(t, 201, fence("k", `{"attempts":2}`).status)
		assert.Equal(t, 201, fence("k", `{"attempts":1}`).status)
		assert.Equal(t, 404, must(t, s, "GET", "/entries?key=k", "", "").status)
		for _, late := range []string{"", "1", "2"} {
			assert.Equal(t, 410, post(t, s, "k", late), late)
		}
		assert.Equal(t, 400, post(t, s, "k", "x"))
		assert.Equal(t, 201, post(t, s, "k", "3"))
		again := fence("k", `{"attempts":3}`)
		assert.Equal(t, 200, again.status, "it is there")
		assert.Equal(t, "e1", again.entry.ID)
		if raw {
			assert.Equal(t, 410, post(t, s, "k", "2"))
		} else {
			assert.Equal(t, 200, post(t, s, "k", "2"))
		}
		for _, body := range []string{"", "{}", `{"attempts":0}`, `{"attempts":1,"more":1}`} {
			assert.Equal(t, 400, fence("k2", body).status, body)
		}
		assert.Equal(t, []Effect{
			{Seq: 1, Kind: Fence, Key: "k", Attempt: 2}, {Seq: 2, Kind: Post, ID: "e1", Key: "k", Account: "a", Amount: -700, Text: "rent", Attempt: 3, Raw: raw},
		}, s.Effects())
		assert.Equal(t, 1, s.Stats().Fences)
		assert.Empty(t, s.Stats().Duplicates)
	}
}

// TestFenceMeetsWhatIsUnderWay: a request that was received before the fence and takes effect after it does not.
func TestFenceMeetsWhatIsUnderWay(t *testing.T) {
	received, fenced := make(chan struct{}), make(chan struct{})
	s := start(t, Options{Raw: true, OnRequest: func(method, _ string) {
		if method == "POST" {
			close(received)
			<-fenced
		}
	}})
	status := make(chan int)
	go func() { status <- post(t, s, "k", "1") }()
	<-received
	assert.Equal(t, 201, must(t, s, "PUT", "/fences/k", "", `{"attempts":1}`).status)
	close(fenced)
	assert.Equal(t, 410, <-status)
	assert.Empty(t, Of(Post, s.Effects()))
}

// TestFenceIsKept: in the file, and where the ledger is put back.
func TestFenceIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	s, err := New(Options{File: file})
	require.NoError(t, err)
	must(t, s, "PUT", "/fences/k", "", `{"attempts":1}`)
	kept := s.Effects()
	require.NoError(t, s.Close())
	s = start(t, Options{File: file})
	assert.Equal(t, 410, post(t, s, "k", "1"))
	s = start(t, Options{})
	require.NoError(t, s.Restore(kept))
	assert.Equal(t, 410, post(t, s, "k", "1"))
	assert.Equal(t, 201, post(t, s, "k", "2"))
}
