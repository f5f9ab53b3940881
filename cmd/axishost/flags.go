package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onceValue is the value of a flag that may be given once: with two of them, one would be forgotten.
type onceValue struct {
	to  *string
	why string // there is only one
}

// Set implements pflag.Value.
func (v *onceValue) Set(text string) error {
	if *v.to != "" {
		return errors.New("is given twice: " + v.why)
	}
	*v.to = text
	return nil
}

// String implements pflag.Value.
func (v *onceValue) String() string {
	if v.to == nil {
		return ""
	}
	return *v.to
}

// Type implements pflag.Value.
func (v *onceValue) Type() string { return "string" }

// flagError says in words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return usage(fmt.Errorf("--%s %q %s; see %s --help", invalid.GetFlag().Name, invalid.GetValue(), whyInvalid(invalid), cmd.CommandPath()))
	}
	hint := "; see " + cmd.CommandPath() + " --help"
	if cmd.Name() == "run" && strings.Contains(err.Error(), "shorthand") {
		hint = "; put -- before a task that begins with a dash"
	}
	return usage(errors.New(err.Error() + hint))
}

func whyInvalid(invalid *pflag.InvalidValueError) string {
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64", "intSlice", "uint64":
		return "is no whole number of 0 or more"
	case "bool":
		return "is neither true nor false"
	default:
		return invalid.Unwrap().Error()
	}
}
