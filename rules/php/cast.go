package php

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/value"
)

// plain returns a number as an int or a float64, and an object in either form as a
// [value.Object]. Other values stay as they are.
func plain(v any) any {
	switch v := v.(type) {
	case int64:
		return int(v)
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		return float(v.String())
	case map[string]any:
		members, _ := value.Members(v)
		return members
	}
	return v
}

// Empty is PHP's empty() of a value in a response: nil (missing or null), false, 0,
// 0.0, -0.0, "", "0" and the empty list are empty. An object is never empty, not even
// {}.
func Empty(v any) bool {
	switch v := plain(v).(type) {
	case nil:
		return true
	case bool:
		return !v
	case int:
		return v == 0
	case float64:
		return v == 0
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

// Int is PHP's cast to int. It cuts off fractions. The number at the beginning of a
// text counts ("1e1" is 10, " 2" is 2, "3 items" is 3, "abc" is 0) and saturates at the
// ends of the range, while a float beyond the range wraps around. A list is 1 unless it
// is empty, and an object is 1.
func Int(v any) int {
	switch v := plain(v).(type) {
	case int:
		return v
	case float64:
		return wrap(v)
	case string:
		return textInt(v)
	case value.Object:
		return 1
	case bool, []any:
		if Truthy(v) {
			return 1
		}
	}
	return 0
}

// Number returns the number with which PHP compares a count: nil, false and a text
// that does not begin with a number are 0, true and an object are 1, and a list is
// greater than every number: +Inf. (PHP 8 compares a count and a text that is not
// numeric as texts.)
func Number(v any) float64 {
	switch v := plain(v).(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case string:
		return float(scanNumber(v).text)
	case []any:
		return math.Inf(1)
	default:
		return float64(Int(v))
	}
}

// String is PHP's cast to string: true is "1", nil and false are "", and a float has
// 14 significant digits ("1.2345678901235E+19"; 1.0 is "1"). A list or an object is
// "Array", including an object of a response, which PHP refuses to cast.
func String(v any) string {
	switch v := plain(v).(type) {
	case string:
		return v
	case bool:
		if v {
			return "1"
		}
	case int:
		return strconv.Itoa(v)
	case float64:
		return floatText(v)
	case []any, value.Object:
		return "Array"
	}
	return ""
}
