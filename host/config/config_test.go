package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/axishost/axishost/abi"
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMergeOfNothingIsTheDefault(t *testing.T) {
	got, err := Merge()
	require.NoError(t, err)
	assert.Equal(t, Default(), got)
}

func TestMergeOrder(t *testing.T) {
	got, err := Merge(
		fromYAML(t, "manifest", `conversation: {max_turns: 11, max_goal_retries: 12, system_prompt: of the manifest,
			format_error: {keywords: [a, b], max_reprompts: 13}}`),
		fromYAML(t, "file", `{conversation: {max_turns: 21, format_error: {keywords: [c]}}, model: {name: m, base_url: u},
			tools: {lookup: {table: {x: y}, deep: {a: 1}}}, recipe: {list: [1, 2]}}`),
		fromYAML(t, "environment", `{conversation: {max_turns: 31}, tools: {lookup: {deep: {b: 2}}}, recipe: {list: [3]}}`),
		fromYAML(t, "flags", `{conversation: {max_turns: null}, model: {name: n}}`),
	)
	require.NoError(t, err)
	want := Default()
	want.Model = Model{Name: "n", BaseURL: "u"}
	prompt := "of the manifest"
	want.Task.Conversation.SystemPrompt = &prompt
	want.Task.Conversation.MaxTurns = nil
	want.Task.Conversation.MaxGoalRetries = 12
	want.Task.Conversation.FormatError.Keywords = []string{"c"} // lists replace
	want.Task.Conversation.FormatError.MaxReprompts = 13        // maps merge
	want.Task.Tools = map[string]map[string]any{
		"lookup": {"table": map[string]any{"x": "y"}, "deep": map[string]any{"a": 1.0, "b": 2.0}},
	}
	want.Task.Recipe = map[string]any{"list": []any{3.0}}
	assert.Equal(t, want, got)
}

func TestKeysCanBeSet(t *testing.T) {
	assert.IsIncreasing(t, Keys())
	assert.Contains(t, Keys(), "conversation.max_turns")
	assert.Contains(t, Keys(), "model.name")
	assert.Contains(t, Keys(), "tools.")
	assert.NotContains(t, Keys(), "conversation")
}

func TestMergeLeavesItsSourcesAlone(t *testing.T) {
	a := fromYAML(t, "a", `recipe: {deep: {x: 1}}`)
	_, err := Merge(a, fromYAML(t, "b", `recipe: {deep: {x: 2, y: 3}}`))
	require.NoError(t, err)
	assert.Equal(t, fromYAML(t, "a", `recipe: {deep: {x: 1}}`), a)
}

func TestAnEmptySectionTakesNothingAway(t *testing.T) {
	got, err := Merge(
		fromYAML(t, "a", `conversation: {max_turns: 5, format_error: {max_reprompts: 6}}`),
		fromYAML(t, "b", "conversation:\nlimits:\nrecipe:\ntools:\nmodel:"),
		fromYAML(t, "c", `conversation: {format_error: null}`),
	)
	require.NoError(t, err)
	assert.Equal(t, int64(5), *got.Task.Conversation.MaxTurns)
	assert.Equal(t, int64(6), got.Task.Conversation.FormatError.MaxReprompts)
	assert.Equal(t, Default().Task.Limits, got.Task.Limits)
}

func TestMergeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ yaml, want string }{
		"unknown":              {`conversation: {max_turn: 3}`, "f: unknown key conversation.max_turn; did you mean conversation.max_turns?"},
		"unknown section":      {`conversaton: {max_turns: 3}`, "f: unknown key conversaton; did you mean conversation?"},
		"in another section":   {`max_turns: 3`, "f: unknown key max_turns; did you mean conversation.max_turns?"},
		"typo and misplaced":   {`limits: {max_tuns: 3}`, "f: unknown key limits.max_tuns; did you mean conversation.max_turns?"},
		"that forges a line":   {`"a\nb: c\e": 3`, `f: unknown key "a\nb: c\x1b"`},
		"far from any":         {`limits: {colour: 3}`, "f: unknown key limits.colour"},
		"API key":              {`model: {api_key: sk-1}`, "f: unknown key model.api_key; an API key is taken from OPENAI_API_KEY only, and never stored"},
		"empty":                {`"": 3`, `f: unknown key ""`},
		"not served":           {`budget: {tokens: 3}`, "f: key budget is not served by this version of axishost; remove it"},
		"text for a number":    {`conversation: {max_turns: many}`, `f: conversation.max_turns must be a whole number or null; it is the text "many"`},
		"fraction":             {`limits: {parallel_tools: 1.5}`, "f: limits.parallel_tools must be a whole number; it is 1.5"},
		"too large":            {`limits: {parallel_tools: 18446744073709551615}`, "f: limits.parallel_tools must be a whole number; it is 18446744073709551615"},
		"null for a number":    {`limits: {parallel_tools: null}`, "f: limits.parallel_tools must be a whole number; it is null"},
		"number for a text":    {`model: {name: 4}`, "f: model.name must be a text; it is 4"},
		"null for a text":      {`model: {name: null}`, "f: model.name must be a text; it is null"},
		"text for a truth":     {`conversation: {strict_turn_limit: "yes"}`, `f: conversation.strict_turn_limit must be true or false; it is the text "yes"`},
		"text for a list":      {`conversation: {format_error: {keywords: a}}`, `f: conversation.format_error.keywords must be a list of texts; it is the text "a"`},
		"list of numbers":      {`conversation: {format_error: {keywords: [a, 2]}}`, "f: conversation.format_error.keywords[1] must be a text; it is 2"},
		"list for a map":       {`conversation: [a]`, "f: conversation must be a map; it is a list"},
		"map for a number":     {`conversation: {max_turns: {a: b}}`, "f: conversation.max_turns must be a whole number or null; it is a map"},
		"tool without a map":   {`tools: {calc: 5}`, "f: tools.calc must be a map; it is 5"},
		"no JSON number":       {`recipe: {x: [.nan]}`, "f: recipe.x must be made of what JSON has: it holds a key that is no text, or a number without a value"},
		"out of bounds":        {`conversation: {max_turns: 0}`, "f: conversation.max_turns must be null or at least 1; it is 0"},
		"bad template":         {`conversation: {user_prompt_template: "{x}"}`, `f: conversation.user_prompt_template: "{x}": only {task} may stand in braces; write {{ and }} for braces`},
		"bad choice":           {`conversation: {format_error: {strategy: cry}}`, `f: conversation.format_error.strategy "cry" must be ignore, reprompt or rollback`},
		"several":              {`{limits: {model_retries: -1, parallel_tools: 0}}`, "f: limits.parallel_tools must be 1 to 64; it is 0\nf: limits.model_retries must be 0 to 100; it is -1"},
		"several wrong things": {`{x: 1, model: {name: 2}}`, "f: model.name must be a text; it is 2\nf: unknown key x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Merge(fromYAML(t, "g", `conversation: {max_turns: 5}`), fromYAML(t, "f", test.yaml))
			assert.EqualError(t, err, test.want)
		})
	}
}

// TestAProblemIsPlacedWhereTheValueCameFrom: the last source that set the key is the one to mend.
func TestAProblemIsPlacedWhereTheValueCameFrom(t *testing.T) {
	_, err := Merge(
		fromYAML(t, "first", `limits: {parallel_tools: 0, model_retries: -1}`),
		fromYAML(t, "second", `limits: {parallel_tools: 99}`),
	)
	assert.EqualError(t, err, "second: limits.parallel_tools must be 1 to 64; it is 99\nfirst: limits.model_retries must be 0 to 100; it is -1")
}

func TestForeignTextInErrorsIsBounded(t *testing.T) {
	long := string(make([]byte, 1<<20))
	_, err := Merge(Source{Name: "f", Tree: map[string]any{long: 1, "model": map[string]any{"name": []any{long}}}})
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 1000)
	_, err = Merge(Source{Name: "f", Tree: map[string]any{"conversation": map[string]any{"max_turns": long}}})
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 1000)
}

// TestManyProblemsAreCutShort: nobody reads 6,800 of them, and looking for what each might have meant takes seconds.
func TestManyProblemsAreCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		tree map[string]any
		want string
	}{
		"unknown keys":    {many(6_800, "oops%d", 1), "f: unknown key oops10"},
		"below a section": {map[string]any{"conversation": many(6_800, "max_turns%d", 1)}, "f: unknown key conversation.max_turns10; did you mean conversation.max_turns?"},
		"wrong values":    {map[string]any{"tools": many(6_800, "tool%d", 1)}, "f: tools.tool10 must be a map; it is 1"},
		"wrong items":     {map[string]any{"conversation": map[string]any{"format_error": map[string]any{"keywords": make([]any, 6_800)}}}, "f: conversation.format_error.keywords[2] must be a text; it is null"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Merge(Source{Name: "e", Tree: map[string]any{}}, Source{Name: "f", Tree: c.tree}, Source{Name: "g", Tree: map[string]any{"oops": 1}})
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, maxProblems+1)
			assert.Equal(t, c.want, lines[2])
			assert.Equal(t, "and 6781 more", lines[maxProblems])
		})
	}
	_, err := Merge(Source{Name: "f", Tree: many(maxProblems, "oops%d", 1)})
	assert.Len(t, strings.Split(err.Error(), "\n"), maxProblems)
}

// many is a map of n keys with a value each.
func many(n int, key string, value any) map[string]any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprintf(key, i)] = value
	}
	return m
}

func TestPlainAndWhole(t *testing.T) {
	assert.True(t, plain([]any{nil, "a", true, 1, int64(2), uint64(3), 4.5, map[string]any{"x": []any{}}}))
	assert.False(t, plain(math.Inf(-1)))
	assert.False(t, plain(map[string]any{"x": map[any]any{1: 2}}))
	assert.False(t, plain(struct{}{}))
	assert.True(t, whole(float64(1<<53)))
	assert.False(t, whole(1e300))
	assert.False(t, whole("1"))
}

func TestFromManifest(t *testing.T) {
	s, err := FromManifest(&abi.Manifest{Name: "boxed", Conversation: json.RawMessage(`{"max_turns": 3}`)})
	require.NoError(t, err)
	assert.Equal(t, "manifest of boxed", s.Name)
	got, err := Merge(s)
	require.NoError(t, err)
	assert.Equal(t, int64(3), *got.Task.Conversation.MaxTurns)

	s, err = FromManifest(&abi.Manifest{Name: "plain"})
	require.NoError(t, err)
	assert.Empty(t, s.Tree)

	_, err = FromManifest(&abi.Manifest{Name: "list", Conversation: json.RawMessage(`[]`)})
	assert.ErrorContains(t, err, "manifest of list: conversation: ")
}

// TestEveryKeyHasAVariable: a variable for each key that holds a value, and each value is wanted as it is.
func TestEveryKeyHasAVariable(t *testing.T) {
	sources, err := FromEnvironment([]string{
		"AXISHOST_CONVERSATION_MAX_TURNS=7", "AXISHOST_CONVERSATION_SYSTEM_PROMPT=Note: # be brief",
		"AXISHOST_CONVERSATION_EARLY_STOP_ANNOUNCEMENT_PROMPT=null", "AXISHOST_CONVERSATION_FINAL_RESPONSE_PROMPT=5",
		"AXISHOST_CONVERSATION_FORMAT_ERROR_KEYWORDS=[a, b]", "AXISHOST_CONVERSATION_STRICT_TURN_LIMIT=false",
		"AXISHOST_LIMITS_PARALLEL_TOOLS=2", "AXISHOST_MODEL_NAME=null", "OPENAI_BASE_URL=http://h/v1",
		"AXISHOST_STORE=/s", "AXISHOST_CONFIG=/c", "AXISHOST_CACHE=/k", "AXISHOST_KEY_FILE=/f", "AXISHOST_STORE_WAIT=5s", "PATH=/bin", "AXISHOST_NOT_SET=",
	}, yamlValue)
	require.NoError(t, err)
	got, err := Merge(sources...)
	require.NoError(t, err)
	c := got.Task.Conversation
	assert.Equal(t, int64(7), *c.MaxTurns)
	assert.Equal(t, "Note: # be brief", *c.SystemPrompt)
	assert.Nil(t, c.EarlyStopPrompt)
	assert.Equal(t, "5", *c.FinalResponsePrompt)
	assert.Equal(t, []string{"a", "b"}, c.FormatError.Keywords)
	assert.False(t, c.StrictTurnLimit)
	assert.Equal(t, int64(2), got.Task.Limits.ParallelTools)
	assert.Equal(t, Model{Name: "null", BaseURL: "http://h/v1"}, got.Model)
}

func TestOwnVariablesGoOverThoseOfOpenAI(t *testing.T) {
	sources, err := FromEnvironment([]string{"OPENAI_MODEL=theirs", "AXISHOST_MODEL_NAME=ours", "OPENAI_API_KEY=secret"}, yamlValue)
	require.NoError(t, err)
	got, err := Merge(sources...)
	require.NoError(t, err)
	assert.Equal(t, "ours", got.Model.Name)
}

func TestFromEnvironmentRefuses(t *testing.T) {
	for pair, want := range map[string]string{
		"AXISHOST_MODEL=m":                       "environment: unknown variable AXISHOST_MODEL; did you mean AXISHOST_MODEL_BASE_URL?",
		"AXISHOST_MODEL_API_KEY=sk-1":            "environment: unknown variable AXISHOST_MODEL_API_KEY; an API key is taken from OPENAI_API_KEY only, and never stored",
		"AXISHOST_VERBOSE=1":                     "environment: unknown variable AXISHOST_VERBOSE",
		"AXISHOST_STOR=/s":                       "environment: unknown variable AXISHOST_STOR; did you mean AXISHOST_STORE?",
		"AXISHOST_CONVERSATION_MAX_TURN=1":       "environment: unknown variable AXISHOST_CONVERSATION_MAX_TURN; did you mean AXISHOST_CONVERSATION_MAX_TURNS?",
		"AXISHOST_ENTIRELY_OF_ITS_OWN=1":         "environment: unknown variable AXISHOST_ENTIRELY_OF_ITS_OWN",
		"AXISHOST_CONVERSATION_MAX_TURNS=broken": "AXISHOST_CONVERSATION_MAX_TURNS: no value",
	} {
		_, err := FromEnvironment([]string{pair}, yamlValue)
		assert.EqualError(t, err, want)
	}
	sources, err := FromEnvironment([]string{"AXISHOST_LIMITS_PARALLEL_TOOLS=[1]"}, yamlValue)
	require.NoError(t, err)
	_, err = Merge(sources...)
	assert.EqualError(t, err, "AXISHOST_LIMITS_PARALLEL_TOOLS: limits.parallel_tools must be a whole number; it is a list")
}

func TestFromAssignments(t *testing.T) {
	s, err := FromAssignments("--set", []string{
		"conversation.max_turns=3", "conversation.max_turns=4", "model.name=a=b", "model.base_url=",
		"conversation.system_prompt=null", "recipe.deep.x=[1, {y: z}]", "recipe.deep.text=5 apples",
	}, yamlValue)
	require.NoError(t, err)
	got, err := Merge(s)
	require.NoError(t, err)
	assert.Equal(t, int64(4), *got.Task.Conversation.MaxTurns)
	assert.Equal(t, Model{Name: "a=b"}, got.Model)
	assert.Nil(t, got.Task.Conversation.SystemPrompt)
	assert.Equal(t, map[string]any{"deep": map[string]any{"x": []any{1.0, map[string]any{"y": "z"}}, "text": "5 apples"}}, got.Task.Recipe)

	for assignment, want := range map[string]string{
		"conversation.max_turns":        `--set "conversation.max_turns" must be key=value, such as conversation.max_turns=20`,
		"=5":                            `--set "=5" must be key=value, such as conversation.max_turns=20`,
		"conversation.max_turns=broken": "--set conversation.max_turns: no value",
	} {
		_, err := FromAssignments("--set", []string{assignment}, yamlValue)
		assert.EqualError(t, err, want)
	}
	for assignment, want := range map[string]string{
		"model=m":        `--set: model must be a map; it is the text "m"`,
		"model.name.x=m": "--set: model.name must be a text; it is a map",
		"a..b=1":         "--set: unknown key a",
	} {
		s, err := FromAssignments("--set", []string{assignment}, yamlValue)
		require.NoError(t, err)
		_, err = Merge(s)
		assert.EqualError(t, err, want)
	}
}

func fromYAML(t *testing.T, name, text string) Source {
	t.Helper()
	s := Source{Name: name}
	require.NoError(t, yaml.Unmarshal([]byte(text), &s.Tree))
	return s
}

// yamlValue reads a value as the command line does.
func yamlValue(text string) (any, error) {
	var v any
	if text == "broken" {
		return nil, errors.New("no value")
	}
	err := yaml.Unmarshal([]byte(text), &v)
	return v, err
}
