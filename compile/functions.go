package compile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/ohler55/ojg/jp"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// functions are what [rules.Functions] lists, and the operators that makeSafe
// puts into the tree.
var functions = func() conf.FunctionsTable {
	table := conf.FunctionsTable{}
	define := func(name string, shape any, f func(args ...any) (any, error), more ...any) {
		function := &builtin.Function{Name: name, Func: f}
		for _, shape := range append([]any{shape}, more...) {
			function.Types = append(function.Types, reflect.TypeOf(shape))
		}
		table[name] = function
	}
	one := func(f func(any) (any, error)) func(...any) (any, error) {
		return func(args ...any) (any, error) { return f(args[0]) }
	}
	define("at", func(string) any { return nil }, bodyOnly, func(any, string) any { return nil })
	define("has", func(string) bool { return false }, bodyOnly, func(any, string) bool { return false })
	define("jsonpath", func(string) any { return nil }, bodyOnly)
	define("truthy", func(any) bool { return false }, one(func(v any) (any, error) { return value.Truthy(v), nil }))
	define("empty", func(any) bool { return false }, one(func(v any) (any, error) { return value.Empty(v), nil }))
	define("number", func(any) any { return nil }, one(number))
	define("text", func(any) any { return nil }, one(text))
	define("query", func(any, ...string) any { return nil }, query)
	define("greatest", func(any, string, ...any) any { return nil }, extreme(ordered, 1))
	define("least", func(any, string, ...any) any { return nil }, extreme(ordered, -1))

	define("phpTruthy", func(any) bool { return false }, one(func(v any) (any, error) { return php.Truthy(v), nil }))
	define("phpEmpty", func(any) bool { return false }, one(func(v any) (any, error) { return php.Empty(v), nil }))
	define("phpInt", func(any) any { return nil }, one(func(v any) (any, error) { return php.Int(v), nil }))
	define("phpNumeric", func(any) bool { return false }, one(func(v any) (any, error) { return php.IsNumeric(v), nil }))
	define("phpTotal", func(any) any { return nil }, one(func(v any) (any, error) { return php.Number(v), nil }))
	define("phpQuery", func(any) any { return nil }, one(phpQuery))
	define("phpGreatest", func(any, string, ...any) any { return nil }, extreme(phpOrdered, 1))
	define("phpLeast", func(any, string, ...any) any { return nil }, extreme(phpOrdered, -1))

	define(safeGet, func(any, any) any { return nil }, func(a ...any) (any, error) { return get(a[0], a[1]), nil })
	define(safeSlice, func(any, any, any) any { return nil }, func(a ...any) (any, error) { return slice(a[0], a[1], a[2]) })
	define(safeBool, func(any) bool { return false }, one(boolean))
	define(safeNeg, func(any) any { return nil }, one(negative))
	define(safeList, func(any) any { return nil }, one(listOf))
	define(safeNil, func(...any) bool { return false }, anyNil)
	define(safeAt, func(any, any) any { return nil }, func(a ...any) (any, error) { v, _ := walk(a[0], a[1]); return v, nil })
	define(safeHas, func(any, any) bool { return false }, func(a ...any) (any, error) { _, ok := walk(a[0], a[1]); return ok, nil })
	define(safeJSON, func(any, any) any { return nil }, func(a ...any) (any, error) { return a[1].(*jsonPath).find(a[0]), nil })
	define(safeTick, func(any) any { return nil }, func(a ...any) (any, error) { return nil, a[0].(*meter).step() })
	define(safeMatch, func(any, any) bool { return false }, matches)
	define(safeParse, func(any, any) any { return nil }, fromJSON)
	define(safeInt, func(any) any { return nil }, one(integer))
	for name, size := range sizes {
		define(safeGrow+name, func(...any) any { return nil }, growing(name, size))
	}
	for operator, f := range operators {
		var shape any = func(any, any) any { return nil }
		switch operator {
		case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith":
			shape = func(any, any) bool { return false }
		}
		define(safeOp+operator, shape, func(a ...any) (any, error) { return f(a[0], a[1]) })
	}
	define(safeOp+"+", func(any, any, any) any { return nil }, func(a ...any) (any, error) { return add(a[0].(*meter), a[1], a[2]) })
	return table
}()

// bodyOnly stands where makeSafe has put the real function.
func bodyOnly(...any) (any, error) { return nil, fmt.Errorf("takes one path") }

func anyNil(args ...any) (any, error) {
	for _, a := range args {
		if a == nil {
			return true, nil
		}
	}
	return false, nil
}

// walk follows a path, given as keys or as text.
func walk(v, path any) (any, bool) {
	keys, ok := path.([]string)
	if text, isText := path.(string); isText {
		keys, ok = rules.SplitPath(text), true
	}
	for _, key := range keys {
		if !ok {
			return nil, false
		}
		v, ok = member(v, key)
	}
	return v, ok
}

func number(v any) (any, error) {
	switch v := v.(type) {
	case nil, int, int64, float64, json.Number:
		return v, nil
	case string:
		text := strings.TrimSpace(v)
		if n, err := strconv.Atoi(text); err == nil {
			return n, nil
		}
		if n, ok := whole(json.Number(text)); ok {
			return shortest(n), nil
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("want a number, got %s (%s)", value.KindOf(v), value.Preview(v))
}

func text(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if t, ok := value.Text(v); ok {
		return t, nil
	}
	return nil, fmt.Errorf("want a text or a number to send, got %s", value.KindOf(v))
}

func query(args ...any) (any, error) {
	if args[0] == nil {
		return nil, nil
	}
	address, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("want a URL or a query string, got %s", value.KindOf(args[0]))
	}
	params := rules.ParseQuery(address)
	if len(args) == 1 {
		return params, nil
	}
	v, _ := params.Get(args[1].(string))
	return v, nil
}

func phpQuery(v any) (any, error) {
	address, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("want a query string, got %s", value.KindOf(v))
	}
	return php.ParseQuery(address), nil
}

// extreme makes greatest (sign 1) or least (sign -1): it goes through the
// values at a path of the items, and a value from before.
func extreme(read func(id any, position string) (any, error), sign int) func(args ...any) (any, error) {
	return func(args ...any) (any, error) {
		items, _ := args[0].([]any)
		keys := rules.SplitPath(args[1].(string))
		var best any
		if len(args) > 2 {
			best = args[2]
		}
		for i, item := range items {
			found, _ := walk(item, keys)
			id, err := read(found, fmt.Sprintf("item %d of the page: %s", i+1, args[1]))
			if err != nil {
				return nil, err
			}
			further, err := beyond(id, best, sign)
			if err != nil {
				return nil, fmt.Errorf("item %d of the page: %s: %w", i+1, args[1], err)
			}
			if further {
				best = id
			}
		}
		return best, nil
	}
}

// ordered takes any number, and any text, as an identifier.
func ordered(id any, position string) (any, error) {
	if _, isText := id.(string); !isText && !isNumber(id) {
		return nil, fmt.Errorf("%s is %s; an identifier is a number or a string", position, orAbsent(id))
	}
	return id, nil
}

func orAbsent(v any) string {
	if v == nil {
		return "absent"
	}
	return value.KindOf(v)
}

func phpOrdered(id any, position string) (any, error) {
	if !php.IsNumeric(id) {
		return nil, fmt.Errorf("%s is %s, not a number", position, orAbsent(id))
	}
	return php.Int(id), nil
}

// beyond compares identifiers: as numbers where both are or hold numbers, as
// texts where neither does.
func beyond(id, best any, sign int) (bool, error) {
	if best == nil {
		return true, nil
	}
	a, errA := number(id)
	b, errB := number(best)
	switch {
	case errA == nil && errB == nil:
		return order(a, b)*sign > 0, nil
	case errA != nil && errB != nil:
		return strings.Compare(id.(string), best.(string))*sign > 0, nil
	}
	return false, fmt.Errorf("%s and %s cannot be compared: one is a number, the other is not", value.Preview(id), value.Preview(best))
}

// jsonPath is a path that was parsed when the rule was compiled.
type jsonPath struct{ expr jp.Expr }

func (p *jsonPath) find(body any) []any {
	if body == nil {
		return []any{}
	}
	found := p.expr.Get(body)
	if found == nil {
		return []any{}
	}
	return found
}
