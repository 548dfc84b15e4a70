package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// FileNames returns the name of the file of each of several types of items, in their order and without the
// ending of a format. A type may occur more than once. Files of different types have different names, even on
// a file system that ignores case. The names do not depend on the order of the types: of those that would have
// the same name, one that needs no change has it, and the others are numbered in the order of their texts.
func FileNames(dataTypes []string) []string {
	changes := func(dataType string) int {
		if fileName(dataType) == dataType {
			return 0
		}
		return 1
	}
	sorted := slices.SortedFunc(slices.Values(dataTypes), func(a, b string) int {
		return cmp.Or(changes(a)-changes(b), strings.Compare(a, b))
	})
	names, used := map[string]string{}, map[string]bool{}
	for _, dataType := range slices.Compact(sorted) {
		name := fileName(dataType)
		for n := 2; used[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d", fileName(dataType), n)
		}
		names[dataType], used[strings.ToLower(name)] = name, true
	}
	return value.Map(dataTypes, func(dataType string) string { return names[dataType] })
}

// unsafeCharacters matches everything but letters and digits of any alphabet, dots, underscores and dashes.
var unsafeCharacters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{M}\p{N}._-]+`) })

// fileName converts a data type to a safe file name of at most 128 bytes. The name does not begin
// or end with a dot or a dash, so that no shell hides it and no command takes it for a flag.
func fileName(dataType string) string {
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
