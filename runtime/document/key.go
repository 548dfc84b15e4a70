package document

import (
	"bytes"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// AppendKey appends the values at the paths of a key in an item, as JSON with commas. It reports
// whether the item has a key: not all of these values are absent or null. A text has one spelling.
func AppendKey(to []byte, item []byte, paths [][]string) (key []byte, found bool) {
	for _, path := range paths {
		v := Find(item, path)
		switch {
		case v == nil || v[0] == 'n':
			to = append(to, "null,"...)
			continue
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
