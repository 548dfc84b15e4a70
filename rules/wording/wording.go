// Package wording has the forms of numbers, lists and lines in texts for people: messages, reports and what explain prints.
package wording

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Capital returns a text with a capital first letter.
func Capital(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// Clip returns the first n characters of a text, and marks the cut if there is more.
// It reads no more of the text than that.
func Clip(text string, n int) string {
	for end := range text {
		if n == 0 {
			return string([]rune(text[:end])) + "…"
		}
		n--
	}
	return text
}

// Counted returns a number with its noun, which is plural unless the number is 1:
// "3 pages".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
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
func OrList(words []string) string { return joined(words, " or ") }

// AndList joins words for people: "text, json and mermaid".
func AndList(words []string) string { return joined(words, " and ") }

// joined joins words with commas, and the last with another conjunction.
func joined(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + conjunction + words[last]
}

// Wrap breaks a text into lines of at most so many characters, at spaces and at its own line
// ends. A longer word stays whole. Several spaces in a row are kept, since they may be in a
// string of an expression.
func Wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		start, at, size := 0, 0, -1 // the line begins at start, and has size characters up to the space before at
		for word := range strings.SplitSeq(paragraph, " ") {
			length := utf8.RuneCountInString(word)
			if at > 0 && size+1+length > width && strings.TrimSpace(paragraph[start:at]) != "" {
				lines = append(lines, paragraph[start:at-1])
				start, size = at, -1
			}
			size += 1 + length
			at += len(word) + 1
		}
		lines = append(lines, paragraph[start:])
	}
	return lines
}
