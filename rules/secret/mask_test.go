package secret_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/secret"
)

// A megabyte, the most that a configuration may have, takes some hundredths of a second.
// With anything that is done again from a line's beginning or to its end for every key, it takes
// ten seconds and more.
func TestTheTimeToMaskIsInProportionToTheText(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	of := func(part string, bytes int) string { return strings.Repeat(part, bytes/len(part)) }
	for _, c := range []struct {
		name string
		text func(bytes int) string
	}{
		{"many secrets in a line", func(n int) string { return "{" + of(`"#k": "abcdefgh", `, n) }},
		{"many values without authentication", func(n int) string { return "[" + of(`{"value":1},`, n) }},
		{"many values in brackets", func(n int) string { return of(`{"value":`, n) }},
		{"many comments and spaces", func(n int) string { return of(`password: "v" #`, n/2) + of(" ", n/2) }},
		{"many strings and spaces", func(n int) string { return of(`password: "v" `, n/2) + of(" ", n/2) }},
		{"many secrets above a long line", func(n int) string { return of(`password: "v" #`, n/2) + "\n" + of("a ", n/2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A time in proportion to the square of the length would be 16 times as long.
			const length, parts = 1 << 20, 16
			long, short := c.text(length), c.text(length/parts)
			ratio := math.Inf(1)
			for try := 0; try < 5 && ratio >= 4; try++ {
				whole := took(func() { secret.Mask(long) })
				split := took(func() {
					for range parts {
						secret.Mask(short)
					}
				})
				ratio = min(ratio, whole.Seconds()/split.Seconds())
				t.Log(whole, split)
			}
			if ratio >= 4 {
				t.Errorf("a text takes %.1f times as long as %d texts of the same length together", ratio, parts)
			}
		})
	}
}

func took(call func()) time.Duration {
	began := time.Now()
	call()
	return time.Since(began)
}
