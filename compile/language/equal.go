package language

import (
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// equal reports whether two values are equal: numbers by their value, whatever
// their kind; a number and a string if the string is that number; lists and objects
// by their elements. Nothing else equals a value of another kind.
func equal(m *meter, a, b any) (bool, error) {
	if err := m.spend(1); err != nil {
		return false, err
	}
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	if x, y, ok := asNumbers(a, b); ok {
		return order(x, y) == 0, nil
	}
	a, b = fieldsOf(a), fieldsOf(b)
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && equalText(m, x, y), m.spend(min(len(x), len(y)))
	case bool:
		y, ok := b.(bool)
		return ok && x == y, nil
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y), nil
	case time.Duration:
		y, ok := b.(time.Duration)
		return ok && x == y, nil
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return equalLists(m, x, y)
	case map[string]any, rules.Object:
		if members(a) != members(b) || !isObject(b) {
			return false, nil
		}
		return equalObjects(m, a, b)
	}
	return false, nil
}

// equalText compares strings, and notes those that differ but are the same number.
func equalText(m *meter, a, b string) bool {
	if a == b {
		return true
	}
	x, isNumber := numberIn(a)
	if y, both := numberIn(b); isNumber && both && order(x, y) == 0 {
		m.note("%s and %s are different strings, but the same number; number(…) makes them numbers", value.Preview(a), value.Preview(b))
	}
	return false
}

func equalLists(m *meter, a, b []any) (bool, error) {
	for i := range a {
		if same, err := equal(m, a[i], b[i]); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func equalObjects(m *meter, a, b any) (bool, error) {
	other := lookup(b)
	if err := m.spend(product(members(b), 16)); err != nil { // of lookup
		return false, err
	}
	all, _ := entries(a)
	for name, x := range all {
		y, ok := other(name)
		if !ok {
			return false, nil
		}
		if same, err := equal(m, x, y); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func isObject(v any) bool {
	switch v.(type) {
	case map[string]any, rules.Object:
		return true
	}
	return false
}

// members returns the number of members of an object, or of elements of a list.
func members(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case rules.Object:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// lookup returns a function that finds the members of an object in constant time.
func lookup(v any) func(name string) (any, bool) {
	m, ok := v.(map[string]any)
	if object, ordered := v.(rules.Object); ordered {
		ok, m = true, make(map[string]any, len(object))
		for _, member := range object {
			if _, repeated := m[member.Name]; !repeated {
				m[member.Name] = member.Value
			}
		}
	}
	return func(name string) (any, bool) {
		v, has := m[name]
		return v, ok && has
	}
}

// in reports whether a list has an element, or an object a key.
func in(m *meter, a, b any) (any, error) {
	switch b := fieldsOf(b).(type) {
	case nil:
		return false, nil
	case []any:
		return m.contains(b, a)
	case map[string]any, rules.Object:
		name, ok := value.Text(a)
		if !ok {
			return false, nil
		}
		_, has := member(b, name)
		return has, m.spend(members(b))
	}
	return nil, mismatch("in", a, b)
}
