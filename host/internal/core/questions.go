package core

import (
	"encoding/json"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
)

const hookStart = string(abi.HookStart)

// Question is one hook to be asked, with its input.
type Question struct {
	Hook  abi.Hook
	Input []byte
}

func hasHook(created *event.TaskCreated, hook string) bool {
	return created.Recipe != nil && slices.Contains(created.Recipe.Hooks, hook)
}

// NextQuestions gives the hooks that a ConsultRecipe has still to ask, after answers: none when it is done.
// What verify is asked depends on what the other hooks said, so they come in rounds.
func NextQuestions(s *State, answers []event.Answer) []Question {
	switch {
	case s.created == nil || s.outcome != nil:
		return nil
	case s.conv.Stage() == conv.NotInitialized:
		if answered(answers, abi.HookStart) != nil {
			return nil
		}
		config, _ := json.Marshal(s.config.Recipe) // came from JSON
		return []Question{{abi.HookStart, encode(abi.StartInput{Task: s.created.Goal, Config: config})}}
	case s.reply == nil:
		return nil
	}
	return Questions(s, s.reply, answers)
}

// Questions gives the hooks to be asked of a reply, after answers.
func Questions(s *State, reply *event.ModelReplied, answers []event.Answer) []Question {
	var out []Question
	for _, hook := range conv.TextHooks(s.conv, &reply.Message, reply.FinishReason) {
		if hasHook(s.created, string(hook)) && answered(answers, hook) == nil {
			out = append(out, Question{hook, []byte(reply.Message.Content)})
		}
	}
	if len(out) > 0 {
		return out
	}
	decision, err := conv.Decide(s.conv, replyOp(reply, 0, answers, false))
	if err != nil || !completes(decision) {
		return nil
	}
	if decision.Info.DirectAnswer == nil && s.wants(abi.HookFinalOutput, answers) {
		return []Question{{abi.HookFinalOutput, encode(abi.FinalInput{Messages: s.messages(&reply.Message)})}}
	}
	if answer, _ := finalAnswer(decision, reply, answers); answer != "" && s.wants(abi.HookVerify, answers) {
		evidence := s.evidence
		if evidence == nil {
			evidence = []abi.Evidence{}
		}
		return []Question{{abi.HookVerify, encode(abi.VerifyInput{Task: s.created.Goal, Answer: answer, Evidence: evidence})}}
	}
	return nil
}

// wants tells whether the recipe has a hook that was not asked yet.
func (s *State) wants(hook abi.Hook, answers []event.Answer) bool {
	return hasHook(s.created, string(hook)) && answered(answers, hook) == nil
}

// completes tells whether a decision ends the conversation with an answer.
func completes(d *conv.Decision) bool {
	return d.Stage == conv.Completed || d.Stage == conv.ForceCompleted
}

// messages gives what is visible, and the reply after it, as hooks see it.
func (s *State) messages(reply *event.Message) []abi.Message {
	out := make([]abi.Message, 0, s.conv.Len()+1)
	for m := range s.conv.Visible() {
		out = append(out, visibleMessage(m))
	}
	return append(out, visibleMessage(reply))
}

func visibleMessage(m *event.Message) abi.Message {
	out := abi.Message{Role: m.Role, Content: m.Content, Name: m.Name, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, abi.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

func answered(answers []event.Answer, hook abi.Hook) *event.Answer {
	for i := range answers {
		if answers[i].Hook == string(hook) {
			return &answers[i]
		}
	}
	return nil
}

// replyOp makes the conversation's operation of a reply and what the recipe said of it.
func replyOp(reply *event.ModelReplied, of uint64, answers []event.Answer, withVerdict bool) conv.Reply {
	op := conv.Reply{Message: reply.Message, Of: of, FinishReason: reply.FinishReason}
	decided := func(hook abi.Hook, into any) bool {
		a := answered(answers, hook)
		// An output was checked before it was recorded; one that does not decode all the same decides nothing.
		return a != nil && a.Decided && json.Unmarshal([]byte(a.Output), into) == nil
	}
	if k := (abi.Keywords{}); decided(abi.HookRefusal, &k) {
		op.Answers.Refusal = &k
	}
	if f := (abi.FormatError{}); decided(abi.HookFormatError, &f) {
		op.Answers.FormatError = &f
	}
	if p := (abi.PromptFinal{}); decided(abi.HookPromptFinal, &p) {
		op.Answers.PromptFinal = &p.Prompt
	}
	if a := answered(answers, abi.HookDirectFinal); a != nil && a.Decided {
		op.Answers.DirectFinal = &a.Output
	}
	if withVerdict {
		op.Answers.Verdict = verdict(answers)
	}
	return op
}

// verdict gives what verify said; nil when it was not asked or did not decide. A verify that failed has not
// verified anything.
func verdict(answers []event.Answer) *conv.Verdict {
	a := answered(answers, abi.HookVerify)
	switch {
	case a == nil || (!a.Decided && a.Fault == ""):
		return nil
	case a.Fault != "":
		return &conv.Verdict{Reason: "the answer could not be checked: " + a.Fault}
	}
	v := verifyOutput(a)
	return &conv.Verdict{Verified: v.Verified, Reason: v.Reason}
}

func verifyOutput(a *event.Answer) abi.VerifyOutput {
	var v abi.VerifyOutput
	if a != nil && a.Decided && json.Unmarshal([]byte(a.Output), &v) != nil {
		return abi.VerifyOutput{}
	}
	return v
}

// encode encodes a message of the ABI.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers, and JSON that was decoded
	}
	return b
}
