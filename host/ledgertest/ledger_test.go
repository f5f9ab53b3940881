package ledgertest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPostOnce(t *testing.T) {
	s := start(t, Options{})
	want := Entry{ID: "e1", Key: "k", Account: "a", Amount: -700, Text: "rent"}
	first := must(t, s, "POST", "/entries", "k", rent)
	assert.Equal(t, 201, first.status)
	assert.Equal(t, want, first.entry)
	assert.Equal(t, "application/json", first.header.Get("Content-Type"))

	again := must(t, s, "POST", "/entries", "k", ` {"text":"rent", "amount":-700, "account":"a"}`)
	assert.Equal(t, 200, again.status)
	assert.Equal(t, want, again.entry)
	assert.Equal(t, 409, must(t, s, "POST", "/entries", "k", other).status)
	assert.Equal(t, []Effect{{Seq: 1, Kind: Post, ID: "e1", Key: "k", Account: "a", Amount: -700, Text: "rent"}}, s.Effects())

	assert.Equal(t, 201, must(t, s, "POST", "/entries", "k2", rent).status)
	assert.Equal(t, Stats{Posts: 4, Effects: 2, Duplicates: map[string]int{}}, s.Stats())
	assert.Zero(t, s.Duplicates())
}

func TestLookups(t *testing.T) {
	s := start(t, Options{})
	assert.Equal(t, "[]\n", must(t, s, "GET", "/entries", "", "").text)
	assert.Equal(t, 404, must(t, s, "GET", "/entries?key=k", "", "").status)
	must(t, s, "POST", "/entries", "k", rent)
	must(t, s, "POST", "/entries", "a b", rent)
	found := must(t, s, "GET", "/entries?key=a+b", "", "")
	assert.Equal(t, 200, found.status)
	assert.Equal(t, "e2", found.entry.ID)
	assert.Equal(t, 404, must(t, s, "GET", "/entries?key=", "", "").status)

	var list []Entry
	require.NoError(t, json.Unmarshal([]byte(must(t, s, "GET", "/entries", "", "").text), &list))
	assert.Len(t, list, 2)
	assert.Equal(t, "k", list[0].Key)

	var stats Stats
	require.NoError(t, json.Unmarshal([]byte(must(t, s, "GET", "/stats", "", "").text), &stats))
	assert.Equal(t, Stats{Posts: 2, Effects: 2, Lookups: 3, Duplicates: map[string]int{}}, stats)
	assert.Equal(t, stats, s.Stats())
}

func TestVoid(t *testing.T) {
	s := start(t, Options{})
	must(t, s, "POST", "/entries", "k", rent)
	must(t, s, "POST", "/entries", "k2", rent)
	for _, key := range []string{"v", "v", "v2"} {
		a := must(t, s, "DELETE", "/entries/e1", key, "")
		assert.Equal(t, 200, a.status)
		assert.Equal(t, Entry{ID: "e1", Key: "k", Account: "a", Amount: -700, Text: "rent", Void: true}, a.entry)
	}
	assert.Equal(t, 409, must(t, s, "DELETE", "/entries/e2", "v", "").status)
	assert.Equal(t, 404, must(t, s, "DELETE", "/entries/e3", "v3", "").status)
	assert.Equal(t, 400, must(t, s, "DELETE", "/entries/e2", "", "").status)
	assert.True(t, must(t, s, "GET", "/entries?key=k", "", "").entry.Void)
	assert.True(t, must(t, s, "POST", "/entries", "k", rent).entry.Void, "the key stays used")
	// A key of a POST is not one of a DELETE.
	assert.Equal(t, 200, must(t, s, "DELETE", "/entries/e2", "k", "").status)
	assert.Equal(t, Stats{Posts: 3, Deletes: 7, Lookups: 1, Effects: 2, Voids: 2, Duplicates: map[string]int{}}, s.Stats())
}

func TestRefused(t *testing.T) {
	s := start(t, Options{})
	for _, body := range []string{"", "x", "[]", `{}`, `{"account":""}`, `{"account":"a","amount":1.5}`, `{"account":"a","more":1}`, rent + rent} {
		assert.Equal(t, 400, must(t, s, "POST", "/entries", "k", body).status, body)
	}
	assert.Equal(t, 400, must(t, s, "POST", "/entries", "", rent).status)
	large := `{"account":"` + strings.Repeat("a", maxBody) + `"}`
	assert.Equal(t, 400, must(t, s, "POST", "/entries", "k", large).status)
	assert.Equal(t, 400, must(t, s, "POST", "/faults", "", large).status)
	assert.Equal(t, 405, must(t, s, "PUT", "/entries", "k", rent).status)
	assert.Equal(t, 404, must(t, s, "GET", "/", "", "").status)
	assert.Empty(t, s.Effects())
}

func TestRawCountsDuplicates(t *testing.T) {
	for _, o := range []Options{{Raw: true}, {}} {
		s := start(t, o)
		query := "?mode=raw"
		if o.Raw {
			query = ""
		}
		for range 3 {
			assert.Equal(t, 201, must(t, s, "POST", "/entries"+query, "k", rent).status)
		}
		assert.Equal(t, 201, must(t, s, "POST", "/entries"+query, "k2", rent).status)
		assert.Equal(t, 201, must(t, s, "POST", "/entries"+query, "", rent).status)
		assert.Equal(t, 201, must(t, s, "POST", "/entries"+query, "", rent).status)
		assert.Equal(t, "e1", must(t, s, "GET", "/entries?key=k", "", "").entry.ID)
		for range 2 {
			assert.Equal(t, 200, must(t, s, "DELETE", "/entries/e1"+query, "v", "").status)
		}
		assert.Equal(t, map[string]int{"k": 2, "v": 1}, s.Stats().Duplicates)
		assert.Equal(t, 3, s.Duplicates())
		assert.Equal(t, 6, s.Stats().Effects)
		assert.Equal(t, 2, s.Stats().Voids)
	}
}

// Of requests with one key that come at once, one has the effect.
func TestManyAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	s := start(t, Options{File: file})
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 32 {
		all.Go(func() {
			a, err := ask(t, s.URL(), "POST", "/entries", fmt.Sprint("k", i%4), rent)
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	all.Wait()
	assert.Equal(t, map[int]int{201: 4, 200: 28}, statuses)
	effects, err := ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, s.Effects(), effects)
}

func TestFileIsTakenUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	s, err := New(Options{File: file})
	require.NoError(t, err)
	must(t, s, "POST", "/entries", "k", rent)
	must(t, s, "DELETE", "/entries/e1", "v", "")
	must(t, s, "POST", "/entries?mode=raw", "k", rent)
	before := s.Effects()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())

	// A process that was killed in the middle of a line.
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"seq":4,"kind":"po`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	effects, err := ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, before, effects)
	assert.Equal(t, map[string]int{"k": 1}, Duplicates(effects))

	s = start(t, Options{File: file})
	assert.Equal(t, before, s.Effects())
	assert.Equal(t, 200, must(t, s, "POST", "/entries", "k", rent).status)
	assert.Equal(t, "e4", must(t, s, "POST", "/entries", "k4", rent).entry.ID)
	effects, err = ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, s.Effects(), effects)
}

func TestFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"no JSON":  "x\n",
		"a gap":    `{"seq":2,"kind":"post","id":"e2"}` + "\n",
		"no kind":  `{"seq":1,"id":"e1"}` + "\n",
		"no entry": `{"seq":1,"kind":"void","id":"e1"}` + "\n",
		"twice":    `{"seq":1,"kind":"post","id":"e1"}` + "\n" + `{"seq":2,"kind":"post","id":"e1"}` + "\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadFile(path)
		assert.Error(t, err, name)
		_, err = New(Options{File: path})
		assert.Error(t, err, name)
	}
	_, err := ReadFile(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = New(Options{File: dir})
	require.Error(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	assert.Error(t, Serve(l, Options{Faults: []Fault{{Trouble: "x"}}}))
}

// TestRestore: the ledger is as it was, and what was there counts as it did.
func TestRestore(t *testing.T) {
	s := start(t, Options{Raw: true})
	must(t, s, "POST", "/entries", "k", rent)
	then := s.Effects()
	must(t, s, "POST", "/entries", "k2", rent)
	require.NoError(t, s.Restore(then))
	assert.Equal(t, then, s.Effects())
	assert.Equal(t, 404, must(t, s, "GET", "/entries?key=k2", "", "").status)
	assert.Equal(t, "e2", must(t, s, "POST", "/entries", "k", rent).entry.ID)
	assert.Equal(t, 1, s.Duplicates())
	require.Error(t, s.Restore([]Effect{{Seq: 2, Kind: Post, ID: "e2"}}), "a gap")
	kept := start(t, Options{File: filepath.Join(t.TempDir(), "ledger")})
	require.Error(t, kept.Restore(nil), "its file would not be")
}
