package rules

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// FileNames returns the name of the file of each of several types of items, in their order and without the
// ending of a format. A type may occur more than once. Files of different types have different names, even on
// a file system that ignores case.
func FileNames(dataTypes []string) []string {
	names, known, used := make([]string, len(dataTypes)), map[string]string{}, map[string]bool{}
	for i, dataType := range dataTypes {
		name, named := known[dataType]
		if !named {
			name = fileName(dataType)
			for n := 2; used[strings.ToLower(name)]; n++ {
				name = fmt.Sprintf("%s-%d", fileName(dataType), n)
			}
			known[dataType], used[strings.ToLower(name)] = name, true
		}
		names[i] = name
	}
	return names
}

// unsafeCharacters matches everything but letters and digits of any alphabet, dots, underscores and dashes.
var unsafeCharacters = regexp.MustCompile(`[^\p{L}\p{M}\p{N}._-]+`)

// fileName converts a data type to a safe file name of at most 128 bytes. The name does not begin
// or end with a dot or a dash, so that no shell hides it and no command takes it for a flag.
func fileName(dataType string) string {
	name := unsafeCharacters.ReplaceAllString(strings.ToValidUTF8(dataType, "-"), "-")
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
