package compile

import (
	"reflect"
	"slices"

	"github.com/expr-lang/expr/builtin"
)

// The functions that makeSafe puts into a tree. Their names begin with a
// character that no identifier of a source may have.
const (
	safeGet   = "·get"
	safeSlice = "·slice"
	safeBool  = "·bool"
	safeNeg   = "·neg"
	safeList  = "·list"
	safeAt    = "·at"
	safeHas   = "·has"
	safeJSON  = "·jsonpath"
	safeTick  = "·tick"
	safeMatch = "·matches"
	safeParse = "·fromJSON"
	safeInt   = "·int"
	safeOp    = "·op "   // and the operator
	safeCall  = "·call " // and the name of a function of an embedder

	safeBuiltin = "·builtin " // and the name of a function of the expression language
)

var (
	givesAny  = []reflect.Type{reflect.TypeFor[func(...any) any]()}
	givesBool = []reflect.Type{reflect.TypeFor[func(...any) bool]()}
)

// internalFunctions returns the functions that makeSafe puts into a tree. The number
// and the kinds of their arguments are right by construction.
func internalFunctions() []*builtin.Function {
	list := []*builtin.Function{
		{Name: safeGet, Types: givesAny, Func: func(a ...any) (any, error) { return get(a[0], a[1]), nil }},
		{Name: safeSlice, Types: givesAny, Func: func(a ...any) (any, error) { return slice(a[0], a[1], a[2]) }},
		{Name: safeBool, Types: givesBool, Func: func(a ...any) (any, error) { return boolean(a[0]) }},
		{Name: safeNeg, Types: givesAny, Func: func(a ...any) (any, error) { return negative(a[0]) }},
		{Name: safeList, Types: givesAny, Func: func(a ...any) (any, error) { return listOf(a[0]) }},
		{Name: safeAt, Types: givesAny, Func: func(a ...any) (any, error) { v, _ := walk(a[0], a[1]); return v, nil }},
		{Name: safeHas, Types: givesBool, Func: func(a ...any) (any, error) { _, ok := walk(a[0], a[1]); return ok, nil }},
		{Name: safeJSON, Types: givesAny, Func: func(a ...any) (any, error) { return a[1].(*jsonPath).find(a[0]), nil }},
		{Name: safeTick, Types: givesAny, Func: func(a ...any) (any, error) { return nil, a[0].(*meter).step() }},
		{Name: safeMatch, Types: givesBool, Func: func(a ...any) (any, error) { return matches(a[0], a[1].(*pattern)) }},
		{Name: safeParse, Types: givesAny, Func: func(a ...any) (any, error) { return fromJSON(a[0].(*meter), a[1]) }},
		{Name: safeInt, Types: givesAny, Func: func(a ...any) (any, error) { return integer(a[0]) }},
		{Name: safeOp + "+", Types: givesAny, Func: func(a ...any) (any, error) { return add(a[0].(*meter), a[1], a[2]) }},
	}
	for _, f := range builtin.Builtins {
		if f.Fast != nil || f.Safe != nil || f.Func != nil {
			list = append(list, &builtin.Function{Name: safeBuiltin + f.Name, Types: givesAny, Func: safeForm(f)})
		}
	}
	for operator, f := range operators {
		types := givesAny
		if isPredicate(operator) {
			types = givesBool
		}
		list = append(list, &builtin.Function{Name: safeOp + operator, Types: types, Func: func(a ...any) (any, error) { return f(a[0], a[1]) }})
	}
	return list
}

// safeForm returns the safe form of a function of the expression language, whose
// first argument is the meter.
func safeForm(f *builtin.Function) func(args ...any) (any, error) {
	size, grows := sizes[f.Name]
	return func(args ...any) (any, error) {
		m, args := args[0].(*meter), args[1:]
		if !takesNil[f.Name] && slices.Contains(args, nil) {
			return nil, nil
		}
		if grows {
			if err := m.grow(size(args)); err != nil {
				return nil, err
			}
		}
		switch {
		case f.Fast != nil:
			return f.Fast(args[0]), nil
		case f.Safe != nil:
			v, _, err := f.Safe(args...)
			return v, err
		}
		return f.Func(args...)
	}
}
