// Package keypath has the paths of values in the bodies of requests and responses: as configurations write them,
// a.b.0, and as expressions do, body.a.b[0]. The path of a value in the configuration itself has another
// form, such as api.pagination.stopRules[0]: see package diag.
package keypath

import (
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// Split splits a path into its keys. Dots separate keys, `\.` is a dot in a key,
// and `\\` is a backslash. The empty path and the path "." have no keys: they are
// the root. A key that is a number also indexes a list.
func Split(path string) []string {
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

// Join joins keys into a path. It is the inverse of [Split].
func Join(keys ...string) string {
	if len(keys) == 0 {
		return "."
	}
	escaper := strings.NewReplacer(`\`, `\\`, `.`, `\.`)
	return strings.Join(lists.Map(keys, escaper.Replace), ".")
}

// Format writes a path below a name as in an expression: body.meta.next,
// body.items[0], body["a b"].
func Format(root string, keys []string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, key := range keys {
		if IsExpressionName(key) {
			b.WriteString("." + key)
		} else if _, err := strconv.Atoi(key); err == nil {
			b.WriteString("[" + key + "]")
		} else {
			b.WriteString("[" + strconv.Quote(key) + "]")
		}
	}
	return b.String()
}

// IsExpressionName reports whether a text can be a name in an expression, or a key after a dot,
// without quotes.
func IsExpressionName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
