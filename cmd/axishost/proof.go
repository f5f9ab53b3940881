package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/spf13/cobra"
)

// proofFlags say what an answer has to be. They are short for the configuration's goal.
type proofFlags struct {
	schema, match, equals string
}

func (p *proofFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.schema, "schema", "", "the answer must be JSON that fits the JSON Schema in `file`")
	cmd.Flags().Var((*someText)(&p.match), "match", "the answer must match this regular `expression` (RE2)")
	cmd.Flags().Var((*someText)(&p.equals), "equals", "the answer must be this `text`")
	_ = cmd.MarkFlagFilename("schema", "json")
	completeNothing(cmd, "match", "equals")
}

// someText is a value that must not be empty: an unset variable of a script would switch the proof off.
type someText string

func (t *someText) String() string { return string(*t) }

// Type implements pflag.Value.
func (t *someText) Type() string { return "string" }

// Set implements pflag.Value.
func (t *someText) Set(value string) error {
	if strings.TrimSpace(value) == "" {
		return errors.New("what the answer must be is empty: leave the flag out, or say it")
	}
	*t = someText(value)
	return nil
}

// words are the flags as they were given.
func (p *proofFlags) words() []string {
	var words []string
	for _, f := range []struct{ name, value string }{{"schema", p.schema}, {"match", p.match}, {"equals", p.equals}} {
		if f.value != "" {
			words = append(words, "--"+f.name, f.value)
		}
	}
	return words
}

// into puts what was given into a task's configuration.
func (p *proofFlags) into(c *host.Config) error {
	if p.match != "" {
		c.Goal.Match = p.match
	}
	if p.equals != "" {
		c.Goal.Equals = &p.equals
	}
	if p.schema != "" {
		b, err := readSmall("--schema: file", p.schema, maxConfigBytes)
		if err != nil {
			return err
		}
		c.Goal.Schema = nil
		if err := json.Unmarshal(b, &c.Goal.Schema); err != nil {
			return usage(fmt.Errorf("--schema: %s is not the JSON object it should be: %w", p.schema, err))
		}
	}
	return usage(c.Validate())
}

// parseGrants reads the values of --allow: [PLUGIN:]CAPABILITY=HOST.
func parseGrants(values []string) ([]host.Grant, error) {
	var grants []host.Grant
	for _, value := range values {
		left, limit, ok := strings.Cut(value, "=")
		if !ok || limit == "" {
			return nil, usage(fmt.Errorf("--allow %s: say what for, as in --allow http=api.example.com", value))
		}
		plugin, capability, named := strings.Cut(left, ":")
		if !named {
			plugin, capability = "", left
		}
		grants = append(grants, host.Grant{Plugin: plugin, Capability: capability, Limit: limit})
	}
	return grants, nil
}
