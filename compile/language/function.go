package language

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
)

// Function is a function that expressions may call.
type Function struct {
	Name      string
	Signature string // call syntax, such as isStale(item, hours); empty to derive it from Func
	Doc       string
	Example   string // an expression
	Result    string // the value of Example, as JSON
	Func      any    // the Go function, of a function that is added with [Language.WithFunction]
}

// function is one row of the table of functions.
type function struct {
	Name, Signature, Doc, Example, Result string // as in [Function]

	types []reflect.Type // its Go types, one for each number of arguments
	call  func(args ...any) (any, error)

	grows       int                                     // bytes that the result may take for each byte of the arguments
	access      bodyAccess                              // how it reads the page's body, if it does
	ofItems     bool                                    // its first arguments are a list of items and the path that it reads of each
	lenient     bool                                    // items may lack that path
	toBoolean   bool                                    // it converts any value to a boolean
	givesDigest bool                                    // its value is a digest, whose bytes it may take
	takesBytes  bool                                    // it takes the bytes of a digest
	metered     func(m *meter, args []any) (any, error) // replaces call, for a function of an embedder
}

// bodyAccess says how a function reads the page's body. makeSafe replaces these
// functions by functions that take the body and a parsed path.
type bodyAccess int

const (
	noAccess bodyAccess = iota
	valueAtPath
	presenceOfPath
	searchByPath
)

// ofPath reports whether the function reads the path in its last argument: of the body, or, with two
// arguments, of the first.
func (a bodyAccess) ofPath() bool { return a == valueAtPath || a == presenceOfPath }

// described returns the description of the function.
func (f *function) described() Function {
	return Function{Name: f.Name, Signature: f.Signature, Doc: f.Doc, Example: f.Example, Result: f.Result}
}

// define adds the function to the table of the expression language. checkArguments
// checks its arguments, with better messages, so the table has only its result.
func (f *function) define(table conf.FunctionsTable) {
	shape := reflect.FuncOf([]reflect.Type{listType}, []reflect.Type{f.types[0].Out(0)}, true)
	call := f.metered
	if call == nil {
		call = f.charge
	} else {
		shape = reflect.FuncOf([]reflect.Type{listType}, []reflect.Type{anyType}, true) // it may be nil
	}
	table[safeFunction+f.Name] = metered(safeFunction+f.Name, []reflect.Type{shape}, call)
	table[f.Name] = &builtin.Function{Name: f.Name, Types: []reflect.Type{shape}, Func: f.invoke}
}

// charge calls the function, after its arguments were charged.
func (f *function) charge(m *meter, args []any) (any, error) {
	size := 16
	for _, a := range args {
		switch v := a.(type) {
		case string:
			size += len(v)
		default:
			size += product(memberCount(v), 16)
			m.spend(product(memberCount(v), stepUnits))
		}
	}
	m.spend(size)
	m.grow(product(size, f.grows))
	return f.invoke(args...)
}

// invoke calls the function. If an argument that it needs is absent, the result is
// nil.
func (f *function) invoke(args ...any) (any, error) {
	t := f.overload(len(args))
	for i, a := range args {
		want := parameter(t, i)
		switch {
		case want == anyType:
		case a == nil:
			return nil, nil
		case reflect.TypeOf(a) != want:
			return nil, f.mismatch(i, want, kindName(reflect.TypeOf(a)))
		}
	}
	return f.call(args...)
}

// overload returns the type that takes this number of arguments, or nil.
func (f *function) overload(arguments int) reflect.Type {
	i := slices.IndexFunc(f.types, func(t reflect.Type) bool { return takes(t, arguments) })
	if i < 0 {
		return nil
	}
	return f.types[i]
}

// parameter returns the type of the i-th argument.
func parameter(t reflect.Type, i int) reflect.Type {
	if last := t.NumIn() - 1; t.IsVariadic() && i >= last {
		return t.In(last).Elem()
	}
	return t.In(i)
}

func (f *function) mismatch(argument int, want reflect.Type, got string) error {
	return fmt.Errorf("argument %d of %s must be %s, got %s", argument+1, f.Name, kindName(want), got)
}

// usage says how the function is called.
func (f *function) usage() string {
	return strings.TrimSuffix("usage: "+f.Signature+": "+f.Doc, ": ")
}

// kindNames are the types that functions take and return.
var kindNames = map[reflect.Type]string{
	boolType: "a boolean", stringType: "a string", intType: "an integer", numberType: "a number", listType: "a list",
	mapType: "an object", timeType: "a time", durationType: "a duration", anyType: "any value",
}

// kindName returns the name of a Go type in the expression language.
func kindName(t reflect.Type) string {
	if name := kindNames[t]; name != "" {
		return name
	}
	switch t.Kind() {
	case reflect.Int: // such as a month
		return "an integer"
	case reflect.Int64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Func:
		return "a function, which is not called"
	case reflect.Interface:
		return "any value"
	}
	return "an object"
}
