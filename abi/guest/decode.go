package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// decodeStrict reads one JSON object into v. Unknown fields and anything after the object are errors. The
// errors are written for a model or an operator, who know nothing of Go types.
func decodeStrict(data []byte, v any) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return errors.New("a JSON object is expected")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return plain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text after the JSON object")
	}
	return nil
}

// plain rewrites an error of encoding/json without Go's names.
func plain(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		value, _, _ := strings.Cut(mismatch.Value, " ")
		return fmt.Errorf("%q must be %s, not %s", mismatch.Field, kindName(mismatch.Type), article(value))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// kindName names the JSON type that a Go type is read from.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number in range"
	default:
		return "a " + t.String()
	}
}

func article(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "object", "array":
		return "an " + value
	default:
		return "a " + value
	}
}
