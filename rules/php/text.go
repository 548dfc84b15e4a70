package php

import (
	"cmp"
	"math"
	"math/big"
	"regexp"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// join is PHP's implode(glue, list): the members as [String] casts them, joined.
func join(glue string, list []any) string {
	return strings.Join(lists.Map(list, String), glue)
}

// Compare is PHP's comparison of two texts: as numbers if both are numeric, as bytes
// otherwise. It returns -1, 0 or 1.
func Compare(a, b string) int {
	if !IsNumeric(a) || !IsNumeric(b) {
		return strings.Compare(a, b)
	}
	x, y := scanNumber(a), scanNumber(b)
	if x.integer && y.integer && max(len(x.text), len(y.text)) <= value.MaxDigits { // also beyond the range
		m, _ := new(big.Int).SetString(x.text, 10)
		n, _ := new(big.Int).SetString(y.text, 10)
		return m.Cmp(n)
	}
	order := cmp.Compare(float(x.text), float(y.text))
	if order == 0 && math.IsInf(float(x.text), 0) { // both are beyond the range
		return strings.Compare(a, b)
	}
	return order
}

// Like reports whether a text matches a pattern of the reference's filters: every % in
// it stands for any characters, except line breaks.
func Like(text, pattern string) bool {
	parts := lists.Map(strings.Split(pattern, "%"), regexp.QuoteMeta)
	re, err := regexp.Compile("^(?:" + strings.Join(parts, ".*?") + ")\n?$")
	return err == nil && re.MatchString(text)
}
