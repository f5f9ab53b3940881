package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the JSON that is checked, arguments and schemas alike. It is nested to abi.MaxNesting, like what a plugin
// hands out: the library calls itself for each level.
const (
	// maxValues bounds how many values there are: three million empty objects, 9 MB, take 2.7 s and 580 MB to
	// read. This many are a megabyte at least, more than a model writes in one call.
	maxValues = 200_000
	// maxNumber is how long a number may be, in digits, and how large its exponent: JSON has no bound, and
	// the arithmetic on one of ten million digits takes minutes.
	maxNumber = 400
)

// readJSON reads JSON that can be reckoned with. Its extent is looked at before it is read.
func readJSON(text []byte) (any, error) {
	switch depth, values := abi.Extent(text); {
	case depth > abi.MaxNesting:
		return nil, fmt.Errorf("nested deeper than %d", abi.MaxNesting)
	case values > maxValues:
		return nil, fmt.Errorf("more than %d values", maxValues)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return value, checkNumbers(value)
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
