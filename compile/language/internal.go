package language

import (
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/builtin"

	"github.com/stopwhen/stopwhen/rules"
)

// The functions that makeSafe puts into a tree. Their names begin with a
// character that no identifier of a source may have.
const (
	safeGet     = "·get"
	safeSlice   = "·slice"
	safeBool    = "·bool"
	safeNeg     = "·neg"
	safeList    = "·list"
	safeAt      = "·at"
	safeHas     = "·has"
	safeJSON    = "·jsonpath"
	safeTick    = "·tick"
	safeMatch   = "·matches"
	safeHex     = "·hex"
	safeObject  = "·object"
	safeKeyed   = "·keyed"
	safeItems   = "·items"
	safeItem    = "·item"
	safeColumn  = "·column"
	safeField   = "·field"
	safeTicked  = "·ticked" // safeField that is metered like safeTick
	safeFromEnd = "·fromEnd"
	safeTest    = "·test " // and the name of a function whose predicate is a [fieldTest]
	safeOp      = "·op "   // and the operator
	safeCall    = "·call " // and the name of a function of an embedder

	safeMethod  = "·method "  // and the name of a method of a time or a duration
	safeBuiltin = "·builtin " // and the name of a function of the expression language
)

var (
	givesAny  = []reflect.Type{reflect.TypeFor[func(...any) any]()}
	givesBool = []reflect.Type{reflect.TypeFor[func(...any) bool]()}
	givesInt  = []reflect.Type{reflect.TypeFor[func(...any) int]()}
	givesList = []reflect.Type{reflect.TypeFor[func(...any) []any]()}
)

// metered returns an internal function whose first argument is the meter.
func metered(name string, types []reflect.Type, f func(m *meter, args []any) (any, error)) *builtin.Function {
	return &builtin.Function{Name: name, Types: types, Func: func(a ...any) (any, error) { return f(a[0].(*meter), a[1:]) }}
}

// internalFunctions returns the functions that makeSafe puts into a tree. The number
// and the kinds of their arguments are right by construction.
func internalFunctions() []*builtin.Function {
	list := []*builtin.Function{
		{Name: safeGet, Types: givesAny, Func: func(a ...any) (any, error) { return get(a[0], a[1]), nil }},
		{Name: safeSlice, Types: givesAny, Func: func(a ...any) (any, error) { return slice(a[0], a[1], a[2]) }},
		{Name: safeBool, Types: givesBool, Func: func(a ...any) (any, error) { return boolean(a[0]) }},
		{Name: safeList, Types: givesAny, Func: func(a ...any) (any, error) { return listOf(a[0]) }},
		metered(safeAt, givesAny, func(m *meter, a []any) (any, error) { v, _, err := fieldAtAny(m, a[0], a[1]); return v, err }),
		metered(safeHas, givesBool, func(m *meter, a []any) (any, error) { _, ok, err := fieldAtAny(m, a[0], a[1]); return ok, err }),
		metered(safeNeg, givesAny, func(m *meter, a []any) (any, error) { return negative(m, a[0]) }),
		metered(safeJSON, givesAny, func(m *meter, a []any) (any, error) { return a[1].(*jsonPath).find(m, a[0]), nil }),
		metered(safeTick, givesAny, func(m *meter, _ []any) (any, error) { m.step(); return nil, nil }),
		metered(safeMatch, givesBool, func(m *meter, a []any) (any, error) { return matches(m, a[0], a[1].(*pattern)) }),
		metered(safeKeyed, givesAny, keyedOf),
		{Name: safeFromEnd, Types: givesInt, Func: func(a ...any) (any, error) { return fromEnd(a[0], a[1]), nil }},
		{Name: safeHex, Types: givesAny, Func: func(a ...any) (any, error) { return onBytes(inHex)(a...) }},
		metered(safeObject, givesAny, objectOf),
		metered(safeItems, givesAny, func(m *meter, _ []any) (any, error) { return itemsOf(m.page) }),
		metered(safeItem, givesAny, func(m *meter, a []any) (any, error) { v, _, err := itemAt(m.page, a[0]); return v, err }),
		metered(safeColumn, givesAny, func(m *meter, a []any) (any, error) { return columnOf(m, a[0].([]string)) }),
		metered(safeTicked, givesAny, func(m *meter, a []any) (any, error) {
			m.step()
			v, _, err := fieldAt(a[0], a[1].([]string))
			return v, err
		}),
		{Name: safeField, Types: givesAny, Func: func(a ...any) (any, error) { v, _, err := fieldAt(a[0], a[1].([]string)); return v, err }},
	}
	for name, f := range library {
		switch {
		case f.predicate == noPredicate:
			list = append(list, metered(safeBuiltin+name, givesAny, func(m *meter, a []any) (any, error) { return f.invoke(name, m, a) }))
		case f.call != nil:
			list = append(list, metered(safeBuiltin+name, givesAny, f.call))
		}
		if f.tested != nil {
			list = append(list, metered(safeTest+name, f.gives, func(m *meter, a []any) (any, error) {
				return f.tested(m, a[0].(*fieldTest), a[1]), nil
			}))
		}
		if f.ours {
			list = append(list, &builtin.Function{Name: name, Types: givesAny, Func: func(...any) (any, error) {
				return nil, fmt.Errorf("%s was not made safe", name)
			}})
		}
	}
	for _, name := range methodNames() {
		list = append(list, metered(safeMethod+name, givesAny, func(m *meter, a []any) (any, error) { return callMethod(m, name, a) }))
	}
	for operator, f := range operators {
		types := givesAny
		if isPredicate(operator) {
			types = givesBool
		}
		list = append(list, metered(safeOp+operator, types, func(m *meter, a []any) (any, error) { return f(m, a[0], a[1]) }))
	}
	return list
}

// objectOf makes an object of its keys and their values, in their order.
func objectOf(m *meter, args []any) (any, error) {
	keys := args[0].([]string)
	object := make(rules.Object, 0, len(keys))
	for i, key := range keys {
		object = append(object, rules.Member{Name: key, Value: fieldsOf(args[i+1])})
	}
	m.grow(product(len(keys), 64))
	return rules.Object{}.Merge(object), nil
}
