package wasi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLastWords: once Go's runtime has begun to explain a panic its beginning is kept, however much was
// written before and comes after; a reset forgets it.
func TestLastWords(t *testing.T) {
	w := world()
	for range 2000 {
		w.write([]byte("a line of a guest that talks\n"))
	}
	w.write([]byte("panic: "))
	w.write([]byte(strings.Repeat("the fuse was lit ", 10_000)))
	w.write([]byte("\n\ngoroutine 1 [running]:\n"))
	assert.True(t, strings.HasPrefix(string(w.Said()), "panic: the fuse was lit"))
	assert.Len(t, w.Said(), keep)

	w.write([]byte("fatal error: out of memory"))
	assert.Equal(t, "fatal error: out of memory", string(w.Said()), "the latest explanation is the one")
	w.Mark()
	w.write([]byte("a panic: is no explanation in the middle"))
	w.Reset()
	w.write([]byte("after"))
	assert.Equal(t, "after", string(w.Said()))
}
