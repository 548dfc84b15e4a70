package rules

import "strings"

// SplitPath splits a path into its keys. Dots separate keys, `\.` is a dot in a key,
// and `\\` is a backslash. The empty path and the path "." have no keys: they are
// the root. A key that is a number also indexes a list.
func SplitPath(path string) []string {
	if path == "" || path == "." {
		return nil
	}
	var keys []string
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path) && (path[i+1] == '.' || path[i+1] == '\\'):
			i++
			key.WriteByte(path[i])
		case c == '.':
			keys = append(keys, key.String())
			key.Reset()
		default:
			key.WriteByte(c)
		}
	}
	return append(keys, key.String())
}

// PathOf joins keys into a path. It is the inverse of [SplitPath].
func PathOf(keys ...string) string {
	if len(keys) == 0 {
		return "."
	}
	escaped := make([]string, len(keys))
	for i, key := range keys {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(key)
	}
	return strings.Join(escaped, ".")
}
