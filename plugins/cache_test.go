package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	pt "github.com/axishost/axishost/plugins/plugintest"
)

// one is a hand-made plugin of that version, which always counts one.
func one(t *testing.T, version string) []byte {
	t.Helper()
	const answer = `{"keywords": ["1"]}`
	m := small(answer)
	m.Hook("refusal", say(len(answer)))
	return pack(t, m.Bytes(), strings.Replace(manifest("refusal"), `"1.0.0"`, `"`+version+`"`, 1))
}

// compilations loads a plugin and tells whether it was compiled.
func compilations(t *testing.T, packed []byte, dir string) int {
	t.Helper()
	var n atomic.Int32
	p := load(t, packed, Options{CacheDir: dir, Events: Events{Compiling: func(string) { n.Add(1) }}})
	assert.JSONEq(t, `{"keywords": ["1"]}`, words(t, p, "count"))
	return int(n.Load())
}

func TestCompilationCache(t *testing.T) {
	packed := one(t, "1.0.0")
	dir := filepath.Join(t.TempDir(), "odd [name] *")
	assert.Equal(t, 1, compilations(t, packed, dir), "first use")
	assert.Equal(t, 0, compilations(t, packed, dir), "second use")
	assert.Equal(t, 0, compilations(t, one(t, "1.0.1"), dir), "another version, whose manifest is not compiled")
	m := small(`{"keywords": ["1"]}`)
	m.Hook("refusal", pt.Const(0), pt.Drop(), say(len(`{"keywords": ["1"]}`)))
	m.Manifest(manifest("refusal"))
	assert.Equal(t, 1, compilations(t, m.Bytes(), dir), "other code")
}

// TestNoCacheDir: without a directory each load compiles, and says so, whatever lies in the working directory.
func TestNoCacheDir(t *testing.T) {
	m := small("x")
	m.Hook("direct_final", say(1))
	m.Manifest(manifest("direct_final"))
	i, err := Inspect(m.Bytes())
	require.NoError(t, err)
	compiled := 0
	for range 2 {
		p, err := Load(t.Context(), i, Options{Events: Events{Compiling: func(string) { compiled++ }}})
		require.NoError(t, err)
		require.NoError(t, p.Close())
	}
	assert.Equal(t, 2, compiled)
}

// TestSharedCacheDir: two plugins, ten goroutines, one directory that is empty at first.
func TestSharedCacheDir(t *testing.T) {
	sides := []*pt.Module{small("1"), small("2")}
	for _, m := range sides {
		m.Hook("direct_final", say(1))
		m.Manifest(manifest("direct_final"))
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for n := range errs {
		wg.Go(func() { errs[n] = loadAndAsk(sides[n%2].Bytes(), dir, fmt.Sprint(n%2+1)) })
	}
	wg.Wait()
	assert.NoError(t, errors.Join(errs...))
}

func loadAndAsk(packed []byte, dir, want string) error {
	i, err := Inspect(packed)
	if err != nil {
		return err
	}
	for range 5 {
		p, err := Load(context.Background(), i, Options{CacheDir: dir})
		if err != nil {
			return err
		}
		answer, err := p.Hook(context.Background(), abi.HookDirectFinal, nil)
		if err == nil && string(answer.Output) != want {
			err = fmt.Errorf("got %q and not %q", answer.Output, want)
		}
		if err = errors.Join(err, p.Close()); err != nil {
			return err
		}
	}
	return nil
}
