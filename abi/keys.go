package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// object says which names an object of the manifest has, and what is below them. A nil one may have any.
type object map[string]object

// manifestObject is what Manifest reads; arrays are left out.
func manifestObject() object {
	return object{
		"abi":  {"major": nil, "minor": nil},
		"name": nil, "version": nil, "description": nil, "license": nil, "kind": nil, "hooks": nil,
		"tools": {
			"name": nil, "description": nil, "input_schema": nil, "effect": nil, "timeout_ms": nil, "reconcile": nil,
			"compensate": nil, "preview": nil, "check": nil, "precondition": nil, "output_schema": nil, "success": nil,
			"resources": nil, "risk": nil, "cost": {"money_micros": nil, "tokens": nil},
		},
		"conversation": nil, "config_schema": nil, "requires": nil, "optional": nil, "caps": {"http": nil},
		"limits": {"memory_bytes": nil, "output_bytes": nil},
	}
}

// checkKeys refuses what Go's decoder reads otherwise than people and other decoders do: it takes the last of two
// fields of one name, merging objects, and names in whatever case. A reviewer must see the manifest that the host
// reads. text is valid JSON, and not nested too deep.
func checkKeys(text []byte) error {
	k := keyChecker{decoder: json.NewDecoder(strings.NewReader(string(text)))}
	k.decoder.UseNumber() // a number may be one that no float64 holds
	k.value("", manifestObject())
	return k.join()
}

type keyChecker struct {
	decoder *json.Decoder
	problems
}

// value passes over the next value, which is found at path.
func (k *keyChecker) value(path string, names object) {
	switch token, _ := k.decoder.Token(); token {
	case json.Delim('{'):
		k.object(path, names)
	case json.Delim('['):
		for k.decoder.More() {
			k.value(path, names)
		}
		_, _ = k.decoder.Token()
	}
}

// object passes over the rest of an object.
func (k *keyChecker) object(path string, names object) {
	seen := map[string]bool{}
	for k.decoder.More() {
		token, _ := k.decoder.Token()
		name, _ := token.(string)
		at := strings.TrimPrefix(path+"."+clip(name), ".")
		if seen[name] {
			k.add("%s is there twice", quoted(at))
		}
		seen[name] = true
		below, known := names[name]
		if right := otherCase(names, name); !known && right != "" {
			k.add("%s must be written %s", quoted(at), right)
		}
		k.value(at, below)
	}
	_, _ = k.decoder.Token()
}

// otherCase finds the name that Go's decoder would take this one for.
func otherCase(names object, name string) string {
	for n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

// quoted is how messages write the place of a field, which may hold anything.
func quoted(path string) string { return fmt.Sprintf("%q", path) }

// maxProblems is how many problems of a manifest are told, the last one being how many more there are: a manifest can
// have thousands, and nobody reads them.
const maxProblems = 20

// problems collects what is wrong with a manifest.
type problems struct {
	list []error
	more int
}

func (p *problems) add(format string, args ...any) {
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, fmt.Errorf(format, args...))
}

// join is all of them as one error.
func (p *problems) join() error {
	if p.more > 0 {
		last := fmt.Errorf("and %d more problems", p.more+1)
		return errors.Join(append(slices.Clone(p.list[:maxProblems-1]), last)...)
	}
	return errors.Join(p.list...)
}
