package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/plugins"
	"github.com/spf13/cobra"
)

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plugin",
		Short:   "Pack plugins and look into them",
		Long:    "plugin makes plugins of WebAssembly modules, and shows what is in them." + exitHelp(exitSucceeded, exitUsage, exitRefused),
		Example: "  axishost plugin pack --manifest axis.json calc.wasm\n  axishost plugin inspect calc.wasm",
		RunE:    group,
	}
	var manifest, output string
	var replace bool
	pack := &cobra.Command{
		Use:   "pack [flags] IN.wasm",
		Short: "Put a manifest into a module",
		Long: `pack puts a manifest, verbatim, into a WebAssembly module, which makes it a plugin, and checks that this
host would accept it. The result replaces IN.wasm unless -o names another file. Fields of the manifest that this
version does not know are ignored, with a warning. With --json it prints the object of plugin inspect.` + exitHelp(exitSucceeded, exitUsage, exitRefused),
		Example: `  GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o calc.wasm .
  axishost plugin pack --manifest axis.json calc.wasm`,
		Args:              one("IN.wasm"),
		ValidArgsFunction: completeWasm,
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				output = args[0]
			}
			return a.pluginPack(args[0], manifest, output, plugins.PackOptions{Replace: replace})
		},
	}
	pack.Flags().StringVar(&manifest, "manifest", "axis.json", "manifest `file`")
	pack.Flags().StringVarP(&output, "output", "o", "", "`file` to write (default: IN.wasm itself)")
	pack.Flags().BoolVar(&replace, "replace", false, "replace the manifest of a packed module")
	_ = pack.MarkFlagFilename("manifest", "json")
	_ = pack.MarkFlagFilename("output", "wasm")
	inspect := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show what a plugin says of itself, without running it",
		Long: `inspect shows a plugin's manifest, and what its module imports and exports; none of its code runs. Of a file
that this host refuses it shows what could be read, and every reason for which it is refused, sorted. With --json
it prints one object with the fields digest (SHA-256, in hexadecimal) and bytes (of a file over 32 MiB empty and
0), manifest (null: none that can be read), imports, exports, limits (of an instance's memory and of a call's
output, in bytes; empty without a manifest), notes, accepted, class (of refusal: format, version, import or
grant; empty: none) and reasons.` + exitHelp(exitSucceeded, exitUsage, exitRefused),
		Example: `  axishost plugin inspect calc.wasm
  axishost plugin inspect calc.wasm --json | jq .manifest.tools`,
		Args:              one("FILE"),
		ValidArgsFunction: completeWasm,
		RunE:              func(_ *cobra.Command, args []string) error { return a.pluginInspect(args[0]) },
	}
	cmd.AddCommand(pack, inspect)
	return cmd
}

func completeWasm(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"wasm"}, cobra.ShellCompDirectiveFilterFileExt
}

func (a *app) pluginPack(in, manifest, out string, opts plugins.PackOptions) error {
	module, err := plugins.ReadFile(in)
	if err != nil {
		return usage(err)
	}
	if _, err := os.Stat(manifest); errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("manifest %s does not exist; give it with --manifest", manifest))
	}
	m, err := readSmall("manifest", manifest, maxConfigBytes) // the ABI's own limit is told when it is judged
	if err != nil {
		return err
	}
	parsed, err := abi.ParseManifest(m)
	if err == nil {
		err = checkConversation(parsed)
	}
	if err != nil {
		return &codeError{exitRefused, fmt.Errorf("%s: %s", manifest, strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	packed, err := plugins.Pack(module, m, opts)
	var refused *plugins.RefusedError
	switch {
	case errors.As(err, &refused):
		return named(in, err)
	case errors.Is(err, plugins.ErrPacked):
		return usage(fmt.Errorf("plugin %s: %w", in, err))
	case err != nil:
		return &codeError{exitRefused, fmt.Errorf("plugin %s: %w", in, err)}
	}
	if i, err := plugins.Inspect(packed); err == nil {
		if err := host.CheckSchemas(i); err != nil {
			return &codeError{exitRefused, err}
		}
	}
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return usage(fmt.Errorf("%s is a directory; name the file to write", out))
	}
	if err := replaceFile(out, packed); err != nil {
		return writingError(out, err)
	}
	for _, warning := range manifestWarnings(m, parsed) {
		fmt.Fprintf(a.err, "warning: %s: %s\n", manifest, warning)
	}
	if a.json {
		i, err := plugins.Inspect(packed)
		return errors.Join(err, a.printJSON(inspectionJSON(i, err)))
	}
	fmt.Fprintf(a.err, "packed %s (%d bytes): %s\n", out, len(packed), offers(parsed))
	return nil
}

func (a *app) pluginInspect(path string) error {
	i, refusal := judge(path)
	if i == nil {
		return refusal
	}
	if a.json {
		return errors.Join(a.printJSON(inspectionJSON(i, refusal)), silent(refusal))
	}
	a.printInspection(i, refusal)
	return refusal
}

// silent keeps an error's exit code, and says nothing: its text is in the JSON.
func silent(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{code: exitCode(err)}
}

type inspectionView struct {
	Digest   string        `json:"digest"`
	Bytes    int           `json:"bytes"`
	Manifest *abi.Manifest `json:"manifest"`
	Imports  []string      `json:"imports"`
	Exports  []string      `json:"exports"`
	Limits   abi.Limits    `json:"limits"`
	Notes    []string      `json:"notes"`
	Accepted bool          `json:"accepted"`
	Class    string        `json:"class"`
	Reasons  []string      `json:"reasons"`
}

func inspectionJSON(i *plugins.Inspection, err error) inspectionView {
	v := inspectionView{
		Digest: i.Digest, Bytes: i.Bytes, Manifest: i.Manifest,
		Imports: append([]string{}, i.Imports...), Exports: append([]string{}, i.Exports...),
		Limits: i.Limits(), Notes: append([]string{}, i.Notes()...),
		Accepted: err == nil, Reasons: []string{},
	}
	var refused *plugins.RefusedError
	if errors.As(err, &refused) {
		v.Class, v.Reasons = string(refused.Class), refused.Reasons
	}
	return v
}

func (a *app) printInspection(i *plugins.Inspection, refusal error) {
	s := screenOf(a.out).whole()
	row := func(label, format string, args ...any) {
		fmt.Fprintf(a.out, "%-12s %s\n", label, s.fit(plugins.Printable(fmt.Sprintf(format, args...), 4096)))
	}
	if m := i.Manifest; m != nil {
		row("plugin", "%s %s (%s)", m.Name, m.Version, m.Kind)
		if m.Description != "" {
			row("description", "%s", m.Description)
		}
		if m.License != "" {
			row("license", "%s", m.License)
		}
		row("abi", "%d.%d (host has %s)", m.ABI.Major, m.ABI.Minor, abi.Release)
		for _, h := range m.Hooks {
			row("hook", "%s", h)
		}
		for _, t := range m.Tools {
			row("tool", "%s (%s, within %s): %s", t.Name, t.Effect, time.Duration(t.Millis())*time.Millisecond, t.Description)
			row("", "%s", compactJSON(t.InputSchema))
			if contract := contractOf(&t); contract != "" {
				row("", "%s", contract)
			}
		}
		if m.ConfigSchema != nil {
			row("config", "%s", compactJSON(m.ConfigSchema))
		}
		row("needs", "%s", operations(m.Requires))
		if len(m.Optional) > 0 || len(m.Requires) == 0 {
			row("can use", "%s", operations(m.Optional))
		}
		if len(m.Caps.HTTP) > 0 {
			row("asks for", "http to %s (granted with --allow)", strings.Join(m.Caps.HTTP, ", "))
		}
		row("limits", "%d KiB of memory, %d KiB of output for each call", i.Limits().MemoryBytes>>10, i.Limits().OutputBytes>>10)
	}
	row("size", "%s", sizeOf(i))
	if i.Digest != "" {
		row("digest", "sha256:%s", i.Digest)
	}
	for _, imp := range i.Imports {
		row("import", "%s", imp)
	}
	for _, e := range i.Exports {
		row("export", "%s", e)
	}
	for _, note := range i.Notes() {
		row("note", "%s", note)
	}
	var refused *plugins.RefusedError
	if errors.As(refusal, &refused) { // all of them: the error has as many as go into a line
		for _, reason := range refused.Reasons {
			row("refused", "%s", reason)
		}
	}
}

func sizeOf(i *plugins.Inspection) string {
	switch {
	case i.Digest == "":
		return fmt.Sprintf("over %d MiB", abi.MaxModuleBytes>>20)
	case i.MemoryPages > 0:
		return fmt.Sprintf("%d bytes, memory from %d KiB", i.Bytes, i.MemoryPages*(abi.PageBytes>>10))
	}
	return fmt.Sprintf("%d bytes", i.Bytes)
}

func operations(ops []abi.Operation) string {
	if len(ops) == 0 {
		return "nothing of the host"
	}
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = string(op)
	}
	return strings.Join(names, ", ")
}

func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// contractOf tells what a tool promises besides its effect.
func contractOf(t *abi.ToolSpec) string {
	var parts []string
	for _, p := range []struct {
		holds bool
		text  string
	}{
		{t.Reconcile, "can tell what became of a call"}, {t.Compensate, "can be undone"}, {t.Preview, "says beforehand what it would do"},
		{t.Check, "checks its calls"}, {t.Precondition != nil, "has a precondition"}, {t.OutputSchema != nil, "has a schema of its result"},
		{t.Success != nil, "has a predicate of success"},
		{len(t.Resources) > 0, "one call at a time for each " + strings.Join(t.Resources, ", ")},
	} {
		if p.holds {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, "; ")
}
