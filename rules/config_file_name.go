package rules

import (
	"fmt"
	"regexp"
	"strings"
)

// FileNames returns the name of the file of each of several types of items, in their order and
// without the ending of a format. A type may occur more than once. Files of different types have
// different names, also on a file system that ignores case.
func FileNames(dataTypes []string) []string {
	names, known, used := make([]string, len(dataTypes)), map[string]string{}, map[string]bool{}
	for i, dataType := range dataTypes {
		name, had := known[dataType]
		if !had {
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

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName converts a data type to a safe file name of at most 128 bytes. The name does not begin
// or end with a dot or a dash, so that no shell hides it and no command takes it for a flag.
func fileName(dataType string) string {
	name := unsafe.ReplaceAllString(dataType, "-")
	name = strings.Trim(name, ".-")
	name = strings.TrimRight(name[:min(len(name), 128)], ".-")
	if name == "" {
		return "items"
	}
	return name
}
