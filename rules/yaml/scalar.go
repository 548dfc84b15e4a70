package yaml

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Numbers of the core schema (YAML 1.2.2, section 10.3.2). The parser's own
// reading is older and wider: 0b1, 1_000 and an octal 017.
var (
	decimalForm = regexp.MustCompile(`^[-+]?[0-9]+$`)
	prefixForm  = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	floatForm   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	noNumber    = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// scalar is the value of a quoted or plain scalar, or what is wrong with it.
func scalar(t *token.Token) (v any, fault string) {
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		return t.Value, ""
	}
	return plain(t.Value)
}

func plain(text string) (any, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, ""
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	}
	switch {
	case decimalForm.MatchString(text), prefixForm.MatchString(text):
		return integer(text), ""
	case floatForm.MatchString(text):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			if json.Valid([]byte(text)) {
				return json.Number(text), "" // what the JSON reader makes of it
			}
			return nil, "the number " + text + " is too large"
		}
		return f, ""
	case noNumber.MatchString(text):
		return nil, "a configuration has no number " + text + "; put it in quotes if it is text"
	}
	return text, ""
}

// integer keeps every digit, however long.
func integer(text string) any {
	base, digits := 10, text
	switch {
	case strings.HasPrefix(text, "0x"):
		base, digits = 16, text[2:]
	case strings.HasPrefix(text, "0o"):
		base, digits = 8, text[2:]
	}
	if i, err := strconv.ParseInt(digits, base, strconv.IntSize); err == nil {
		return int(i)
	}
	long, _ := new(big.Int).SetString(digits, base)
	return json.Number(long.String())
}
