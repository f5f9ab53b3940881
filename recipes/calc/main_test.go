package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func TestManifest(t *testing.T) {
	section, err := os.ReadFile("axis.json")
	require.NoError(t, err)
	m, err := abi.ParseManifest(section)
	require.NoError(t, err)
	require.Len(t, m.Tools, 1)
	got, err := guest.Stub{}.CallTool(m.Tools[0].Name, `{"expression": "1"}`)
	require.NoError(t, err)
	assert.Equal(t, guest.OK("1"), got)

	var schema struct {
		Properties struct {
			Expression struct {
				MaxLength int `json:"maxLength"`
			} `json:"expression"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(m.Tools[0].InputSchema, &schema))
	assert.Equal(t, maxLength, schema.Properties.Expression.MaxLength)
}

// calculate calls the tool with an expression.
func calculate(t *testing.T, expression string) guest.Result {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"expression": expression})
	require.NoError(t, err)
	got, err := guest.Stub{}.CallTool("calc", string(arguments))
	require.NoError(t, err)
	return got
}

func TestCalc(t *testing.T) {
	tests := []struct{ expression, want string }{
		{"17 * 23", "391"},
		{"17*23", "391"},
		{" 42 ", "42"},
		{"1 + 2 * 3", "7"},
		{"(1 + 2) * 3", "9"},
		{"10 - 4 - 3", "3"},
		{"100 / 10 / 5", "2"},
		{"2 * -3", "-6"},
		{"--5", "5"},
		{"+5 - +3", "2"},
		{"-0", "0"},
		{"2^10", "1024"},
		{"2**10", "1024"},
		{"2 ** 3 ** 2", "512"},
		{"-2^2", "-4"},
		{"(-2)^2", "4"},
		{"2^-2", "0.25"},
		{"2^-(1+1)", "0.25"},
		{"0^0", "1"},
		{"(2/3)^3", "8/27 ≈ 0.2962962962962962963"},
		{"(2/3)^-3", "3.375"},
		{"1^99999999999999999999", "1"},
		{"(-1)^99999999999999999999", "-1"},
		{"(-1)^100000000000000000000", "1"},
		{"0^99999999999999999999", "0"},
		{"7 % 3", "1"},
		{"-7 % 3", "2"},
		{"7 % -3", "-2"},
		{"-7 % -3", "-1"},
		{"5.5 % 2", "1.5"},
		{"6 % 3", "0"},
		{"0.1 + 0.2", "0.3"},
		{".5 + 5.", "5.5"},
		{"1/8", "0.125"},
		{"1/3", "1/3 ≈ 0.33333333333333333333"},
		{"-22/7", "-22/7 ≈ -3.1428571428571428571"},
		{"1/3*3", "1"},
		{"1/(3*10^30)", "1/3000000000000000000000000000000 ≈ 3.3333333333333333333e-31"},
		{"1e3 + 1E-2 + 1e+1", "1010.01"},
		{"1,234,567.5 * 2", "2469135"},
		{"12,345", "12345"},
		{"2 × 3 ÷ 4 − 1", "0.5"},
		{"（1＋2）＊3－4／2", "7"},
		{"2·3∗4", "24"},
		{"2^64 - 1", "18446744073709551615"},
		{"123456789012345678901234567890 * 987654321", "121932631124828532112482853211126352690"},
		{"10^4000 / 10^3999", "10"},
		{"1 / 2^20", "0.00000095367431640625"},
		{strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), "1"},
	}
	for _, test := range tests {
		t.Run(test.expression, func(t *testing.T) {
			assert.Equal(t, guest.OK(test.want), calculate(t, test.expression))
		})
	}
}

func TestCalcRefuses(t *testing.T) {
	tests := []struct{ expression, want string }{
		{"", "the expression is empty"},
		{" \n ", "the expression is empty"},
		{"1/0", "position 2: division by zero"},
		{"1 / (2 - 2)", "position 3: division by zero"},
		{"5 % 0", "position 3: remainder of a division by zero"},
		{"0^-1", "position 2: division by zero: 0 to a negative power"},
		{"17*(23", "position 4: this parenthesis is not closed"},
		{"17*23)", "position 6: there is no opening parenthesis for this one"},
		{"()", `position 2: a number is expected, found ")"`},
		{"1 +", "position 4: a number is expected, and the expression ends"},
		{"* 2", `position 1: a number is expected, found "*"`},
		{"2 × × 3", `position 5: a number is expected, found "×"`},
		{"2 (3)", `position 3: an operator is expected before "("; a product is written with *`},
		{"2 3", `position 3: an operator is expected before "3"; a product is written with *`},
		{"1.2.3", `position 4: an operator is expected before ".3"; a product is written with *`},
		{"sqrt(2)", "position 1: 's' is not part of an arithmetic expression"},
		{"17 * 23 =", "position 9: '=' is not part of an arithmetic expression"},
		{"×x", `position 1: a number is expected, found "×"`},
		{"2×x", "position 3: 'x' is not part of an arithmetic expression"},
		{"2e", "position 2: 'e' is not part of an arithmetic expression"},
		{".", `position 1: a number is expected, found "."`},
		{"1,5", "position 2: a comma separates thousands, in groups of three digits; a decimal is written 1.5"},
		{"1234,567", "position 5: a comma separates thousands, in groups of three digits; a decimal is written 1.5"},
		{"1,2345", "position 2: a comma separates thousands, in groups of three digits; a decimal is written 1.5"},
		{"max(1, 2)", "position 1: 'm' is not part of an arithmetic expression"},
		{"2^0.5", "position 2: the exponent must be a whole number: roots are not exact"},
		{"2^99999", "position 2: the exponent is too large: a result may have about 4900 digits at most"},
		{"9^9^9^9", "position 4: the exponent is too large: a result may have about 4900 digits at most"},
		{"2^-99999", "position 2: the exponent is too large: a result may have about 4900 digits at most"},
		{"(1/3)^99999999999999999999", "position 6: the exponent is too large: a result may have about 4900 digits at most"},
		{"2^16000 * 2^16000", "position 9: the number is too long: a result may have about 4900 digits at most"},
		{"1e99999", "position 1: the exponent of 1e99999 is too large"},
		{"1e-99999999999999999999999999999999999999999", "position 1: the exponent of 1e-9999999999999999999999999999999999999… is too large"},
		{strings.Repeat("(", 201) + "1", "position 201: the expression is nested more than 200 deep"},
		{strings.Repeat("-", 300) + "1", "position 201: the expression is nested more than 200 deep"},
		{strings.Repeat("2^", 300) + "1", "position 402: the expression is nested more than 200 deep"},
		{strings.Repeat("1", 4097), "the expression has 4097 bytes, and at most 4096 are taken"},
		{"\xff", "position 1: '�' is not part of an arithmetic expression"},
	}
	for _, test := range tests {
		t.Run(test.expression, func(t *testing.T) {
			assert.Equal(t, guest.Invalid("%s", test.want), calculate(t, test.expression))
		})
	}
}

func TestArguments(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{`{"expr": "1"}`, `unknown field "expr"`},
		{`{"expression": 5}`, `"expression" must be a string, not a number`},
		{`{}`, "the expression is empty"},
		{`[]`, "a JSON object is expected"},
	}
	for _, test := range tests {
		t.Run(test.arguments, func(t *testing.T) {
			got, err := guest.Stub{}.CallTool("calc", test.arguments)
			require.NoError(t, err)
			assert.Equal(t, guest.Invalid("%s", test.want), got)
			assert.Equal(t, abi.ClassInvalidArguments, got.Class)
		})
	}
}

// FuzzEvaluate checks that every expression has a value or an error, and that a value that is written as an
// integer or a decimal is read back as itself.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"17*23", "-2^-3 % 0.7", "(1,234.5 ÷ 3)**2", "1e5/7", "((", "−.5e-3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		value, err := evaluate(expression)
		if err != nil {
			require.Nil(t, value)
			require.NotEmpty(t, err.Error())
			return
		}
		text := format(value)
		if len(text) > maxLength || strings.Contains(text, "≈") {
			return
		}
		again, err := evaluate(text)
		require.NoError(t, err)
		require.Zero(t, value.Cmp(again), "%s is written %s", expression, text)
	})
}

// BenchmarkWorst measures expressions that stay within every bound and take long.
func BenchmarkWorst(b *testing.B) {
	fractions := "1/10007"
	for n := 10009; len(fractions) < maxLength-10; n += 2 {
		fractions += "+1/" + strconv.Itoa(n)
	}
	for name, expression := range map[string]string{
		"powers":    strings.TrimSuffix(strings.Repeat("2^16380%3^10300+", maxLength/16), "+"),
		"fractions": fractions,
		"quotients": "3^10000" + strings.Repeat("/7*11", 800),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				value, err := evaluate(expression)
				if err == nil {
					format(value)
				}
			}
		})
	}
}
