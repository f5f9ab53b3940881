package wasmbin

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pt "github.com/axishost/axishost/plugins/plugintest"
)

// named is a module with 60,000 functions that do nothing and a name section of those subsections.
func named(subsections ...[]byte) []byte {
	const n = 60_000
	repeat := func(item ...byte) []byte { return bytes.Repeat(item, n) }
	return pt.Binary(pt.Section(1, pt.Vec(pt.FuncType(nil, nil))), pt.Section(3, pt.U32(n), repeat(0)),
		pt.Custom("debug", make([]byte, 1000)), pt.Section(10, pt.U32(n), repeat(2, 0, 0x0b)),
		pt.Custom("name", pt.Code(subsections...)), pt.Custom("axis.manifest", []byte("{}")))
}

func functionNamed(index int, name string) []byte { return pt.Code(pt.U32(index), pt.Name(name)) }

// functionNames gives the subsection with the names of functions.
func functionNames(names ...[]byte) []byte { return pt.Code([]byte{1}, pt.Sized(pt.Vec(names...))) }

// keptNames are the names that Strip leaves, after it is checked that it leaves nothing else of custom sections.
func keptNames(t *testing.T, b []byte) []string {
	t.Helper()
	m := parse(t, b)
	before := len(m.sections)
	stripped := parse(t, m.Strip(b))
	var names []string
	for _, c := range stripped.Customs {
		require.Equal(t, "name", c.Name)
		require.LessOrEqual(t, len(c.Data), maxFunctionNames+20)
		r := &reader{buf: c.Data, pos: 0, end: len(c.Data)}
		require.Equal(t, byte(1), r.byte())
		require.Equal(t, r.u32(), uint32(r.end-r.pos))
		for n := r.u32(); n > 0; n-- {
			r.u32()
			names = append(names, r.name())
		}
		require.Nil(t, r.err)
		require.Equal(t, r.end, r.pos)
	}
	assert.Equal(t, before-len(m.Customs)+len(stripped.Customs), len(stripped.sections), "other sections stay")
	newReferee(t).judge(t, "stripped", stripped.bytes)
	return names
}

func TestStrip(t *testing.T) {
	long := strings.Repeat("n", 8<<20)
	for name, tt := range map[string]struct {
		subsections [][]byte
		want        []string
	}{
		"no names":          {nil, nil},
		"the module's":      {[][]byte{pt.Code([]byte{0}, pt.Sized(pt.Name("axis_v1")))}, nil},
		"none of functions": {[][]byte{functionNames()}, nil},
		"two":               {[][]byte{functionNames(functionNamed(0, "main.main"), functionNamed(7, "größe"))}, []string{"main.main", "größe"}},
		"behind others": {[][]byte{pt.Code([]byte{0}, pt.Sized(pt.Name("m"))), pt.Code([]byte{9}, pt.Sized([]byte("new"))),
			functionNames(functionNamed(0, "f")), pt.Code([]byte{2}, pt.Sized([]byte{1, 0, 1, 0, 1, 'x'}))}, []string{"f"}},
		"of megabytes":   {[][]byte{functionNames(functionNamed(0, long))}, []string{long[:100] + "…"}},
		"cut in a rune":  {[][]byte{functionNames(functionNamed(0, "x"+strings.Repeat("ö", 60)))}, []string{"x" + strings.Repeat("ö", 49) + "…"}},
		"of other lines": {[][]byte{functionNames(functionNamed(0, "f\n\t.forged()\x1b[2J\u202e"))}, []string{"f??.forged()?[2J?"}},
		"out of order":   {[][]byte{functionNames(functionNamed(2, "two"), functionNamed(2, "again"), functionNamed(1, "one"), functionNamed(3, ""))}, []string{"two"}},
		"not there":      {[][]byte{functionNames(functionNamed(60_000, "f"), functionNamed(1<<32-1, "g"))}, nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, keptNames(t, named(tt.subsections...))) })
	}
}

// TestStripTotal: the names of all functions together are bounded.
func TestStripTotal(t *testing.T) {
	var all [][]byte
	for n := range 60_000 {
		all = append(all, functionNamed(n, strings.Repeat("n", 100)))
	}
	assert.Len(t, keptNames(t, named(functionNames(all...))), 40_488)
}

// TestStripNothingToDo: a module without custom sections stays as it is.
func TestStripNothingToDo(t *testing.T) {
	b := parse(t, counter()).WithoutCustom("axis.manifest")
	b = parse(t, b).WithoutCustom("other")
	assert.Equal(t, b, parse(t, b).Strip(b))
}
