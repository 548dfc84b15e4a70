package php

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Empty is PHP's empty() of a value in a response: nil (missing or null), false, 0,
// 0.0, -0.0, "", "0" and the empty list are empty. An object is never empty, not even
// {}.
func Empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case int:
		return v == 0
	case int64:
		return v == 0
	case float64:
		return v == 0
	case json.Number:
		return Number(v) == 0
	case string:
		return v == "" || v == "0"
	case []any:
		return len(v) == 0
	}
	return false
}

// EmptyConfig is [Empty] of a value in a configuration, where {} is empty, too.
func EmptyConfig(v any) bool {
	if members, ok := value.Members(v); ok {
		return len(members) == 0
	}
	return Empty(v)
}

// Truthy is PHP's cast to bool of a value in a response: every value that is not
// [Empty] is true, including "false", "0.0", " " and {}.
func Truthy(v any) bool { return !Empty(v) }

// Bool is PHP's cast to bool of a value in a configuration: every value that is not
// [EmptyConfig] is true, including the string "false".
func Bool(v any) bool { return !EmptyConfig(v) }
