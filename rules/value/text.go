package value

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// KindOf names the JSON kind of a value, for messages: "null", "a boolean",
// "a number", "a string", "a list" or "an object".
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int, int64, float64, json.Number:
		return "a number"
	case []any:
		return "a list"
	case Object, map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a %T", v) // a time or a duration, which only expressions make
}

// Preview returns a value for a message: a scalar as JSON, cut after 60 characters,
// and a list or an object by its size.
func Preview(v any) string {
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	case Object:
		return fmt.Sprintf("object of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("object of %d", len(v))
	case int:
		return strconv.Itoa(v)
	}
	const width = 60
	if text, ok := v.(string); ok {
		v = wording.Clip(text, width) // a long text is not encoded in full
	}
	text, err := Marshal(v)
	if err != nil {
		return wording.Clip(fmt.Sprint(v), width)
	}
	return wording.Clip(string(text), width)
}

// SHA256 returns the SHA-256 hash of a text in hexadecimal.
func SHA256[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
