package rules

import (
	"strconv"
	"strings"
)

// SplitPath splits a path into its keys: dots separate, `\.` is a dot in a key
// and `\\` a backslash. The path "." and the empty path have no keys: they are
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

// PathOf joins keys into a path, the inverse of [SplitPath].
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

// FormatPath writes a path below a name as in an expression: body.meta.next,
// body.items[0], body["a b"].
func FormatPath(root string, keys []string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, key := range keys {
		if IsIdentifier(key) {
			b.WriteString("." + key)
		} else if _, err := strconv.Atoi(key); err == nil {
			b.WriteString("[" + key + "]")
		} else {
			b.WriteString("[" + strconv.Quote(key) + "]")
		}
	}
	return b.String()
}

// IsIdentifier reports whether a name can be written in an expression as it is,
// and a key after a dot.
func IsIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
