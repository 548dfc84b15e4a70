package language

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// segment returns a value as one segment of a path or one value of a query: everything but
// letters, digits and -._~ is percent-encoded (RFC 6570, 3.2.2).
func segment(v any) (any, error) {
	text := must(addressText(v))
	if isDots(text) {
		return nil, fmt.Errorf("the value %q would change the path of the address", text)
	}
	return percentEncode(text, ""), nil
}

// isDots reports whether a segment of a path is removed from it (RFC 3986, 5.2.4).
func isDots(segment string) bool { return segment == "." || segment == ".." }

// reserved returns a value as a part of an address, whose characters keep their meaning
// (RFC 6570, 3.2.3).
func reserved(v any) (any, error) {
	text := must(addressText(v))
	path := strings.ReplaceAll(strings.ToLower(text[:strings.IndexAny(text+"?", "?#")]), "%2e", ".")
	if slices.ContainsFunc(strings.Split(path, "/"), isDots) {
		return nil, fmt.Errorf("the value %q would change the path of the address", text)
	}
	return percentEncode(text, ":/?#[]@!$&'()*+,;=%"), nil
}

func addressText(v any) (string, error) {
	text, ok := value.Text(Sendable(v))
	switch {
	case v == nil:
		return "", errors.New("a value in the address is nil")
	case !ok:
		return "", fmt.Errorf("want text or a number in the address, got %s", Described(v))
	case text == "":
		return "", errors.New("a value in the address is empty")
	}
	return text, nil
}

// percentEncode encodes everything but the unreserved characters and some others.
func percentEncode(text, unescaped string) string {
	var b strings.Builder
	copied := 0
	for i := range len(text) {
		c := text[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~"+unescaped, c) >= 0
		if !plain {
			b.WriteString(text[copied:i] + fmt.Sprintf("%%%02X", c))
			copied = i + 1
		}
	}
	return b.String() + text[copied:]
}
