package abi_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

func spec(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	return string(text)
}

// row finds the table row that begins with the given cell.
func row(t *testing.T, spec, cell string) string {
	t.Helper()
	_, rest, found := strings.Cut(spec, "\n| "+cell+" |")
	require.True(t, found, "SPEC.md has no row for %s", cell)
	row, _, _ := strings.Cut(rest, "\n")
	return row
}

func TestSpecNames(t *testing.T) {
	text := spec(t)
	for _, name := range []string{
		abi.Release, abi.ManifestSection, abi.MarkerExport, abi.HookPrefix, abi.MemoryExport, abi.InitExport,
		abi.StartExport, abi.ImportModule, abi.WASIModule,
	} {
		assert.Contains(t, text, name)
	}
	for _, name := range abi.WASIImports() {
		assert.Contains(t, text, "`"+name+"`")
	}
	for _, kind := range []abi.Kind{abi.KindRecipe, abi.KindTools, abi.KindBoth} {
		assert.Contains(t, text, "`"+string(kind)+"`")
	}
	for _, effect := range []abi.Effect{abi.EffectPure, abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
		assert.Contains(t, text, "`"+string(effect)+"`")
	}
	for _, status := range []abi.ToolStatus{abi.ToolOK, abi.ToolFailed, abi.ToolUnknown} {
		assert.Contains(t, text, "`"+string(status)+"`")
	}
	for _, status := range []abi.ReconcileStatus{abi.ReconcileFound, abi.ReconcileAbsent, abi.ReconcileInconclusive} {
		assert.Contains(t, text, "`"+string(status)+"`")
	}
	for _, answer := range []abi.Reversible{abi.ReversibleYes, abi.ReversibleNo, abi.ReversibleUnknown} {
		assert.Contains(t, text, "`"+string(answer)+"`")
	}
	for _, stage := range []abi.CheckStage{abi.CheckBefore, abi.CheckAfter} {
		assert.Contains(t, text, "`"+string(stage)+"`")
	}
	for _, verdict := range []abi.Verdict{abi.VerdictOK, abi.VerdictRollback} {
		assert.Contains(t, text, "`"+string(verdict)+"`")
	}
	for _, class := range []abi.FailureClass{
		abi.ClassTransient, abi.ClassRateLimited, abi.ClassInvalidArguments, abi.ClassPermission,
		abi.ClassConflict, abi.ClassPermanent,
	} {
		assert.Contains(t, text, "`"+string(class)+"`")
	}
}

// served tells whether a row says that the host performs what it describes; it must say either.
func served(t *testing.T, row string) bool {
	t.Helper()
	yes, no := strings.Contains(row, "| served, since 1.0 |"), strings.Contains(row, "| refused by name |")
	require.NotEqual(t, yes, no, "a row must say whether it is served: %s", row)
	return yes
}

func TestSpecHooks(t *testing.T) {
	text := spec(t)
	for _, h := range abi.Hooks() {
		t.Run(string(h.Name), func(t *testing.T) {
			row := row(t, text, "`"+string(h.Name)+"`")
			assert.Equal(t, h.Served, served(t, row))
			assert.Equal(t, h.Text, strings.HasPrefix(row, " text |"), "input")
			assert.NotEqual(t, h.Served, strings.HasSuffix(row, "| |"), "what becomes of a failure is said of served hooks")
			assert.Equal(t, h.Tool, strings.HasPrefix(string(h.Name), "tool_") && h.Name != abi.HookToolOutcome)
		})
	}
}

func TestSpecImports(t *testing.T) {
	text := spec(t)
	for _, f := range abi.Imports() {
		assert.Contains(t, text, "| `"+f.String()+"` | 1.0 |")
		assert.Regexp(t, "(?m)^### .*`"+f.Name+`\(`, text, "%s has no section", f.Name)
	}
	rows := regexp.MustCompile(`(?m)^\| .*\) -> i(32|64)`+"` "+`\| 1\.0 \|$`).FindAllString(text, -1)
	assert.Len(t, rows, len(abi.Imports()), "SPEC.md has an import that the package does not")
}

func TestSpecCodes(t *testing.T) {
	text := spec(t)
	code := abi.CodeDecided
	for ; !strings.HasPrefix(code.String(), "code "); code-- {
		assert.Contains(t, text, fmt.Sprintf("\n| %d | `%s` |", code, code))
	}
	assert.Equal(t, abi.CodeNotNow-1, code, "CodeNotNow is the last code")
	assert.NotContains(t, text, fmt.Sprintf("\n| %d |", code), "SPEC.md has a code that the package does not")
}

func TestSpecOperations(t *testing.T) {
	text := spec(t)
	for _, op := range abi.Operations() {
		assert.Equal(t, op.Served, served(t, row(t, text, "`"+string(op.Name)+"`")), "%s", op.Name)
	}
	rows := regexp.MustCompile("(?m)^\\| `[a-z.]+/[0-9]+` \\|").FindAllString(text, -1)
	assert.Len(t, rows, len(abi.Operations()), "SPEC.md has an operation that the package does not")
}

func TestSpecLimits(t *testing.T) {
	text := spec(t)
	_, section, found := strings.Cut(text, "\n## 8. Limits\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	limits := constants(t, "limits.go")
	for name, value := range limits {
		assert.Contains(t, section, "\n| `"+name+"` | "+value+" | ")
	}
	assert.Equal(t, len(limits)+2, strings.Count(section, "\n|"), "SPEC.md has a limit that the package does not")

	fields := row(t, text, "`limits`")
	assert.Contains(t, fields, "(0 to "+limits["MaxMemoryBytes"]+")")
	assert.Contains(t, fields, "(0 to "+limits["MaxOutputBytes"]+")")
	assert.Contains(t, row(t, text, "`timeout_ms`"), "0 to "+limits["MaxToolMillis"]+"; 0 is "+limits["DefaultToolMillis"])
	for field, name := range map[string]string{"risk": "MaxRisk", "cost": "MaxCost"} {
		assert.Contains(t, row(t, text, "`"+field+"`"), "0 to "+limits[name]+" (`"+name+"`)")
	}
	for name, value := range limits {
		for _, stated := range regexp.MustCompile("([0-9]+)[^0-9|\n]*\\(`"+name+"`\\)").FindAllStringSubmatch(text, -1) {
			assert.Equal(t, value, stated[1], "%s in the text", name)
		}
	}
}

// constants evaluates the constants that a file of this package declares.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	pkg, err := new(types.Config).Check("abi", set, []*ast.File{parsed}, nil)
	require.NoError(t, err)
	values := map[string]string{}
	for _, name := range pkg.Scope().Names() {
		values[name] = pkg.Scope().Lookup(name).(*types.Const).Val().ExactString()
	}
	require.NotEmpty(t, values)
	return values
}
