package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// What one evaluation may spend. An expression may come from somebody whom one
// does not trust, and the language itself bounds neither time nor strings.
const (
	maxSteps   = 1_000_000   // elements that predicates go through
	maxBytes   = 8 << 20     // of the texts and lists that are made
	maxTime    = time.Second // whatever it does
	maxNesting = 3           // of predicates in one another
	maxPattern = 256         // bytes of a regular expression
	maxMatch   = 10_000_000  // instructions of a pattern times bytes of the text
)

// ErrBudget is what an expression fails with that asks for too much.
var ErrBudget = errors.New("the expression asks for too much")

func tooMuch(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBudget, fmt.Sprintf(format, args...))
}

// environment is what a program runs in: the page's context, and a meter that
// no source can name.
type environment struct {
	*rules.Context
	Meter *meter `expr:"·meter"`
}

const meterName = "·meter"

// meter counts what an evaluation spends.
type meter struct {
	steps, bytes int
	until        time.Time
}

func (m *meter) reset() { *m = meter{} }

// step is one element of a list that a predicate goes through.
func (m *meter) step() error {
	m.steps++
	if m.steps > maxSteps {
		return tooMuch("more than %d steps through lists", maxSteps)
	}
	if m.steps%64 != 0 {
		return nil
	}
	switch now := time.Now(); {
	case m.until.IsZero():
		m.until = now.Add(maxTime)
	case now.After(m.until):
		return tooMuch("it runs for more than %s", maxTime)
	}
	return nil
}

// grow is a text or a list of so many bytes that is about to be made.
func (m *meter) grow(bytes int) error {
	if bytes < 0 || bytes > maxBytes-m.bytes {
		return tooMuch("texts and lists of more than %d MiB", maxBytes>>20)
	}
	m.bytes += bytes
	return nil
}

// metered puts a call with the meter as its first argument in a node's place.
func metered(node *ast.Node, name string, arguments ...ast.Node) {
	call(node, name, append([]ast.Node{&ast.IdentifierNode{Value: meterName}}, arguments...)...)
}

// counted makes every element that a predicate goes through a step.
func counted(p *ast.PredicateNode) {
	var tick ast.Node = &ast.NilNode{}
	metered(&tick, safeTick)
	p.Node = &ast.SequenceNode{Nodes: []ast.Node{tick, p.Node}}
}

// checkBounds finds what cannot be bounded while it runs: predicates nested too
// deeply, and patterns that only a page gives.
func checkBounds(node ast.Node) error {
	b := &bounds{}
	b.walk(node, 0)
	return b.err
}

type bounds struct{ err error }

func (b *bounds) walk(node ast.Node, depth int) {
	if node == nil || b.err != nil {
		return
	}
	switch n := node.(type) {
	case *ast.PredicateNode:
		if depth++; depth > maxNesting {
			b.err = at(n, "predicates are nested more than %d deep", maxNesting)
			return
		}
	case *ast.BinaryNode:
		if n.Operator == "matches" {
			_, b.err = patternOf(n.Right)
		}
	case *ast.IdentifierNode:
		if n.Value == "$env" {
			b.err = at(n, "unknown name $env")
		}
	case *ast.VariableDeclaratorNode:
		b.walk(n.Value, depth)
		b.walk(n.Expr, depth)
	case *ast.CallNode:
		b.walk(n.Callee, depth)
		for _, a := range n.Arguments {
			b.walk(a, depth)
		}
	}
	for _, child := range children(node) {
		b.walk(*child, depth)
	}
}

// pattern is a regular expression, compiled with the rule.
type pattern struct {
	*regexp.Regexp
	instructions int
}

func patternOf(node ast.Node) (*pattern, error) {
	text, ok := node.(*ast.StringNode)
	if !ok {
		return nil, at(node, "matches takes its pattern as a text that stands in the expression")
	}
	if len(text.Value) > maxPattern {
		return nil, at(node, "a pattern of %d bytes; the limit is %d", len(text.Value), maxPattern)
	}
	compiled, err := regexp.Compile(text.Value)
	if err != nil {
		return nil, at(node, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	parsed, err := syntax.Parse(text.Value, syntax.Perl)
	if err != nil {
		return nil, at(node, "%v", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, at(node, "%v", err)
	}
	return &pattern{compiled, len(program.Inst)}, nil
}

// matches tells whether a text matches; nil does not.
func matches(args ...any) (any, error) {
	if args[0] == nil {
		return false, nil
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("matches wants a text, got %s (%s)", value.KindOf(args[0]), value.Preview(args[0]))
	}
	p := args[1].(*pattern)
	if len(text) > maxMatch/p.instructions {
		return nil, tooMuch("matching a text of %d bytes with a pattern of that size", len(text))
	}
	return p.MatchString(text), nil
}

// sizes tell, of the language's functions that make texts and lists, how many
// bytes at the most: they are asked before the function is called.
var sizes = map[string]func(args []any) int{
	"repeat":     func(a []any) int { return product(weight(a[0]), count(a[1])) },
	"replace":    replaced,
	"join":       joined,
	"toJSON":     func(a []any) int { return weight(a[0]) },
	"string":     func(a []any) int { return weight(a[0]) },
	"toBase64":   func(a []any) int { return product(weight(a[0]), 2) },
	"fromBase64": func(a []any) int { return weight(a[0]) },
	"upper":      func(a []any) int { return weight(a[0]) },
	"lower":      func(a []any) int { return weight(a[0]) },
	"split":      func(a []any) int { return product(weight(a[0]), 16) },
	"splitAfter": func(a []any) int { return product(weight(a[0]), 16) },
	"concat":     elements,
	"flatten":    func(a []any) int { return weight(a[0]) },
	"reverse":    elements,
	"sort":       elements,
	"take":       elements,
	"keys":       elements,
	"values":     elements,
	"toPairs":    elements,
	"fromPairs":  elements,
	"uniq":       compared,
}

// growing makes the metered form of a function of the language.
func growing(name string, size func([]any) int) func(args ...any) (any, error) {
	f := builtin.Builtins[builtin.Index[name]]
	return func(args ...any) (any, error) {
		m, args := args[0].(*meter), args[1:]
		if err := m.grow(size(args)); err != nil {
			return nil, err
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

func product(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}

func count(v any) int {
	if n, ok := v.(int); ok {
		return n
	}
	return 0
}

// weight is about how many bytes a value is as text.
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
	}
	if object, ok := value.Members(v); ok {
		sum := 2
		for _, m := range object {
			sum += len(m.Name) + weight(m.Value) + 4
		}
		return sum
	}
	return 24
}

// elements is the size of a list of all the arguments' elements.
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

// compared is what uniq costs: it compares lists and objects with one another.
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
	if list, ok := args[0].([]any); ok {
		sum += product(len(list), between)
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

// fromJSON reads JSON with all the digits of its numbers.
func fromJSON(args ...any) (any, error) {
	text, ok := args[1].(string)
	if !ok {
		return nil, fmt.Errorf("fromJSON wants a text, got %s", value.KindOf(args[1]))
	}
	if err := args[0].(*meter).grow(product(len(text), 4)); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: more follows the value")
	}
	return normal(v), nil
}

// normal gives numbers the types that they have in a body.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := whole(v); ok {
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

// integer is int(v) without the values that do not fit.
func integer(v any) (any, error) {
	n, err := number(v)
	if err != nil || n == nil {
		return nil, err
	}
	if f, ok := n.(float64); ok {
		if math.Abs(f) >= 1<<63 {
			return nil, fmt.Errorf("int(%s): the number is too large", value.Preview(f))
		}
		return int(f), nil
	}
	return n, nil
}
