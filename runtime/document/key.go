package document

import (
	"bytes"
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// AppendKey appends the values at the paths of a key in an item, as JSON with commas. It reports
// whether the item has a key: not all of these values are absent or null. A text has the same spelling
// whatever its escapes, and a text that is a number is spelled like the number: if an API begins to
// send its ids as texts, its items are still the same, and the columns of a table do not distinguish
// numbers from texts either.
func AppendKey(to []byte, item []byte, paths [][]string) (key []byte, found bool) {
	for _, path := range paths {
		v := Find(item, path)
		switch {
		case v == nil || v[0] == 'n':
			to = append(to, "null,"...)
			continue
		case v[0] == '"' && isNumber(v[1:len(v)-1]):
			to = append(to, v[1:len(v)-1]...)
		case v[0] == '"' && bytes.IndexByte(v, '\\') >= 0:
			text, _ := value.Marshal(string(scan.Unquote(v))) // cannot fail for a text
			to = append(to, text...)
		default:
			to = append(to, v...)
		}
		to, found = append(to, ','), true
	}
	return to, found
}

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(text []byte) bool {
	return len(text) > 0 && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && json.Valid(text)
}
