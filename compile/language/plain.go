package language

import (
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
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

// Kept returns a value as the next run reads it, from a file of JSON: a time, a
// duration and a time zone are strings then, which date, duration and timezone read.
func Kept(v any) any {
	return plain(replaceScalars(fieldsOf(v), func(v any) any {
		switch v := fieldsOf(v).(type) {
		case time.Time:
			return v.Format(time.RFC3339Nano)
		case time.Duration:
			return v.String()
		case *time.Location:
			return v.String()
		case rules.Object:
			return Kept(v)
		default:
			return v
		}
	}))
}

func replaceScalars(v any, by func(any) any) any {
	v, _ = value.Replace(v, value.Replacement{Scalar: func(v any) (any, error) { return by(v), nil }})
	return v
}

// plain returns a value with a map in place of every object that keeps the order of its
// members. Only expressions and configurations make such objects, so the maps of a response
// are not searched.
func plain(v any) any {
	switch v := v.(type) {
	case rules.Object:
		out := make(map[string]any, len(v))
		for _, m := range v {
			out[m.Name] = plain(m.Value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}
