package rules

import (
	"fmt"
	"strings"
)

// DidYouMean proposes the word nearest to the one that was written, or nothing
// when none is near: `did you mean "limit"?`.
func DidYouMean(written string, words []string) string {
	if word := Nearest(written, words); word != "" {
		return fmt.Sprintf("did you mean %q?", word)
	}
	return ""
}

// Nearest is the word with the least edit distance to the one written, if that
// is at most a third of its length and at least one edit is allowed; else "".
func Nearest(written string, words []string) string {
	best, bestDistance := "", max(len(written)/3, 1)+1
	for _, word := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(word)); d < bestDistance {
			best, bestDistance = word, d
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
