package rules

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// unsafeCharacters matches everything but letters and digits of any alphabet, dots, underscores and dashes.
var unsafeCharacters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{M}\p{N}._-]+`) })

// FileName returns the name of the file of a type of items, without the ending of a format. It depends on nothing
// else, so that a job keeps its file whatever jobs are added; two types may have one name. The name is
// safe and has at most 128 bytes. It does not begin or end with a dot or a dash, so that no shell hides it and no
// command takes it for a flag.
func FileName(dataType string) string {
	name := unsafeCharacters().ReplaceAllString(strings.ToValidUTF8(dataType, "-"), "-")
	name = strings.Trim(name, ".-")
	length := min(len(name), 128)
	for length < len(name) && !utf8.RuneStart(name[length]) {
		length--
	}
	name = strings.TrimRight(name[:length], ".-")
	if name == "" {
		return "items"
	}
	return name
}
