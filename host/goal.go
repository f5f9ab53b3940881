package host

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/internal/core"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// goal holds answers against what the configuration asks of them.
type goal struct {
	config core.GoalConfig
	schema *jsonschema.Schema
}

// newGoal compiles what the configuration asks of answers; the error is a *PluginSetError: a mistake of the
// configuration.
func newGoal(c core.GoalConfig) (*goal, error) {
	g := &goal{config: c}
	if c.Schema == nil {
		return g, nil
	}
	raw, err := json.Marshal(c.Schema)
	if err == nil {
		g.schema, err = compileSchema(raw)
	}
	if err != nil {
		return nil, &PluginSetError{"goal.schema cannot be used: " + oneLine(err)}
	}
	return g, nil
}

// ask answers the host's own question about an answer.
func (g *goal) ask(ctx context.Context, answer string) event.Answer {
	out := abi.VerifyOutput{Verified: true, Reason: g.fails(ctx, strings.TrimSpace(answer))}
	if out.Reason != "" {
		out.Verified = false
	}
	held := map[string]any{"answer_bytes": len(answer)}
	if g.config.Match != "" {
		held["match"] = g.config.Match
	}
	out.Evidence, _ = json.Marshal(held) // strings and numbers
	output, _ := json.Marshal(out)
	return event.Answer{Hook: string(core.HookGoal), Decided: true, Output: string(output)}
}

// fails says, for the model, what an answer lacks; empty when it holds.
func (g *goal) fails(ctx context.Context, answer string) string {
	if want := g.config.Equals; want != nil && answer != strings.TrimSpace(*want) {
		return "the answer is not the one that is expected"
	}
	if g.config.Match != "" && !regexp.MustCompile(g.config.Match).MatchString(answer) { // compiled by Validate
		return fmt.Sprintf("the answer does not match %q", g.config.Match)
	}
	if g.schema == nil {
		return ""
	}
	if !json.Valid([]byte(answer)) {
		return "the answer must be JSON, and nothing else"
	}
	if err := validate(ctx, g.schema, []byte(answer)); err != nil {
		return "the answer does not fit its schema: " + oneLine(err)
	}
	return ""
}
