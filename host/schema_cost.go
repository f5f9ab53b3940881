package host

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxValidationCost bounds one validation. The unit takes the library 70 ns and 70 bytes at most, or 120 ns in a regular
// expression, as measured with schemas and values that were made to be expensive: the worst is 0.4 s and 350 MB, or 0.6 s.
// Ordinary arguments come to hundreds or thousands.
const maxValidationCost = 5_000_000

// affordable tells whether a value can be checked within maxValidationCost. It goes the ways that the library would go,
// all of them, and only counts: a recursive schema with two ways into the same value doubles with each level, and how
// deep that may get depends on the value alone. It stops at the bound, so that it costs less than what it allows.
func affordable(s *jsonschema.Schema, value any) bool {
	c := costing{left: maxValidationCost}
	c.schema(s, value, 0, false)
	return c.left >= 0
}

type costing struct{ left int }

// schema counts the validation of a value at a depth. tracked says that the library keeps account of which items and
// properties were evaluated.
func (c *costing) schema(s *jsonschema.Schema, value any, depth int, tracked bool) {
	location := depth / 4 // each error has a copy of its place
	c.left -= 8 + location
	if c.left < 0 || s.Bool != nil || (s.Types != nil && !typeFits(s.Types, value)) {
		return
	}
	tracked = tracked || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	c.left -= assertions(s) * (4 + location)
	if s.Types != nil {
		c.left -= numberCost(value)
	}
	if s.Const != nil {
		c.left -= equalCost(value, *s.Const)
	}
	if s.Enum != nil {
		for _, item := range s.Enum.Values {
			c.left -= equalCost(value, item)
		}
	}
	switch v := value.(type) {
	case string:
		c.left -= stringCost(s, v)
	case json.Number:
		for _, limit := range []bool{s.Minimum != nil, s.Maximum != nil, s.ExclusiveMinimum != nil, s.ExclusiveMaximum != nil, s.MultipleOf != nil} {
			if limit {
				c.left -= numberCost(v)
			}
		}
	case []any:
		c.array(s, v, depth+1, tracked)
	case map[string]any:
		c.object(s, v, depth+1, tracked)
	}
	for _, holds := range holding(s) {
		if c.left < 0 {
			return
		}
		c.schema(holds, value, depth, tracked)
	}
}

func (c *costing) array(s *jsonschema.Schema, list []any, depth int, tracked bool) {
	if onlyRef(s) {
		return
	}
	for range s.Extensions { // uniqueItems
		c.left -= keyCost(list)
	}
	if tracked {
		c.left -= 2 * len(list)
	}
	tuple, every := s.PrefixItems, s.Items2020
	switch items := s.Items.(type) { // drafts before 2020-12
	case *jsonschema.Schema:
		every = items
	case []*jsonschema.Schema:
		tuple = items
		every, _ = s.AdditionalItems.(*jsonschema.Schema)
	}
	for i, item := range list {
		if c.left < 0 {
			return
		}
		if i < len(tuple) {
			c.schema(tuple[i], item, depth, false)
		} else if every != nil {
			c.schema(every, item, depth, false)
		}
		for _, one := range []*jsonschema.Schema{s.Contains, s.UnevaluatedItems} {
			if one != nil {
				c.schema(one, item, depth, false)
			}
		}
	}
}

func (c *costing) object(s *jsonschema.Schema, object map[string]any, depth int, tracked bool) {
	if onlyRef(s) {
		return
	}
	if tracked {
		c.left -= 2 * len(object)
	}
	c.left -= len(s.Required) + len(s.Dependencies) + len(s.DependentRequired) + len(s.DependentSchemas) + len(object)/4
	for name, required := range s.DependentRequired {
		if _, ok := object[name]; ok {
			c.left -= len(required)
		}
	}
	for name, dependency := range s.Dependencies {
		if required, ok := dependency.([]string); ok && object[name] != nil {
			c.left -= len(required)
		}
	}
	for name, item := range object {
		if c.left < 0 {
			return
		}
		c.property(s, name, item, depth)
	}
}

func (c *costing) property(s *jsonschema.Schema, name string, item any, depth int) {
	own := s.Properties[name]
	if own != nil {
		c.schema(own, item, depth, false)
	}
	for expression, one := range s.PatternProperties {
		c.left -= matchCost(expression, name)
		if c.left >= 0 && expression.MatchString(name) {
			own = one
			c.schema(one, item, depth, false)
		}
	}
	if additional, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && own == nil {
		c.schema(additional, item, depth, false)
	}
	if s.PropertyNames != nil {
		c.schema(s.PropertyNames, name, depth, false)
	}
	if s.UnevaluatedProperties != nil {
		c.schema(s.UnevaluatedProperties, item, depth, false)
	}
}

// assertions bounds the errors that a schema can make of one value.
func assertions(s *jsonschema.Schema) int {
	n := len(s.Dependencies) + len(s.DependentRequired)
	for _, has := range []bool{
		s.Const != nil, s.Enum != nil, s.Format != nil, s.Pattern != nil, s.Ref != nil, s.Not != nil, s.If != nil,
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0, len(s.Required) > 0, s.AdditionalProperties != nil, s.AdditionalItems != nil,
		s.Minimum != nil, s.Maximum != nil, s.ExclusiveMinimum != nil, s.ExclusiveMaximum != nil, s.MultipleOf != nil,
		s.MinLength != nil, s.MaxLength != nil, s.MinItems != nil, s.MaxItems != nil, s.Contains != nil, s.MaxContains != nil,
		s.MinProperties != nil, s.MaxProperties != nil,
	} {
		if has {
			n++
		}
	}
	return n
}

// typeFits tells whether a value may be of one of the types; the library goes no further where it is not.
func typeFits(types *jsonschema.Types, value any) bool {
	var is jsonschema.Types
	switch value.(type) {
	case nil:
		is.Add("null")
	case bool:
		is.Add("boolean")
	case string:
		is.Add("string")
	case json.Number:
		is.Add("number")
		is.Add("integer")
	case []any:
		is.Add("array")
	case map[string]any:
		is.Add("object")
	}
	return int(is)&int(*types) != 0
}

// equalCost is what it costs to tell whether two values are equal.
func equalCost(a, b any) int {
	switch a := a.(type) {
	case json.Number:
		if b, ok := b.(json.Number); ok {
			return numberCost(a) + numberCost(b)
		}
	case string:
		if b, ok := b.(string); ok && len(a) == len(b) {
			return 1 + len(a)/64
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			cost := 1
			for i, item := range a {
				cost += equalCost(item, b[i])
			}
			return cost
		}
	case map[string]any:
		if b, ok := b.(map[string]any); ok && len(a) == len(b) {
			cost := 1 + len(a)
			for name, item := range a {
				cost += equalCost(item, b[name])
			}
			return cost
		}
	}
	return 1
}

// keyCost is what uniqueItems costs: a text of the whole value.
func keyCost(value any) int {
	switch v := value.(type) {
	case json.Number:
		return 2 * numberCost(v)
	case string:
		return 2 + len(v)/8
	case []any:
		cost := 4 + len(v)*4
		for _, item := range v {
			cost += keyCost(item)
		}
		return cost
	case map[string]any:
		cost := 4 + len(v)*8
		for name, item := range v {
			cost += len(name)/8 + keyCost(item)
		}
		return cost
	}
	return 2
}

// numberCost is what it costs to reckon with a number: it is made a fraction of as many digits as it says.
func numberCost(value any) int {
	number, ok := value.(json.Number)
	if !ok {
		return 0
	}
	digits := len(number)
	if at := strings.LastIndexAny(string(number), "eE"); at >= 0 {
		exponent, _ := strconv.Atoi(string(number[at+1:]))
		digits += max(exponent, -exponent)
	}
	return 8 + digits/2
}

// stringCost is what the assertions on a string cost.
func stringCost(s *jsonschema.Schema, text string) int {
	cost := 0
	if s.MinLength != nil || s.MaxLength != nil {
		cost += len(text) / 32
	}
	if s.Pattern != nil {
		cost += matchCost(s.Pattern, text)
	}
	switch {
	case s.Format == regexFormat:
		cost += 8 + min(parseSize(text), maxPatterns)*10
	case s.Format != nil:
		cost += 8 + len(text)/2
	}
	return cost
}

// matchCost is what it costs to match a text: Go's expressions take time in proportion to program and text.
func matchCost(expression jsonschema.Regexp, text string) int {
	size := 1
	if p, ok := expression.(*pattern); ok {
		size = p.size
	}
	return 1 + size*(len(text)+1)/4
}
