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

// growText counts the bytes of a value as text, or as indented JSON, before it is written.
func (m *meter) growText(v any) { m.growTextAt(v, 0) }

func (m *meter) growTextAt(v any, depth int) {
	size := 24
	switch v := v.(type) {
	case string:
		size = jsonSize(v)
	case json.Number:
		size = len(v)
	case nil, bool, int, int64, float64, time.Duration:
	case time.Time:
		size = 80
	case []any, map[string]any, rules.Object:
		inner, _ := entries(v)
		for name, e := range inner {
			m.grow(jsonSize(name) + 2*(depth+4))
			m.growTextAt(e, depth+1)
		}
		size = 2 * (depth + 2)
	default:
		size = 1024 // a value that is not known, such as a time zone
	}
	m.grow(size)
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
