package language

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The limits of arithmetic with long integers. They have at most maxDigits digits, and so does the
// result of an operation on two integers that have at most maxBits bits together.
const (
	maxDigits = value.MaxDigits
	maxBits   = 3321
)

func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, float64, json.Number:
		return true
	}
	return false
}

// bigInteger converts an integer. It reports false for any other value, and for an integer of more than
// maxDigits digits.
func bigInteger(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case int64:
		return big.NewInt(v), true
	case json.Number:
		if len(v) > maxDigits { // the conversion takes quadratic time
			return nil, false
		}
		return new(big.Int).SetString(v.String(), 10)
	}
	return nil, false
}

// isHuge reports whether a number is an integer with more digits than arithmetic allows. Huge integers
// can still be compared.
func isHuge(v any) bool {
	n, ok := v.(json.Number)
	return ok && len(n) > maxDigits && !strings.ContainsAny(n.String(), ".eE")
}

// shortest returns an integer as an int if it fits.
func shortest(n *big.Int) any {
	if n.IsInt64() {
		return int(n.Int64())
	}
	return json.Number(n.String())
}

func float(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return math.NaN()
}

// order compares two numbers exactly.
func order(a, b any) int {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y)
		}
	}
	if x, ok := exactFloat(a); ok {
		if y, ok := exactFloat(b); ok {
			return cmp.Compare(x, y)
		}
	}
	if isHuge(a) || isHuge(b) {
		return orderOfHuge(a, b)
	}
	if isLongFraction(a) || isLongFraction(b) {
		if x, y := rational(a), rational(b); x != nil && y != nil {
			return x.Cmp(y)
		}
	}
	return exact(a).Cmp(exact(b))
}

// isLongFraction reports whether a value is a fraction with more digits than a float has; see [value.Decoded]. Arithmetic
// rounds it to a float.
func isLongFraction(v any) bool {
	n, ok := v.(json.Number)
	return ok && len(n) <= maxDigits && strings.Contains(n.String(), ".") && !strings.ContainsAny(n.String(), "eE")
}

// rational returns a number as a fraction. It returns nil for a float that is infinite.
func rational(v any) *big.Rat {
	if n, ok := bigInteger(v); ok {
		return new(big.Rat).SetInt(n)
	}
	if isLongFraction(v) {
		r, _ := new(big.Rat).SetString(v.(json.Number).String())
		return r
	}
	return new(big.Rat).SetFloat64(float(v))
}

// exactFloat returns a number as a float, if that is exact and cheap.
func exactFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, !math.IsNaN(v)
	case int:
		return float64(v), -1<<53 <= v && v <= 1<<53
	}
	return 0, false
}

func exact(v any) *big.Float {
	if n, ok := bigInteger(v); ok {
		return new(big.Float).SetInt(n)
	}
	if f := float(v); !math.IsNaN(f) {
		return new(big.Float).SetFloat64(f)
	}
	return new(big.Float)
}

// orderOfHuge compares two numbers, at least one of them huge. A float has at most 309
// digits before its point.
func orderOfHuge(a, b any) int {
	x, negative := strings.CutPrefix(digits(a), "-")
	y, negativeB := strings.CutPrefix(digits(b), "-")
	sign := 1
	switch {
	case negative && !negativeB:
		return -1
	case negativeB && !negative:
		return 1
	case negative:
		sign = -1
	}
	if len(x) != len(y) {
		return sign * cmp.Compare(len(x), len(y))
	}
	return sign * strings.Compare(x, y)
}

// digits returns the integer part of a number in decimal.
func digits(v any) string {
	if n, ok := v.(json.Number); ok {
		whole, _, _ := strings.Cut(n.String(), ".")
		return whole
	}
	return strconv.FormatFloat(math.Trunc(float(v)), 'f', -1, 64)
}

// numberIn returns the number that a string holds in decimal, with white space
// around it or not. It reports false for anything else.
func numberIn(text string) (any, bool) {
	if text == "" || len(text) > maxDigits || text[len(text)-1] > '9' && text[0] > '9' { // the usual text
		return nil, false
	}
	n := strings.TrimSpace(text)
	if !isDecimal(n) {
		return nil, false
	}
	if i, err := strconv.Atoi(n); err == nil {
		return i, true
	}
	if i, ok := bigInteger(json.Number(n)); ok {
		return shortest(i), true
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return nil, false
	}
	if plain := strings.TrimPrefix(n, "+"); json.Valid([]byte(plain)) {
		decoded, err := value.Decoded(json.Number(plain))
		return decoded, err == nil
	}
	return f, true
}

func holdsNumber(text string) bool {
	_, ok := numberIn(text)
	return ok
}

// isDecimal reports whether a text consists of the characters of decimal numbers, with signs
// where they have them.
func isDecimal(text string) bool {
	for i, c := range []byte(text) {
		sign := (c == '+' || c == '-') && (i == 0 || text[i-1]|' ' == 'e')
		if !sign && c != '.' && c|' ' != 'e' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// asNumbers returns two values as numbers if at least one is a number, and the other
// is a number too, or a string that holds a number.
func asNumbers(a, b any) (x, y any, ok bool) {
	switch first, second := isNumber(a), isNumber(b); {
	case first && second:
		return a, b, true
	case first:
		text, _ := b.(string)
		y, ok = numberIn(text)
		return a, y, ok
	case second:
		text, _ := a.(string)
		x, ok = numberIn(text)
		return x, b, ok
	}
	return nil, nil, false
}

// number converts a number, or a string that holds a number.
func number(v any) (any, error) {
	switch v := v.(type) {
	case nil, int, int64, float64, json.Number:
		return v, nil
	case string:
		if n, ok := numberIn(v); ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("want a number, got %s", Described(v))
}

// integer returns int(v), or an error if an int cannot hold the value.
func integer(v any) (any, error) {
	n, err := number(v)
	if err != nil || n == nil {
		return nil, err
	}
	if isLongFraction(n) {
		n = float(n)
	}
	if f, ok := n.(float64); ok {
		if math.Abs(f) >= 1<<63 {
			return nil, fmt.Errorf("int(%s): the number is too large", value.Preview(f))
		}
		return int(f), nil
	}
	return n, nil
}

var errTooManyDigits = errors.New("numbers of more than a thousand digits cannot be computed with")

// arithmetic returns an operator from its forms for integers and for floats.
func arithmetic(operator string, ints func(a, b *big.Int) (any, error), floats func(a, b float64) float64) binaryOperator {
	return func(m *meter, a, b any) (any, error) {
		if a == nil || b == nil {
			m.spend(1)
			return nil, nil
		}
		if !isNumber(a) || !isNumber(b) {
			return nil, mismatch(operator, a, b)
		}
		if x, y, small := smallIntegers(a, b); small && ints != nil && y != 0 {
			return int(floats(x, y)), nil
		}
		if isHuge(a) || isHuge(b) {
			return nil, errTooManyDigits
		}
		x, isInteger := bigInteger(a)
		y, both := bigInteger(b)
		if isInteger && both && ints != nil {
			return ints(x, y)
		}
		m.spend(1)
		f := floats(float(a), float(b))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s %s %s is not a number", value.Preview(a), operator, value.Preview(b))
		}
		return f, nil
	}
}

// smallIntegers returns two integers as floats if their sum, difference, product and remainder are exact as
// floats.
func smallIntegers(a, b any) (x, y float64, ok bool) {
	i, isInt := a.(int)
	j, both := b.(int)
	const limit = 1 << 26
	return float64(i), float64(j), isInt && both && -limit < i && i < limit && -limit < j && j < limit
}

func integers(f func(z, a, b *big.Int) *big.Int) func(a, b *big.Int) (any, error) {
	return func(a, b *big.Int) (any, error) {
		if a.BitLen()+b.BitLen() > maxBits {
			return nil, errTooManyDigits
		}
		return shortest(f(new(big.Int), a, b)), nil
	}
}

func remainder(a, b *big.Int) (any, error) {
	if b.Sign() == 0 {
		return nil, errors.New("division by zero")
	}
	return shortest(new(big.Int).Rem(a, b)), nil
}

// negative returns -v, and nil for nil.
func negative(m *meter, v any) (any, error) { return minus(m, 0, v) }

// Float returns a number, or the number in a string, as a float.
func Float(v any) (float64, bool) {
	n, err := number(v)
	return float(n), err == nil && n != nil
}
