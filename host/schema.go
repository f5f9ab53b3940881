package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// compileSchema compiles a JSON Schema (draft 2020-12 where it names none). It may refer only to itself: no
// file and no address is ever loaded for it.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "axis:///schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(name, document); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// validate checks JSON text against a schema. The error is one line, for a model or a person.
func validate(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
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

// collect gathers the innermost problems, each with the place in the value.
func collect(e *jsonschema.ValidationError, into *[]string) {
	const most = 5
	if len(e.Causes) == 0 && len(*into) < most {
		text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		if len(e.InstanceLocation) > 0 {
			text = strings.Join(e.InstanceLocation, ".") + ": " + text
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
		return &plugins.RefusedError{Plugin: i.Manifest.Name, Reasons: []string{"has a bad config_schema: " + oneLine(err)}}
	}
	if err := validate(schema, config); err != nil {
		return &PluginSetError{fmt.Sprintf("configuration of plugin %q does not fit its schema (set it under %s): %s", i.Manifest.Name, where, oneLine(err))}
	}
	return nil
}

// toolSchemas compiles the schemas of a task's tools, by tool name.
func toolSchemas(pinned []event.Plugin) (map[string]*jsonschema.Schema, error) {
	schemas := map[string]*jsonschema.Schema{}
	for _, p := range pinned {
		for _, t := range p.Tools {
			schema, err := compileSchema(t.Schema)
			if err != nil {
				return nil, &plugins.RefusedError{Plugin: p.Name, Reasons: []string{fmt.Sprintf("has a bad input_schema in tool %q: %s", t.Name, oneLine(err))}}
			}
			schemas[t.Name] = schema
		}
	}
	return schemas, nil
}

// oneLine puts an error's text on one line, and cuts it where it becomes a lecture.
func oneLine(err error) string {
	return plugins.Printable(strings.Join(strings.Fields(err.Error()), " "), 200)
}
