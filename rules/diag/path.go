package diag

import (
	"strconv"
	"strings"
)

// A config path names a value in a configuration: api.pagination.stopRules[0].

// Join adds a key to a config path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index adds a list index to a config path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Parent drops the last key or index of a config path.
func Parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}
