package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/plugins"
)

// judgeAll reads and judges the plugins of a run, beside each other. The error joins those of all that are refused.
func judgeAll(recipe string, tools []string) (*plugins.Inspection, []*plugins.Inspection, error) {
	var r *plugins.Inspection
	ts := make([]*plugins.Inspection, len(tools))
	errs := make([]error, 1+len(tools))
	var wg sync.WaitGroup
	if recipe != "" {
		wg.Go(func() { r, errs[0] = judgeFor("--recipe", recipe, abi.KindTools) })
	}
	for n, path := range tools {
		wg.Go(func() { ts[n], errs[1+n] = judgeFor("--tool", path, abi.KindRecipe) })
	}
	wg.Wait()
	return r, ts, errors.Join(errs...)
}

// judgeFor judges the plugin that a flag names; one of kind other belongs to the other flag, and that is a mistake
// on the command line.
func judgeFor(flag, path string, other abi.Kind) (*plugins.Inspection, error) {
	i, err := judge(path)
	if err == nil && i.Manifest.Kind == other {
		right := map[string]string{"--recipe": "--tool", "--tool": "--recipe"}[flag]
		err = usage(fmt.Errorf("plugin %s is of kind %s, which %s does not take; give it with %s", path, other, flag, right))
	}
	return i, err
}

// judge judges one plugin's file as a run would, without running anything of it. A refusal names the file by its
// path. The inspection is nil where there is no file to be read, which is a mistake on the command line.
func judge(path string) (*plugins.Inspection, error) {
	b, err := plugins.ReadFile(path)
	if err != nil {
		return nil, usage(err)
	}
	i, err := plugins.Inspect(b)
	if err == nil {
		err = judgeDeclared(i)
	}
	return i, named(path, err)
}

// named makes a refusal name the file by its path, for whoever gave that. In the log, a plugin whose manifest does
// not say what it is called has the name of its file.
func named(path string, err error) error {
	var refused *plugins.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	own := *refused
	own.Plugin = path
	if own.Name == "" {
		own.Name = plugins.Printable(filepath.Base(path), 100)
	}
	return &own
}

// judgeDeclared judges what a manifest declares for the host: schemas, and what it asks of the conversation.
func judgeDeclared(i *plugins.Inspection) error {
	var reasons []string
	var refused *plugins.RefusedError
	if errors.As(host.CheckSchemas(i), &refused) {
		reasons = append(reasons, refused.Reasons...)
	}
	if err := checkConversation(i.Manifest); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			reasons = append(reasons, "has a bad manifest: "+line)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return i.Refuse(plugins.RefusedFormat, reasons...)
}

// checkConversation refuses what a manifest asks of the conversation where no run would take it.
func checkConversation(m *abi.Manifest) error {
	source, err := config.FromManifest(m)
	if err == nil {
		_, err = config.Merge(source)
	}
	return err
}

// noteUnusedRecipes says of which plugins only the tools are used.
func (a *app) noteUnusedRecipes(tools []*plugins.Inspection) {
	for _, t := range tools {
		if t.Manifest.Kind == abi.KindBoth && a.told != quiet {
			fmt.Fprintf(a.err, "plugin %s is of kind both: with --tool its tools are used, and its recipe is not\n", t.Manifest.Name)
		}
	}
}

// refuse ends a run whose plugins were refused. That it was asked for, and why it did not begin, is kept.
func (a *app) refuse(ctx context.Context, f *runFlags, goal string, refused error) error {
	merged, err := settings(nil, nil, &f.modelFlags)
	if err != nil { // a mistake in it is for when the plugins are right
		if merged, err = config.Merge(); err != nil {
			return err
		}
	}
	sub := host.Submission{Goal: goal, ModelName: pinnedName(merged.Model.Name), Config: merged.Task}
	err = a.withStore(ctx, storeOptions{}, func(s *sharedStore) error {
		h, err := s.host(host.Options{})
		if err != nil {
			return err
		}
		r, err := h.Reject(ctx, sub, refused)
		if r == nil {
			return err
		}
		return a.report(r, err, &f.modelFlags, nil)
	})
	var told *plugins.RefusedError
	if !errors.As(err, &told) {
		return &codeError{exitRefused, errors.Join(refused, fmt.Errorf("this was not kept in the log: %w", err))}
	}
	return err
}
