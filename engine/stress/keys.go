package stress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// keys describes the keys of items. A list is sorted by its keys, and requests may name them.
type keys struct {
	descending bool
	write      func(n int) any
	read       func(text string) (n int, ok bool)
}

// firstKey is the key of the first row. It is far from 0, so that no key is taken for an index.
const firstKey = 4001

var keyStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// keyKinds is the table of kinds of keys.
var keyKinds = []keys{
	{ // numbers
		write: func(n int) any { return firstKey + n },
		read: func(text string) (int, bool) {
			n, err := strconv.Atoi(text)
			return n - firstKey, err == nil
		},
	},
	{ // texts
		write: func(n int) any { return fmt.Sprintf("key-%08d", firstKey+n) },
		read: func(text string) (int, bool) {
			n, err := strconv.Atoi(strings.TrimPrefix(text, "key-"))
			return n - firstKey, err == nil && strings.HasPrefix(text, "key-")
		},
	},
	{ // times
		write: func(n int) any { return keyStart.Add(time.Duration(n) * time.Hour).Format(time.RFC3339) },
		read: func(text string) (int, bool) {
			t, err := time.Parse(time.RFC3339, text)
			return int(t.Sub(keyStart) / time.Hour), err == nil
		},
	},
}

func (k keys) reversed() keys {
	k.descending = true
	return k
}

// scalar reports whether an item is its key.
func (p *plan) scalar() bool { return len(p.keyPaths) == 1 && len(p.keyPaths[0]) == 0 }
