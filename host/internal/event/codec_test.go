package event

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files of types that have none; a released one is never changed")

// sample gives an event with every element of the envelope set.
func sample(p Payload) *Event {
	return &Event{
		Version: V1, Task: "01t", Seq: 9, Time: 1_700_000_000_000_000, Actor: Actor{Kind: ActorTool, ID: "calc"},
		Cause: 8, Step: 1, Attempt: 2, Principal: "ada", Args: strings.Repeat("0f", 32), Evidence: []uint64{3, 400},
		Payload: p,
	}
}

// golden writes a record for people: its bytes, what they are in CBOR's diagnostic notation, the payload in JSON.
func golden(t *testing.T, e *Event, record []byte) string {
	envelope, rest, err := cbor.DiagnoseFirst(record)
	require.NoError(t, err)
	payload, err := cbor.Diagnose(rest)
	require.NoError(t, err)
	text, err := EncodeJSON(e.Payload)
	require.NoError(t, err)
	return strings.Join([]string{hex.EncodeToString(record), envelope, payload, string(text), ""}, "\n")
}

// TestGolden: what V1 writes never changes, and reads back as it was.
func TestGolden(t *testing.T) {
	seen := requireGolden(t, V1, samples())
	assert.Len(t, seen, len(types)-1, "a type without a sample")
}

// TestGoldenV2: the same, for the types that V2 changed. The others are as in V1 but for the number.
func TestGoldenV2(t *testing.T) { requireGolden(t, V2, samplesV2()) }

// TestFieldsOfLaterVersions: a record of V1 has none of the fields that V2 added, whoever wrote it.
func TestFieldsOfLaterVersions(t *testing.T) {
	for _, p := range samplesV2() {
		e := sample(p)
		_, err := Encode(e)
		require.ErrorContains(t, err, "fields of version 2")
		e.Version = V2
		record, err := Encode(e)
		require.NoError(t, err)
		record[1] = byte(V1)
		_, err = Decode("01t", 9, record)
		require.ErrorContains(t, err, "event 9 of task 01t, "+string(p.Type())+": it has version 1, and fields of version 2")
	}
}

func requireGolden(t *testing.T, version Version, samples []Payload) map[Type]bool {
	seen, files := map[Type]bool{}, map[string]bool{}
	dir := filepath.Join("testdata", fmt.Sprintf("v%d", version))
	for _, p := range samples {
		name := string(p.Type())
		if seen[p.Type()] {
			name += "Compensates" // the second way in which a task begins
		}
		seen[p.Type()], files[name] = true, true
		t.Run(name, func(t *testing.T) {
			e := sample(p)
			e.Version = version
			record, err := Encode(e)
			require.NoError(t, err)
			path := filepath.Join(dir, name+".txt")
			if _, err := os.Stat(path); os.IsNotExist(err) && *update {
				require.NoError(t, os.WriteFile(path, []byte(golden(t, e, record)), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run with -update to add the golden file of a new type")
			assert.Equal(t, string(want), golden(t, e, record))
			first, _, _ := strings.Cut(string(want), "\n")
			stored, err := hex.DecodeString(first)
			require.NoError(t, err)
			back, err := Decode("01t", 9, stored)
			require.NoError(t, err)
			assert.Equal(t, e, back)
		})
	}
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, found, len(files), "a golden file without its type")
	return seen
}

// TestRoundTrip: whatever an event holds, it reads back as it was; an element of the envelope that is not
// there takes no byte, and nor does a field that is empty.
func TestRoundTrip(t *testing.T) {
	generators := []*rapid.Generator[Payload]{
		of[TaskCreated](), of[MessageAppended](), of[Decided](), of[ModelRequested](), of[ModelReplied](), of[ToolRequested](),
		of[RecipeConsulted](), of[ToolSucceeded](), of[TaskPartial](), of[PlanProposed](), of[ApprovalRequested](),
		of[ApprovalGranted](), of[HostOperation](), of[BudgetExhausted](), of[CancelRequested](), of[CancelAcknowledged](),
		of[TaskBlocked](), of[ModelFailed](), of[Claimed](), of[LeaseAcquired](), of[RetryScheduled](), of[ToolStarted](),
		of[CompensationStarted](), of[CompensationSucceeded](), of[CompensationFailed](),
	}
	rapid.Check(t, func(t *rapid.T) {
		e := &Event{
			Version: Newest, Task: "t", Seq: 1, Time: rapid.Int64().Draw(t, "time"), Cause: rapid.Uint64().Draw(t, "cause"),
			Actor: Actor{Kind: rapid.SampledFrom(actorKinds[1:]).Draw(t, "kind"), ID: text().Draw(t, "id")},
			Step:  rapid.Int64Min(0).Draw(t, "step"), Attempt: rapid.Int64Min(0).Draw(t, "attempt"),
			Principal: text().Draw(t, "principal"), Evidence: rapid.SliceOf(rapid.Uint64()).Draw(t, "evidence"),
			Payload: rapid.OneOf(generators...).Draw(t, "payload"),
		}
		if rapid.Bool().Draw(t, "args") {
			e.Args = hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		}
		record, err := Encode(e)
		require.NoError(t, err)
		back, err := Decode("t", 1, record)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(e, back, cmpopts.EquateEmpty()))
		again, err := Encode(back)
		require.NoError(t, err)
		require.Equal(t, record, again)
		for n := range record {
			_, err := Decode("t", 1, record[:n])
			require.Error(t, err, "cut off after %d bytes of %d", n, len(record))
		}
	})
}

func of[T any, P interface {
	*T
	Payload
}]() *rapid.Generator[Payload] {
	return rapid.Map(rapid.Make[T](), func(v T) Payload { return P(&v) })
}

// text is any string, text or not.
func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

// TestEmptyPayloads: an event of every type of which nothing is known but that it happened.
func TestEmptyPayloads(t *testing.T) {
	for _, kind := range types[1:] {
		e := &Event{Version: Newest, Task: "t", Seq: 1, Actor: Actor{Kind: ActorHost}, Payload: New(kind.name)}
		require.Equal(t, kind.name, e.Payload.Type())
		record, err := Encode(e)
		require.NoError(t, err)
		back, err := Decode("t", 1, record)
		require.NoError(t, err)
		assert.Equal(t, e, back)
	}
	assert.Nil(t, New("Nonsense"))
}

// TestInvalidTextSurvives: a model's bytes are kept, whatever they are.
func TestInvalidTextSurvives(t *testing.T) {
	e := sample(&ModelReplied{Message: Message{Content: "a\xff\xfe\xc3(\x00b"}})
	e.Actor.ID = "\xff"
	record, err := Encode(e)
	require.NoError(t, err)
	back, err := Decode("01t", 9, record)
	require.NoError(t, err)
	assert.Equal(t, e, back)
}

func TestSmallestRecord(t *testing.T) {
	record, err := Encode(&Event{Version: V1, Time: 1, Actor: Actor{Kind: ActorHost}, Payload: &ToolStarted{}})
	require.NoError(t, err)
	assert.Equal(t, "840111010 2a0", hex.EncodeToString(record)[:9]+" "+hex.EncodeToString(record)[9:])
}

// TestDecodeRefuses: what is not exactly a record is refused, with task, number and what is wrong.
func TestDecodeRefuses(t *testing.T) {
	nested := strings.Repeat("81", 40) + "80"
	for name, c := range map[string]struct{ record, want string }{
		"nothing":                  {"", "event 3 of task t: the record ends within the envelope"},
		"not a record":             {hex.EncodeToString([]byte(`{"v":1}`)), "an element of the envelope has CBOR type 3, not 4"},
		"newer version":            {"84031903e80102a0", "event 3 of task t: it has version 3, and this axishost reads up to 2"},
		"version 0":                {"8400181a0102a0", "version 0 is none"},
		"unknown type":             {"8401183c0102a0", "it has type 60, which version 1 does not have"},
		"type 0":                   {"8401000102a0", "it has type 0"},
		"unknown kind of actor":    {"840111010 9a0", "its actor has kind 9"},
		"short envelope":           {"83011101a0", "the envelope has 3 elements"},
		"long envelope":            {"8c01110102000000606040800 0a0", "the envelope has 12 elements"},
		"empty last element":       {"850111010200a0", "ends with an element that is empty"},
		"digest of another length": {"8a011101020101016161606142a0", "an element of the envelope has CBOR type 3, not 2"},
		"short digest":             {"8a0111010201010161616161420102a0", "a digest of arguments has 2 bytes"},
		"evidence without end":     {"8b01110102010101616161615820" + strings.Repeat("00", 32) + "9b7fffffffffffffffa0", "the record ends within the envelope"},
		"indefinite envelope":      {"9f01110102ffa0", "no definite length"},
		"longer form of a number":  {"8401181101 02a0", "not in its shortest form"},
		"time too large":           {"8401111bffffffffffffffff02a0", "is too large"},
		"no payload":               {"8401110102", "event 3 of task t, ToolStarted: the payload is not a map"},
		"payload no map":           {"84011101 02f6", "the payload is not a map"},
		"trailing bytes":           {"8401110102a000", "ToolStarted: cbor: 1 bytes of extraneous data"},
		"unknown field":            {"8401110102a1186301", "ToolStarted: cbor: found unknown field at map element index 0"},
		"unknown field by name":    {"8401110102a1686170 70726f76616c01", "unknown field"},
		"a field twice":            {"8401110102a201010102", "duplicate map key"},
		"indefinite map":           {"8401110102bf0101ff", "indefinite-length map isn't allowed"},
		"indefinite string":        {"8401181a0102a1017f6161ff", "indefinite-length"},
		"undefined":                {"8401110102a101f7", "simple value 23 is not recognized"},
		"a float":                  {"8401110102a101f93c00", "cannot unmarshal primitives"},
		"tag":                      {"8401110102a101c101", "CBOR tag isn't allowed"},
		"cut off":                  {"8401181a0102a1016561", "unexpected EOF"},
		"length beyond the end":    {"8401181a0102a1017bffffffffffffffff", "cbor"},
		"list without end":         {"84010a0102a1029affffffff", "exceeded max number of elements"},
		"deep nesting":             {"84010a0102a102" + nested, "exceeded max nested level 16"},
		"stage without a number":   {"84010a0102a102811818", "it has stage 24, which this version does not have"},
		"stage by its name":        {"84010a0102a1028173" + hex.EncodeToString([]byte("assistant_completed")), "is not written by its number"},
		"stage that is a map":      {"84010a0102a10281a0", "CBOR type 5, not 0"},
		"bytes for text":           {"8401181a0102a101426161", "cannot unmarshal byte string"},
		"text for bytes":           {"8401010102a1056161", "cannot unmarshal UTF-8 text string"},
	} {
		t.Run(name, func(t *testing.T) {
			record, err := hex.DecodeString(strings.ReplaceAll(c.record, " ", ""))
			require.NoError(t, err)
			_, err = Decode("t", 3, record)
			require.ErrorContains(t, err, c.want)
			assert.Contains(t, err.Error(), "event 3 of task t")
		})
	}
	newer, _ := hex.DecodeString("84031903e80102a0")
	_, err := Decode("t", 3, newer)
	require.ErrorIs(t, err, ErrVersion)
}

func TestEncodeRefuses(t *testing.T) {
	for want, change := range map[string]func(*Event){
		"version 3 cannot be written": func(e *Event) { e.Version = 3 },
		`actor of kind "ghost"`:       func(e *Event) { e.Actor.Kind = "ghost" },
		"step -1":                     func(e *Event) { e.Step = -1 },
		`digest of arguments "AB"`:    func(e *Event) { e.Args = "AB" },
	} {
		e := sample(&TaskFailed{})
		change(e)
		_, err := Encode(e)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "event 9 of task 01t, TaskFailed")
	}
}

func FuzzDecode(f *testing.F) {
	for _, p := range samples() {
		record, err := Encode(sample(p))
		require.NoError(f, err)
		f.Add(record)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		e, err := Decode("t", 1, record)
		if err != nil {
			return
		}
		again, err := Encode(e)
		require.NoError(t, err, "what was read cannot be written")
		back, err := Decode("t", 1, again)
		require.NoError(t, err)
		require.Equal(t, e.Payload.Type(), back.Payload.Type())
		third, err := Encode(back)
		require.NoError(t, err)
		require.Equal(t, again, third)
	})
}
