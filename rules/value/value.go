// Package value is the value model that configurations, parameters and decoded
// responses share, with the two conversions that the specification defines on it.
package value

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// Text returns a scalar as the text that is sent in a URL or a header: a number with
// all its digits, a boolean as true or false. It reports false for nil, lists and
// objects.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return formatFloat(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// Number converts the text of a JSON number without losing a digit of an integer:
// to an int, to a [json.Number] if it is an integer too long for that, or to a
// float64. It fails if a number has more than [MaxDigits] digits, or if a fraction
// is too large for a float64.
func Number(n json.Number) (any, error) {
	if err := CheckDigits(n.String()); err != nil {
		return nil, err
	}
	if !strings.ContainsAny(n.String(), ".eE") {
		if i, err := strconv.Atoi(n.String()); err == nil {
			return i, nil
		}
		return n, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %s is too large to compute with", wording.Clip(n.String(), 40))
	}
	return f + 0, nil // -0 becomes 0
}

// Decoded returns a number of a response like [Number], but keeps all digits of a fraction that a float64 would round, as a
// [json.Number]: 1735689600.123456860. One with an exponent is a float64.
func Decoded(n json.Number) (any, error) {
	v, err := Number(n)
	if f, isFloat := v.(float64); isFloat && !isExact(n.String(), f) {
		return n, nil
	}
	return v, err
}

// DecodedAll returns a value with each [json.Number] in it as [Decoded] returns it, so that it equals the same number in a body.
func DecodedAll(v any) (any, error) {
	return Replace(v, Replacement{Scalar: func(v any) (any, error) {
		if n, ok := v.(json.Number); ok {
			return Decoded(n)
		}
		return v, nil
	}})
}

// isExact reports whether a float has all digits of the text of a number, or the text has an exponent.
func isExact(text string, f float64) bool {
	const sureDigits = 15 // a float64 has as many, whatever they are
	if len(text) <= sureDigits || strings.ContainsAny(text, "eE") {
		return true
	}
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	return text == strconv.FormatFloat(f, 'f', -1, 64) || text == "-0"
}

// Spelled returns a number of a configuration like [Decoded], but keeps the spelling of
// one whose last decimals are zeros, or that has an exponent: 1.50 is sent as 1.50, and 1e3 as 1e3.
func Spelled(n json.Number) any {
	v, err := Decoded(n)
	text := n.String()
	if err != nil || strings.HasSuffix(text, "0") && strings.Contains(text, ".") || strings.ContainsAny(text, "eE") {
		return n
	}
	return v
}

// MaxDigits is how many digits a number may have that is computed with: the time to
// convert longer ones grows faster than their length.
const MaxDigits = 1000

// CheckDigits refuses the text of a number with more than [MaxDigits] digits. A sign, a
// point and an exponent count as digits.
func CheckDigits[T string | []byte](text T) error {
	if len(text) <= MaxDigits {
		return nil
	}
	return fmt.Errorf("the number %s has %d digits; at most %d can be computed with",
		wording.Clip(string(text[:MaxDigits]), 40), len(text), MaxDigits)
}

// formatFloat formats a float like JSON encoders do: plain digits in the usual
// range, and an exponent beyond it.
func formatFloat(f float64) string {
	if abs := max(f, -f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Exceeds reports whether a value has more than n bytes, counted as one for every
// value in it and as the length of every text and name. It looks no further than that.
func Exceeds(v any, n int) bool { return remaining(v, n) < 0 }

// remaining returns how many of n bytes remain after a value; a negative number if it
// has more.
func remaining(v any, n int) int {
	n--
	switch v := v.(type) {
	case string:
		return n - len(v)
	case json.Number:
		return n - len(v)
	case []any:
		for i := 0; i < len(v) && n >= 0; i++ {
			n = remaining(v[i], n)
		}
	case Object:
		for i := 0; i < len(v) && n >= 0; i++ {
			n = remaining(v[i].Value, n-len(v[i].Name))
		}
	case map[string]any:
		for name, member := range v {
			if n = remaining(member, n-len(name)); n < 0 {
				break
			}
		}
	}
	return n
}

// Truthy is the boolean conversion of the specification (2.2): false, 0, null, the
// string "0" and the empty list are false, and all other values are true, including
// "no" and "".
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != "0"
	case []any:
		return len(v) != 0
	}
	return true
}

// Empty reports whether a paging value is empty (3.1): missing, null, "" or false.
// The number 0 is not empty.
func Empty(v any) bool { return v == nil || v == false || v == "" }
