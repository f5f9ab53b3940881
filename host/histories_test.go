package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var record = flag.Bool("record", false, "record the histories that are not there yet")

const histories = "testdata/histories"

// folded is what the fold over a history gives.
type folded struct {
	Phase    string `json:"phase"`
	Answer   string `json:"answer,omitempty"`
	Verified string `json:"verified,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Stop     string `json:"stop,omitempty"`
	Events   int    `json:"events"`
	Visible  int    `json:"visible"`
	Prompt   string `json:"prompt"`
}

// TestHistories: what was ever recorded is read, folded to the same state, and written again to the same bytes.
func TestHistories(t *testing.T) {
	if *record {
		recordHistories(t)
	}
	files, err := filepath.Glob(histories + "/*/*.log")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), len(recordings()), "a history was deleted, or was not recorded yet (-record)")
	seen := map[event.Type]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".log"), func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(file, ".log") + ".json")
			require.NoError(t, err)
			state, records := replay(t, file, seen)
			assert.JSONEq(t, string(want), string(expectation(t, state, records)))
		})
	}
	for version, recordings := range map[string][]recording{"v1": recordingsV1(), "v2": recordingsV2()} {
		for _, r := range recordings {
			assert.FileExists(t, filepath.Join(histories, version, r.name+".log"))
		}
	}
	for _, kind := range []event.Type{
		event.TypeRollbackMarked, event.TypeMarkerAppended, event.TypeFinalizationForced, event.TypeRetryScheduled, event.TypeModelFailed,
		event.TypeToolFailed, event.TypeStepDenied, event.TypeGoalRejected, event.TypeGoalVerified, event.TypeTaskSucceeded,
		event.TypeTaskPartial, event.TypeTaskFailed, event.TypeToolUnknown, event.TypeOperationFound, event.TypeOperationAbsent,
		event.TypeReconcileStarted, event.TypeReconcileInconclusive, event.TypeHostOperation, event.TypePluginRejected, event.TypeTaskCancelled, event.TypeCancelAcknowledged, event.TypePromptObserved,
		event.TypeCompensationStarted, event.TypeCompensationSucceeded, event.TypeCompensationFailed,
	} {
		assert.True(t, seen[kind], "no history has %s", kind)
	}
}

// replay folds a history, record by record.
func replay(t *testing.T, file string, seen map[event.Type]bool) (*core.State, int) {
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	task, state, n := "", core.New(), 0
	for line := range strings.Lines(string(b)) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch first {
		case "#":
		case "task":
			task = rest
		default:
			n++
			require.Equal(t, fmt.Sprint(n), first)
			data, err := hex.DecodeString(rest)
			require.NoError(t, err)
			e, err := event.Decode(task, uint64(n), data)
			require.NoError(t, err)
			again, err := event.Encode(e)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, again), "event %d (%s) is written otherwise today", n, e.Payload.Type())
			require.NoError(t, core.Evolve(state, e))
			seen[e.Payload.Type()] = true
		}
	}
	return state, n
}

func expectation(t *testing.T, state *core.State, records int) []byte {
	out := folded{Phase: string(state.Phase()), Events: records, Visible: state.Conversation().Len()}
	if o := state.Outcome(); o != nil {
		out.Answer, out.Verified, out.Reason = o.Answer, o.Verified, o.Reason
	}
	if stop := state.Stop(); stop != nil {
		out.Stop = string(stop.Kind) + ": " + stop.Reason
	}
	prompt, err := event.EncodeJSON(state.Prompt(nil))
	require.NoError(t, err)
	sum := sha256.Sum256(prompt)
	out.Prompt = hex.EncodeToString(sum[:])
	b, err := json.MarshalIndent(out, "", "  ")
	require.NoError(t, err)
	return append(b, '\n')
}

func recordHistories(t *testing.T) {
	dir := filepath.Join(histories, fmt.Sprintf("v%d", event.Newest))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, r := range recordingsV2() {
		path := filepath.Join(dir, r.name)
		if _, err := os.Stat(path + ".log"); err == nil {
			continue
		}
		log := newLog(t)
		r.run(t, log)
		heads, err := log.List(t.Context(), store.Query{Before: sideLog})
		require.NoError(t, err)
		require.Len(t, heads, 1)
		records, err := log.Read(t.Context(), heads[0].Task, 0, 0)
		require.NoError(t, err)
		var b bytes.Buffer
		fmt.Fprintf(&b, "# %s\ntask %s\n", r.shows, heads[0].Task)
		for _, record := range records {
			fmt.Fprintf(&b, "%d %x\n", record.Seq, record.Data)
		}
		require.NoError(t, os.WriteFile(path+".log", b.Bytes(), 0o644))
		state, n := replay(t, path+".log", map[event.Type]bool{})
		require.NoError(t, os.WriteFile(path+".json", expectation(t, state, n), 0o644))
	}
}
