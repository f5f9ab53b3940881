package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/host/internal/core"
)

// Config is a whole configuration.
type Config struct {
	Model Model
	// Task is what a task pins.
	Task core.Config
}

// Model says which model is asked, and where.
type Model struct {
	Name string `json:"name"`
	// BaseURL is the endpoint. It is never pinned in a task.
	BaseURL string `json:"base_url"`
}

// tree is the shape of a configuration file; its keys are the known ones.
type tree struct {
	Model Model `json:"model"`
	core.Config
}

// Source is one source of configuration: a tree of maps, lists and values as JSON or YAML give them.
type Source struct {
	// Name says in errors where a key stands: a file's path, "manifest of boxed", "--set".
	Name string
	Tree map[string]any
}

// Default gives the product's defaults.
func Default() Config { return Config{Task: core.DefaultConfig()} }

// Merge merges sources, later ones over earlier ones, over the defaults. The error holds the problems, a line
// each: the source, the key, and what it should be; of many the first twenty, and how many more there are.
func Merge(sources ...Source) (Config, error) {
	merged := map[string]any{}
	var p problems
	for _, s := range sources {
		p.check(s)
		merge(merged, s.Tree)
	}
	if err := p.err(); err != nil {
		return Config{}, err
	}
	t := tree{Config: core.DefaultConfig()}
	raw, err := json.Marshal(merged)
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	if err := t.Validate(); err != nil {
		return Config{}, placed(err, sources)
	}
	return Config{Model: t.Model, Task: t.Config}, nil
}

// merge puts from over into: maps merge, everything else replaces. A section that is there and empty takes
// nothing away: so it reads in YAML when all its lines are commented out.
func merge(into, from map[string]any) {
	for key, value := range from {
		sub, isMap := value.(map[string]any)
		old, wasMap := into[key].(map[string]any)
		switch {
		case isMap && wasMap:
			merge(old, sub)
		case isMap:
			// Copied, since later sources are merged into it.
			fresh := map[string]any{}
			merge(fresh, sub)
			into[key] = fresh
		case wasMap && value == nil:
		default:
			into[key] = value
		}
	}
}

// placed puts before each problem the last source that has the key which the problem begins with.
func placed(err error, sources []Source) error {
	var problems []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		path, _, _ := strings.Cut(strings.Replace(line, ":", " ", 1), " ")
		where := "configuration"
		for _, s := range slices.Backward(sources) {
			if has(s.Tree, strings.Split(path, ".")) {
				where = s.Name
				break
			}
		}
		problems = append(problems, errors.New(where+": "+line))
	}
	return errors.Join(problems...)
}

func has(t map[string]any, path []string) bool {
	value, ok := t[path[0]]
	if !ok || len(path) == 1 {
		return ok
	}
	sub, ok := value.(map[string]any)
	return ok && has(sub, path[1:])
}
