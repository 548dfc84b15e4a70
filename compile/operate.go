package compile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The operators on values whose type is known only when a page is there: what
// is absent gives nil (or false), integers keep all their digits, and kinds
// that do not go together are an error instead of a guess.

// member is v.key or v[key], and whether it is there.
func member(v any, key string) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
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
	if rv.Kind() == reflect.Struct {
		if i, ok := fieldIndex(rv.Type())[key]; ok {
			return rv.Field(i).Interface(), true
		}
	}
	return nil, false
}

// get is member for any key.
func get(v, key any) any {
	text, ok := value.Text(key)
	if !ok {
		return nil
	}
	out, _ := member(v, text)
	return out
}

// isNumber tells the number kinds apart from everything else.
func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, float64, json.Number:
		return true
	}
	return false
}

// whole is a value as an integer of any length, if it is one.
func whole(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case int64:
		return big.NewInt(v), true
	case json.Number:
		return new(big.Int).SetString(v.String(), 10)
	}
	return nil, false
}

// shortest gives an integer back as int where it fits.
func shortest(n *big.Int) any {
	if n.IsInt64() {
		return int(n.Int64())
	}
	return json.Number(n.String())
}

func float(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return math.NaN()
}

// order compares two numbers exactly.
func order(a, b any) int {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	}
	return exact(a).Cmp(exact(b))
}

func exact(v any) *big.Float {
	if n, ok := whole(v); ok {
		return new(big.Float).SetInt(n)
	}
	if f := float(v); !math.IsNaN(f) {
		return new(big.Float).SetFloat64(f)
	}
	return new(big.Float)
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

// compare makes one of < <= > >= from what it says of an order.
func compare(operator string, holds func(int) bool) func(a, b any) (any, error) {
	return func(a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		if isNumber(a) && isNumber(b) {
			return holds(order(a, b)), nil
		}
		x, isText := a.(string)
		if y, both := b.(string); isText && both {
			return holds(strings.Compare(x, y)), nil
		}
		if x, ok := a.(time.Time); ok {
			if y, both := b.(time.Time); both {
				return holds(x.Compare(y)), nil
			}
		}
		if x, ok := a.(time.Duration); ok {
			if y, both := b.(time.Duration); both {
				return holds(cmp.Compare(x, y)), nil
			}
		}
		return nil, mismatch(operator, a, b)
	}
}

func mismatch(operator string, a, b any) error {
	hint := ""
	if isNumber(a) != isNumber(b) {
		hint = "; number(…) turns text into a number"
	}
	return fmt.Errorf("%s does not go with %s (%s) and %s (%s)%s", operator, value.KindOf(a), value.Preview(a), value.KindOf(b), value.Preview(b), hint)
}

// arithmetic makes an operator from what it does to integers and to floats.
func arithmetic(operator string, ints func(a, b *big.Int) (any, error), floats func(a, b float64) float64) func(a, b any) (any, error) {
	return func(a, b any) (any, error) {
		if a == nil || b == nil {
			return nil, nil
		}
		if !isNumber(a) || !isNumber(b) {
			return nil, mismatch(operator, a, b)
		}
		x, isWhole := whole(a)
		y, both := whole(b)
		if isWhole && both && ints != nil {
			return ints(x, y)
		}
		f := floats(float(a), float(b))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s %s %s is not a number", value.Preview(a), operator, value.Preview(b))
		}
		return f, nil
	}
}

// maxDigits bounds what arithmetic may make of long integers.
const maxDigits = 1000

func integers(f func(z, a, b *big.Int) *big.Int) func(a, b *big.Int) (any, error) {
	return func(a, b *big.Int) (any, error) {
		if a.BitLen()+b.BitLen() > 4*maxDigits {
			return nil, errors.New("a number of more than a thousand digits")
		}
		return shortest(f(new(big.Int), a, b)), nil
	}
}

var plus = arithmetic("+", integers((*big.Int).Add), func(a, b float64) float64 { return a + b })

var minus = arithmetic("-", integers((*big.Int).Sub), func(a, b float64) float64 { return a - b })

// subtract is also the time between two times, and a time before another.
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

// add is also the concatenation of strings, and a time after another.
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

func remainder(a, b *big.Int) (any, error) {
	if b.Sign() == 0 {
		return nil, errors.New("division by zero")
	}
	return shortest(new(big.Int).Rem(a, b)), nil
}

// operators are the binary operators on values of unknown type.
var operators = map[string]func(a, b any) (any, error){
	"==":         func(a, b any) (any, error) { return equal(a, b), nil },
	"!=":         func(a, b any) (any, error) { return !equal(a, b), nil },
	"<":          compare("<", func(o int) bool { return o < 0 }),
	"<=":         compare("<=", func(o int) bool { return o <= 0 }),
	">":          compare(">", func(o int) bool { return o > 0 }),
	">=":         compare(">=", func(o int) bool { return o >= 0 }),
	"-":          subtract,
	"*":          arithmetic("*", integers((*big.Int).Mul), func(a, b float64) float64 { return a * b }),
	"/":          arithmetic("/", nil, func(a, b float64) float64 { return a / b }),
	"%":          arithmetic("%", remainder, math.Mod),
	"**":         arithmetic("**", nil, math.Pow),
	"^":          arithmetic("^", nil, math.Pow),
	"in":         func(a, b any) (any, error) { return in(a, b) },
	"contains":   onText("contains", strings.Contains),
	"startsWith": onText("startsWith", strings.HasPrefix),
	"endsWith":   onText("endsWith", strings.HasSuffix),
}

// in tells whether a list has an element, an object a key, or a text a part.
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

func onText(operator string, f func(a, b string) bool) func(a, b any) (any, error) {
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

// boolean is an operand of and, or, not and ?: : nil is false.
func boolean(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return nil, fmt.Errorf("want true or false, got %s (%s); truthy(…) turns any value into a boolean", value.KindOf(v), value.Preview(v))
}

func negative(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	return minus(0, v)
}

// listOf is what a predicate goes through: nothing, where a list is absent.
func listOf(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return []any{}, nil
	case []any:
		return v, nil
	case rules.Object:
		return nil, fmt.Errorf("want a list, got an object")
	}
	return v, nil
}

// slice is v[from:to], with what is out of range left out.
func slice(v, from, to any) (any, error) {
	length := 0
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		length = len(v)
	case string:
		length = len(v)
	default:
		return nil, fmt.Errorf("want a list or a string to take a part of, got %s", value.KindOf(v))
	}
	bound := func(at any, otherwise int) int {
		i, ok := at.(int)
		if !ok {
			return otherwise
		}
		if i < 0 {
			i += length
		}
		return min(max(i, 0), length)
	}
	a, b := bound(from, 0), bound(to, length)
	b = max(a, b)
	if text, ok := v.(string); ok {
		return text[a:b], nil
	}
	return v.([]any)[a:b], nil
}
