package language

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Sendable returns a value as it is sent: a time as text (RFC 3339), a duration in
// seconds.
func Sendable(v any) any {
	return replaceScalars(v, func(v any) any {
		switch v := v.(type) {
		case time.Time:
			return v.Format(time.RFC3339Nano)
		case time.Duration:
			return v.Seconds()
		}
		return v
	})
}

// JSONForm returns a value as it is read after it was written as JSON: a time, a duration and a time
// zone are strings then, which date, duration and timezone read.
func JSONForm(v any) any {
	return value.Plain(replaceScalars(fieldsOf(v), func(v any) any {
		switch v := fieldsOf(v).(type) {
		case time.Time:
			return v.Format(time.RFC3339Nano)
		case time.Duration:
			return v.String()
		case *time.Location:
			return v.String()
		case rules.Object:
			return JSONForm(v)
		default:
			return v
		}
	}))
}

func replaceScalars(v any, by func(any) any) any {
	v, _ = value.Replace(v, value.Replacement{Scalar: func(v any) (any, error) { return by(v), nil }})
	return v
}

// KindOf names the kind of a value for messages: "a time". Unlike [value.KindOf], it knows the kinds
// that only expressions make.
func KindOf(v any) string {
	switch v.(type) {
	case time.Time:
		return "a time"
	case time.Duration:
		return "a duration"
	case *time.Location:
		return "a time zone"
	}
	return value.KindOf(fieldsOf(v))
}

// Described returns a value for a message: its kind, with the value of a scalar and the size
// of a list or an object.
func Described(v any) string {
	switch v := fieldsOf(v).(type) {
	case nil:
		return "null"
	case []any:
		return "a list of " + wording.Counted(len(v), "element")
	default:
		if members, ok := value.Members(v); ok {
			return "an object with " + wording.Counted(len(members), "member")
		}
	}
	return fmt.Sprintf("%s (%s)", KindOf(v), value.Preview(v))
}

func typeName(_ *meter, a []any) (any, error) {
	switch v := fieldsOf(a[0]).(type) {
	case nil:
		return "nil", nil
	case bool:
		return "bool", nil
	case float64:
		return "float", nil
	case json.Number:
		if isLongFraction(v) {
			return "float", nil
		}
	case string:
		return "string", nil
	case []any:
		return "array", nil
	case map[string]any, rules.Object:
		return "map", nil
	case time.Time, time.Duration, *time.Location:
		return fmt.Sprintf("%T", v), nil
	}
	return "int", nil
}
