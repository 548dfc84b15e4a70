package language

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The methods that expressions may call: those of times and durations.

// methodsOf returns the names of the methods of a type that expressions may call:
// those that take and return values of the language.
func methodsOf(t reflect.Type) []string {
	var names []string
	for method := range t.Methods() {
		if method.Type.NumOut() > 0 && isValueType(method.Type.Out(0)) && takesValues(method.Type) {
			names = append(names, method.Name)
		}
	}
	return names
}

func takesValues(method reflect.Type) bool {
	for i := 1; i < method.NumIn(); i++ {
		if !isValueType(method.In(i)) {
			return false
		}
	}
	return true
}

func isValueType(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return t == timeType || t == reflect.TypeFor[*time.Location]()
}

func methodNames() []string {
	names := slices.Concat(methodsOf(timeType), methodsOf(durationType))
	slices.Sort(names)
	return slices.Compact(names)
}

// method makes the call of a method safe. Whether the value has the method is known
// only when the expression runs, unless its type is known.
func (s *safety) method(node *ast.Node, n *ast.CallNode, callee *ast.MemberNode) {
	name := callee.Property.(*ast.StringNode).Value
	if !slices.Contains(methodNames(), name) {
		if s.err == nil {
			s.err = at(callee.Property, "unknown function %s", name)
		}
		return
	}
	replaceMetered(node, safeMethod+name, append([]ast.Node{callee.Node}, n.Arguments...)...)
}

// callMethod calls a method of a time or a duration. It returns nil if the value or
// an argument is absent.
func callMethod(m *meter, name string, args []any) (any, error) {
	if slices.Contains(args, nil) {
		return nil, m.spend(1)
	}
	switch args[0].(type) {
	case time.Time, time.Duration:
	default:
		return nil, fmt.Errorf("%s is a function of a time, and is called on %s", name, Described(args[0]))
	}
	method := reflect.ValueOf(args[0]).MethodByName(name)
	if !method.IsValid() || method.Type().NumIn() != len(args)-1 {
		return nil, fmt.Errorf("%s has no function %s with %s", kindOf(args[0]), name, value.Counted(len(args)-1, "argument"))
	}
	in := make([]reflect.Value, 0, len(args))
	for i, a := range args[1:] {
		want := method.Type().In(i)
		v, ok := convertTo(a, want)
		if !ok {
			return nil, fmt.Errorf("argument %d of %s must be %s, got %s", i+1, name, kindName(want), Described(a))
		}
		if text, ok := a.(string); ok { // a layout
			if err := m.grow(product(len(text), 16)); err != nil {
				return nil, err
			}
		}
		in = append(in, v)
	}
	return scalar(method.Call(in)[0]), m.spend(16)
}

// convertTo converts a value to the type of a parameter of a method.
func convertTo(v any, to reflect.Type) (reflect.Value, bool) {
	if n, ok := toInt(v); ok && to.Kind() == reflect.Int {
		return reflect.ValueOf(n).Convert(to), true
	}
	from := reflect.ValueOf(v)
	return from, from.Type() == to
}

// scalar returns a result as a value of the language: a month as an integer.
func scalar(v reflect.Value) any {
	switch {
	case v.Type() == durationType:
	case v.Kind() == reflect.Int || v.Kind() == reflect.Int64:
		return int(v.Int())
	}
	return v.Interface()
}
