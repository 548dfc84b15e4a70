package language

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Lookup returns the value of a read on a page, and whether the page has it.
func (r Read) Lookup(c *rules.Context) (any, bool) {
	var v any
	var ok bool
	path := r.Path
	if r.Is(rules.ContextItems) {
		v, path, ok = r.item(c)
	} else {
		v, ok = r.field(c)
	}
	for _, key := range path {
		if !ok {
			return nil, false
		}
		v, ok = member(v, key)
	}
	return v, ok
}

// item returns the items of a page or, if the read begins with an index, the item there
// and the rest of the path.
func (r Read) item(c *rules.Context) (v any, rest []string, ok bool) {
	if len(r.Path) == 0 {
		list, err := itemsOf(c)
		return list, nil, err == nil
	}
	v, ok, err := itemAt(c, r.Path[0], r.Path[1:])
	return v, r.Path[1:], ok && err == nil
}

// page returns the page that r reads: the given page or an earlier one. It reports false if there is no such
// page.
func (r Read) page(c *rules.Context) (reflect.Value, bool) {
	v := reflect.ValueOf(c).Elem()
	if r.Past == "" {
		return v, true
	}
	past, ok := fieldValue(v, r.Past)
	if !ok || past.IsNil() {
		return v, false
	}
	return past.Elem(), true
}

// field returns the field of the context that the read begins at.
func (r Read) field(c *rules.Context) (any, bool) {
	v, ok := r.page(c)
	if !ok || r.Open {
		return nil, false
	}
	v, ok = fieldValue(v, r.Root)
	switch {
	case !ok:
		return nil, false
	case r.call != "":
		return r.callField(v)
	}
	return v.Interface(), true
}

func fieldValue(v reflect.Value, name string) (reflect.Value, bool) {
	i, ok := indexes()[v.Type()][name]
	if !ok {
		return reflect.Value{}, false
	}
	return v.FieldByIndex(i), true
}

// callField calls a function of the context with the read's arguments.
func (r Read) callField(f reflect.Value) (any, bool) {
	if f.IsNil() || !takes(f.Type(), len(r.Args)) {
		return nil, false
	}
	args := lists.Map(r.Args, func(arg string) reflect.Value { return reflect.ValueOf(arg) })
	v := f.Call(args)[0].Interface()
	return v, v != nil
}

// takes reports whether a function may be called with this number of arguments.
func takes(f reflect.Type, arguments int) bool {
	return arguments == f.NumIn() || f.IsVariadic() && arguments >= f.NumIn()-1
}

// A template is the source of an expression in which the values of the reads can be
// inserted: `count(7) < limit(10)`.
type template struct {
	text  []string // one more than reads
	reads []Read
}

const placeholder = "\x00"

// templateOf prints a tree with a placeholder for every read. It changes the tree.
func (l *Language) templateOf(node ast.Node) template {
	var t template
	l.eachAccess(&node, func(a access) {
		if !a.ofElement && !a.read.Open {
			t.reads = append(t.reads, a.read)
			*a.node = &ast.IdentifierNode{Value: placeholder}
		}
	})
	t.text = strings.Split(node.String(), placeholder)
	return t
}

// usualBytes is the room for the reason of a verdict: few are longer.
const usualBytes = 64

// Because returns the source of the expression with the values that it read.
func (e *Expression) Because(c *rules.Context) string {
	var b strings.Builder
	b.Grow(usualBytes)
	t := e.code.because()
	for i, text := range t.text {
		b.WriteString(text)
		if i < len(t.reads) && i+1 < len(t.text) {
			b.WriteString(t.reads[i].show(c))
		}
	}
	return b.String()
}

func (r Read) show(c *rules.Context) string {
	v, ok := r.Lookup(c)
	switch {
	case r.Has:
		return r.String() + "(" + strconv.FormatBool(ok) + ")"
	case !ok:
		return r.String() + "(absent)"
	}
	return r.String() + "(" + preview(v) + ")"
}

// preview shows a value that a rule read.
func preview(v any) string {
	if f, ok := v.(float64); ok && f != float64(int(f)) {
		return strconv.FormatFloat(f, 'f', 3, 64)
	}
	if list, ok := v.([]any); ok && list == nil {
		return "none"
	}
	return value.Preview(v)
}
