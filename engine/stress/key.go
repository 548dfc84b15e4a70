package stress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// keys says what the keys of items are: what a list is sorted by, and what requests name.
type keys struct {
	name       string
	descending bool
	write      func(n int) any
	read       func(text string) (n int, ok bool)
}

// firstKey is that of the first row, so that a key is no index.
const firstKey = 4001

var keyStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// keyKinds is the table of what keys may be.
var keyKinds = []keys{
	{"numbers", false, func(n int) any { return firstKey + n }, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n - firstKey, err == nil
	}},
	{"texts", false, func(n int) any { return fmt.Sprintf("key-%08d", firstKey+n) }, func(text string) (int, bool) {
		n, err := strconv.Atoi(strings.TrimPrefix(text, "key-"))
		return n - firstKey, err == nil && strings.HasPrefix(text, "key-")
	}},
	{"times", false, func(n int) any {
		return keyStart.Add(time.Duration(n) * time.Hour).Format(time.RFC3339)
	}, func(text string) (int, bool) {
		t, err := time.Parse(time.RFC3339, text)
		return int(t.Sub(keyStart) / time.Hour), err == nil
	}},
}

func (k keys) reversed() keys {
	k.descending = true
	return k
}
