package language

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// methodNames lists the methods of times and durations that expressions may call. Their results
// are values of the language. The other methods encode a time as bytes.
var methodNames = sync.OnceValue(func() []string {
	var names []string
	for _, t := range []reflect.Type{timeType, durationType} {
		for method := range t.Methods() {
			if method.Type.NumOut() > 0 && method.Type.Out(0).Kind() != reflect.Slice {
				names = append(names, method.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// method makes the call of a method safe. Whether the value has the method is known
// only when the expression runs, unless its type is known.
func (s *safeRewriter) method(node *ast.Node, n *ast.CallNode, callee *ast.MemberNode) {
	name := callee.Property.(*ast.StringNode).Value
	if !slices.Contains(methodNames(), name) {
		if s.err == nil {
			s.err = faultAt(callee.Property, "unknown function %s", name)
		}
		return
	}
	replaceMetered(node, safeMethod+name, append([]ast.Node{callee.Node}, n.Arguments...)...)
}

// callMethod calls a method of a time or a duration. It returns nil if the value or
// an argument is absent.
func callMethod(m *meter, name string, args []any) (any, error) {
	if slices.Contains(args, nil) {
		m.spend(1)
		return nil, nil
	}
	switch args[0].(type) {
	case time.Time, time.Duration:
	default:
		return nil, fmt.Errorf("%s is a function of a time, and is called on %s", name, Described(args[0]))
	}
	method := reflect.ValueOf(args[0]).MethodByName(name)
	if !method.IsValid() || method.Type().NumIn() != len(args)-1 {
		return nil, fmt.Errorf("%s has no function %s with %s", KindOf(args[0]), name, wording.Counted(len(args)-1, "argument"))
	}
	in, _ := goArguments(name, method.Type(), args[1:])
	for _, a := range args[1:] {
		if layout, ok := a.(string); ok {
			m.grow(product(len(layout), 16))
		}
	}
	m.spend(16)
	return scalar(method.Call(in)[0]), nil
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
