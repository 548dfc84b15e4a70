package php

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// textInt saturates where wrap wraps around. Infinity is 0 in both.
func textInt(text string) int {
	n := scanNumber(text)
	if n.integer {
		if i, err := strconv.Atoi(n.text); err == nil {
			return i
		}
	}
	switch f := float(n.text); {
	case math.IsInf(f, 0):
		return 0
	case f >= 1<<63:
		return math.MaxInt
	case f < -1<<63:
		return math.MinInt
	default:
		return int(f)
	}
}

// wrap cuts off the fraction and returns the low 64 bits.
func wrap(f float64) int {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return 0
	case f >= -1<<63 && f < 1<<63:
		return int(f)
	}
	const two64 = 1 << 64
	low := math.Mod(f, two64)
	if low < 0 {
		low += two64
	}
	return int(uint64(low))
}

// IsNumeric is PHP's is_numeric: a number, or a text that is a number with blanks
// before it. (Since PHP 8 blanks may follow.)
func IsNumeric(v any) bool {
	switch v := v.(type) {
	case int, int64, float64, json.Number:
		return true
	case string:
		n := scanNumber(v)
		return n.text != "" && n.rest == ""
	}
	return false
}

// float parses a number that scanNumber found. It is infinite beyond the range, and an
// empty text is 0.
func float(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// scanned is the number at the beginning of a text.
type scanned struct {
	text    string // the number without the blanks before it; "" if there is none
	integer bool   // it has neither point nor exponent
	rest    string // the text after it
}

// scanNumber finds the longest decimal number at the beginning of a text, after
// blanks. Hexadecimal numbers, "INF" and digit separators are not numbers.
func scanNumber(text string) scanned {
	text = strings.TrimLeft(text, " \t\n\r\v\f")
	i := sign(text)
	whole := digits(text[i:])
	end, integer := i+whole, true
	if end < len(text) && text[end] == '.' {
		if fraction := digits(text[end+1:]); whole+fraction > 0 {
			end, integer, whole = end+1+fraction, false, whole+fraction
		}
	}
	if whole == 0 {
		return scanned{rest: text}
	}
	if end < len(text) && text[end]|0x20 == 'e' {
		mark := end + 1 + sign(text[end+1:])
		if n := digits(text[mark:]); n > 0 {
			end, integer = mark+n, false
		}
	}
	return scanned{text[:end], integer, text[end:]}
}

// sign returns the length of the sign at the beginning of a text.
func sign(text string) int {
	if text != "" && (text[0] == '+' || text[0] == '-') {
		return 1
	}
	return 0
}

// digits returns the number of decimal digits at the beginning of a text.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}
