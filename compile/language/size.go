package language

import (
	"encoding/json"
	"math"
	"time"

	"github.com/stopwhen/stopwhen/rules"
)

// product returns a*b, limited to half of the integers, so that a sum of two fits.
func product(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > math.MaxInt/2/b {
		return math.MaxInt / 2
	}
	return a * b
}

// A form is a way to write a value as text.
type form int

const (
	asPrinted form = iota // by string
	asJSON                // by toJSON, with indentation
)

// weight returns at least the size of a value in a form, in bytes. It ends early
// once the size exceeds the budget.
func weight(m *meter, v any, f form) (int, error) { return weightAt(m, v, f, 0) }

func weightAt(m *meter, v any, f form, depth int) (int, error) {
	if err := m.spend(1); err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case string:
		return textWeight(v, f), m.spend(len(v))
	case json.Number:
		return len(v), nil
	case nil, bool, int, int64, float64, time.Duration:
		return 24, nil
	case time.Time:
		return 80, nil
	}
	inner, ok := entries(v)
	if !ok {
		return 1024, nil // a value that is not known, such as a time zone
	}
	sum := 2 * (depth + 2)
	for name, e := range inner {
		size, err := weightAt(m, e, f, depth+1)
		if err != nil {
			return 0, err
		}
		sum += textWeight(name, f) + size + 2*(depth+4)
		if sum > maxBytes {
			return sum, nil
		}
	}
	return sum, nil
}

// textWeight returns the size of a string. JSON escapes some characters with six.
func textWeight(text string, f form) int {
	if f == asPrinted {
		return len(text)
	}
	sum := len(text) + 2
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			sum += 5
		}
	}
	return sum
}

// plainValue returns a value without structs of the context: an object has their
// fields.
func plainValue(m *meter, v any) (any, error) {
	if err := m.spend(1); err != nil {
		return nil, err
	}
	v = fieldsOf(v)
	object, isFields := v.(rules.Object)
	if !isFields {
		return v, nil
	}
	out := make(rules.Object, len(object))
	for i, member := range object {
		inner, err := plainValue(m, member.Value)
		if err != nil {
			return nil, err
		}
		out[i] = rules.Member{Name: member.Name, Value: inner}
	}
	return out, nil
}
