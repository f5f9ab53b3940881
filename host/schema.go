package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/axishost/axishost/plugins"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemaName is what the library knows a schema as.
const schemaName = "axis:///schema.json"

// schemaCompiler compiles the schemas of one manifest, within bounds on what they come to together.
type schemaCompiler struct {
	weight   schemaWeight
	patterns patterns
}

// compileSchema compiles a schema by itself.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	return new(schemaCompiler).compile(raw)
}

// compile compiles a JSON Schema (draft 2020-12 where it names none). It may refer only to itself: no file and no
// address is ever loaded for it. What validation with it can cost is bounded with what this gives, by validate.
func (c *schemaCompiler) compile(raw json.RawMessage) (schema *jsonschema.Schema, err error) {
	defer recovered(&err)
	document, err := readJSON(raw)
	if err != nil {
		return nil, err
	}
	if err := c.weight.add(document); err != nil {
		return nil, err
	}
	library := jsonschema.NewCompiler()
	library.DefaultDraft(jsonschema.Draft2020)
	library.UseLoader(jsonschema.SchemeURLLoader{})
	library.UseRegexpEngine(c.patterns.compile)
	if err := library.AddResource(schemaName, document); err != nil {
		return nil, err
	}
	schema, err = library.Compile(schemaName)
	var bad *jsonschema.SchemaValidationError
	var why *jsonschema.ValidationError
	switch {
	case c.patterns.over != nil:
		return nil, c.patterns.over
	case errors.As(err, &bad) && errors.As(bad.Err, &why): // in words, without the name that it has in here
		var problems []string
		collect(why, &problems)
		slices.Sort(problems)
		return nil, errors.New("it is no JSON Schema: " + strings.Join(slices.Compact(problems), "; "))
	case err != nil:
		return nil, err
	}
	return schema, c.bound(schema)
}

// bound refuses a schema whose validation could have no bound, and puts the host's own checks where the library's have
// none. Nothing else has the compiled schema yet.
func (c *schemaCompiler) bound(schema *jsonschema.Schema) error {
	all, err := reachable(schema)
	if err != nil {
		return err
	}
	if err := c.weight.follow(all, schemaName); err != nil {
		return err
	}
	if err := checkStanding(all); err != nil {
		return err
	}
	for _, s := range all {
		if s.UniqueItems {
			s.UniqueItems = false
			s.Extensions = append(s.Extensions, uniqueItems{})
		}
		if s.Format != nil && s.Format.Name == "regex" {
			s.Format = regexFormat
		}
	}
	return nil
}

// recovered makes an error of a panic of the schema library, which has met what its authors did not expect.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema library cannot check this: %v", r)
	}
}

// validate checks JSON text against a schema. The error is one line, for a model or a person. It is bounded before it
// begins and cannot be cut short, so that what it says never depends on how busy the host was, or on when a run was
// cancelled: it is recorded.
func validate(_ context.Context, schema *jsonschema.Schema, text []byte) (err error) {
	defer recovered(&err)
	value, err := readJSON(text)
	if err != nil {
		return err
	}
	if !affordable(schema, value) {
		return errors.New("too large to be checked against the schema: send fewer values, or nest them less")
	}
	err = schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var problems []string
	collect(invalid, &problems)
	return errors.New(strings.Join(problems, "; "))
}

// collect gathers the innermost problems, each with the place in the value. A problem may quote a whole text, of
// the value or of the schema: those are cut.
func collect(e *jsonschema.ValidationError, into *[]string) {
	const most, begin, end = 5, 800, 200
	if len(e.Causes) == 0 && len(*into) < most {
		text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		if len(e.InstanceLocation) > 0 {
			text = strings.Join(e.InstanceLocation, ".") + ": " + text
		}
		if len(text) > begin+end { // what is wrong with it stands at the end
			text = strings.ToValidUTF8(text[:begin]+" … "+text[len(text)-end:], "")
		}
		*into = append(*into, text)
	}
	for _, cause := range e.Causes {
		collect(cause, into)
	}
}

// checkConfig checks a plugin's configuration against the schema in its manifest. where is the key that it
// stands under.
func checkConfig(i *plugins.Inspection, config json.RawMessage, where string) error {
	if i.Manifest.ConfigSchema == nil {
		return nil
	}
	schema, err := compileSchema(i.Manifest.ConfigSchema)
	if err != nil {
		return i.Refuse(plugins.RefusedFormat, "has a bad config_schema: "+oneLine(err))
	}
	if err := validate(context.Background(), schema, config); err != nil {
		return &PluginSetError{fmt.Sprintf("configuration of plugin %q does not fit its schema (set it under %s): %s", i.Manifest.Name, where, oneLine(err))}
	}
	return nil
}

// CheckSchemas tells whether the schemas in a plugin's manifest can be used. The error is a
// *plugins.RefusedError with all that cannot.
func CheckSchemas(i *plugins.Inspection) error {
	reasons := compileContracts(i.Manifest, map[string]*contract{})
	for _, t := range i.Manifest.Tools {
		if !describesObject(t.InputSchema) {
			reasons = append(reasons, fmt.Sprintf("has a bad input_schema in tool %q: must describe an object", t.Name))
		}
	}
	if i.Manifest.ConfigSchema != nil {
		if _, err := compileSchema(i.Manifest.ConfigSchema); err != nil {
			reasons = append(reasons, "has a bad config_schema: "+oneLine(err))
		}
	}
	if len(reasons) > 0 {
		return i.Refuse(plugins.RefusedFormat, reasons...)
	}
	return nil
}

// describesObject tells whether a schema's type, where it has one, allows objects: arguments are nothing else. Tasks
// that were begun with others go on, so that this is no matter of loading.
func describesObject(schema json.RawMessage) bool {
	var has struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(schema, &has) // what is no schema is told as such
	switch t := has.Type.(type) {
	case string:
		return t == "object"
	case []any:
		return slices.Contains(t, any("object"))
	default:
		return true
	}
}

// oneLine puts an error's text on one line, and cuts it where it becomes a lecture.
func oneLine(err error) string {
	return plugins.Printable(strings.Join(strings.Fields(err.Error()), " "), 200)
}
