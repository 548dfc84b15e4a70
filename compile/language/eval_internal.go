package language

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"

	"github.com/stopwhen/stopwhen/rules"
)

var (
	givesAny  = []reflect.Type{reflect.TypeFor[func(...any) any]()}
	givesBool = []reflect.Type{reflect.TypeFor[func(...any) bool]()}
	givesInt  = []reflect.Type{reflect.TypeFor[func(...any) int]()}
	givesList = []reflect.Type{reflect.TypeFor[func(...any) []any]()}
)

// The names of functions that take a lack in their own way.
const (
	nameOfMatch  = "·matches"
	nameOfObject = "·object"
	nameOfKeyed  = "·keyed"
)

// The functions that makeSafe puts into a tree. The number and the kinds of their arguments are
// right by construction. Their names begin with a character that no identifier of a source may
// have.
var (
	safeGet     = internal("·get", givesAny, func(a ...any) (any, error) { return get(a[0], a[1]), nil })
	safeSlice   = internal("·slice", givesAny, func(a ...any) (any, error) { return slice(a[0], a[1], a[2]) })
	safeBool    = internal("·bool", givesBool, func(a ...any) (any, error) { return boolean(a[0]) })
	safeList    = internal("·list", givesAny, func(a ...any) (any, error) { return listOf(a[0]) })
	safeHex     = internal("·hex", givesAny, onBytes(inHex))
	safeFromEnd = internal("·fromEnd", givesInt, func(a ...any) (any, error) { return fromEnd(a[0], a[1]), nil })
	safeField   = internal("·field", givesAny, field)

	safeTicked = internalMetered("·ticked", givesAny, func(m *meter, a []any) (any, error) { // safeField, metered like safeTick
		m.step()
		return field(a...)
	})
	safeNeg = internalMetered("·neg", givesAny, func(m *meter, a []any) (any, error) { return negative(m, a[0]) })
	safeAt  = internalMetered("·at", givesAny, func(m *meter, a []any) (any, error) {
		v, _, err := fieldAtAny(m, a[0], a[1])
		return v, err
	})
	safeHas = internalMetered("·has", givesBool, func(m *meter, a []any) (any, error) {
		_, ok, err := fieldAtAny(m, a[0], a[1])
		return ok, err
	})
	safeJSON   = internalMetered("·jsonpath", givesAny, func(m *meter, a []any) (any, error) { return a[1].(*jsonPath).find(m, a[0]), nil })
	safeTick   = internalMetered("·tick", givesAny, func(m *meter, _ []any) (any, error) { m.step(); return nil, nil })
	safeMatch  = internalMetered(nameOfMatch, givesBool, func(m *meter, a []any) (any, error) { return matches(m, a[0], a[1].(*pattern)) })
	safeObject = internalMetered(nameOfObject, givesAny, objectOf)
	safeKeyed  = internalMetered(nameOfKeyed, givesAny, keyedOf)
	safeItems  = internalMetered("·items", givesAny, func(m *meter, _ []any) (any, error) { return itemsOf(m.page) })
	safeItem   = internalMetered("·item", givesAny, func(m *meter, a []any) (any, error) {
		v, _, err := itemAt(m.page, a[0], a[1].([]string))
		return v, err
	})
	safeColumn = internalMetered("·column", givesAny, func(m *meter, a []any) (any, error) { return columnOf(m, a[0].([]string)) })
)

// The functions of lacks, which markLacks puts into a tree.
var (
	safeGiven    = ofLacks("·given", func(m *meter, a []any) any { return m.orLack(a[0], a[1].(*givenRead)) })
	safeSeen     = ofLacks("·seen", func(_ *meter, a []any) any { return orNone(a[0]) })
	safeEither   = ofLacks("·either", func(_ *meter, a []any) any { return either(a[0], a[1]) })
	safeDecide   = ofLacks("·decide", func(m *meter, a []any) any { return m.decide(a[0], a[1].(*site)) })
	safeElements = ofLacks("·elements", func(m *meter, a []any) any { return m.elementsOf(a[0], a[1].(*site)) })
)

// The beginnings of the names of functions that makeSafe puts into a tree.
const (
	safeTest     = "·test "     // before the name of a function whose predicate is a [fieldTest]
	safeOp       = "·op "       // before an operator
	safeFunction = "·function " // before the name of a function of this package or of a program
	safeMethod   = "·method "   // before the name of a method of a time or a duration
	safeLibrary  = "·library "  // before the name of a function of the expression language
)

// internals is the table of the functions with fixed names.
var internals = conf.FunctionsTable{}

// internal adds a function to internals, and returns its name.
func internal(name string, types []reflect.Type, f func(...any) (any, error)) string {
	internals[name] = &builtin.Function{Name: name, Types: types, Func: f}
	return name
}

// internalMetered is internal for a function whose first argument is the meter.
func internalMetered(name string, types []reflect.Type, f func(m *meter, args []any) (any, error)) string {
	internals[name] = metered(name, types, f)
	return name
}

// ofLacks is internalMetered for a function whose arguments may be lacks.
func ofLacks(name string, f func(m *meter, args []any) any) string {
	return internal(name, givesAny, func(a ...any) (any, error) { return f(a[0].(*meter), a[1:]), nil })
}

// metered returns an internal function whose first argument is the meter.
func metered(name string, types []reflect.Type, f func(m *meter, args []any) (any, error)) *builtin.Function {
	return &builtin.Function{Name: name, Types: types, Func: func(a ...any) (any, error) {
		if m := a[0].(*meter); m.supposes != nil {
			return m.propagate(name, a[1:], f)
		}
		return f(a[0].(*meter), a[1:])
	}}
}

// field returns a path of a value.
func field(a ...any) (any, error) {
	v, _, err := fieldAt(a[0], a[1].([]string))
	return v, err
}

// internalFunctions returns all functions that makeSafe puts into a tree.
func internalFunctions() []*builtin.Function {
	list := slices.Collect(maps.Values(internals))
	for name, f := range library {
		switch {
		case f.predicate == noPredicate:
			list = append(list, metered(safeLibrary+name, givesAny, func(m *meter, a []any) (any, error) { return f.invoke(name, m, a) }))
		case f.call != nil:
			list = append(list, metered(safeLibrary+name, givesAny, f.call))
		}
		if f.tested != nil {
			list = append(list, metered(safeTest+name, f.gives, func(m *meter, a []any) (any, error) {
				return f.tested(m, a[0].(*fieldTest), a[1]), nil
			}))
		}
		if f.ownCheck {
			list = append(list, &builtin.Function{Name: name, Types: givesAny, Func: func(...any) (any, error) {
				return nil, fmt.Errorf("%s was not made safe", name)
			}})
		}
	}
	for _, name := range methodNames() {
		list = append(list, metered(safeMethod+name, givesAny, func(m *meter, a []any) (any, error) { return callMethod(m, name, a) }))
	}
	for operator, row := range operators {
		types := givesAny
		if row.boolean {
			types = givesBool
		}
		list = append(list, metered(safeOp+operator, types, func(m *meter, a []any) (any, error) { return row.apply(m, a[0], a[1]) }))
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
