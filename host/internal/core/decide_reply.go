package core

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
)

// Where an answer comes from.
const (
	sourceDirect  = "direct_final"
	sourceOutput  = "final_output"
	sourceMessage = "last_message"
)

// recipeAnswered takes the answers of a consultation: about how to begin, or about the reply.
func (d *draft) recipeAnswered(in RecipeAnswered) error {
	s := d.s
	if s.created.Recipe == nil && len(s.config.Goal.Predicates()) == 0 {
		return errors.New("the task has no recipe")
	}
	d.misfits, d.unmet = in.Misfits, in.Unmet
	starting := s.conv.Stage() == conv.NotInitialized
	outcomes, planning := s.wantsOutcomes(), s.reply == nil && s.wantsCompactionPlan()
	cause := s.seq
	switch {
	case starting:
		cause = s.createdSeq
	case s.reply != nil:
		cause = s.replySeq
	case !outcomes && !planning:
		return nil
	}
	consulted := &event.RecipeConsulted{Answers: in.Answers}
	e := d.emit(consulted, cause)
	if s.created.Recipe != nil {
		consulted.Digest = s.created.Recipe.Digest
		e.Actor, e.Actor.ID = recipeActor, s.created.Recipe.Name
	}
	switch {
	case haltingFault(in.Answers) != nil:
		return nil
	case starting:
		return d.start(in.Answers, e.Seq)
	case outcomes:
		return d.outcomesJudged(in.Answers, e.Seq)
	case planning:
		return d.compact(in.Answers, e.Seq)
	}
	return d.judge(s.reply, s.replySeq, in.Answers, e.Seq)
}

// start begins the conversation with what the start hook gave.
func (d *draft) start(answers []event.Answer, cause uint64) error {
	op := conv.Init{Task: d.s.created.Goal}
	if a := answered(answers, abi.HookStart); a != nil && a.Decided {
		var out abi.StartOutput
		if err := json.Unmarshal([]byte(a.Output), &out); err != nil {
			return err
		}
		op.System = &out.System
		if out.User != "" {
			op.User = &out.User
		}
	}
	return d.apply(d.s.conv, op, cause)
}

// outcomesJudged hides a batch where the recipe asks for it, else hands its results on.
func (d *draft) outcomesJudged(answers []event.Answer, cause uint64) error {
	for i := range answers {
		var out abi.OutcomeOutput
		if answers[i].Decided && json.Unmarshal([]byte(answers[i].Output), &out) == nil && out.Verdict == abi.VerdictRollback {
			if done, err := d.rollBackBatch(conv.ReasonToolError, cause); done || err != nil {
				return err
			}
			break
		}
	}
	return d.closeBatch()
}

// recover goes on where a reply was nothing but the token limit: the latest tool exchange is hidden and the
// final turn forced, as long as there is one.
func (d *draft) recover(reply *event.ModelReplied, cause uint64) (done bool) {
	if reply.FinishReason != conv.FinishLength || reply.Message.Content != "" || len(reply.Message.ToolCalls) > 0 {
		return false
	}
	decision, err := conv.Decide(d.s.conv, conv.RollbackExchange{Reason: conv.ReasonTokenExhaustion})
	if err != nil || decision == nil {
		return false
	}
	d.record(decision, cause)
	d.requestModel(d.seq, int(decision.Info.VisibleMessages), 1, nil)
	return true
}

// judge hands a reply and what the recipe said of it to the conversation, and follows where that leads.
func (d *draft) judge(reply *event.ModelReplied, of uint64, answers []event.Answer, cause uint64) error {
	if d.recover(reply, cause) {
		return nil
	}
	op := replyOp(reply, of, answers, true)
	decision, err := conv.Decide(d.s.conv, op)
	if err != nil {
		return err
	}
	d.record(decision, cause)
	decided := d.seq
	if v := op.Answers.Verdict; v != nil && !v.Verified {
		_, evidence := d.s.proof(answers)
		d.emit(&event.GoalRejected{Reason: v.Reason, Evidence: evidence}, decided)
	}
	switch decision.Stage.Action() {
	case conv.CallModel:
		if d.seq != decided {
			d.emit(&event.ReplanRequested{Reason: replanGoalRejected}, d.seq)
		}
		return d.next(decision)
	case conv.ExecuteTools:
		if d.s.duplicates(len(reply.Message.ToolCalls), answers) && d.mayRollBack() {
			return nil // rolled back once the calls are part of the conversation
		}
		return d.propose(reply.Message.ToolCalls, answers, decided)
	case conv.Done:
		d.end(decision, reply, answers, op.Answers.Verdict)
	}
	return nil
}

// mayRollBack tells whether one more rollback in a row is allowed.
func (d *draft) mayRollBack() bool {
	return d.s.conv.Head().Rollbacks < d.s.config.Conversation.Rollback.MaxRollbacks
}

// finalAnswer is the task's answer: the direct one, else what final_output gives, else the reply's text.
func finalAnswer(decision *conv.Decision, reply *event.ModelReplied, answers []event.Answer) (answer, source string) {
	if direct := decision.Info.DirectAnswer; direct != nil {
		return *direct, sourceDirect
	}
	if a := answered(answers, abi.HookFinalOutput); a != nil && a.Decided {
		return a.Output, sourceOutput
	}
	return reply.Message.Content, sourceMessage
}

// end writes how the task ends, by the table of the design: success needs an answer that no predicate
// rejects; a conversation that was cut short is partial.
func (d *draft) end(decision *conv.Decision, reply *event.ModelReplied, answers []event.Answer, v *conv.Verdict) {
	cause := d.seq
	if !completes(decision) {
		d.partial(decision.Stage.String(), reply.Message.Content, cause)
		return
	}
	answer, source := finalAnswer(decision, reply, answers)
	switch {
	case strings.TrimSpace(answer) == "":
		d.partial("no_answer", "", cause)
	case d.s.stuck:
		d.partial(conv.TriggerRepeated, answer, cause)
	case v == nil && source == sourceMessage && cutOff(reply):
		d.partial("answer_cut_off", answer, cause)
	case v != nil && !v.Verified && decision.Stage == conv.ForceCompleted:
		d.partial("goal_rejected", answer, cause)
	case v != nil && !v.Verified:
		d.emit(&event.TaskFailed{Reason: "the answer was rejected: " + v.Reason}, cause)
	default:
		goal := &event.GoalVerified{Verified: event.VerifiedNone}
		if v != nil {
			goal.Verified, goal.Evidence = d.s.proof(answers)
		}
		proof := d.emit(goal, cause).Seq
		d.emit(&event.TaskSucceeded{Answer: answer, Verified: goal.Verified, Source: source}, proof)
	}
}

// cutOff tells whether a reply ends where its endpoint stopped it and not where the model did.
func cutOff(reply *event.ModelReplied) bool {
	return reply.FinishReason == conv.FinishLength || reply.FinishReason == "content_filter"
}

func (d *draft) partial(reason, answer string, cause uint64) {
	done, undone := d.progress()
	d.emit(&event.TaskPartial{Reason: reason, Answer: answer, Done: done, Undone: undone, Resume: cause}, cause)
}
