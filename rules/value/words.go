package value

import (
	"fmt"
	"strings"
)

// Counted returns a number with its noun, which is plural unless the number is 1:
// "3 pages".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Size returns a number of bytes for people: "1.5 MB".
func Size(n int) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if f /= 1000; f < 1000 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// OrList joins words for people: "text, json or mermaid".
func OrList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
