package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/panics"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The functions of an embedder: Go functions, called by reflection.

var errorType = reflect.TypeFor[error]()

func newUserFunction(f Function) (*function, error) {
	t := reflect.TypeOf(f.Func)
	if err := checkGoFunction(t); err != nil {
		return nil, err
	}
	if f.Signature == "" {
		f.Signature = signatureOf(f.Name, t)
	}
	if !strings.HasPrefix(f.Signature, f.Name+"(") {
		return nil, fmt.Errorf("the signature must begin with %q, got %q", f.Name+"(", f.Signature)
	}
	if reflect.ValueOf(f.Func).IsNil() {
		return nil, errors.New("the Go function is nil")
	}
	u := userFunction{name: f.Name, goFunc: reflect.ValueOf(f.Func)}
	return &function{
		Name: f.Name, Signature: f.Signature, Doc: f.Doc, Example: f.Example, Result: f.Result,
		types: []reflect.Type{t}, metered: u.call,
	}, nil
}

// checkGoFunction returns an error if a Go type cannot be a function of the language.
func checkGoFunction(t reflect.Type) error {
	if t == nil || t.Kind() != reflect.Func {
		return fmt.Errorf("want a Go function, got %v", t)
	}
	for i := range t.NumIn() {
		if p := parameter(t, i); kindNames[p] == "" {
			return fmt.Errorf("parameter %d has the type %s; %s", i+1, p, supported())
		}
	}
	switch {
	case t.NumOut() == 2 && t.Out(1) != errorType, t.NumOut() != 1 && t.NumOut() != 2:
		return errors.New("it must return a value, or a value and an error")
	case kindNames[t.Out(0)] == "":
		return fmt.Errorf("the result has the type %s; %s", t.Out(0), supported())
	}
	return nil
}

func supported() string {
	names := make([]string, 0, len(kindNames))
	for t := range kindNames {
		names = append(names, strings.ReplaceAll(t.String(), "interface {}", "any"))
	}
	slices.Sort(names)
	return "the supported types are " + strings.Join(names, ", ")
}

// signatureOf describes a Go function: isStale(any, duration) boolean.
func signatureOf(name string, t reflect.Type) string {
	params := make([]string, t.NumIn())
	for i := range params {
		params[i] = kindWord(parameter(t, i))
		if t.IsVariadic() && i == len(params)-1 {
			params[i] += "..."
		}
	}
	return fmt.Sprintf("%s(%s) %s", name, strings.Join(params, ", "), kindWord(t.Out(0)))
}

// kindWord returns the name of a kind in a signature: integer.
func kindWord(t reflect.Type) string {
	if t == anyType {
		return "any"
	}
	_, word, _ := strings.Cut(kindNames[t], " ")
	return word
}

type userFunction struct {
	name   string
	goFunc reflect.Value
}

// call calls the Go function, and meters it.
func (u userFunction) call(m *meter, args []any) (any, error) {
	in, absent := goArguments(u.name, u.goFunc.Type(), args)
	if absent {
		return nil, nil
	}
	var v any
	var err error
	m.call(func() { v, err = u.run(in) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.name, err)
	}
	if err := m.growResult(v, 0); err != nil {
		return nil, fmt.Errorf("%s returned %w", u.name, err)
	}
	return notNil(v), nil
}

// run recovers from a panic of the Go function.
func (u userFunction) run(in []reflect.Value) (v any, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panics.New(value)
		}
	}()
	out := u.goFunc.Call(in)
	if len(out) == 2 {
		err, _ = reflect.TypeAssert[error](out[1])
	}
	return out[0].Interface(), err
}

// goArguments converts arguments to the types of a Go function. It reports whether an
// argument that the function needs is absent.
func goArguments(name string, t reflect.Type, args []any) (in []reflect.Value, absent bool) {
	in = make([]reflect.Value, len(args))
	for i, a := range args {
		want := parameter(t, i)
		v, ok := convert(a, want)
		switch {
		case ok:
			in[i] = v
		case a == nil:
			return nil, true
		default:
			panic(fmt.Errorf("argument %d of %s must be %s, got %s", i+1, name, kindName(want), Described(a)))
		}
	}
	return in, false
}

// convert converts a value of an expression to a Go type. It reports false if the
// type cannot hold it.
func convert(v any, to reflect.Type) (reflect.Value, bool) {
	switch to {
	case anyType, listType, mapType:
		v = value.Plain(v)
	case intType:
		if n, ok := toInt(v); ok {
			v = n
		}
	case numberType:
		if isNumber(v) {
			v = float(v)
		}
	}
	if v == nil && to == anyType {
		return reflect.Zero(anyType), true
	}
	value := reflect.ValueOf(v)
	return value, value.IsValid() && value.Type().AssignableTo(to)
}

// toInt returns an int, and whether the value is a whole number that fits.
func toInt(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), int64(int(v)) == v
	case json.Number:
		n, err := strconv.Atoi(v.String())
		return n, err == nil
	case float64:
		return int(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return 0, false
}

// maxResultDepth limits the nesting of a result, which might contain itself.
const maxResultDepth = 512

// growResult counts the bytes of a result, which may be a value of any Go type. It fails on
// types that expressions cannot use.
func (m *meter) growResult(v any, depth int) error {
	switch v := v.(type) {
	case string:
		m.grow(len(v))
		return nil
	case json.Number:
		m.grow(len(v))
		return nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v, which is not a number", v)
		}
		return nil
	case nil, bool, int, int64, time.Time, time.Duration:
		return nil
	}
	inner, ok := entries(v)
	switch {
	case !ok:
		return fmt.Errorf("a Go value of the type %T, which expressions cannot use", v)
	case depth == maxResultDepth:
		return errors.New("a value that is nested too deeply")
	}
	for name, e := range inner {
		m.grow(len(name) + 16)
		if err := m.growResult(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// notNil returns an empty list or object for one that is nil in Go, because it is not absent.
func notNil(v any) any {
	switch list := v.(type) {
	case []any:
		if list == nil {
			return []any{}
		}
	case map[string]any:
		if list == nil {
			return map[string]any{}
		}
	}
	return v
}

// entries returns the elements of a list, without names, or the members of an
// object. It reports false for any other value.
func entries(v any) (iter.Seq2[string, any], bool) {
	if m, ok := v.(map[string]any); ok {
		return maps.All(m), true
	}
	list, isList := v.([]any)
	object, isObject := v.(rules.Object)
	return func(yield func(string, any) bool) {
		for _, e := range list {
			if !yield("", e) {
				return
			}
		}
		for _, m := range object {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}, isList || isObject
}
