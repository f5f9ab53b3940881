package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/plugins"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of what a compiled schema asks of one value, before it goes down into it: the subschemas that hold for the
// value itself, through references, allOf, anyOf, if and their like.
const (
	// maxStanding bounds how many such subschemas stand within each other. Arguments are nested to
	// abi.MaxNesting, so the library's calls are nested to 51 times 201, some 25 MB of stack. Ordinary schemas have
	// 2 to 6.
	maxStanding = 50
	// maxHolding bounds how often such subschemas are gone through, each as often as it is referred to. A
	// union of five hundred forms has a few thousand.
	maxHolding = 10_000
)

// standing is what holds for one value.
type standing struct {
	depth, count int
	open         bool // it is being reckoned
}

// checkStanding refuses a schema that could hold for a value without end, or nearly. It is the library that has resolved
// the references, so that it does not matter how they are written.
func checkStanding(schemas []*jsonschema.Schema) error {
	known := map[*jsonschema.Schema]*standing{}
	for _, s := range schemas {
		if _, err := standingOf(s, known); err != nil {
			return err
		}
	}
	return nil
}

func standingOf(s *jsonschema.Schema, known map[*jsonschema.Schema]*standing) (*standing, error) {
	if n := known[s]; n != nil {
		if n.open {
			return nil, fmt.Errorf("it refers to itself, at %s, without going down into the value", place(s))
		}
		return n, nil
	}
	n := &standing{depth: 1, count: 1, open: true}
	known[s] = n
	for _, holds := range holding(s) {
		m, err := standingOf(holds, known)
		if err != nil {
			return nil, err
		}
		n.depth = max(n.depth, m.depth+1)
		n.count += m.count
		switch {
		case n.depth > maxStanding:
			return nil, fmt.Errorf("its references follow each other too far, at %s", place(s))
		case n.count > maxHolding:
			return nil, fmt.Errorf("its references come to too many subschemas for one value, at %s", place(s))
		}
	}
	n.open = false
	return n, nil
}

// reachable gives all that a schema may be followed to. It refuses references whose target is known only while they are
// followed.
func reachable(root *jsonschema.Schema) ([]*jsonschema.Schema, error) {
	all, seen := []*jsonschema.Schema{root}, map[*jsonschema.Schema]bool{root: true}
	for i := 0; i < len(all); i++ {
		s := all[i]
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return nil, errors.New("it uses $dynamicRef or $recursiveRef, at " + place(s) + "; write $ref")
		}
		for _, next := range append(holding(s), below(s)...) {
			if !seen[next] {
				seen[next] = true
				all = append(all, next)
			}
		}
	}
	return all, nil
}

// onlyRef tells whether a schema is its reference: older drafts ignore what stands beside one.
func onlyRef(s *jsonschema.Schema) bool { return s.Ref != nil && s.DraftVersion < 2019 }

// holding gives the subschemas that hold for the same value.
func holding(s *jsonschema.Schema) []*jsonschema.Schema {
	if onlyRef(s) {
		return []*jsonschema.Schema{s.Ref}
	}
	var out []*jsonschema.Schema
	for _, one := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			out = append(out, one)
		}
	}
	out = append(append(append(out, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, one := range s.Dependencies {
		if schema, ok := one.(*jsonschema.Schema); ok {
			out = append(out, schema)
		}
	}
	for _, one := range s.DependentSchemas {
		out = append(out, one)
	}
	return out
}

// below gives the subschemas that hold for what is in the value, the names of an object among that.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	if onlyRef(s) {
		return nil
	}
	out := append([]*jsonschema.Schema{}, s.PrefixItems...)
	for _, one := range []*jsonschema.Schema{
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
	} {
		if one != nil {
			out = append(out, one)
		}
	}
	for _, one := range s.Properties {
		out = append(out, one)
	}
	for _, one := range s.PatternProperties {
		out = append(out, one)
	}
	for _, one := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch schema := one.(type) {
		case *jsonschema.Schema:
			out = append(out, schema)
		case []*jsonschema.Schema:
			out = append(out, schema...)
		}
	}
	return out
}

// place is where a schema stands in its document.
func place(s *jsonschema.Schema) string {
	_, fragment, _ := strings.Cut(s.Location, "#")
	return plugins.Printable("#"+fragment, 80)
}
