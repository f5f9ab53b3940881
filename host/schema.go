package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/plugins"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Bounds of schema validation. The library validates what it is given however long that takes, and does not
// expect numbers that its arithmetic cannot hold.
const (
	// maxNumber is how long a number may be, in digits, and how large its exponent: JSON has no bound, and
	// the arithmetic on one of ten million digits takes minutes.
	maxNumber = 400
	// maxSchemaCost bounds how many subschemas a schema comes to once its references are followed: forty
	// definitions that refer to the one before twice come to a trillion.
	maxSchemaCost = 100_000
	// validateTime bounds one validation. A recursive schema can cost more than its size tells.
	validateTime = 2 * time.Second
)

// compileSchema compiles a JSON Schema (draft 2020-12 where it names none). It may refer only to itself: no
// file and no address is ever loaded for it.
func compileSchema(raw json.RawMessage) (schema *jsonschema.Schema, err error) {
	defer recovered(&err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if err := checkNumbers(document); err != nil {
		return nil, err
	}
	const name = "axis:///schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(name, document); err != nil {
		return nil, err
	}
	schema, err = c.Compile(name)
	var bad *jsonschema.SchemaValidationError
	var why *jsonschema.ValidationError
	switch {
	case errors.As(err, &bad) && errors.As(bad.Err, &why): // in words, without the name that it has in here
		var problems []string
		collect(why, &problems)
		slices.Sort(problems)
		return nil, errors.New("it is no JSON Schema: " + strings.Join(slices.Compact(problems), "; "))
	case err != nil:
		return nil, err
	}
	if costOf(document) > maxSchemaCost {
		return nil, errors.New("its references come to too many subschemas")
	}
	return schema, nil
}

// recovered makes an error of a panic of the schema library, which has met what its authors did not expect.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema library cannot check this: %v", r)
	}
}

// checkNumbers refuses numbers that are too long to be reckoned with.
func checkNumbers(value any) error {
	switch v := value.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		if n, err := strconv.Atoi(exponent); len(v) > maxNumber || (exponent != "" && (err != nil || max(n, -n) > maxNumber)) {
			return fmt.Errorf("number %.20s is too large to be checked", v.String())
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// validate checks JSON text against a schema. The error is one line, for a model or a person.
func validate(ctx context.Context, schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := checkNumbers(value); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, validateTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { // left to itself past the deadline: the library cannot be stopped
		var err error
		defer func() { done <- err }()
		defer recovered(&err)
		err = schema.Validate(value)
	}()
	select {
	case <-ctx.Done():
		return errors.New("they could not be checked in time")
	case err = <-done:
	}
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
	reasons := compileSchemas(i.Manifest, map[string]*jsonschema.Schema{})
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

// toolSchemas compiles the schemas of plugins' tools, by tool name. The error joins a *plugins.RefusedError of
// each plugin that has bad ones.
func toolSchemas(inspections []*plugins.Inspection) (map[string]*jsonschema.Schema, error) {
	schemas := map[string]*jsonschema.Schema{}
	var errs []error
	for _, i := range inspections {
		if reasons := compileSchemas(i.Manifest, schemas); len(reasons) > 0 {
			errs = append(errs, i.Refuse(plugins.RefusedFormat, reasons...))
		}
	}
	return schemas, errors.Join(errs...)
}

// compileSchemas adds the schemas of a plugin's tools, and gives what is wrong with those that are bad.
func compileSchemas(m *abi.Manifest, into map[string]*jsonschema.Schema) (reasons []string) {
	for _, t := range m.Tools {
		schema, err := compileSchema(t.InputSchema)
		if err != nil {
			reasons = append(reasons, fmt.Sprintf("has a bad input_schema in tool %q: %s", t.Name, oneLine(err)))
			continue
		}
		into[t.Name] = schema
	}
	return reasons
}

// oneLine puts an error's text on one line, and cuts it where it becomes a lecture.
func oneLine(err error) string {
	return plugins.Printable(strings.Join(strings.Fields(err.Error()), " "), 200)
}
