package repair

import (
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object that keeps the order of its keys and the bytes of its values.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

// parseObject tells false for a text that is not one JSON object. A key that comes twice stays where it was
// first, with the last value, as in most parsers.
func parseObject(text string) (*object, bool) {
	// Checked whole first: the decoder alone would take an object with something behind it.
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	o := &object{values: map[string]json.RawMessage{}}
	for decoder.More() {
		token, err := decoder.Token()
		key, isKey := token.(string)
		var value json.RawMessage
		if err != nil || !isKey || decoder.Decode(&value) != nil {
			return nil, false
		}
		o.set(key, value)
	}
	return o, true
}

func (o *object) has(key string) bool {
	_, found := o.values[key]
	return found
}

// set replaces the value of a key, or adds it at the end.
func (o *object) set(key string, value json.RawMessage) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// rename gives a key that is there a name that is not; it keeps its place.
func (o *object) rename(from, to string) {
	o.keys[slices.Index(o.keys, from)] = to
	o.values[to] = o.values[from]
	delete(o.values, from)
}

// String gives the object as compact JSON, values as they were.
func (o *object) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(key))
		b.WriteByte(':')
		b.Write(o.values[key])
	}
	b.WriteByte('}')
	return b.String()
}

// quote gives a JSON string without the escapes that only HTML needs.
func quote(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic("repair: a string has no JSON form: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
