package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind says what a plugin offers.
type Kind string

// The kinds of plugin.
const (
	KindRecipe Kind = "recipe"
	KindTools  Kind = "tools"
	KindBoth   Kind = "both"
)

// ManifestVersion is the ABI that a plugin was made for.
type ManifestVersion struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

// Manifest is the static identity of a plugin: the content of its ManifestSection, as JSON. Fields that
// this version does not know are ignored; unknown kinds, hooks and effects are errors.
type Manifest struct {
	ABI         ManifestVersion `json:"abi"`
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	License     string          `json:"license,omitempty"`
	Kind        Kind            `json:"kind"`
	// Hooks is authoritative: an exported hook that is not listed here is never called. Those of tools are
	// implied by Tools and need not be listed.
	Hooks []Hook     `json:"hooks,omitempty"`
	Tools []ToolSpec `json:"tools,omitempty"`
	// Conversation holds the recipe's defaults for the conversation machine, under the same keys as the
	// host's configuration. The host reads it; the ABI only requires an object.
	Conversation json.RawMessage `json:"conversation,omitempty"`
	// ConfigSchema is the JSON Schema of what config/1 answers.
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Requires are operations without which the plugin is refused; Optional ones it can do without.
	Requires []Operation `json:"requires,omitempty"`
	Optional []Operation `json:"optional,omitempty"`
	Caps     Caps        `json:"caps,omitzero"`
	Limits   Limits      `json:"limits,omitzero"`
}

// Limits are what a plugin asks for; 0 is the default. The operator's configuration can lower them.
type Limits struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	OutputBytes int64 `json:"output_bytes,omitempty"`
}

// HasHook tells whether the manifest declares h, be it by a tool that answers it.
func (m *Manifest) HasHook(h Hook) bool {
	return slices.Contains(m.Hooks, h) || m.answers(h)
}

// DeclaredHooks lists the hooks of the manifest, and behind them those that its tools imply.
func (m *Manifest) DeclaredHooks() []Hook {
	hooks := slices.Clone(m.Hooks)
	for _, info := range Hooks() {
		if m.answers(info.Name) && !slices.Contains(hooks, info.Name) {
			hooks = append(hooks, info.Name)
		}
	}
	return hooks
}

// Tool finds a tool by its name; nil when the manifest declares none of that name.
func (m *Manifest) Tool(name string) *ToolSpec {
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i]
		}
	}
	return nil
}

// answers tells whether a tool answers h.
func (m *Manifest) answers(h Hook) bool {
	return slices.ContainsFunc(m.Tools, func(t ToolSpec) bool { return t.Answers(h) })
}

// ParseManifest decodes a manifest section and validates it. The error of a manifest that was read but is
// not valid wraps the problems found, and the manifest is returned with it so that it can be shown.
func ParseManifest(section []byte) (*Manifest, error) {
	if len(section) > MaxManifestBytes {
		return nil, fmt.Errorf("manifest of %d bytes is over the limit of %d", len(section), MaxManifestBytes)
	}
	if strings.HasPrefix(string(section[:min(3, len(section))]), "\ufeff") {
		return nil, errors.New("manifest begins with a byte order mark; save it as UTF-8 without one")
	}
	if !utf8.Valid(section) {
		return nil, errors.New("manifest is not UTF-8")
	}
	if strings.HasPrefix(string(section[:min(len(section), 3)]), "\ufeff") {
		return nil, errors.New("manifest begins with a byte order mark; save it as UTF-8 without one")
	}
	if depth, _ := Extent(section); depth > MaxNesting {
		return nil, fmt.Errorf("manifest is nested deeper than %d", MaxNesting)
	}
	if json.Valid(section) { // what is wrong with it otherwise is said below
		if err := checkKeys(section); err != nil {
			return nil, err
		}
	}
	var m Manifest
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(section, &m); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, fmt.Errorf("%s cannot be a JSON %s", clip(wrong.Field), clip(wrong.Value))
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("manifest must be a JSON object; it is a JSON %s", clip(wrong.Value))
	case err != nil:
		return nil, fmt.Errorf("manifest is not JSON: %w", err)
	}
	return &m, m.Validate()
}

// Validate reports the problems of the manifest at once, the first 20 of them. It does not ask whether this host serves what
// the manifest declares: that is the loader's question.
func (m *Manifest) Validate() error {
	var found problems
	add := found.add

	if m.ABI.Major <= 0 || m.ABI.Minor < 0 {
		add("abi must be an object with a major of 1 or more and a minor of 0 or more")
	}
	if !validName(m.Name) {
		add("name %q must be 1 to %d of a-z 0-9 _ -", clip(m.Name), MaxNameBytes)
	}
	if !validSemver(m.Version) {
		add("version %q is not a semantic version such as 1.2.3", clip(m.Version))
	}
	if !slices.Contains([]Kind{KindRecipe, KindTools, KindBoth}, m.Kind) {
		add("kind %q must be recipe, tools or both", clip(string(m.Kind)))
	}
	m.validateHooks(add)
	m.validateTools(add)
	for _, raw := range []struct {
		key   string
		value json.RawMessage
	}{{"conversation", m.Conversation}, {"config_schema", m.ConfigSchema}} {
		if raw.value != nil && !isObject(raw.value) {
			add("%s must be an object", raw.key)
		}
	}
	if m.Conversation != nil && m.Kind == KindTools {
		add("conversation belongs to a recipe, and kind is tools")
	}
	m.Caps.validate(add)
	m.validateLimits(add)
	return found.join()
}

type addProblem func(format string, args ...any)

func (m *Manifest) validateHooks(add addProblem) {
	for i, h := range m.Hooks {
		info, known := LookupHook(h)
		switch {
		case !known:
			add("hook %q is not in ABI %s", clip(string(h)), Release)
		case slices.Contains(m.Hooks[:i], h):
			add("hook %q is declared twice", h)
		case info.Tool && m.Kind == KindRecipe:
			add("hook %q belongs to tools, and kind is recipe", h)
		case !info.Tool && m.Kind == KindTools:
			add("hook %q belongs to a recipe, and kind is tools", h)
		case info.Tool && len(m.Tools) > 0 && !m.answers(h):
			add("hook %q is declared, and no tool has %s", h, strings.TrimPrefix(string(h), "tool_"))
		}
	}
	seen := map[Operation]bool{}
	for _, op := range slices.Concat(m.Requires, m.Optional) {
		switch {
		case !validOperation(op):
			add("operation %q must be written name/major, such as config/1", clip(string(op)))
		case seen[op]:
			add("operation %q is named twice in requires and optional", op)
		}
		seen[op] = true
	}
}

func (m *Manifest) validateTools(add addProblem) {
	switch {
	case m.Kind == KindRecipe && len(m.Tools) > 0:
		add("kind is recipe, and tools are declared: use both")
	case (m.Kind == KindTools || m.Kind == KindBoth) && len(m.Tools) == 0:
		add("kind is %s, and no tool is declared", m.Kind)
	}
	seen := map[string]bool{}
	for i := range m.Tools {
		t := &m.Tools[i]
		if seen[t.Name] {
			add("tool %q is declared twice", clip(t.Name))
		}
		seen[t.Name] = true
		t.validate(add)
	}
}

func (m *Manifest) validateLimits(add addProblem) {
	if m.Limits.MemoryBytes < 0 || m.Limits.MemoryBytes > MaxMemoryBytes {
		add("limits.memory_bytes must be 0 to %d", MaxMemoryBytes)
	}
	if m.Limits.OutputBytes < 0 || m.Limits.OutputBytes > MaxOutputBytes {
		add("limits.output_bytes must be 0 to %d", MaxOutputBytes)
	}
}

// isObject tells whether raw is a JSON object, without taking it apart.
func isObject(raw json.RawMessage) bool {
	for i, c := range raw {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c == '{' && json.Valid(raw[i:])
		}
	}
	return false
}

// validName tells whether s can be a plugin's or a tool's name: the model protocol allows a-z, A-Z, 0-9,
// underscore and dash in a function's name, and plugin names are also file and configuration names, so
// both are lower case.
func validName(s string) bool {
	if s == "" || len(s) > MaxNameBytes {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r) {
			return false
		}
	}
	return true
}

func validOperation(op Operation) bool {
	name, major, ok := strings.Cut(string(op), "/")
	return ok && name != "" && len(op) <= MaxOperationName && validNumber(major)
}

// validSemver tells whether s is a semantic version (semver.org 2.0.0).
func validSemver(s string) bool {
	s, build, hasBuild := strings.Cut(s, "+")
	if hasBuild && !validIdentifiers(build, false) {
		return false
	}
	s, pre, hasPre := strings.Cut(s, "-")
	if hasPre && !validIdentifiers(pre, true) {
		return false
	}
	core := strings.Split(s, ".")
	return len(core) == 3 && validNumber(core[0]) && validNumber(core[1]) && validNumber(core[2])
}

func validIdentifiers(s string, numbersStrict bool) bool {
	for _, id := range strings.Split(s, ".") {
		digits := true
		for _, r := range id {
			if r < '0' || r > '9' {
				digits = false
			}
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", r) {
				return false
			}
		}
		if id == "" || (numbersStrict && digits && !validNumber(id)) {
			return false
		}
	}
	return true
}

// validNumber tells whether s is a decimal number without a leading zero.
func validNumber(s string) bool {
	if s == "" || len(s) > 9 || (len(s) > 1 && s[0] == '0') {
		return false
	}
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

// clip shortens text of unknown length before it is quoted in an error.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
