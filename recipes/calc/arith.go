package main

import (
	"math/big"
	"strconv"
	"strings"
)

// parseNumber gives the exact value of a number. Its exponent is looked at first: what it stands for can be
// far longer than how it is written.
func parseNumber(t token) (*big.Rat, error) {
	if at := strings.IndexAny(t.text, "eE"); at >= 0 {
		const most = maxBits / 4
		if e, err := strconv.Atoi(t.text[at+1:]); err != nil || e > most || e < -most {
			return nil, errorAt(t.column, "the exponent of %s is too large", clip(t.text))
		}
	}
	value, ok := new(big.Rat).SetString(t.text)
	if !ok {
		return nil, errorAt(t.column, "%s is not a number", clip(t.text))
	}
	return bounded(t, value)
}

func apply(operator token, left, right *big.Rat) (*big.Rat, error) {
	result := new(big.Rat)
	switch operator.kind {
	case '+':
		result.Add(left, right)
	case '-':
		result.Sub(left, right)
	case '*':
		result.Mul(left, right)
	case '/':
		if right.Sign() == 0 {
			return nil, errorAt(operator.column, "division by zero")
		}
		result.Quo(left, right)
	case '%':
		if right.Sign() == 0 {
			return nil, errorAt(operator.column, "remainder of a division by zero")
		}
		// left - right * floor(left / right): the remainder has the sign of the divisor.
		result.Quo(left, right)
		result.SetInt(floor(result))
		result.Sub(left, result.Mul(result, right))
	}
	return bounded(operator, result)
}

// floor rounds down. Euclidean division rounds so, because a denominator is positive.
func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }

// raise gives base to the power of a whole number. The size of the result is estimated before it is computed.
func raise(operator token, base, exponent *big.Rat) (*big.Rat, error) {
	if !exponent.IsInt() {
		return nil, errorAt(operator.column, "the exponent must be a whole number: roots are not exact")
	}
	if base.Sign() == 0 && exponent.Sign() < 0 {
		return nil, errorAt(operator.column, "division by zero: 0 to a negative power")
	}
	n := new(big.Int).Abs(exponent.Num())
	num, denom := base.Num(), base.Denom()
	// A number of b bits is at least 2^(b-1), so its power has more than (b-1)*n bits.
	bits := int64(max(num.BitLen(), denom.BitLen()) - 1)
	switch {
	case bits <= 0:
		// The base is 0, 1 or -1, and only whether the exponent is even matters.
		if n.Sign() != 0 {
			n.SetUint64(2 - uint64(n.Bit(0)))
		}
	case !n.IsInt64() || n.Int64() > maxBits/bits:
		return nil, errorAt(operator.column, "the exponent is too large: %s", tooLong)
	}
	num, denom = new(big.Int).Exp(num, n, nil), new(big.Int).Exp(denom, n, nil)
	if exponent.Sign() < 0 {
		num, denom = denom, num
	}
	return bounded(operator, new(big.Rat).SetFrac(num, denom))
}

const tooLong = "a result may have about 4900 digits at most"

// bounded refuses values that are too long to go on with.
func bounded(t token, value *big.Rat) (*big.Rat, error) {
	if value.Num().BitLen() > maxBits || value.Denom().BitLen() > maxBits {
		return nil, errorAt(t.column, "the number is too long: %s", tooLong)
	}
	return value, nil
}

// format writes a value exactly: as an integer or a decimal where it has a finite one, else as a fraction
// with an approximation.
func format(value *big.Rat) string {
	if places, exact := value.FloatPrec(); exact {
		return value.FloatString(places)
	}
	approximation := new(big.Float).SetPrec(128).SetRat(value)
	return value.RatString() + " ≈ " + approximation.Text('g', 20)
}

// clip shortens a number before it is quoted.
func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
