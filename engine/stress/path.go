package stress

import (
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/value"
)

// at returns the value at a path of keys, or nil.
func at(v any, path []string) any {
	v, _ = value.At(v, path)
	return v
}

// without returns a value without the member at a path.
func without(v any, path []string) any {
	if list, isList := v.([]any); isList {
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list) && len(path) > 1 {
			list = slices.Clone(list)
			list[i] = without(list[i], path[1:])
		}
		return list
	}
	o, isObject := value.Members(v)
	inner, had := o.Get(path[0])
	switch {
	case !isObject || !had:
		return v
	case len(path) == 1:
		return o.Without(path[0])
	}
	return o.With(path[0], without(inner, path[1:]))
}

// place returns a value with another one at a path in it. Objects and lists along the path
// are made.
func place(v any, path []string, inner any) any {
	if len(path) == 0 {
		return inner
	}
	o, isObject := value.Members(v)
	if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < 100 && !isObject {
		list, _ := v.([]any)
		list = append(slices.Clone(list), make([]any, max(0, i+1-len(list)))...)
		list[i] = place(list[i], path[1:], inner)
		return list
	}
	had, _ := o.Get(path[0])
	return o.With(path[0], place(had, path[1:], inner))
}
