package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseAddress checks that no character of an address is lost: the parts, written
// again, are read as the same parts.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{"orders/{id}/lines", "{+path}", "{{a}}", "{ {a: 1}.a }", "{'}'}", "a}b", "{", "{}", "{`\\`}", "}}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := parseAddress(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, p := range parts {
			switch {
			case p.reserved:
				b.WriteString("{+" + p.text + "}")
			case p.expression:
				b.WriteString("{" + p.text + "}")
			default:
				b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.text))
			}
		}
		again, err := parseAddress(b.String())
		require.NoError(t, err, "%q is written as %q", text, b.String())
		require.Equal(t, parts, again)
	})
}
