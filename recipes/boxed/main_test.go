package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func TestManifest(t *testing.T) {
	section, err := os.ReadFile("axis.json")
	require.NoError(t, err)
	m, err := abi.ParseManifest(section)
	require.NoError(t, err)
	for _, hook := range abi.Hooks() {
		registered := guest.Stub{}.Invoke(hook.Name, `{}`).Code != abi.CodeUnsupported
		assert.Equal(t, m.HasHook(hook.Name), registered, "hook %s: declared and registered must be the same", hook.Name)
	}
}

func TestDirectFinal(t *testing.T) {
	tests := []struct {
		name, reply string
		code        abi.Code
		answer      string
	}{
		{"plain", `So \boxed{391}.`, abi.CodeDecided, "391"},
		{"last wins", `\boxed{ a } \boxed{b{c}d}`, abi.CodeDecided, "b{c}d"},
		{"trimmed", "\\boxed{\n 42\t}", abi.CodeDecided, "42"},
		{"nested", `\boxed{\frac{1}{2}}`, abi.CodeDecided, `\frac{1}{2}`},
		{"box in a box", `\boxed{\boxed{1}}`, abi.CodeDecided, `\boxed{1}`},
		{"escaped braces", `\boxed{\{1, 2\}} and more}`, abi.CodeDecided, `\{1, 2\}`},
		{"escaped backslash", `\boxed{a\\} b`, abi.CodeDecided, `a\\`},
		{"not closed", `\boxed{a{b} and so on`, abi.CodeDecided, "a{b} and so on"},
		{"not closed, nothing", `\boxed{`, abi.CodeDecided, ""},
		{"not closed takes a later box", `\boxed{a \boxed{b}`, abi.CodeDecided, `a \boxed{b}`},
		{"backslash at the end", `\boxed{a\`, abi.CodeDecided, `a\`},
		{"space before the brace", "\\boxed \n{7}", abi.CodeDecided, "7"},
		{"later box without a brace", `\boxed{z} tail \boxed`, abi.CodeDecided, "z"},
		{"other word", `\boxedx{y}`, abi.CodeNoDecision, ""},
		{"no box", `The answer is 391.`, abi.CodeNoDecision, ""},
		{"box without a brace", `\boxed 5`, abi.CodeNoDecision, ""},
		{"empty reply", ``, abi.CodeNoDecision, ""},
		{"empty", `\boxed{}`, abi.CodeDecided, ""},
		{"spaces", `\boxed{  }`, abi.CodeDecided, ""},
		{"question mark", `\boxed{?}`, abi.CodeDecided, ""},
		{"two", `\boxed{??}`, abi.CodeDecided, ""},
		{"three", `\boxed{???}`, abi.CodeDecided, ""},
		{"four", `\boxed{????}`, abi.CodeDecided, "????"},
		{"wide question mark", `\boxed{？}`, abi.CodeDecided, ""},
		{"wide ellipsis", `\boxed{……}`, abi.CodeDecided, ""},
		{"ellipsis", `\boxed{…}`, abi.CodeDecided, ""},
		{"dots", `\boxed{...}`, abi.CodeDecided, ""},
		{"unknown", `\boxed{unknown}`, abi.CodeDecided, ""},
		{"compared before trimming", `\boxed{ ? }`, abi.CodeDecided, "?"},
		{"compared with case", `\boxed{Unknown}`, abi.CodeDecided, "Unknown"},
		{"none after an answer", `\boxed{5} or rather \boxed{?}`, abi.CodeDecided, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := guest.Stub{}.Invoke(abi.HookDirectFinal, test.reply)
			assert.Equal(t, guest.Outcome{Code: test.code, Output: test.answer}, got)
		})
	}
}

// keywords asks a hook about a reply. It gives the keywords of a decision, and whether there was one.
func keywords(t *testing.T, hook abi.Hook, reply string) (words []string, decided bool) {
	t.Helper()
	got := guest.Stub{}.Invoke(hook, reply)
	require.GreaterOrEqual(t, got.Code, abi.CodeNoDecision, got.Error)
	if got.Code == abi.CodeNoDecision {
		return nil, false
	}
	var out abi.FormatError
	require.NoError(t, json.Unmarshal([]byte(got.Output), &out))
	assert.Empty(t, out.Strategy, "the configuration decides")
	return out.Keywords, true
}

func TestRefusal(t *testing.T) {
	tests := []struct {
		name, reply string
		want        []string // nil: no decision
	}{
		{"English", "I'm sorry, but I can't help you.", []string{"i'm sorry, but i can't"}},
		{"two phrases", "I'm sorry, but I cannot help with that.", []string{"i'm sorry, but i cannot", "i cannot help with"}},
		{"same phrase twice", "I cannot assist with x, nor I CANNOT ASSIST WITH y", []string{"i cannot assist with"}},
		{"opening without its ending", "I'm sorry, I'm sorry, I can't", []string{"i'm sorry, i can't"}},
		{"any case", "I CANNOT ASSIST WITH this", []string{"i cannot assist with"}},
		{"curly apostrophe", "I’m sorry, but I can’t do it", []string{"i'm sorry, but i can't"}},
		{"gives up", "Due to time constraints I stop here.", []string{"due to time constraint"}},
		{"Chinese", "很抱歉，我无法回答这个问题。", []string{"抱歉,我无法"}},
		{"Chinese, narrow comma", "抱歉,我不能这样做", []string{"抱歉,我不能"}},
		{"Chinese, traditional", "對不起，我無法回答", []string{"對不起,我無法"}},
		{"Chinese, gives up", "由于时间限制，我到此为止", []string{"由于时间限制"}},
		{"with an answer", `I'm sorry, but I can't be more exact: \boxed{3.14}`, []string{}},
		{"answer without a refusal", `\boxed{3.14}`, []string{}},
		{"with a box that is none", `I'm sorry, but I can't tell. \boxed{?}`, []string{"i'm sorry, but i can't"}},
		{"polite", "I'm sorry for the delay. The answer is 5.", nil},
		{"about time", "The time constraint of the problem is 5 s.", nil},
		{"can't in mathematics", "We can't divide by zero, so x is not 1.", nil},
		{"Chinese, ordinary", "这个方程无法化简，所以保留原式。", nil},
		{"empty", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, decided := keywords(t, abi.HookRefusal, test.reply)
			assert.Equal(t, test.want != nil, decided)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestEveryRefusalIsFound(t *testing.T) {
	for _, p := range refusals {
		for _, opening := range p.openings {
			for _, ending := range p.endings {
				found, _ := refusal("So, " + opening + ending)
				assert.Contains(t, found, opening+ending, "this can never be found")
			}
		}
	}
}

func TestFormatError(t *testing.T) {
	json := []string{bareCall}
	tests := []struct {
		name, reply string
		want        []string // nil: no decision
	}{
		{"tags", `<tool_call>{"name": "calc"}</tool_call>`, []string{"<tool_call>", "</tool_call>"}},
		{"closing tag alone", `17*23 </tool_call>`, []string{"</tool_call>"}},
		{"function", "<function=calc>\n<parameter=expression>1</parameter>", []string{"<function="}},
		{"fence", "Let me see.\n```tool_call\ncalc(1)\n```", []string{"```tool_call"}},
		{"Kimi", "<|tool_call_begin|>functions.calc:0", []string{"<|tool_call_begin|>"}},
		{"Kimi, section", "<|tool_calls_section_begin|>", []string{"<|tool_calls_section_begin|>"}},
		{"DeepSeek", "<｜tool▁calls▁begin｜>", []string{"<｜tool▁calls▁begin｜>"}},
		{"Mistral", `[TOOL_CALLS] [{"name": "calc", "arguments": {}}]`, []string{"[TOOL_CALLS]"}},
		{"with an answer", `<tool_call>{}</tool_call> I guess \boxed{5}`, []string{"<tool_call>", "</tool_call>"}},
		{"code span", "A call stands between `<tool_call>` and `</tool_call>`.", []string{}},
		{"wider code span", "Write `<tool_call>{…}</tool_call>` for it.", []string{}},
		{"quotation marks", `It begins with "<tool_call>" here, or “<function=name>” there.`, []string{}},
		{"Chinese quotation marks", "标签「<tool_call>」表示调用", []string{}},
		{"quoted and real", "As `<tool_call>` says:\n<tool_call>", []string{"<tool_call>"}},
		{"mark not closed", `"<tool_call>`, []string{"<tool_call>"}},
		{"mark closed on another line", "'<tool_call>\n'", []string{"<tool_call>"}},
		{"code span before it", "Use `calc`: <tool_call>{}", []string{"<tool_call>"}},
		{"JSON", `{"name": "calc", "arguments": {"expression": "17*23"}}`, json},
		{"JSON, arguments as text", `{"name": "calc", "arguments": "{\"expression\": \"1\"}"}`, json},
		{"JSON, other order", `{"arguments": {"a": "}"}, "name": "calc"}`, json},
		{"JSON, typed", `{"type": "function", "id": "c\"1", "name": "calc", "arguments": {}}`, json},
		{"JSON, wrapped", `{"tool_calls": [{"name": "calc", "arguments": {}}]}`, json},
		{"JSON, several", `[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]`, json},
		{"JSON, several lines", "{\"name\": \"a\", \"arguments\": {}}\n{\"name\": \"b\", \"arguments\": {}}", json},
		{"JSON after prose", "I will compute it.\n{\"name\": \"calc\", \"arguments\": {}}", json},
		{"JSON in a fence", "```json\n{\"name\": \"calc\", \"arguments\": {}}\n```\n", json},
		{"JSON cut off", `{"name": "calc", "arguments": {"expression": "17*(23"`, json},
		{"JSON with prose after it", `A call {"name": "calc", "arguments": {}} has two fields.`, nil},
		{"JSON, shown and then meant", `Like {"name": "a", "arguments": {}} so: {"name": "b", "arguments": {}}`, json},
		{"JSON in a code span", "Write `{\"name\": \"calc\", \"arguments\": {}}`", nil},
		{"JSON with an answer", `\boxed{5} {"name": "calc", "arguments": {}}`, nil},
		{"other JSON", `{"name": "Ada", "born": 1815}`, nil},
		{"arguments without a name", `{"arguments": {"a": 1}}`, nil},
		{"arguments as a list", `{"name": "debate", "arguments": ["for", "against"]}`, nil},
		{"broken JSON", `{"name" "calc", "arguments": {}}`, nil},
		{"prose", `The function has two "arguments" in {braces}.`, nil},
		{"empty", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, decided := keywords(t, abi.HookFormatError, test.reply)
			assert.Equal(t, test.want != nil, decided)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestFinalOutput(t *testing.T) {
	tests := []struct {
		name     string
		messages []abi.Message
		code     abi.Code
		answer   string
	}{
		{"box in the last reply", []abi.Message{
			{Role: "assistant", Content: `\boxed{1}`}, {Role: "user", Content: "now"}, {Role: "assistant", Content: `\boxed{2}`},
		}, abi.CodeDecided, "2"},
		{"blank reply", []abi.Message{
			{Role: "assistant", Content: `\boxed{1}`}, {Role: "assistant", Content: " "},
		}, abi.CodeDecided, "1"},
		{"no box", []abi.Message{
			{Role: "assistant", Content: `\boxed{1}`}, {Role: "assistant", Content: "two"},
		}, abi.CodeNoDecision, ""},
		{"box that is none", []abi.Message{{Role: "assistant", Content: `\boxed{?}`}}, abi.CodeNoDecision, ""},
		{"no reply", []abi.Message{{Role: "user", Content: `\boxed{1}`}}, abi.CodeNoDecision, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			input, err := json.Marshal(abi.FinalInput{Messages: test.messages})
			require.NoError(t, err)
			got := guest.Stub{}.Invoke(abi.HookFinalOutput, string(input))
			assert.Equal(t, guest.Outcome{Code: test.code, Output: test.answer}, got)
		})
	}
}

// BenchmarkHooks measures one reply of 1 KiB. The hooks stand on the path of every reply.
func BenchmarkHooks(b *testing.B) {
	reply := strings.Repeat("We compute 17 * 23 step by step, and it’s 391. ", 1024/48) + `\boxed{391}`
	for _, hook := range []abi.Hook{abi.HookDirectFinal, abi.HookRefusal, abi.HookFormatError} {
		b.Run(string(hook), func(b *testing.B) {
			for b.Loop() {
				guest.Stub{}.Invoke(hook, reply)
			}
		})
	}
	b.Run("no answer", func(b *testing.B) {
		for b.Loop() {
			guest.Stub{}.Invoke(abi.HookRefusal, reply[:1000])
		}
	})
}
