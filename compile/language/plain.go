package language

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/rules"
)

// Sendable returns a value as it is sent: a time as text (RFC 3339), a duration in
// seconds.
func Sendable(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		return v.Seconds()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Sendable(v[i])
		}
		return out
	case rules.Object:
		out := slices.Clone(v)
		for i := range out {
			out[i].Value = Sendable(out[i].Value)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = Sendable(v[name])
		}
		return out
	}
	return v
}

// Kept returns a value as the next run reads it, from a file of JSON: a time, a
// duration and a time zone are strings then, which date, duration and timezone read.
func Kept(v any) any {
	switch v := fieldsOf(v).(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		return v.String()
	case *time.Location:
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Kept(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = Kept(v[name])
		}
		return out
	case rules.Object:
		return Kept(plainObject(v))
	default:
		return v
	}
}

// plain converts the objects and lists that only expressions make to the types that
// Go functions take. Those of a response have these types already.
func plain(v any) any {
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return v
	case rules.Object:
		return plainObject(v)
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Slice: // []int of a range, []string of split
		out := make([]any, rv.Len())
		for i := range out {
			out[i] = rv.Index(i).Interface()
		}
		return out
	case reflect.Map: // map[any][]any of groupBy
		out := make(map[string]any, rv.Len())
		for key, e := range rv.Seq2() {
			out[fmt.Sprint(key.Interface())] = e.Interface()
		}
		return out
	}
	return v
}

func plainObject(o rules.Object) map[string]any {
	out := make(map[string]any, len(o))
	for _, m := range o {
		out[m.Name] = plainMember(m.Value)
	}
	return out
}

func plainMember(v any) any {
	switch v := v.(type) {
	case rules.Object:
		return plainObject(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainMember(v[i])
		}
		return out
	}
	return v
}
