package php

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
// around it. (Before PHP 8, no blanks may follow.)
func IsNumeric(v any) bool {
	switch v := v.(type) {
	case int, int64, float64, json.Number:
		return true
	case string:
		n := scanNumber(v)
		return n.text != "" && strings.Trim(n.rest, blanks) == ""
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

// blanks are the characters that may surround a number.
const blanks = " \t\n\r\v\f"

// numberForm has the groups number, fraction and exponent.
var numberForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[` + blanks + `]*([+-]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][+-]?[0-9]+)?)`)
})

// scanNumber finds the longest decimal number at the beginning of a text, after
// blanks. Hexadecimal numbers, "INF" and digit separators are not numbers.
func scanNumber(text string) scanned {
	found := numberForm().FindStringSubmatch(text)
	if found == nil {
		return scanned{rest: text}
	}
	return scanned{found[1], found[2]+found[3]+found[4] == "", text[len(found[0]):]}
}

// floatText formats a float for text: with PHP's setting precision, 14.
func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	case math.IsNaN(f):
		return "NAN"
	}
	return string(appendFloat(nil, f, 13, 14, 'E'))
}

// floatJSON formats a finite float for JSON: with PHP's setting serialize_precision,
// -1, which is the fewest digits that identify the float.
func floatJSON(dst []byte, f float64) []byte { return appendFloat(dst, f, -1, 17, 'e') }

// appendFloat writes plain digits if the point is within them or at most three zeros
// follow it, and otherwise a mantissa with at least one decimal and an exponent without
// padding: 0.0001, 1.0e-5, 1.5e+25. The fraction is the number of digits after the first
// (-1: as many as needed), and the width is the maximum number of digits before the
// point.
func appendFloat(dst []byte, f float64, fraction, width int, exponent byte) []byte {
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(f, 'e', fraction, 64), "e")
	if mantissa[0] == '-' {
		dst, mantissa = append(dst, '-'), mantissa[1:]
	}
	digits := strings.TrimRight(mantissa[:1]+strings.TrimPrefix(mantissa[1:], "."), "0")
	if digits == "" {
		return append(dst, '0')
	}
	point, _ := strconv.Atoi(power)
	point++ // digits before the point
	switch {
	case point > width || point < -3:
		dst = append(dst, digits[0], '.')
		if len(digits) == 1 {
			dst = append(dst, '0')
		}
		dst = append(dst, digits[1:]...)
		dst = append(dst, exponent)
		if point > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(point-1), 10)
	case point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, strings.Repeat("0", -point)...)
		return append(dst, digits...)
	case point >= len(digits):
		dst = append(dst, digits...)
		return append(dst, strings.Repeat("0", point-len(digits))...)
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}
