package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzParseSpan checks that a span is an error or above zero, moves time forward, and that
// what it is written as is read as the same span.
func FuzzParseSpan(f *testing.F) {
	for _, text := range []string{"24h", "7d", "2 weeks", "1mo", "1y", "1000", "5 minutes", "0d", "-1h", "999999y", "1h30m", ""} {
		f.Add(text)
	}
	start := time.Date(2024, time.February, 29, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		span, err := ParseSpan(text)
		if err != nil {
			return
		}
		if span.Months > 999999 { // written in months, a span of years may have too many digits
			return
		}
		if span.IsTime() {
			require.True(t, span.After(start, 1).After(start), "%q is %s", text, span)
		}
		again, err := ParseSpan(span.String())
		require.NoError(t, err, "%q is written as %q", text, span)
		require.Equal(t, span, again)
	})
}

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

func TestASpanIsAddedBeyondTheLongestDuration(t *testing.T) {
	year := Span{Duration: 365 * 24 * time.Hour}
	from := time.Date(1500, time.January, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, from.AddDate(0, 0, 500*365), year.After(from, 500))
	require.Equal(t, from.AddDate(0, 0, -365), year.After(from, -1))
	require.Greater(t, year.After(from, 1<<60).Year(), 9999)
}
