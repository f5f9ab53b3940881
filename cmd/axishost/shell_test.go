package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestShellQuote(t *testing.T) {
	words := []struct{ word, quoted string }{
		{"plain", "plain"},
		{"k=v,@a/b:c+d.e-f_g", "k=v,@a/b:c+d.e-f_g"},
		{"", "''"},
		{"two words", "'two words'"},
		{"it's", `'it'\''s'`},
		{"$HOME `id` \"x\" \\ !", "'$HOME `id` \"x\" \\ !'"},
		{"5%s", "'5%s'"},
		{"höhe 高", "'höhe 高'"},
		{"a\nb", `$'a\012b'`},
		{"it's\t\\", `$'it\'s\011\\'`},
		{"\x1b]0;x\a7", `$'\033]0;x\0077'`},
		{"\u202e9", `$'\U0000202e9'`},
		{"\u009b", `$'\U0000009b'`},
		{"caf\xe9", `$'caf\351'`},
	}
	bash, err := exec.LookPath("bash")
	for _, w := range words {
		assert.Equal(t, w.quoted, shellQuote(w.word))
		if err != nil {
			continue
		}
		cmd := exec.Command(bash, "-c", "printf %s "+shellQuote(w.word))
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, w.word, string(out), "as bash reads %s", shellQuote(w.word))
	}
}

func TestCommandLines(t *testing.T) {
	a := &app{storeDir: "a b"}
	f := &runFlags{
		recipe: "r.wasm", tools: []string{"t.wasm", "u v.wasm"}, key: "no. 7",
		modelFlags: modelFlags{config: "c.yaml", sets: []string{"model.base_url=http://h/v1", "limits.parallel_tools=2"}},
	}
	assert.Equal(t, "axishost run --store 'a b' --recipe r.wasm --tool t.wasm --tool 'u v.wasm' --key 'no. 7' --model m --config c.yaml"+
		" --set model.base_url=http://h/v1 --set limits.parallel_tools=2 -- -x", a.runLine(f, "m", "-x"))
	here, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, "axishost resume --store '"+here+"/a b' --config "+here+"/c.yaml --set model.base_url=http://h/v1 01abc", a.resumeLine(&f.modelFlags, "01abc"))
	assert.Equal(t, "axishost run --json --model m -", (&app{json: true}).runLine(&runFlags{}, "m", "-"))

	secret := &modelFlags{sets: []string{"model.base_url=http://me:secret@h/v1"}}
	assert.Equal(t, "axishost resume 01abc", (&app{}).resumeLine(secret, "01abc"))
}
