package language

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// member returns v.key or v[key], and whether v has it.
func member(v any, key string) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case lack: // its members are lacking as well
		return v, true
	case map[string]any:
		out, ok := v[key]
		return out, ok
	case rules.Object:
		return v.Get(key)
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i >= len(v) || i < -len(v) {
			return nil, false
		}
		if i < 0 {
			i += len(v)
		}
		return v[i], true
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if rv.Kind() != reflect.Struct {
		return nil, false
	}
	field, ok := fieldValue(rv, key)
	if !ok {
		return nil, false
	}
	return field.Interface(), true
}

// get returns v[key] for a key of any kind, or nil.
func get(v, key any) any {
	if _, lacks := key.(lack); lacks {
		return key
	}
	text, ok := value.Text(key)
	if !ok {
		return nil
	}
	out, _ := member(v, text)
	return out
}

// fieldAt returns the value at a path of an item or of another value, and whether it has
// the path.
func fieldAt(v any, path []string) (any, bool, error) {
	if row, isRow := v.(rules.ItemRow); isRow {
		return row.Field(path)
	}
	for _, key := range path {
		var ok bool
		if v, ok = member(v, key); !ok {
			return nil, false, nil
		}
	}
	return v, true, nil
}

// fieldAtAny is fieldAt for a path that may come from the page, as keys or as text.
func fieldAtAny(m *meter, v, path any) (any, bool, error) {
	switch path := path.(type) {
	case []string:
		return fieldAt(v, path)
	case string:
		m.grow(product(len(path), 24)) // of the keys
		return fieldAt(v, keypath.Split(path))
	}
	return nil, false, nil
}

// slice returns v[from:to], limited to the elements that v has.
func slice(v, from, to any) (any, error) {
	switch v := v.(type) {
	case nil, lack:
		return v, nil
	case []any:
		a, b := bounds(len(v), from, to)
		return v[a:b], nil
	case string:
		a, b := bounds(len(v), from, to)
		return v[a:b], nil
	}
	return nil, fmt.Errorf("want a list or a string to slice, got %s", KindOf(v))
}

// bounds returns the bounds of a slice of a value of a length.
func bounds(length int, from, to any) (a, b int) {
	bound := func(index any, absent int) int {
		i, ok := index.(int)
		if !ok {
			return absent
		}
		if i < 0 {
			i += length
		}
		return min(max(i, 0), length)
	}
	a = bound(from, 0)
	return a, max(a, bound(to, length))
}

// listOf returns the list that a predicate is applied to; if it is absent, an empty
// list.
func listOf(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return []any{}, nil
	case []any:
		return v, nil
	}
	return nil, fmt.Errorf("want a list, got %s", Described(v))
}

// HasPath reports whether a value has a path, even if null is there.
func HasPath(v any, path []string) bool {
	_, ok, err := fieldAt(v, path)
	return ok && err == nil
}
