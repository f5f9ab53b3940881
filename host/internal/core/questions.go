package core

import (
	"encoding/json"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/host/internal/task"
)

const hookStart = string(abi.HookStart)

// Question is one hook to be asked, with its input.
type Question struct {
	Hook abi.Hook
	// Call is which call of the reply it is about, from 1; 0 for the reply.
	Call  int64
	Input []byte
}

func hasHook(created *event.TaskCreated, hook string) bool {
	return created.Recipe != nil && slices.Contains(created.Recipe.Hooks, hook)
}

// NextQuestions gives the hooks that a ConsultRecipe has still to ask, after answers: none when it is done.
// What verify is asked depends on what the other hooks said, so they come in rounds.
func NextQuestions(s *State, answers []event.Answer) []Question {
	switch {
	case s.created == nil || s.outcome != nil || s.cancel != nil:
		return nil
	case s.conv.Stage() == conv.NotInitialized:
		if answered(answers, abi.HookStart) != nil {
			return nil
		}
		config, _ := json.Marshal(s.config.Recipe) // came from JSON
		return []Question{{Hook: abi.HookStart, Input: encode(abi.StartInput{Task: s.created.Goal, Config: config})}}
	case s.reply != nil:
		return Questions(s, s.reply, answers)
	case s.wantsOutcomes():
		return s.outcomeQuestions(answers)
	case s.wantsCompactionPlan() && answered(answers, abi.HookCompact) == nil:
		return []Question{s.compactQuestion()}
	}
	return nil
}

// Questions gives the hooks to be asked of a reply, after answers.
func Questions(s *State, reply *event.ModelReplied, answers []event.Answer) []Question {
	var out []Question
	for _, hook := range conv.TextHooks(s.conv, &reply.Message, reply.FinishReason) {
		if hasHook(s.created, string(hook)) && answered(answers, hook) == nil {
			out = append(out, Question{Hook: hook, Input: []byte(reply.Message.Content)})
		}
	}
	if len(out) > 0 {
		return out
	}
	decision, err := conv.Decide(s.conv, replyOp(reply, 0, answers, false))
	switch {
	case err != nil:
		return nil
	case decision.Stage == conv.AwaitTools:
		if out := s.callQuestions(reply.Message.ToolCalls, answers); len(out) > 0 || !s.wants(abi.HookPlan, answers) {
			return out
		}
		return []Question{planQuestion(reply)}
	case !completes(decision):
		return nil
	}
	if decision.Info.DirectAnswer == nil && s.wants(abi.HookFinalOutput, answers) {
		return []Question{{Hook: abi.HookFinalOutput, Input: encode(abi.FinalInput{Messages: s.messages(&reply.Message)})}}
	}
	if answer, _ := finalAnswer(decision, reply, answers); answer != "" {
		return s.predicateQuestions(answer, answers)
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

// callQuestions asks about the calls of a reply: first how their arguments are to be repaired, then what
// queries they are.
func (s *State) callQuestions(calls []event.ToolCall, answers []event.Answer) []Question {
	var out []Question
	for i, c := range calls {
		spec := s.tool(c.Name)
		if spec != nil && hasHook(s.created, string(abi.HookRepairArguments)) && answeredFor(answers, abi.HookRepairArguments, i) == nil {
			out = append(out, Question{
				Hook: abi.HookRepairArguments, Call: int64(i) + 1,
				Input: encode(abi.RepairInput{Tool: c.Name, Schema: spec.Schema, Arguments: c.Arguments}),
			})
		}
	}
	if len(out) > 0 {
		return out
	}
	for i, c := range calls {
		arguments, _ := EffectiveArguments(s, c, i, answers)
		if s.tool(c.Name) != nil && json.Valid([]byte(arguments)) && hasHook(s.created, string(abi.HookDedupe)) && answeredFor(answers, abi.HookDedupe, i) == nil {
			out = append(out, Question{
				Hook: abi.HookDedupe, Call: int64(i) + 1,
				Input: encode(abi.DedupeInput{Tool: c.Name, Arguments: json.RawMessage(arguments)}),
			})
		}
	}
	return out
}

// outcomeQuestions asks about the calls of a settled batch that failed.
func (s *State) outcomeQuestions(answers []event.Answer) []Question {
	var out []Question
	for i := range s.steps {
		step := &s.steps[i]
		if step.State != task.Failed || answeredFor(answers, abi.HookToolOutcome, i) != nil {
			continue
		}
		out = append(out, Question{
			Hook: abi.HookToolOutcome, Call: int64(i) + 1,
			Input: encode(abi.OutcomeInput{
				Tool: step.Request.Tool, Arguments: json.RawMessage(effective(&step.Request)), Status: abi.ToolFailed,
				Class: abi.FailureClass(step.Class), Result: s.made[step.Settled].Content,
			}),
		})
	}
	return out
}

// answeredFor finds the answer about the i-th call.
func answeredFor(answers []event.Answer, hook abi.Hook, i int) *event.Answer {
	for n := range answers {
		if answers[n].Hook == string(hook) && answers[n].Call == int64(i)+1 {
			return &answers[n]
		}
	}
	return nil
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
	op := conv.Reply{Message: reply.Message, Of: of, FinishReason: reply.FinishReason, Observed: reply.Usage.Prompt}
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

// encode encodes a message of the ABI.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers, and JSON that was decoded
	}
	return b
}
