package php

import (
	"math"
	"strconv"
	"strings"
)

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
