package main

import (
	"fmt"

	"github.com/axishost/axishost/store/sealed"
	"github.com/spf13/cobra"
)

func (a *app) keygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key file, with which a new event log is encrypted",
		Long: `keygen makes a file with a new random key, which only its owner may read, and the directory that it is in, where
that is missing. A store that is made while
AXISHOST_KEY_FILE names the file is encrypted with it, and is opened with no other: keep a copy of the file where
the store's backups are not. A store that exists already stays as it is. The id of the key, which is no secret,
is printed; with --json in an object with the fields file and key.` + exitHelp(exitSucceeded, exitUsage),
		Example: `  axishost keygen ~/.config/axishost/key
  AXISHOST_KEY_FILE=~/.config/axishost/key axishost run --store encrypted "What is 17 * 23?"`,
		Args: one("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.keygen(args[0]) },
	}
}

func (a *app) keygen(path string) error {
	if err := sealed.NewKeyFile(path); err != nil {
		return usage(err)
	}
	key, err := sealed.ReadKeyFile(path)
	if err != nil {
		return usage(err)
	}
	if a.json {
		return a.printJSON(struct {
			File string `json:"file"`
			Key  string `json:"key"`
		}{path, key.ID()})
	}
	fmt.Fprintln(a.out, key.ID())
	fmt.Fprintf(a.err, "the key is in %s; a store that is made now is encrypted with it: %s\n", path, shellLine([]string{"export", "AXISHOST_KEY_FILE=" + path}))
	return nil
}
