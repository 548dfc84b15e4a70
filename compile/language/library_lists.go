package language

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// list returns a list of a length, after it was charged.
func (m *meter) list(length int) []any {
	m.grow(product(length, 16))
	return make([]any, length)
}

// elementAt returns first (0) or last (-1).
func elementAt(i int) func(*meter, []any) (any, error) {
	return func(m *meter, a []any) (any, error) {
		switch v := a[0].(type) {
		case []any:
			return get(v, i), nil
		case string:
			if i == 0 {
				_, size := utf8.DecodeRuneInString(v)
				return v[:size], nil
			}
			_, size := utf8.DecodeLastRuneInString(v)
			return v[len(v)-size:], nil
		}
		return nil, fmt.Errorf("want a list, got %s", Described(a[0]))
	}
}

func getMember(_ *meter, a []any) (any, error) { return get(a[0], a[1]), nil }

func take(_ *meter, a []any) (any, error) {
	list, n := a[0].([]any), a[1].(int)
	if n < 0 {
		return nil, fmt.Errorf("take cannot take %d elements; list[%d:] has the last ones", n, n)
	}
	return list[:min(n, len(list))], nil
}

// sortedNames returns the names of an object in alphabetical order.
func sortedNames(v any) []string {
	object, _ := value.Members(v)
	names := object.Names()
	slices.Sort(names)
	return names
}

// fromMembers returns a function that makes a list of a part of each member of an object. It
// charges each with a number of bytes.
func fromMembers(bytes int, part func(rules.Member) any) func(*meter, []any) (any, error) {
	return func(m *meter, a []any) (any, error) {
		m.grow(product(memberCount(a[0]), bytes))
		object, _ := value.Members(a[0])
		return lists.Map(object, part), nil
	}
}

func fromPairs(m *meter, a []any) (any, error) {
	pairs := a[0].([]any)
	m.grow(product(len(pairs), 32))
	object := make(map[string]any, len(pairs))
	for i, p := range pairs {
		pair, _ := p.([]any)
		if len(pair) != 2 {
			return nil, fmt.Errorf("fromPairs takes lists of a name and a value; element %d is %s", i, Described(p))
		}
		name, ok := value.Text(pair[0])
		if !ok {
			return nil, fmt.Errorf("fromPairs takes lists of a name and a value; the name of element %d is %s", i, KindOf(pair[0]))
		}
		object[name] = pair[1]
	}
	return object, nil
}

func reverse(m *meter, a []any) (any, error) {
	list := a[0].([]any)
	out := m.list(len(list))
	copy(out, list)
	slices.Reverse(out)
	return out, nil
}

func concat(m *meter, a []any) (any, error) {
	out := []any{}
	for i, v := range a {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("argument %d of concat must be a list, got %s", i+1, KindOf(v))
		}
		m.grow(product(len(list), 32))
		out = append(out, list...)
	}
	return out, nil
}

func flatten(m *meter, a []any) (any, error) { return flattened(m, []any{}, a[0].([]any)), nil }

func flattened(m *meter, to, list []any) []any {
	m.grow(product(len(list), 16))
	for _, v := range list {
		if inner, ok := v.([]any); ok {
			to = flattened(m, to, inner)
		} else {
			to = append(to, v)
		}
	}
	return to
}

// uniq returns the values of a list without repetitions: 1 and 1.0 are the same value,
// 1 and "1" are not.
func uniq(m *meter, a []any) (any, error) {
	list := a[0].([]any)
	seen, out := make(set, min(len(list), maxRoom)), list[:0]
	for i, v := range list {
		k, err := keyOf(m, v)
		if err != nil {
			return nil, fmt.Errorf("uniq: %w", err)
		}
		added := seen.add(k)
		if added { // a repeated value takes no memory
			m.grow(24)
		}
		switch whole := len(out) == i; {
		case whole && added:
			out = list[:i+1] // no copy as long as nothing is repeated
		case whole:
			out = slices.Clip(out)
		case added:
			out = append(out, v)
		}
	}
	return notNil(out), nil
}

// A keyed is an element of a list with the value of a predicate for it. Only the
// functions that makeSafe inserts see it.
type keyed struct{ element, key any }

func keyedOf(m *meter, a []any) (any, error) {
	m.grow(32)
	return keyed{a[0], a[1]}, nil
}

// groupBy returns the elements in an object, by the text of their keys. Elements
// without a key are in the group "null".
func groupBy(m *meter, a []any) (any, error) {
	groups := map[string]any{}
	for i, v := range a[0].([]any) {
		pair := v.(keyed)
		name, ok := value.Text(pair.key)
		switch {
		case pair.key == nil:
			name = "null"
		case !ok:
			return nil, fmt.Errorf("groupBy: the key of element %d is %s; a key is a string, a number or a boolean", i, KindOf(pair.key))
		}
		group, _ := groups[name].([]any)
		m.grow(24)
		groups[name] = append(group, pair.element)
	}
	return groups, nil
}

func sortBy(m *meter, a []any) (any, error) {
	list := a[0].([]any)
	keys := lists.Map(list, func(v any) any { return v.(keyed).key })
	by := must(sortOrder(m, "sortBy", keys, a))
	sortValues(m, list, func(a, b any) int { return by(a.(keyed).key, b.(keyed).key) })
	for i := range list {
		list[i] = list[i].(keyed).element // the list was made for this call
	}
	return list, nil
}

func sortList(m *meter, a []any) (any, error) {
	list := m.list(len(a[0].([]any)))
	copy(list, a[0].([]any))
	sortValues(m, list, must(sortOrder(m, "sort", list, a)))
	return list, nil
}

// sortOrder returns the order of the values of a list, in the direction that the second argument
// of a function names.
func sortOrder(m *meter, name string, list, a []any) (func(a, b any) int, error) {
	direction := map[string]int{"asc": 1, "desc": -1}[optional(a, 1, "asc")]
	if direction == 0 {
		return nil, fmt.Errorf("want asc or desc, got %s", value.Preview(a[1]))
	}
	by, err := orderOf(m, name, list)
	return func(a, b any) int { return direction * by(a, b) }, err
}

// sortValues sorts a list in place. Equal values keep their order.
func sortValues(m *meter, list []any, order func(a, b any) int) {
	slices.SortStableFunc(list, func(a, b any) int {
		m.spend(valueUnits)
		return order(a, b)
	})
}

// orderOf returns the order of the values of a list, which are all numbers, or all
// strings, or all times, or all durations. Numbers may be given as strings if one of
// the values is a number. Values that are nil come last.
func orderOf(m *meter, name string, list []any) (func(a, b any) int, error) {
	var first any
	numbers, text := 0, 0
	for i, v := range list {
		if v == nil {
			continue
		}
		if first == nil {
			first = v
		}
		switch t := reflect.TypeOf(v); {
		case isNumber(v):
			numbers++
		case t == reflect.TypeFor[string]():
			text++
			m.spend(len(v.(string)) / 8)
		case t != timeType && t != durationType, t != reflect.TypeOf(first):
			return nil, fmt.Errorf("%s cannot order element %d, %s, and %s",
				name, i, Described(v), Described(first))
		}
	}
	switch {
	case numbers > 0:
		return orderOfNumbers(name, list)
	case text > 0:
		return orderOfText(m, name, list)
	}
	return nilLast(func(a, b any) int {
		if x, ok := a.(time.Time); ok {
			return x.Compare(b.(time.Time))
		}
		return cmp.Compare(a.(time.Duration), b.(time.Duration))
	}), nil
}

func nilLast(order func(a, b any) int) func(a, b any) int {
	return func(a, b any) int {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return 1
		case b == nil:
			return -1
		}
		return order(a, b)
	}
}

func orderOfNumbers(name string, list []any) (func(a, b any) int, error) {
	for i, v := range list {
		if _, err := number(v); err != nil {
			return nil, fmt.Errorf("%s orders numbers, but element %d is %s", name, i, Described(v))
		}
	}
	return nilLast(func(a, b any) int {
		x, _ := number(a)
		y, _ := number(b)
		return order(x, y)
	}), nil
}

func orderOfText(m *meter, name string, list []any) (func(a, b any) int, error) {
	numeric, longest, word := 0, 0, ""
	var noted [2]string
	for i, v := range list {
		text, ok := v.(string)
		if v != nil && !ok {
			return nil, fmt.Errorf("%s orders strings, but element %d is %s", name, i, Described(v))
		}
		if numeric < len(noted) && holdsNumber(text) {
			noted[numeric] = text
			numeric++
		}
		longest = max(longest, len(text))
		if word == "" && text != "" && saysNoValue(text) {
			word = text
		}
	}
	if word != "" && slices.ContainsFunc(list, func(v any) bool { text, _ := v.(string); return times.MayBe(text) && isTimeText(text) }) {
		m.note("%s is no time, but %s orders it as text beside times; leave it out, as latestOf does", value.Preview(word), name)
	}
	if numeric == len(noted) {
		m.noteOrder(noted[0], noted[1])
	}
	if longest > maxCall/16 {
		return nil, overBudget("%s of strings of %d bytes", name, longest)
	}
	return nilLast(func(a, b any) int {
		x, y := a.(string), b.(string)
		m.sinceTick += min(len(x), len(y)) / 16 // sortValues looks at it
		if order, ok := orderOfTimes(m, x, y); ok {
			return order
		}
		return strings.Compare(x, y)
	}), nil
}

// extremeOf returns min (-1) or max (1): the extreme of the arguments, and of the elements of lists among
// them. Values that are nil do not count; without other values, the result is nil.
func extremeOf(sign int) func(*meter, []any) (any, error) {
	name := map[int]string{-1: "min", 1: "max"}[sign]
	return func(m *meter, a []any) (any, error) {
		values := leaves(m, nil, a)
		if len(values) == 0 {
			return nil, nil
		}
		order := must(orderOf(m, name, values))
		return slices.MaxFunc(values, func(a, b any) int {
			m.spend(valueUnits)
			return order(a, b) * sign
		}), nil
	}
}
