package times

import (
	"encoding/json"
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

func TestASpanIsAddedBeyondTheLongestDuration(t *testing.T) {
	year := Span{Duration: 365 * 24 * time.Hour}
	from := time.Date(1500, time.January, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, from.AddDate(0, 0, 500*365), year.After(from, 500))
	require.Equal(t, from.AddDate(0, 0, -365), year.After(from, -1))
	require.Greater(t, year.After(from, 1<<60).Year(), 9999)
}

func TestANumberMayBeAsItIsSpelled(t *testing.T) {
	span, err := ParseSpan(json.Number("10.0"))
	require.NoError(t, err)
	require.Equal(t, Span{Number: 10.0}, span)
	_, err = ParseSpan(json.Number("99999999999999999999"))
	require.EqualError(t, err, "want a length above 0, such as 24h, 7d, 1mo or a number, got 99999999999999999999")
}
