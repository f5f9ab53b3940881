package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/axishost/axishost/host/config"
)

// settings merges the configuration of a task: the defaults, base, the file, the environment, pinned, flags.
func settings(base, pinned []config.Source, f *modelFlags) (config.Config, error) {
	file := f.config
	if file == "" {
		file = os.Getenv("AXISHOST_CONFIG")
	}
	sources := base
	var errs []error
	if file != "" {
		s, err := readConfig(file)
		sources, errs = append(sources, s), append(errs, err)
	}
	environment, err := config.FromEnvironment(os.Environ(), yamlValue)
	sources, errs = append(append(sources, environment...), pinned...), append(errs, err)
	set, err := config.FromAssignments("--set", f.sets, yamlValue)
	sources, errs = append(sources, set), append(errs, err)
	if f.model != "" {
		sources = append(sources, config.Source{Name: "--model", Tree: map[string]any{"model": map[string]any{"name": f.model}}})
	}
	if err := errors.Join(errs...); err != nil {
		return config.Config{}, usage(err)
	}
	merged, err := config.Merge(sources...)
	return merged, usage(err)
}

// maxConfigBytes bounds a configuration, which is written by hand; a bigger file is another one by mistake.
const maxConfigBytes = 4 << 20

func readConfig(path string) (config.Source, error) {
	s := config.Source{Name: path}
	f, err := os.Open(path)
	if err != nil {
		return s, readingError("configuration", path, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	switch {
	case err != nil:
		return s, readingError("configuration", path, err)
	case len(b) > maxConfigBytes:
		return s, fmt.Errorf("configuration %s is over the limit of %d MiB", path, maxConfigBytes>>20)
	}
	switch err := decodeYAML(b, &s.Tree); {
	case errors.Is(err, errMoreDocuments):
		return s, fmt.Errorf("configuration %s is more than one YAML document; make it one", path)
	case err != nil:
		return s, fmt.Errorf("configuration %s is not the YAML map it should be: %w", path, err)
	}
	return s, nil
}

// yamlValue reads a value as YAML has it: 5 is a number, true a truth, [a, b] a list, anything else text.
func yamlValue(text string) (any, error) {
	var v any
	if err := decodeYAML([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%q is not a YAML value: %w", text, err)
	}
	if v == nil && strings.TrimSpace(text) == "" {
		return "", nil
	}
	return v, nil
}
