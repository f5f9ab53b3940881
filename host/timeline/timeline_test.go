package timeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTimeline runs testdata: "tell" takes events, a line each, as TYPE AT [step=N] [attempt=N] PAYLOAD, with AT in
// milliseconds, and prints what the timeline tells: kind, label and text of each line. "outcome" prints that, and
// "questions" what a person has to find out.
func TestTimeline(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		told, seq := New(), uint64(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "tell":
				for line := range strings.Lines(d.Input) {
					seq++
					for _, l := range told.Event(parse(t, seq, line)) {
						fmt.Fprintf(&out, "%-7s %-8s| %s\n", [...]string{"plain", "detail", "notice", "end", "routine"}[l.Kind], l.Label, l.Text)
						assert.LessOrEqual(t, len(l.Label), 8)
						assert.Equal(t, -1, strings.IndexFunc(l.Text, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", l.Text)
					}
				}
			case "outcome":
				fmt.Fprintf(&out, "%+v\n", told.Outcome())
			case "questions":
				for _, q := range told.Questions() {
					fmt.Fprintf(&out, "%+v\n", q)
				}
			default:
				d.Fatalf(t, "there is no command %s", d.Cmd)
			}
			return out.String()
		})
	})
}

// parse reads an event of testdata through the codec of the log.
func parse(t *testing.T, seq uint64, line string) *event.Event {
	t.Helper()
	var kind, payload string
	var at, step, attempt int64
	kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	first, rest, _ := strings.Cut(rest, " ")
	_, err := fmt.Sscan(first, &at)
	require.NoError(t, err, line)
	if payload = rest; strings.HasPrefix(rest, "step=") {
		first, payload, _ = strings.Cut(rest, " ")
		_, err = fmt.Sscanf(first, "step=%d", &step)
		require.NoError(t, err, line)
	}
	if strings.HasPrefix(payload, "attempt=") {
		first, payload, _ = strings.Cut(payload, " ")
		_, err = fmt.Sscanf(first, "attempt=%d", &attempt)
		require.NoError(t, err, line)
	}
	if payload == "" {
		payload = "{}"
	}
	p := event.New(event.Type(kind))
	require.NotNil(t, p, line)
	dec := json.NewDecoder(strings.NewReader(payload))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(p), line)
	record, err := event.Encode(&event.Event{
		Version: event.Newest, Time: at * 1000, Actor: event.Actor{Kind: event.ActorHost}, Step: step, Attempt: attempt, Payload: p,
	})
	require.NoError(t, err, line)
	e, err := event.Decode("01task", seq, record)
	require.NoError(t, err, line)
	return e
}

func TestDuration(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0 ms", 999: "0 ms", 1_000: "1 ms", 999_999: "999 ms", 1_000_000: "1.0 s", 59_940_000: "59.9 s",
		60_000_000: "1m0s", 3_723_400_000: "1h2m3s",
	} {
		assert.Equal(t, want, duration(micros))
	}
}

func TestShowBoundsAndEscapes(t *testing.T) {
	assert.Equal(t, `one line \x1b[2J\u202e`, show(" one\n\tline \x1b[2J\u202e "))
	long := show(strings.Repeat("ä", 1000))
	assert.LessOrEqual(t, len(long), maxText+len("…"))
	assert.True(t, strings.HasSuffix(long, "ä…"), long)
}
