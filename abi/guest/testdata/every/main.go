// Command every is a plugin that registers each hook that ABI 1.0-rc serves. It is compiled by the tests of
// package guest.
package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() {
	guest.DirectFinal(func(reply string) (string, bool) { return strings.CutPrefix(reply, "FINAL ") })
	guest.Refusal(func(reply string) ([]string, bool) { return []string{"no"}, strings.Contains(reply, "no") })
	guest.FormatError(func(reply string) (abi.FormatError, bool) {
		return abi.FormatError{Keywords: []string{"<tool"}}, strings.Contains(reply, "<tool")
	})
	guest.PromptFinal(func(reply string) (bool, bool) { return reply == "ask", true })
	guest.Start(func(in abi.StartInput) (abi.StartOutput, bool, error) {
		return abi.StartOutput{System: "be brief", User: in.Task}, true, nil
	})
	guest.Plan(func(in abi.PlanInput) (abi.PlanOutput, bool, error) {
		return abi.PlanOutput{Items: []abi.PlanItem{{ID: "all", Text: in.Text}}}, true, nil
	})
	guest.Compact(func(in abi.CompactInput) (abi.CompactOutput, bool, error) {
		return abi.CompactOutput{From: 1, To: len(in.Messages)}, len(in.Messages) > 1, nil
	})
	guest.Dedupe(func(in abi.DedupeInput) (string, bool, error) {
		return in.Tool + " " + string(in.Arguments), true, nil
	})
	guest.ToolOutcome(func(in abi.OutcomeInput) (abi.Verdict, bool, error) {
		return abi.VerdictRollback, in.Status == abi.ToolFailed, nil
	})
	guest.RepairArguments(func(in abi.RepairInput) (json.RawMessage, bool, error) {
		repaired := json.RawMessage(in.Arguments + "}")
		return repaired, json.Valid(repaired), nil
	})
	guest.Verify(func(in abi.VerifyInput) (abi.VerifyOutput, bool, error) {
		return abi.VerifyOutput{Verified: in.Answer != ""}, true, nil
	})
	guest.FinalOutput(func(messages []abi.Message) (string, bool, error) {
		if len(messages) == 0 {
			return "", false, errors.New("there are no messages")
		}
		return messages[len(messages)-1].Content, true, nil
	})
	guest.Tool("echo", func(c guest.Call) guest.Result {
		guest.Log(abi.LogInfo, "echo")
		guest.Progress("half way")
		var config, arguments struct {
			Text string `json:"text"`
		}
		if err := guest.Config(&config); err != nil {
			return guest.Failed(abi.ClassPermanent, "%v", err)
		}
		if err := c.Decode(&arguments); err != nil {
			return guest.Invalid("%v", err)
		}
		if arguments.Text == "panic" {
			panic("echo was asked to panic")
		}
		return guest.OK(config.Text + arguments.Text)
	}).Reconcile(func(c guest.Call) guest.Reconciliation {
		if _, err := guest.Fetch(guest.Request{URL: "http://127.0.0.1/" + c.OperationID}); err != nil {
			return guest.Inconclusive("try %d: %v", c.Try, err)
		}
		return guest.Found("")
	}).Compensate(func(u guest.Undo) guest.Result {
		return guest.Failed(abi.ClassPermanent, "an echo cannot be undone (%s)", u.CompensationID)
	}).Preview(func(c guest.Call) (abi.PreviewOutput, error) {
		return abi.PreviewOutput{Arguments: c.Arguments, Impact: "None.", Reversible: abi.ReversibleNo}, nil
	}).Check(func(c guest.Checked) (bool, string) {
		return c.Stage == abi.CheckBefore || c.Result != "", "there is no echo"
	})
}

func main() {}
