package importer

import (
	"fmt"
	"strconv"
	"strings"
)

// JSONPath returns the keys of a JSONPath that selects by names and indexes only, such as $.data[-1].id,
// $['a b'].c or $.'a.b'. A wildcard becomes the key *, and the index (@.length-1) the key -1. Filters,
// slices and recursive descent are errors.
func JSONPath(text string) ([]string, error) {
	bad := fmt.Errorf("want a JSONPath such as $.data.items instead of %q", text)
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, bad
	}
	var keys []string
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "[") && strings.Contains(rest, "]"):
			inner, after, _ := strings.Cut(rest[1:], "]")
			rest = after
			if key := strings.Trim(inner, `'"`); key != inner {
				keys = append(keys, key)
			} else if _, err := strconv.Atoi(inner); err == nil || inner == "*" {
				keys = append(keys, inner)
			} else if inner == "(@.length-1)" {
				keys = append(keys, "-1")
			} else {
				return nil, bad
			}
		case strings.HasPrefix(rest, ".'") || strings.HasPrefix(rest, `."`):
			key, after, closed := strings.Cut(rest[2:], rest[1:2])
			if !closed || key == "" {
				return nil, bad
			}
			keys, rest = append(keys, key), after
		case strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, ".."):
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return nil, bad
			}
			keys = append(keys, rest[1:end+1])
			rest = rest[end+1:]
		default:
			return nil, bad
		}
	}
	return keys, nil
}
