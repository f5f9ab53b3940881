// Command lookup is a tool plugin with one tool, lookup, which answers from the table in its configuration.
package main

import (
	"fmt"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() { guest.Tool("lookup", lookup) }

func main() {}

// maxKey bounds the keys that are looked up, in bytes: nearness is measured in time that grows with them.
const maxKey = 200

func lookup(call guest.Call) guest.Result {
	var arguments struct {
		Key string `json:"key"`
	}
	if err := call.Decode(&arguments); err != nil {
		return guest.Invalid("%v", err)
	}
	var config struct {
		Table map[string]string `json:"table"`
	}
	if err := guest.Config(&config); err != nil {
		return guest.Failed(abi.ClassPermanent, "%v", err)
	}
	switch {
	case len(config.Table) == 0:
		return guest.Failed(abi.ClassPermanent, `the table is empty: the plugin's configuration must have entries under "table"`)
	case strings.TrimSpace(arguments.Key) == "":
		return guest.Invalid("the key is empty; %s", known(config.Table, ""))
	case len(arguments.Key) > maxKey:
		return guest.Invalid("the key has %d bytes, and at most %d are taken", len(arguments.Key), maxKey)
	}
	if value, ok := find(config.Table, arguments.Key); ok {
		return guest.OK(value)
	}
	return guest.Invalid("there is no entry %q; %s", arguments.Key, known(config.Table, arguments.Key))
}

// known names the keys that can be looked up: all of a small table, else those nearest to key.
func known(table map[string]string, key string) string {
	const few = 12
	keys := nearest(table, key)
	if len(keys) <= few {
		return "the keys are " + quoted(keys)
	}
	return fmt.Sprintf("the nearest of %d keys are %s", len(keys), quoted(keys[:few/2]))
}

func quoted(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", key)
	}
	return b.String()
}
