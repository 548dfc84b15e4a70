package value

import (
	"slices"
	"strconv"
)

// A Replacement says what replaces the parts of a value. Each function may be nil, and then
// replaces nothing.
type Replacement struct {
	Name   func(string) (string, error) // the name of a member
	Scalar func(any) (any, error)       // any value but a list and an object
	Object func(map[string]any) any     // an object, after its members
}

// Replace returns a copy of a value with its parts replaced, at any depth.
func Replace(v any, r Replacement) (_ any, err error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = Replace(v[i], r); err != nil {
				return nil, err
			}
		}
		return out, nil
	case Object:
		out := make(Object, len(v))
		for i, m := range v {
			if out[i], err = r.member(m); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			m, err := r.member(Member{name, inner})
			if err != nil {
				return nil, err
			}
			out[m.Name] = m.Value
		}
		if r.Object != nil {
			return r.Object(out), nil
		}
		return out, nil
	}
	if r.Scalar != nil {
		return r.Scalar(v)
	}
	return v, nil
}

// member replaces the parts of a member of an object.
func (r Replacement) member(m Member) (_ Member, err error) {
	if r.Name != nil {
		if m.Name, err = r.Name(m.Name); err != nil {
			return m, err
		}
	}
	m.Value, err = Replace(m.Value, r)
	return m, err
}

// Any reports whether a value has a scalar, at any depth, or an object a member, for which
// a function reports true. Either function may be nil.
func Any(v any, scalar func(any) bool, name func(string) bool) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, func(e any) bool { return Any(e, scalar, name) })
	}
	if members, ok := Members(v); ok {
		return slices.ContainsFunc(members, func(m Member) bool { return name != nil && name(m.Name) || Any(m.Value, scalar, name) })
	}
	return scalar != nil && scalar(v)
}

// Scalars calls a function for each scalar of a value, at any depth and in order, with the keys
// that lead to it after those that are given. The key of an element of a list is its index.
func Scalars(v any, visit func(keys []string, v any), keys ...string) {
	if list, ok := v.([]any); ok {
		for i, e := range list {
			Scalars(e, visit, append(slices.Clip(keys), strconv.Itoa(i))...)
		}
	} else if members, ok := Members(v); ok {
		for _, m := range members {
			Scalars(m.Value, visit, append(slices.Clip(keys), m.Name)...)
		}
	} else {
		visit(keys, v)
	}
}
