package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An explanation that fills several screens is not read: that of a simple list has about one of a
// tall terminal, and --full has the details.
func TestTheExplanationOfASimpleListFitsAScreen(t *testing.T) {
	x := &Explanation{
		Retries: RetryExplanation{Max: 4, Statuses: []int{408, 429, 500, 502, 503, 504}, Limited: []int{403}, Header: "Retry-After"},
		Jobs:    []JobExplanation{explained(t, `{"method": "offset", "limit": 5}`)},
	}
	for width, most := range map[int]int{120: 118, 100: 144, 80: 180} {
		lines := strings.Count(x.Text(TextOptions{Width: width}), "\n")
		require.LessOrEqual(t, lines, most, "%d columns", width)
	}
	require.Greater(t, strings.Count(x.Text(TextOptions{Full: true}), "\n"), 90)
}

// What --full says of the audit, and the short text does not: the exceptions, and every hint.
func TestTheFullTextHasTheExceptionsOfTheAudit(t *testing.T) {
	x := &Explanation{Jobs: []JobExplanation{explained(t, `{"method": "offset", "limit": 5}`)}}
	text := strings.Join(strings.Fields(x.Text(TextOptions{Full: true})), " ")
	require.Contains(t, text, "audit.total the total of the last page, or else of page 1, exceeds the items read only warns if it is an estimate or, as beside currency, an amount of money ")
	for _, r := range x.Jobs[0].Audit {
		require.Equal(t, r.Never == "", strings.Contains(text, " "+r.ID+" "+r.Clause), r.ID)
	}
}
