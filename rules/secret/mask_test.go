package secret_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/secret"
)

// A megabyte, the most that a configuration may have, takes some hundredths of a second.
// With anything that is done again from a line's beginning or to its end for every key, it takes
// ten seconds and more.
func TestTheTimeToMaskIsInProportionToTheText(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	const megabyte = 1 << 20
	of := func(part string, bytes int) string { return strings.Repeat(part, bytes/len(part)) }
	for _, c := range []struct{ name, text string }{
		{"many secrets in a line", "{" + of(`"#k": "abcdefgh", `, megabyte)},
		{"many values without authentication", "[" + of(`{"value":1},`, megabyte)},
		{"many values in brackets", of(`{"value":`, megabyte)},
		{"many comments and spaces", of(`password: "v" #`, megabyte/2) + of(" ", megabyte/2)},
		{"many strings and spaces", of(`password: "v" `, megabyte/2) + of(" ", megabyte/2)},
		{"many secrets above a long line", of(`password: "v" #`, megabyte/2) + "\n" + of("a ", megabyte/2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			secret.Mask(c.text)
			require.Less(t, time.Since(began), 5*time.Second)
		})
	}
}
