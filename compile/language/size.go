package language

import (
	"encoding/json"
	"math"
	"time"
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

// growText counts the bytes of a value as text, or as indented JSON, before it is written.
func (m *meter) growText(v any) error { return m.growTextAt(v, 0) }

func (m *meter) growTextAt(v any, depth int) error {
	switch v := v.(type) {
	case string:
		return m.grow(jsonSize(v))
	case json.Number:
		return m.grow(len(v))
	case nil, bool, int, int64, float64, time.Duration:
		return m.grow(24)
	case time.Time:
		return m.grow(80)
	}
	inner, ok := entries(v)
	if !ok {
		return m.grow(1024) // a value that is not known, such as a time zone
	}
	err := m.grow(2 * (depth + 2))
	for name, e := range inner {
		if err == nil {
			err = m.grow(jsonSize(name) + 2*(depth+4))
		}
		if err == nil {
			err = m.growTextAt(e, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// jsonSize returns the size of a string in JSON, which escapes some characters with six.
func jsonSize(text string) int {
	sum := len(text) + 2
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			sum += 5
		}
	}
	return sum
}
