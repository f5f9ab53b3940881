package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/conv"
	"github.com/axishost/axishost/host/internal/event"
)

// GoalConfig is what shows that an answer is right, besides the recipe's verify. All that is set must hold.
type GoalConfig struct {
	// Schema is a JSON Schema of the answer, which then has to be JSON.
	Schema map[string]any `json:"schema,omitempty"`
	// Match is a regular expression that the answer holds somewhere, Equals the answer itself; surrounding spaces
	// count for neither.
	Match  string  `json:"match,omitempty"`
	Equals *string `json:"equals,omitempty"`
}

// Predicates names what is configured: schema, match, equals.
func (g *GoalConfig) Predicates() []string {
	var names []string
	if g.Schema != nil {
		names = append(names, "schema")
	}
	if g.Match != "" {
		names = append(names, "match")
	}
	if g.Equals != nil {
		names = append(names, "equals")
	}
	return names
}

func (g *GoalConfig) validate() error {
	if _, err := regexp.Compile(g.Match); err != nil {
		return fmt.Errorf("goal.match is no regular expression: %w", err)
	}
	return nil
}

// HookGoal is asked like a hook, of the host: whether an answer holds by the configuration. Its input is the answer,
// its output that of verify.
const HookGoal abi.Hook = "goal"

// predicateQuestions asks whether an answer is right: first by the configuration, then, if it may be, by the recipe.
func (s *State) predicateQuestions(answer string, answers []event.Answer) []Question {
	if len(s.config.Goal.Predicates()) > 0 {
		a := answered(answers, HookGoal)
		if a == nil {
			return []Question{{Hook: HookGoal, Input: []byte(answer)}}
		}
		if !verifyOutput(a).Verified {
			return nil
		}
	}
	if !s.wants(abi.HookVerify, answers) {
		return nil
	}
	evidence := s.evidence
	if evidence == nil {
		evidence = []abi.Evidence{}
	}
	return []Question{{Hook: abi.HookVerify, Input: encode(abi.VerifyInput{Task: s.created.Goal, Answer: answer, Evidence: evidence})}}
}

// verdict gives what the predicates said, the first that does not hold alone; nil when none was asked or decided. One
// that failed has not verified anything.
func verdict(answers []event.Answer) *conv.Verdict {
	var v *conv.Verdict
	for _, hook := range []abi.Hook{HookGoal, abi.HookVerify} {
		a := answered(answers, hook)
		switch {
		case a == nil || (!a.Decided && a.Fault == ""):
			continue
		case a.Fault != "":
			return &conv.Verdict{Reason: "the answer could not be checked: " + a.Fault}
		}
		out := verifyOutput(a)
		if v = (&conv.Verdict{Verified: out.Verified, Reason: out.Reason}); !v.Verified {
			return v
		}
	}
	return v
}

func verifyOutput(a *event.Answer) abi.VerifyOutput {
	var v abi.VerifyOutput
	if a != nil && a.Decided && json.Unmarshal([]byte(a.Output), &v) != nil {
		return abi.VerifyOutput{}
	}
	return v
}

// proof gives what an answer was verified by, and the evidence: that of the recipe alone as it is, that of several by
// their names.
func (s *State) proof(answers []event.Answer) (by string, evidence json.RawMessage) {
	names := []string{}
	all := map[string]json.RawMessage{}
	if a := answered(answers, HookGoal); a != nil && a.Decided {
		names = s.config.Goal.Predicates()
		all["goal"] = verifyOutput(a).Evidence
	}
	if a := answered(answers, abi.HookVerify); a != nil && a.Decided {
		names = append(names, event.VerifiedRecipe)
		all["recipe"] = verifyOutput(a).Evidence
	}
	if len(all) == 1 {
		for _, evidence = range all {
		}
		return strings.Join(names, "+"), evidence
	}
	for name, e := range all {
		if e == nil {
			delete(all, name)
		}
	}
	if len(all) > 0 {
		evidence = encode(all)
	}
	return strings.Join(names, "+"), evidence
}
