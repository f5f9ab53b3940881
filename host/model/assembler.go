package model

import (
	"fmt"
	"slices"
	"strings"
)

// maxToolCalls bounds the calls of one reply: each costs the endpoint few bytes and the host much work.
const maxToolCalls = 1024

// finishLength is the finish reason of a reply that was cut by a token limit.
const finishLength = "length"

// assembler builds a reply from its pieces. The zero value is ready. It repairs nothing: what pieces say is
// put together, even where the result is no JSON.
type assembler struct {
	started   bool // a choice was seen
	choice    int
	content   strings.Builder
	refusal   strings.Builder
	reasoning strings.Builder
	calls     []*partialCall
	current   *partialCall // the call that the last piece belonged to
	finish    string
	model     string
	usage     Usage
}

func (a *assembler) add(c chunk) error {
	if a.model == "" {
		a.model = string(c.Model)
	}
	if c.Usage != nil {
		a.report(Usage{PromptTokens: tokens(c.Usage.Prompt), CompletionTokens: tokens(c.Usage.Completion), Reported: true})
	}
	for _, choice := range c.Choices {
		if !a.started {
			a.started, a.choice = true, choice.Index.n
		}
		if choice.Index.n != a.choice {
			continue // one choice is asked for, so others are not ours
		}
		piece := choice.Delta
		if piece == nil && a.bare() {
			piece = choice.Message.indexed()
		}
		if piece != nil {
			if err := a.addDelta(*piece); err != nil {
				return err
			}
		}
		// A second finish is mostly a gateway's own "stop". That the reply was cut must survive it.
		if reason := string(choice.FinishReason); reason != "" && (a.finish == "" || reason == finishLength) {
			a.finish = reason
		}
	}
	return nil
}

// report takes the newest numbers: they are totals, and endpoints repeat them. Zeros say nothing.
func (a *assembler) report(u Usage) {
	if u.PromptTokens > 0 || u.CompletionTokens > 0 || !a.usage.Reported {
		a.usage = u
	}
}

func (a *assembler) bare() bool {
	return a.content.Len() == 0 && a.reasoning.Len() == 0 && len(a.calls) == 0
}

func (a *assembler) addDelta(d delta) error {
	a.content.WriteString(string(d.Content))
	a.refusal.WriteString(string(d.Refusal))
	if d.ReasoningContent != "" {
		a.reasoning.WriteString(string(d.ReasoningContent)) // the same text may come under both names
	} else {
		a.reasoning.WriteString(string(d.Reasoning))
	}
	for _, piece := range d.ToolCalls {
		if err := a.addCall(piece); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) addCall(d callDelta) error {
	call := a.find(d)
	if call == nil {
		if len(a.calls) == maxToolCalls {
			return fmt.Errorf("the reply has more than %d tool calls", maxToolCalls)
		}
		call = &partialCall{displaced: a.at(d.Index) != nil}
		a.calls = append(a.calls, call)
	}
	call.add(d)
	a.current = call
	return nil
}

// find is the call that a piece continues, or nil where it begins one. Endpoints leave out, repeat and mix up
// both id and index, so: a known id wins; a new id begins a call, even on an occupied index; a piece with
// neither continues the current call. A piece that names another tool begins a call; so does one that names
// the same tool after a whole call, where the endpoint gives no ids. (Where it does, the piece repeats what was
// said, and a second call would run the tool twice.)
func (a *assembler) find(d callDelta) *partialCall {
	id, name := string(d.ID), string(d.Function.Name)
	if id != "" {
		if call := a.byID(id); call != nil && !a.reused(call, d) {
			return call
		}
	}
	call := a.at(d.Index)
	if !d.Index.set {
		call = a.current
	}
	switch {
	case call == nil:
		// The gateway that begins a second call on the index of the first goes on with the index it should
		// have had.
		if id == "" && name == "" && a.current != nil && a.current.displaced {
			return a.current
		}
		return nil
	case id != "" && call.id != "":
		return nil
	case name != "" && call.name != "" && (name != call.name || call.id == "" && call.arguments.whole()):
		return nil
	}
	return call
}

// reused tells that a piece with a known id begins another call all the same: some endpoints give all calls
// of a reply one id. It has an index of its own that no call has, says its name, and the call is whole.
func (a *assembler) reused(call *partialCall, d callDelta) bool {
	return d.Index.set && a.at(d.Index) == nil && call.index != d.Index && string(d.Function.Name) != "" && call.arguments.whole()
}

func (a *assembler) byID(id string) *partialCall {
	for _, call := range slices.Backward(a.calls) {
		if call.id == id {
			return call
		}
	}
	return nil
}

// at is the newest call at an index.
func (a *assembler) at(index ordinal) *partialCall {
	if !index.set {
		return nil
	}
	for i := len(a.calls) - 1; i >= 0; i-- {
		if a.calls[i].index == index {
			return a.calls[i]
		}
	}
	return nil
}

func (a *assembler) progress() Progress {
	return Progress{ContentBytes: a.content.Len(), ReasoningBytes: a.reasoning.Len(), ToolCalls: len(a.calls)}
}

// reply is the whole reply. A reply that only refuses has the refusal as its content.
func (a *assembler) reply() *Reply {
	m := Message{Role: RoleAssistant, Content: mend(a.content.String()), Reasoning: mend(a.reasoning.String())}
	if m.Content == "" {
		m.Content = mend(a.refusal.String())
	}
	for _, call := range a.calls {
		c := ToolCall{ID: mend(call.id), Name: mend(call.name), Arguments: mend(call.arguments.String())}
		if c.ID == "" && c.Name == "" && len(m.ToolCalls) > 0 {
			// A call without id and name is the second entry of the one before: its arguments, maybe again.
			before := &m.ToolCalls[len(m.ToolCalls)-1]
			if before.Arguments == "" || before.Arguments == c.Arguments {
				before.Arguments = c.Arguments
				continue
			}
		}
		m.ToolCalls = append(m.ToolCalls, c)
	}
	finish := a.finish
	switch {
	case finish != "":
	case len(m.ToolCalls) > 0:
		finish = "tool_calls"
	default:
		finish = "stop"
	}
	return &Reply{Message: m, FinishReason: finish, Usage: a.usage, Model: a.model}
}

// partialCall is a call whose pieces are still coming.
type partialCall struct {
	index     ordinal
	id, name  string
	arguments object
	displaced bool // it began on an index that another call had
}

func (c *partialCall) add(d callDelta) {
	if d.Index.set && d.Index != c.index {
		c.displaced = c.displaced && !c.index.set
		c.index = d.Index
	}
	if c.id == "" {
		c.id = string(d.ID)
	}
	if c.name == "" {
		c.name = string(d.Function.Name)
	}
	c.arguments.write(string(d.Function.Arguments))
}

// object is text that should become a JSON object. It knows at any time whether it is a whole one, without
// reading its text again for every piece.
type object struct {
	strings.Builder
	depth             int
	inString, escaped bool
	closed            bool // the outermost bracket was closed
}

func (o *object) write(s string) {
	o.WriteString(s)
	for i := range len(s) {
		switch b := s[i]; {
		case o.escaped:
			o.escaped = false
		case o.inString:
			o.escaped = b == '\\'
			o.inString = b != '"'
		case b == '"':
			o.inString = true
		case b == '{' || b == '[':
			o.depth++
		case b == '}' || b == ']':
			o.depth--
			o.closed = o.depth == 0
		}
	}
}

func (o *object) whole() bool { return o.closed && o.depth == 0 }
