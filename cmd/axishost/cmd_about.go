package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/axishost/axishost/abi"
	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Long:              "version prints the version of axishost, of the ABI that it gives to plugins, and of Go. With --json it\nprints one object with the fields version, abi and go." + exitHelp(exitSucceeded, exitUsage),
		Example:           "  axishost version\n  axishost version --json",
		Args:              none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": version(), "abi": abi.Release, "go": runtime.Version()})
			}
			fmt.Fprint(a.out, versionLine())
			return nil
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("axishost %s, ABI %s, %s\n", version(), abi.Release, runtime.Version())
}

// version is the module's version and commit as the Go toolchain recorded them.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// abiView is what axishost abi --json prints.
type abiView struct {
	ABI        string   `json:"abi"`
	Hooks      []string `json:"hooks"`
	Operations []string `json:"operations"`
	Imports    []string `json:"imports"`
	WASI       []string `json:"wasi"`
	Unserved   []string `json:"specified_not_served"`
}

func (a *app) abiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "abi",
		Short: "Print what this host offers to plugins",
		Long: `abi prints the ABI's version and what this host has of it: hooks that it calls, operations that it
performs, functions that a plugin may import. With --json it prints one object with the fields abi (the version),
hooks, operations, imports (of the host's functions, with their types), wasi (functions of WASI) and
specified_not_served (hooks and operations that the specification has and this host does not serve).` + exitHelp(exitSucceeded, exitUsage),
		Example: `  axishost abi
  axishost abi --json | jq -r '.hooks[]'`,
		Args:              none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := hostABI()
			if a.json {
				return a.printJSON(v)
			}
			fmt.Fprintf(a.out, "axis ABI %s\n", v.ABI)
			for _, group := range []struct {
				title string
				names []string
			}{
				{"hooks", v.Hooks}, {"operations", v.Operations}, {"imports of " + abi.ImportModule, v.Imports},
				{"imports of " + abi.WASIModule, v.WASI}, {"in the specification, not served by this host", v.Unserved},
			} {
				fmt.Fprintf(a.out, "\n%s:\n", group.title)
				for _, name := range group.names {
					fmt.Fprintf(a.out, "  %s\n", name)
				}
			}
			return nil
		},
	}
}

func hostABI() abiView {
	v := abiView{ABI: abi.Release, WASI: abi.WASIImports()}
	for _, h := range abi.Hooks() {
		if h.Served {
			v.Hooks = append(v.Hooks, string(h.Name))
		} else {
			v.Unserved = append(v.Unserved, "hook "+string(h.Name))
		}
	}
	for _, op := range abi.Operations() {
		if op.Served {
			v.Operations = append(v.Operations, string(op.Name))
		} else {
			v.Unserved = append(v.Unserved, "operation "+string(op.Name))
		}
	}
	for _, f := range abi.Imports() {
		v.Imports = append(v.Imports, f.String())
	}
	return v
}
