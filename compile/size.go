package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/value"
)

// sizes holds, for the functions of the expression language that make strings and
// lists, the greatest number of bytes that they can make. It is computed before the
// function is called.
var sizes = map[string]func(args []any) int{
	"repeat":     func(a []any) int { return product(weight(a[0]), count(a[1])) },
	"replace":    replaced,
	"join":       joined,
	"toJSON":     weightOfFirst,
	"string":     weightOfFirst,
	"toBase64":   func(a []any) int { return product(weight(a[0]), 2) },
	"fromBase64": weightOfFirst,
	"upper":      weightOfFirst,
	"lower":      weightOfFirst,
	"split":      func(a []any) int { return product(weight(a[0]), 16) },
	"splitAfter": func(a []any) int { return product(weight(a[0]), 16) },
	"concat":     elements,
	"flatten":    weightOfFirst,
	"reverse":    elements,
	"sort":       elements,
	"take":       elements,
	"keys":       elements,
	"values":     elements,
	"toPairs":    elements,
	"fromPairs":  elements,
	"uniq":       compared,
}

func weightOfFirst(args []any) int { return weight(args[0]) }

// product returns a*b, limited to half of the integers, so that a sum of two fits.
func product(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > math.MaxInt/2/b {
		return math.MaxInt / 2
	}
	return a * b
}

// count returns a number of repetitions as the expression language rounds it.
func count(v any) int {
	if n, ok := v.(int); ok {
		return n
	}
	if f := float(v); f < math.MaxInt32 { // false for NaN, which is not a number
		return int(f)
	}
	return math.MaxInt32
}

// weight returns roughly the size of a value as text, in bytes.
func weight(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		sum := 2
		for _, e := range v {
			sum += weight(e) + 1
		}
		return sum
	case map[string]any:
		sum := 2
		for name, e := range v {
			sum += len(name) + weight(e) + 4
		}
		return sum
	case nil, bool, int, float64, time.Time:
		return 24
	}
	return weightOf(reflect.ValueOf(v))
}

// weightOf is weight for values of other Go types: those that functions of the
// expression language return, and objects of the context.
func weightOf(v reflect.Value) int {
	sum := 24
	switch v.Kind() {
	case reflect.String:
		sum += v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			sum += weightOf(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			sum += weightOf(v.Index(i))
		}
	case reflect.Map:
		for key, e := range v.Seq2() {
			sum += weightOf(key) + weightOf(e)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			sum += weightOf(field)
		}
	}
	return sum
}

// elements returns the size of a list of all elements of the arguments.
func elements(args []any) int {
	sum := 0
	for _, a := range args {
		switch v := a.(type) {
		case []any:
			sum += 16 * len(v)
		default:
			if rv := reflect.ValueOf(a); rv.IsValid() && (rv.Kind() == reflect.Slice || rv.Kind() == reflect.Map) {
				sum += 32 * rv.Len()
			}
		}
	}
	return sum
}

// compared returns the cost of uniq, which compares lists and objects with one
// another.
func compared(args []any) int {
	list, _ := args[0].([]any)
	for _, e := range list {
		switch e.(type) {
		case nil, bool, int, int64, float64, string, json.Number:
		default:
			return product(len(list), len(list))
		}
	}
	return 16 * len(list)
}

func replaced(args []any) int {
	text, from, to := textAt(args, 0), textAt(args, 1), textAt(args, 2)
	return len(text) + product(strings.Count(text, from), len(to))
}

func joined(args []any) int {
	between := len(textAt(args, 1)) + 1
	sum := weight(args[0])
	if list := reflect.ValueOf(args[0]); list.Kind() == reflect.Slice {
		sum += product(list.Len(), between)
	}
	return sum
}

func textAt(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	text, _ := args[i].(string)
	return text
}

// fromJSON decodes JSON with all the digits of its numbers.
func fromJSON(m *meter, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("fromJSON takes a string, got %s", value.KindOf(v))
	}
	if err := m.grow(product(len(text), 4)); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: the value is followed by more text")
	}
	return normal(out), nil
}

// normal converts numbers to the types that they have in a body.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := bigInteger(v); ok {
			return shortest(n)
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	}
	return v
}
