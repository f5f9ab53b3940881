package conv

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestVectors runs the recorded conversations of the reference: those in testdata/vectors, and those of the
// files that the glob in AXIS_VECTORS names (.jsonl or .jsonl.gz).
func TestVectors(t *testing.T) {
	files := []string{"testdata/vectors/conversation.jsonl.gz"}
	if pattern, set := os.LookupEnv("AXIS_VECTORS"); set {
		more, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, more, "AXIS_VECTORS=%s matches no file", pattern)
		files = append(files, more...)
	}
	for _, file := range files {
		cases := readVectors(t, file)
		require.NotEmpty(t, cases, "%s holds no case", file)
		for _, c := range cases {
			t.Run(c.ID, func(t *testing.T) { runVector(t, c) })
		}
		t.Logf("%s: %d cases", file, len(cases))
	}
}

type vector struct {
	ID, Category, Runtime string
	Hooks                 struct {
		Prefix *string `json:"direct_final_prefix"`
		Prompt *bool   `json:"prompt_for_final"`
	}
	Config map[string]json.RawMessage
	Env    struct {
		MaxOutputTokens int64           `json:"max_output_tokens"`
		Estimator       string          `json:"estimator"`
		Additive        bool            `json:"estimator_is_additive"`
		IncludesTools   bool            `json:"estimator_includes_tools"`
		Preflight       bool            `json:"preflight_enabled"`
		Tools           json.RawMessage `json:"tools"`
		ToolsText       string          `json:"tools_probe_text"`
		SkipPrompted    bool            `json:"skip_prompted_final_response"`
		SkipTurns       bool            `json:"skip_turn_limit_final_response"`
	}
	Ops    []vectorOp
	Expect []vectorExpect
}

type vectorMessage struct {
	Role       string
	Content    *string
	Reasoning  *string `json:"reasoning_content"`
	Name       *string
	ToolCallID *string          `json:"tool_call_id"`
	ToolCalls  []vectorWireCall `json:"tool_calls"`
}

type vectorWireCall struct {
	ID       string
	Function struct {
		Name      string
		Arguments string
	}
}

type vectorOp struct {
	Op           string
	Task         string
	Content      *string
	FinishReason string  `json:"finish_reason"`
	Reasoning    *string `json:"reasoning_content"`
	ToolCalls    []struct {
		ID, Name  string
		Arguments json.RawMessage
	} `json:"tool_calls"`
	Results []struct {
		ID, Name, Content string
		Role              string
	}
	Exhausted   bool     `json:"tools_exhausted"`
	Rejected    []string `json:"rejected_call_ids"`
	InputTokens int64    `json:"input_tokens"`
	Reason      string
	ErrorInfo   json.RawMessage `json:"error_info"`
	Name        *string
	Message     vectorMessage
	Value       *int64
}

type vectorExpect struct {
	New   []vectorMessage
	State struct {
		Stage, Action string
		Turns         int64
		Rollbacks     int64
		Trigger       *string
		HasPrompt     bool   `json:"has_prompt"`
		MaxTurns      *int64 `json:"max_turns"`
		Pending       []string
		RawCount      int `json:"raw_count"`
		Visible       []any
		Tokens        struct {
			Raw, Est int64
			Ratio    float64
		}
	}
	Step *struct {
		Stage, Action string
		Appended      []int
		VisibleCount  int `json:"visible_count"`
		FullCount     int `json:"full_count"`
		Info          map[string]any
	}
	Null  bool
	Error *struct {
		Type    string
		Mutated bool
	}
}

func readVectors(t *testing.T, path string) []vector {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		in, err = gzip.NewReader(f)
		require.NoError(t, err)
	}
	var cases []vector
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c vector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c), "%s, line %d", path, len(cases)+1)
		require.Len(t, c.Expect, len(c.Ops), c.ID)
		cases = append(cases, c)
	}
	require.NoError(t, lines.Err())
	return cases
}

// referenceConfig gives the reference's defaults, and this project's own keys at the values that it has.
func referenceConfig(runtime string) Config {
	c := DefaultConfig()
	system := "You are a helpful agent."
	c.SystemPrompt, c.MaxTurns = &system, nil
	c.FinalPromptOnce, c.StrictTurnLimit, c.ProtectTask, c.AggregateRejected = false, false, false, true
	c.ContextLimit.SpareAnswers = false
	c.FormatError.MaxReprompts = 0
	if runtime == "web_search" {
		c.FormatError.Strategy = StrategyIgnore
		c.Rollback = RollbackConfig{
			RefusalKeywords: []string{"time constraint", "I'm sorry, but I can't", "I'm sorry, I cannot solve"}, MaxRollbacks: 4,
		}
		c.KeepCalls, c.KeepToolResults = true, 5
	}
	return c
}

func (c *vector) state(t *testing.T) *State {
	config := referenceConfig(c.Runtime)
	raw, err := json.Marshal(c.Config)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &config))
	config.SilentFinal = c.Env.SkipPrompted || c.Env.SkipTurns
	env := Environment{
		MaxOutputTokens: c.Env.MaxOutputTokens, Preflight: c.Env.Preflight, Additive: c.Env.Additive,
		IncludesTools: c.Env.IncludesTools, Estimator: estimators[c.Env.Estimator],
	}
	if string(c.Env.Tools) != "[]" && string(c.Env.Tools) != "null" && len(c.Env.Tools) > 0 {
		env.ToolsText = c.Env.ToolsText
	}
	require.NotNil(t, env.Estimator, c.Env.Estimator)
	return New(config, env)
}

type estimate func(lengths []int64) int64

func (f estimate) Estimate(messages iter.Seq[*event.Message]) int64 {
	var lengths []int64
	for m := range messages {
		lengths = append(lengths, int64(utf8.RuneCountInString(m.Content)))
	}
	return f(lengths)
}

func sum(lengths []int64) int64 {
	total := int64(0)
	for _, n := range lengths {
		total += n
	}
	return total
}

var estimators = map[string]Estimator{
	"sum_len": estimate(sum),
	"sum_overhead": estimate(func(lengths []int64) int64 {
		total := int64(0)
		for _, n := range lengths {
			total += 4 + (n+2)/3
		}
		return total
	}),
	"join_div4": estimate(func(lengths []int64) int64 {
		return max(1, (sum(lengths)+int64(max(0, len(lengths)-1)))/4)
	}),
	"total_div3": estimate(func(lengths []int64) int64 { return sum(lengths) / 3 }),
}

func runVector(t *testing.T, c vector) {
	s := c.state(t)
	for i, op := range c.Ops {
		want := c.Expect[i]
		next, d, err := c.apply(s, op)
		where := fmt.Sprintf("case %s (%s), operation %d %s", c.ID, c.Category, i, op.Op)
		if want.Error != nil {
			require.Error(t, err, where)
			if want.Error.Mutated {
				return // the reference left itself half-changed; here nothing changed
			}
		} else {
			require.NoError(t, err, where)
		}
		grown := len(next.full) - len(s.full)
		if diff := cmp.Diff(want.describe(), describe(next, d, grown, &c)); diff != "" {
			t.Fatalf("%s (-reference +here):\n%s", where, diff)
		}
		s = next
	}
}

// apply performs an operation on a copy, so that what it appended can be told.
func (c *vector) apply(s *State, op vectorOp) (*State, *Decision, error) {
	switch op.Op {
	case "clone":
		return s.Clone(), nil, nil
	case "rebuild":
		return s.Rebuild(), nil, nil
	case "observe_stale":
		return s, nil, nil
	}
	next := s.Clone()
	d, err := Decide(next, c.operation(op))
	if err != nil || d == nil {
		before, after := *s.Clone(), *next.Clone()
		before.env, after.env = Environment{}, Environment{} // holds functions
		if !reflect.DeepEqual(before, after) {
			return next, nil, fmt.Errorf("a refused operation left a trace")
		}
		return next, nil, err
	}
	for _, p := range d.Events {
		if err := Evolve(next, p); err != nil {
			return nil, nil, err
		}
	}
	switch op.Op {
	case "observe", "reset_counter", "marker", "append", "reopen", "set_max_turns", "reset":
		return next, nil, nil // the reference gives no step for these
	}
	return next, d, nil
}
