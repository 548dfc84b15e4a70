package language

import (
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// equal reports whether two values are equal: numbers by their value, whatever
// their kind; a number and a string if the string is that number; lists and objects
// by their elements. Nothing else equals a value of another kind.
func equal(m *meter, a, b any) bool {
	m.spend(valueUnits)
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if x, y, ok := asNumbers(a, b); ok {
		return order(x, y) == 0
	}
	a, b = fieldsOf(a), fieldsOf(b)
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		m.spend(min(len(x), len(y)))
		return ok && equalText(m, x, y)
	case bool, time.Duration:
		return a == b
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(a, b any) bool { return equal(m, a, b) })
	case map[string]any, rules.Object:
		return isObject(b) && memberCount(a) == memberCount(b) && equalObjects(m, a, b)
	}
	return false
}

// equalText compares strings. It notes two strings that differ but are the same number.
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

func equalObjects(m *meter, a, b any) bool {
	m.spend(product(memberCount(b), valueUnits))
	other := byName(b)
	all, _ := entries(a)
	for name, x := range all {
		if y, ok := other[name]; !ok || !equal(m, x, y) {
			return false
		}
	}
	return true
}

func isObject(v any) bool {
	switch v.(type) {
	case map[string]any, rules.Object:
		return true
	}
	return false
}

// memberCount returns the number of members of an object, or of elements of a list.
func memberCount(v any) int {
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

// byName returns the members of an object in a map. If members share a name, the map has the first.
func byName(v any) map[string]any {
	object, ordered := v.(rules.Object)
	if !ordered {
		members, _ := v.(map[string]any)
		return members
	}
	members := make(map[string]any, len(object))
	for _, member := range slices.Backward(object) {
		members[member.Name] = member.Value
	}
	return members
}

// in reports whether a list has an element, or an object a key.
func in(m *meter, a, b any) (any, error) {
	switch b := fieldsOf(b).(type) {
	case nil:
		return false, nil
	case []any:
		return m.contains(b, a), nil
	case map[string]any, rules.Object:
		name, ok := value.Text(a)
		if !ok {
			return false, nil
		}
		m.spend(memberCount(b))
		_, has := member(b, name)
		return has, nil
	}
	return nil, mismatch("in", a, b)
}
