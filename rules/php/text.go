package php

import (
	"cmp"
	"math"
	"regexp"
	"strings"
)

// Implode is PHP's implode(glue, list): the members as [String] casts them, joined.
func Implode(glue string, list []any) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = String(v)
	}
	return strings.Join(texts, glue)
}

// Compare is PHP's comparison of two texts: as numbers if both are numeric, as bytes
// otherwise. It returns -1, 0 or 1.
func Compare(a, b string) int {
	if !IsNumeric(a) || !IsNumeric(b) {
		return strings.Compare(a, b)
	}
	x, y := scanNumber(a), scanNumber(b)
	if x.integer && y.integer { // also beyond the range
		return compareIntegers(x.text, y.text)
	}
	return cmp.Or(cmp.Compare(float(x.text), float(y.text)), compareInfinite(a, b))
}

// compareInfinite compares equal numbers that are beyond the range as bytes.
func compareInfinite(a, b string) int {
	if math.IsInf(Number(a), 0) {
		return strings.Compare(a, b)
	}
	return 0
}

// compareIntegers compares integers of any length.
func compareIntegers(a, b string) int {
	x, a := magnitude(a)
	y, b := magnitude(b)
	return cmp.Or(cmp.Compare(x, y), x*cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)))
}

// magnitude returns the sign of an integer, -1, 0 or 1, and its digits.
func magnitude(text string) (sign int, digits string) {
	digits = strings.TrimLeft(text, "+-0")
	switch {
	case digits == "":
		return 0, ""
	case text[0] == '-':
		return -1, digits
	}
	return 1, digits
}

// Like reports whether a text matches a pattern of the reference's filters: every % in
// it stands for any characters, except line breaks.
func Like(text, pattern string) bool {
	parts := strings.Split(pattern, "%")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	re, err := regexp.Compile("^(?:" + strings.Join(parts, ".*?") + ")\n?$")
	return err == nil && re.MatchString(text)
}

// URLEncode is PHP's urlencode: letters, digits, "-", "." and "_" stand for themselves, a
// space is "+", and every other byte is escaped.
func URLEncode(text string) string { return escape(text) }
