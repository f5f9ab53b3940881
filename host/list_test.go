package host

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/axishost/axishost/store/memstore"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noon is when the tasks of these tests begin.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// put puts the list entry of a task into a log, whose id has a time and ends with last.
func put(t *testing.T, log store.Log, at time.Time, last, phase string) string {
	index, err := cbor.Marshal(listed{Created: at.UnixMicro(), Recipe: "boxed", Model: "m", Task: "count"})
	require.NoError(t, err)
	id := strings.TrimSuffix(firstID(at), "0") + last
	a := store.Append{Task: id, Records: [][]byte{{1}}, Index: index, Label: phase}
	require.NoError(t, log.Commit(t.Context(), store.Commit{Appends: []store.Append{a}}))
	return id
}

// TestQuery: each way to select tasks, at its bounds, and together.
func TestQuery(t *testing.T) {
	log := memstore.New()
	ms := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Millisecond) }
	a := put(t, log, ms(0), "0", "succeeded") // the first id of its time
	b := put(t, log, ms(1), "1", "planning")
	c := put(t, log, ms(1), "2", "failed")
	d := put(t, log, ms(2), "z", "succeeded")
	e := put(t, log, noon.Add(time.Hour), "1", "cancelled")
	all := []string{a, b, c, d, e}
	for name, q := range map[string]struct {
		Query
		want []string
	}{
		"all":                       {Query{}, all},
		"since is inclusive":        {Query{Since: ms(1)}, all[1:]},
		"until is exclusive":        {Query{Until: ms(1)}, all[:1]},
		"within one millisecond":    {Query{Since: ms(1), Until: ms(2)}, []string{b, c}},
		"empty time":                {Query{Since: ms(1), Until: ms(1)}, nil},
		"backwards":                 {Query{Since: ms(2), Until: ms(1)}, nil},
		"before all":                {Query{Until: noon}, nil},
		"after all":                 {Query{Since: noon.Add(2 * time.Hour)}, nil},
		"before ids began":          {Query{Since: time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)}, all},
		"until before ids began":    {Query{Until: time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		"after ids end":             {Query{Since: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		"until after ids end":       {Query{Until: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, all},
		"another zone":              {Query{Since: ms(1).In(time.FixedZone("x", 3600))}, all[1:]},
		"one phase":                 {Query{Phases: []string{"succeeded"}}, []string{a, d}},
		"two phases":                {Query{Phases: []string{"failed", "cancelled"}}, []string{c, e}},
		"no such phase":             {Query{Phases: []string{"happy"}}, nil},
		"last of all":               {Query{Last: 2}, []string{d, e}},
		"last is more than all":     {Query{Last: 9}, all},
		"prefix":                    {Query{Prefix: b}, []string{b}},
		"prefix of two":             {Query{Prefix: b[:len(b)-1]}, []string{b, c}},
		"no such prefix":            {Query{Prefix: "zz"}, nil},
		"phase and time":            {Query{Phases: []string{"succeeded"}, Since: ms(1)}, []string{d}},
		"last of a phase":           {Query{Phases: []string{"succeeded"}, Last: 1}, []string{d}},
		"last of a time":            {Query{Until: ms(2), Last: 1}, []string{c}},
		"prefix, phase, time, last": {Query{Prefix: "01", Phases: []string{"succeeded", "planning"}, Since: noon, Until: ms(3), Last: 2}, []string{b, d}},
	} {
		t.Run(name, func(t *testing.T) {
			tasks, err := shared(t, log, nil, nil).List(t.Context(), q.Query)
			require.NoError(t, err)
			var got []string
			for _, task := range tasks {
				got = append(got, task.ID)
			}
			assert.Equal(t, q.want, got)
		})
	}
}

// TestSummaryOfAnEntry: every field, and who runs the task.
func TestSummaryOfAnEntry(t *testing.T) {
	log, runners := memstore.New(), newRunners()
	id := put(t, log, noon, "1", "executing")
	other := put(t, log, noon, "2", "partial")
	end, err := runners.Begin(t.Context(), id)
	require.NoError(t, err)
	h := shared(t, log, runners, nil)
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	want := Summary{ID: id, Phase: "executing", Created: Timestamp(noon.UnixMicro()), Recipe: "boxed", Model: "m", Task: "count", Process: 7}
	assert.Equal(t, want, tasks[0])
	assert.Equal(t, other, tasks[1].ID)
	assert.Zero(t, tasks[1].Process)
	assert.False(t, tasks[0].Ended())
	assert.True(t, tasks[1].Ended())
	assert.False(t, tasks[1].Waits)
	end()
	found, err := h.Find(t.Context(), id)
	require.NoError(t, err)
	assert.Zero(t, found.Process)
}

// TestSummaryOfATaskThatWaits: by its phase, where nobody runs it. One that is being cancelled and cannot be read does not.
func TestSummaryOfATaskThatWaits(t *testing.T) {
	log, runners := memstore.New(), newRunners()
	waits := put(t, log, noon, "1", "awaiting_outcome")
	put(t, log, noon, "2", "cancelling")
	h := shared(t, log, runners, nil)
	tasks, err := h.List(t.Context(), Query{})
	require.NoError(t, err)
	assert.True(t, tasks[0].Waits)
	assert.False(t, tasks[1].Waits)
	end, err := runners.Begin(t.Context(), waits)
	require.NoError(t, err)
	defer end()
	run, err := h.Find(t.Context(), waits)
	require.NoError(t, err)
	assert.False(t, run.Waits)
}

// TestCut: a text is cut at a rune's border, and what is not UTF-8 is left out of a cut one.
func TestCut(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", ""},
		"as long as may":  {strings.Repeat("a", maxListed), strings.Repeat("a", maxListed)},
		"one longer":      {strings.Repeat("a", maxListed+1), strings.Repeat("a", maxListed-3) + "…"},
		"two-byte runes":  {strings.Repeat("é", 200), strings.Repeat("é", 126) + "…"},
		"three-byte":      {strings.Repeat("語", 100), strings.Repeat("語", 84) + "…"},
		"four-byte":       {strings.Repeat("😀", 100), strings.Repeat("😀", 63) + "…"},
		"at the border":   {strings.Repeat("a", 252) + "😀" + "aaaa", strings.Repeat("a", 252) + "…"},
		"not UTF-8":       {"a\xff" + strings.Repeat("b", 300), "a" + strings.Repeat("b", 251) + "…"},
		"continuations":   {strings.Repeat("\x80", 300), "…"},
		"a half at a cut": {strings.Repeat("a", 251) + "\xf0\x9f" + strings.Repeat("b", 50), strings.Repeat("a", 251) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := cut(c.text)
			assert.Equal(t, c.want, got)
			assert.LessOrEqual(t, len(got), maxListed)
			assert.True(t, utf8.ValidString(got))
		})
	}
}

// TestListingOfATask: the entry that a run writes is that of its text.
func TestListingOfATask(t *testing.T) {
	sub := bare()
	sub.Goal = strings.Repeat("語", 100)
	h := open(t, newLog(t), &fakeModel{replies: []any{says("four")}}, Events{})
	r, err := h.Run(t.Context(), sub)
	require.NoError(t, err)
	s, err := h.Find(t.Context(), "LAST")
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("語", 84)+"…", s.Task)
	assert.Equal(t, "fake", s.Model)
	assert.Empty(t, s.Recipe)
	created := history(t, h, r.Task)[0]
	assert.Equal(t, event.TypeTaskCreated, created.Payload.Type())
	assert.Equal(t, Timestamp(created.Time), s.Created)
}

// TestFindByName: an id, the start of one in any case, or the newest.
func TestFindByName(t *testing.T) {
	log := memstore.New()
	h := shared(t, log, nil, nil)
	_, err := h.Find(t.Context(), "last")
	require.ErrorIs(t, err, ErrNoTask)
	a := put(t, log, noon, "1", "failed")
	b := put(t, log, noon, "2", "planning")
	c := put(t, log, noon.Add(time.Hour), "3", "failed")
	for name, want := range map[string]string{
		a: a, b: b, c: c, strings.ToUpper(a): a, c[:10]: c, strings.ToUpper(c[:10]): c, "last": c, "Last": c,
	} {
		s, err := h.Find(t.Context(), name)
		require.NoError(t, err, name)
		assert.Equal(t, want, s.ID)
	}
	for _, name := range []string{"", "zz", a + "0", " ", "las", "%", "\xff"} {
		_, err := h.Find(t.Context(), name)
		require.ErrorIs(t, err, ErrNoTask, "%q", name)
	}
	_, err = h.Find(t.Context(), strings.ToUpper(a[:len(a)-1]))
	require.ErrorIs(t, err, ErrAmbiguous)
	assert.Contains(t, err.Error(), a)
	assert.Contains(t, err.Error(), b)
	_, err = h.Find(t.Context(), a[:3])
	require.ErrorIs(t, err, ErrAmbiguous)
}

// TestTimestamp: all digits are there always, in UTC.
func TestTimestamp(t *testing.T) {
	assert.Equal(t, `"2026-07-01T12:00:00.000000Z"`, toJSON(t, Timestamp(1782907200000000)))
}
