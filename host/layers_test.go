package host

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/axishost/axishost/"

// layer says what the packages under a path may import: the standard library (std, or only the packages
// named in pure), packages of this module, and others.
type layer struct {
	path string   // directory, or directory/... for all below it
	pure []string // the standard packages allowed; nil allows all but those of impure where core is true
	core bool     // a pure package: nothing that reaches the world, the clock or chance
	own  []string // packages of this module, as layer paths
	ext  []string // module paths of others
}

// impure is what a package of the core must not import.
var impure = []string{
	"os", "net", "time", "context", "math/rand", "math/rand/v2", "crypto/rand", "sync", "sync/atomic",
	"log", "log/slog", "io", "io/fs", "runtime", "syscall", "unsafe",
}

// layers is the table of the house style; the first entry that matches a package holds.
var layers = []layer{
	{path: "abi", pure: []string{"errors", "fmt", "strconv", "strings", "slices", "unicode/utf8", "encoding/json", "encoding/binary"}},
	{path: "abi/guest", own: []string{"abi"}},
	{path: "recipes/...", own: []string{"abi", "abi/guest"}},
	{path: "store"},
	{path: "store/memstore", own: []string{"store"}},
	{path: "store/pebblestore", own: []string{"store"}, ext: []string{"github.com/cockroachdb/"}},
	{path: "store/sealed", own: []string{"store"}},
	{path: "store/storetest", own: []string{"store"}, ext: []string{"github.com/stretchr/testify", "pgregory.net/rapid"}},
	// The codec of records; a pure library.
	{path: "host/internal/event", core: true, ext: []string{"github.com/fxamacker/cbor/v2"}},
	{path: "host/internal/conv", core: true, own: []string{"abi", "host/internal/event"}},
	{path: "host/internal/task", core: true, own: []string{"host/internal/event"}},
	{path: "host/internal/repair", core: true},
	// Canonical JSON; pure as well.
	{path: "host/internal/core", core: true, own: []string{"abi", "host/internal/event", "host/internal/conv", "host/internal/task", "host/internal/repair"},
		ext: []string{"github.com/go-json-experiment/json/jsontext"}},
	{path: "host/tokens", ext: []string{"github.com/pkoukk/tiktoken-go"}},
	{path: "host/model", ext: []string{"github.com/sashabaranov/go-openai"}},
	{path: "host/yamldepth"},
	// What guests ask of the network; it knows nothing of them.
	{path: "host/fetch"},
	// The outside service of tests and demonstrations, a process of its own.
	{path: "host/ledgertest"},
	{path: "host/control", own: []string{"store"}, ext: []string{"github.com/fxamacker/cbor/v2"}},
	{path: "host/model/script", own: []string{"host/model", "host/yamldepth"}, ext: []string{"github.com/agnivade/levenshtein", "github.com/goccy/go-yaml"}},
	{path: "host/config", own: []string{"abi", "host/internal/core"}, ext: []string{"github.com/agnivade/levenshtein"}},
	// Numbers of events; pure, though public.
	{path: "host/stats", core: true, own: []string{"abi", "host/internal/event"}},
	{path: "host/timeline", own: []string{"plugins", "host/internal/event"}},
	{path: "host", own: []string{"abi", "host/fetch", "host/internal/event", "host/internal/core", "host/model", "host/stats", "host/tokens", "plugins", "store"},
		ext: []string{"github.com/fxamacker/cbor/v2", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/oklog/ulid/v2", "golang.org/x/text"}},
	{path: "plugins/internal/wasmbin", own: []string{"abi"}},
	// xxhash: the checksums of compiled code on disk.
	{path: "plugins/internal/wasmrt", own: []string{"abi"}, ext: []string{"github.com/tetratelabs/wazero", "github.com/cespare/xxhash/v2"}},
	{path: "plugins/internal/hostfn", own: []string{"abi", "plugins/internal/wasmrt"}},
	{path: "plugins/internal/wasi", own: []string{"abi", "plugins/internal/wasmrt"}},
	{path: "plugins/plugintest", own: []string{"abi"}},
	{path: "plugins", own: []string{"abi", "plugins/internal/..."}},
	{path: "cmd/axishost", own: []string{"abi", "host", "host/config", "host/control", "host/model", "host/model/script", "host/stats", "host/timeline", "host/yamldepth", "plugins", "store", "store/pebblestore", "store/sealed"},
		// uniseg: how many columns a text takes, with Chinese and emoji in it; x/text: which letters go from right to left.
		ext: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/goccy/go-yaml", "golang.org/x/term", "github.com/rivo/uniseg", "golang.org/x/text"}},
}

// TestLayers holds the direct imports of every package, tests aside, against the table: guests see only
// abi, the core sees only abi and pure standard packages, only cmd imports host.
func TestLayers(t *testing.T) {
	root := ".."
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (name == "testdata" || name == "bin" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		dir, err := filepath.Rel(root, path)
		require.NoError(t, err)
		imports := importsOf(t, path)
		if len(imports) == 0 {
			return nil
		}
		seen++
		rule := findLayer(filepath.ToSlash(dir))
		if !assert.NotNil(t, rule, "package %s is in no layer: add it to the table, or move it", dir) {
			return nil
		}
		for _, imported := range imports {
			assert.True(t, allowed(rule, imported), "package %s must not import %s", dir, imported)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 15, "the walk found too few packages to mean anything")
}

func importsOf(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var imports []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			imports = append(imports, strings.Trim(i.Path.Value, `"`))
		}
	}
	slices.Sort(imports)
	return slices.Compact(imports)
}

func findLayer(dir string) *layer {
	for i := range layers {
		if matches(layers[i].path, dir) {
			return &layers[i]
		}
	}
	return nil
}

func matches(pattern, dir string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return dir == base || (below && strings.HasPrefix(dir, base+"/"))
}

func allowed(l *layer, imported string) bool {
	if own, ok := strings.CutPrefix(imported, module); ok {
		return slices.ContainsFunc(l.own, func(p string) bool { return matches(p, own) })
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		return slices.ContainsFunc(l.ext, func(p string) bool { return strings.HasPrefix(imported, p) })
	}
	switch {
	case l.pure != nil:
		return slices.Contains(l.pure, imported)
	case l.core:
		return !slices.Contains(impure, imported)
	}
	return true
}

// TestLayersCanFail: the table refuses what it is there to refuse.
func TestLayersCanFail(t *testing.T) {
	for dir, imported := range map[string]string{
		"host/internal/core": "time",
		"host/internal/conv": module + "host",
		"recipes/boxed":      module + "plugins",
		"abi":                "os",
		"store":              "github.com/cockroachdb/pebble/v2",
		"plugins":            "github.com/tetratelabs/wazero",
		"cmd/axishost":       module + "host/internal/core",
	} {
		rule := findLayer(dir)
		require.NotNil(t, rule, dir)
		assert.False(t, allowed(rule, imported), "%s may import %s", dir, imported)
	}
	assert.Nil(t, findLayer("util"))
}
