package abi

import (
	"encoding/json"
	"slices"
	"strings"
)

// Effect says what running a tool twice would do to the world.
type Effect string

// The effects of a tool.
const (
	EffectPure       Effect = "pure"       // computes, and touches nothing
	EffectRead       Effect = "read"       // looks at the world
	EffectIdempotent Effect = "idempotent" // may repeat with the same operation id
	EffectWrite      Effect = "write"      // changes the world each time it runs
)

// ToolSpec declares one tool, and with it the contract of its steps.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Effect      Effect          `json:"effect"`
	// TimeoutMillis bounds one call; 0 is DefaultToolMillis.
	TimeoutMillis int64 `json:"timeout_ms,omitempty"`
	// Reconcile, Compensate, Preview and Check tell which of the hooks tool_reconcile, tool_compensate,
	// tool_preview and tool_check the tool answers.
	Reconcile  bool `json:"reconcile,omitempty"`
	Compensate bool `json:"compensate,omitempty"`
	Preview    bool `json:"preview,omitempty"`
	Check      bool `json:"check,omitempty"`
	// Precondition, OutputSchema and Success are JSON Schemas over the arguments, over the result as JSON, and
	// over {"arguments": …, "result": …}.
	Precondition json.RawMessage `json:"precondition,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Success      json.RawMessage `json:"success,omitempty"`
	// Resources are templates of the names of what a call touches, such as file:{path}; see Resources.
	Resources []string `json:"resources,omitempty"`
	// Risk and Cost are what one call charges to the task's budget at most.
	Risk int64 `json:"risk,omitempty"`
	Cost Cost  `json:"cost,omitzero"`
}

// Cost is the most that one call of a tool can cost.
type Cost struct {
	// MoneyMicros is in millionths of the currency that the operator counts in.
	MoneyMicros int64 `json:"money_micros,omitempty"`
	// Tokens are those of models that the tool asks itself.
	Tokens int64 `json:"tokens,omitempty"`
}

// Millis is how long one call may take, in milliseconds.
func (t *ToolSpec) Millis() int64 {
	if t.TimeoutMillis > 0 {
		return t.TimeoutMillis
	}
	return DefaultToolMillis
}

// Answers tells whether the tool answers a hook: tool_call always, the others as declared.
func (t *ToolSpec) Answers(h Hook) bool {
	switch h {
	case HookToolCall:
		return true
	case HookToolReconcile:
		return t.Reconcile
	case HookToolCompensate:
		return t.Compensate
	case HookToolPreview:
		return t.Preview
	case HookToolCheck:
		return t.Check
	}
	return false
}

func (t *ToolSpec) validate(add addProblem) {
	name := clip(t.Name)
	if !validName(t.Name) {
		add("tool name %q must be 1 to %d of a-z 0-9 _ -", name, MaxNameBytes)
	}
	if !isObject(t.InputSchema) {
		add("tool %q: input_schema must be an object", name)
	}
	if !slices.Contains([]Effect{EffectPure, EffectRead, EffectIdempotent, EffectWrite}, t.Effect) {
		add("tool %q: effect %q must be pure, read, idempotent or write", name, clip(string(t.Effect)))
	}
	if t.TimeoutMillis < 0 || t.TimeoutMillis > MaxToolMillis {
		add("tool %q: timeout_ms must be 0 to %d", name, MaxToolMillis)
	}
	t.validateContract(add)
}

func (t *ToolSpec) validateContract(add addProblem) {
	name := clip(t.Name)
	for _, schema := range []struct {
		key   string
		value json.RawMessage
	}{{"precondition", t.Precondition}, {"output_schema", t.OutputSchema}, {"success", t.Success}} {
		if schema.value != nil && !isObject(schema.value) {
			add("tool %q: %s must be an object", name, schema.key)
		}
	}
	if len(t.Resources) > MaxResources {
		add("tool %q: %d resources are over the limit of %d", name, len(t.Resources), MaxResources)
	}
	for _, template := range t.Resources {
		if _, err := parseTemplate(template); err != nil {
			add("tool %q: resource %q: %w", name, clip(template), err)
		}
	}
	if t.Risk < 0 || t.Risk > MaxRisk {
		add("tool %q: risk must be 0 to %d", name, MaxRisk)
	}
	if t.Cost.MoneyMicros < 0 || t.Cost.MoneyMicros > MaxCost {
		add("tool %q: cost.money_micros must be 0 to %d", name, int64(MaxCost))
	}
	if t.Cost.Tokens < 0 || t.Cost.Tokens > MaxCost {
		add("tool %q: cost.tokens must be 0 to %d", name, int64(MaxCost))
	}
}

// Caps say what of the world a plugin wants. They are shown to people, by inspect and where something is denied;
// they grant nothing.
type Caps struct {
	// HTTP are the hosts that http.fetch/1 is to reach, each with its port where that is not the scheme's.
	HTTP []string `json:"http,omitempty"`
}

func (c *Caps) validate(add addProblem) {
	for i, host := range c.HTTP {
		switch {
		case !validHost(host):
			add("caps.http: %q must be a host in lower case, such as api.example.com or 127.0.0.1:8080", clip(host))
		case slices.Contains(c.HTTP[:i], host):
			add("caps.http: %q is named twice", host)
		}
	}
}

// validHost tells whether s is a host name or an IPv4 address, with or without a port.
func validHost(s string) bool {
	const longest = 253 // of a name in the DNS
	host, port, hasPort := strings.Cut(s, ":")
	if hasPort && (!validNumber(port) || len(port) > 5 || port == "0" || len(port) == 5 && port > "65535") {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) {
				return false
			}
		}
	}
	return len(host) <= longest
}
