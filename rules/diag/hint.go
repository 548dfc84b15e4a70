package diag

import (
	"fmt"
	"strings"
)

// DidYouMean returns a hint with the word nearest to the one that was written,
// like `did you mean "limit"?`, or "" if no word is near.
func DidYouMean(written string, words []string) string {
	if word := Nearest(written, words); word != "" {
		return fmt.Sprintf("did you mean %q?", word)
	}
	return ""
}

// maxWord bounds the length of the words that are compared, since they may come
// from a response.
const maxWord = 256

// Nearest returns the word with the least edit distance to the one that was
// written. The distance must be at most a third of the length of the written
// word, or 1; otherwise Nearest returns "".
func Nearest(written string, words []string) string {
	if len(written) > maxWord {
		return ""
	}
	written = strings.ToLower(written)
	best, bestDistance := "", max(len(written)/3, 1)+1
	for _, word := range words {
		if len(word) > maxWord {
			continue
		}
		if d := distance(written, strings.ToLower(word)); d < bestDistance {
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
