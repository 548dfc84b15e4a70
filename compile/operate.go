package compile

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The operators for values whose kind is known only when the expression runs. An
// absent value gives nil or false, integers keep all their digits, and kinds that do
// not fit together are an error.

type binaryOperator func(a, b any) (any, error)

var operators = map[string]binaryOperator{
	"==":         func(a, b any) (any, error) { return equal(a, b), nil },
	"!=":         func(a, b any) (any, error) { return !equal(a, b), nil },
	"<":          compare("<", func(order int) bool { return order < 0 }),
	"<=":         compare("<=", func(order int) bool { return order <= 0 }),
	">":          compare(">", func(order int) bool { return order > 0 }),
	">=":         compare(">=", func(order int) bool { return order >= 0 }),
	"-":          subtract,
	"*":          arithmetic("*", integers((*big.Int).Mul), func(a, b float64) float64 { return a * b }),
	"/":          arithmetic("/", nil, func(a, b float64) float64 { return a / b }),
	"%":          arithmetic("%", remainder, math.Mod),
	"**":         arithmetic("**", nil, math.Pow),
	"^":          arithmetic("^", nil, math.Pow),
	"in":         in,
	"contains":   onText("contains", strings.Contains),
	"startsWith": onText("startsWith", strings.HasPrefix),
	"endsWith":   onText("endsWith", strings.HasSuffix),
}

// isPredicate reports whether the result of an operator is boolean.
func isPredicate(operator string) bool {
	switch operator {
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith":
		return true
	}
	return false
}

var plus = arithmetic("+", integers((*big.Int).Add), func(a, b float64) float64 { return a + b })

var minus = arithmetic("-", integers((*big.Int).Sub), func(a, b float64) float64 { return a - b })

// add adds numbers, concatenates strings, and adds a duration to a time.
func add(m *meter, a, b any) (any, error) {
	if x, ok := a.(time.Time); ok {
		if y, also := b.(time.Duration); also {
			return x.Add(y), nil
		}
	}
	x, isText := a.(string)
	if y, both := b.(string); isText && both {
		return x + y, m.grow(len(x) + len(y))
	}
	return plus(a, b)
}

// subtract subtracts numbers, a time from a time, and a duration from a time.
func subtract(a, b any) (any, error) {
	if x, ok := a.(time.Time); ok {
		switch y := b.(type) {
		case time.Time:
			return x.Sub(y), nil
		case time.Duration:
			return x.Add(-y), nil
		}
	}
	return minus(a, b)
}

func equal(a, b any) bool {
	switch {
	case a == nil || b == nil:
		return a == nil && b == nil
	case isNumber(a) && isNumber(b):
		return order(a, b) == 0
	}
	x, isList := a.([]any)
	if y, both := b.([]any); isList || both {
		return isList && both && equalLists(x, y)
	}
	m, isObject := value.Members(a)
	if n, both := value.Members(b); isObject || both {
		return isObject && both && equalObjects(m, n)
	}
	return reflect.DeepEqual(a, b)
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalObjects(a, b rules.Object) bool {
	if len(a) != len(b) {
		return false
	}
	for _, m := range a {
		other, ok := b.Get(m.Name)
		if !ok || !equal(m.Value, other) {
			return false
		}
	}
	return true
}

// compare returns a comparison from its result for an order.
func compare(operator string, result func(order int) bool) binaryOperator {
	return func(a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		if isNumber(a) && isNumber(b) {
			return result(order(a, b)), nil
		}
		x, isText := a.(string)
		if y, both := b.(string); isText && both {
			return result(strings.Compare(x, y)), nil
		}
		if x, ok := a.(time.Time); ok {
			if y, both := b.(time.Time); both {
				return result(x.Compare(y)), nil
			}
		}
		if x, ok := a.(time.Duration); ok {
			if y, both := b.(time.Duration); both {
				return result(cmp.Compare(x, y)), nil
			}
		}
		return nil, mismatch(operator, a, b)
	}
}

func mismatch(operator string, a, b any) error {
	hint := ""
	if isNumber(a) != isNumber(b) {
		hint = "; number(…) converts a string to a number"
	}
	return fmt.Errorf("%s cannot be applied to %s (%s) and %s (%s)%s",
		operator, value.KindOf(a), value.Preview(a), value.KindOf(b), value.Preview(b), hint)
}

// in reports whether a list has an element, or an object a key.
func in(a, b any) (any, error) {
	switch b := b.(type) {
	case nil:
		return false, nil
	case []any:
		for _, e := range b {
			if equal(a, e) {
				return true, nil
			}
		}
		return false, nil
	}
	if object, ok := value.Members(b); ok {
		name, _ := a.(string)
		_, has := object.Get(name)
		return has, nil
	}
	return nil, mismatch("in", a, b)
}

func onText(operator string, f func(a, b string) bool) binaryOperator {
	return func(a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		x, isText := a.(string)
		y, both := b.(string)
		if !isText || !both {
			return nil, mismatch(operator, a, b)
		}
		return f(x, y), nil
	}
}

// boolean converts an operand of and, or, not and ?: to a boolean; nil is false.
func boolean(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return nil, fmt.Errorf("want true or false, got %s (%s); truthy(…) converts any value to a boolean", value.KindOf(v), value.Preview(v))
}
