package language

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Expression is one compiled rule. It never changes and may be shared.
type Expression struct {
	Rule  rules.Rule
	Reads []Read // reads in the order of the source

	code *code
}

// Machine evaluates expressions, one at a time. It keeps its stack between them.
type Machine struct {
	// Context is the context of the run. Once it is cancelled, evaluations fail with its cause.
	// Nil is never cancelled.
	Context context.Context

	// Observe, Note and Given may be nil. Observe sees every value. Note receives warnings about values
	// for the user. Given may supply the value of an expression, which is not evaluated then.
	Observe func(e *Expression, v any)
	Note    func(e *Expression, text string)
	Given   func(e *Expression, page *rules.Context) (v any, ok bool)

	vm    vm.VM
	env   environment
	meter meter
}

// Eval evaluates the expression on a page. The error describes the failure, but
// not its place: the caller knows the job and the page.
func (e *Expression) Eval(m *Machine, page *rules.Context) (any, error) {
	if m.Given != nil {
		if v, ok := m.Given(e, page); ok {
			return v, nil
		}
	}
	m.meter.reset(m.Context)
	m.meter.page = page
	v, err := e.code.run(m)
	if err != nil {
		return nil, err
	}
	if m.Note != nil {
		for _, text := range m.meter.notes {
			m.Note(e, text)
		}
	}
	if m.Observe != nil {
		m.Observe(e, v)
	}
	return v, nil
}

// run returns the value of the program on the page of the meter.
func (c *code) run(m *Machine) (any, error) {
	if c.test != nil {
		if met, ok, err := c.test.eval(&m.meter); ok {
			return met, err
		}
	}
	m.env = environment{m.meter.page, &m.meter}
	v, err := m.vm.Run(c.program, &m.env)
	if err != nil {
		return nil, causeOf(err)
	}
	return fieldsOf(v), nil
}

// memoryMessage is the message of the expression language's own limit on lists. Its error
// can be recognized by nothing else.
const memoryMessage = "memory budget exceeded"

// causeOf returns the error of the function that failed, without the snippet that
// the expression language adds to it. It hides the text of a panic,
// which only a Go programmer understands.
func causeOf(err error) error {
	located := (*file.Error)(nil)
	switch {
	case !errors.As(err, &located):
		return err
	case located.Message == memoryMessage:
		return overBudget("lists of too many elements")
	case located.Prev == nil, errors.As(located.Prev, new(interface{ RuntimeError() })), errors.As(located.Prev, new(*reflect.ValueError)):
		return errors.New("a value has a kind that the expression cannot use; type(…) tells the kind of a value")
	}
	return located.Prev
}

// MaxValueBytes limits the values of rules, such as the values of variables, because they may come from
// a response.
const MaxValueBytes = 16 << 20

// Value evaluates the expression. A value of more than limit bytes is an error. All errors are
// of the type [*RuleError].
func (e *Expression) Value(m *Machine, page *rules.Context, limit int) (any, error) {
	v, err := e.Eval(m, page)
	if err == nil && value.Exceeds(v, limit) {
		err = &requests.LengthError{What: "its value", Limit: limit}
	}
	if err != nil {
		return nil, &RuleError{e.Rule, err}
	}
	return v, nil
}

// Show evaluates the expression for a text. An error is shown in braces.
func (e *Expression) Show(m *Machine, page *rules.Context) string {
	v, err := e.Eval(m, page)
	if err != nil {
		return "{" + err.Error() + "}"
	}
	if text, ok := v.(string); ok {
		return text
	}
	return preview(v)
}

// ShownReads returns the reads as they are shown to the user. They have the complete paths, such as
// items[-1].id, whereas Reads has the values that must be decoded for them, here items.
func (e *Expression) ShownReads() []Read { return e.code.shown() }

// Flags returns the Reads that truthy converts to booleans.
func (e *Expression) Flags() []Read { return e.code.flags }

// Elements returns the values that predicates read of the elements of lists.
func (e *Expression) Elements() (reads []ElementRead) {
	for _, a := range e.code.accesses {
		if a.ofElement && a.call == "" {
			reads = append(reads, ElementRead{a.read, a.element})
		}
	}
	return reads
}

// ItemKeys returns the paths that functions read of all items: greatest(items, "id").
func (e *Expression) ItemKeys() (keys [][]string) {
	for _, a := range e.code.accesses {
		if a.ofElement && a.call != "" {
			keys = append(keys, a.element)
		}
	}
	return keys
}

// NeededKeys returns the ItemKeys that every item must have. An item without one fails the expression.
func (e *Expression) NeededKeys() (keys [][]string) {
	for _, a := range e.code.accesses {
		if a.ofElement && a.call != "" && !a.lenient {
			keys = append(keys, a.element)
		}
	}
	return keys
}

// Literals returns the texts and whole numbers in the expression, in their order.
func (e *Expression) Literals() (literals []any) {
	for node := range nodes(e.code.syntax) {
		switch n := node.(type) {
		case *ast.StringNode:
			literals = append(literals, n.Value)
		case *ast.IntegerNode:
			literals = append(literals, n.Value)
		}
	}
	return literals
}

// Items returns the paths that the expression reads of every item of the page. An empty path is the
// complete item.
func (e *Expression) Items() [][]string { return e.code.items }

// Functions returns the functions of an embedder that the expression calls, each once.
func (e *Expression) Functions() []Function { return e.code.names.functions }

// Calls returns the names of the functions that the expression calls, each once.
func (e *Expression) Calls() (names []string) {
	for node := range nodes(e.code.syntax) {
		if call, ok := node.(*ast.CallNode); ok && calleeName(call) != "" {
			names = value.AppendNew(names, calleeName(call))
		}
	}
	return names
}

// Composite returns the value of an expression that is a list or an object literal, as
// [{"id": state.id}] is. Constants in the literal are themselves; for any other value in it, compute is
// called with the source of the value, here state.id, and its result is inserted. Composite reports
// false if the expression is not such a literal.
func (e *Expression) Composite(compute func(source string) any) (any, bool) {
	switch e.code.syntax.(type) {
	case *ast.ArrayNode, *ast.MapNode:
		return compositeValue(e.code.syntax, compute), true
	}
	return nil, false
}

func compositeValue(node ast.Node, compute func(source string) any) any {
	switch n := node.(type) {
	case *ast.NilNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.StringNode:
		return n.Value
	case *ast.ArrayNode:
		return value.Map(n.Nodes, func(element ast.Node) any { return compositeValue(element, compute) })
	case *ast.MapNode:
		object := make(value.Object, len(n.Pairs))
		for i, one := range n.Pairs {
			pair := one.(*ast.PairNode)
			name, constant := constantKey(pair.Key)
			if !constant {
				return compute(n.String())
			}
			object[i] = value.Member{Name: name, Value: compositeValue(pair.Value, compute)}
		}
		return object
	}
	return compute(node.String())
}

// ContainsNil reports whether the source has the constant nil: then the value may be nil on purpose.
func (e *Expression) ContainsNil() bool {
	for node := range nodes(e.code.syntax) {
		if _, ok := node.(*ast.NilNode); ok {
			return true
		}
	}
	return false
}

// GivesNil reports whether v, a value of the expression, is nil. If the expression is an object or a list
// literal, GivesNil reports whether a value written in the literal is nil, at any depth.
func (e *Expression) GivesNil(v any) bool { return givesNil(e.code.syntax, v) }

// IsComposite reports whether the expression is an object or a list literal.
func (e *Expression) IsComposite() bool {
	_, object := e.code.syntax.(*ast.MapNode)
	_, list := e.code.syntax.(*ast.ArrayNode)
	return object || list
}

func givesNil(node ast.Node, v any) bool {
	switch node := node.(type) {
	case *ast.MapNode:
		object, _ := value.Members(v)
		return slices.ContainsFunc(node.Pairs, func(pair ast.Node) bool {
			p, _ := pair.(*ast.PairNode)
			key, constant := p.Key.(*ast.StringNode)
			if !constant {
				return false
			}
			member, _ := object.Get(key.Value)
			return givesNil(p.Value, member)
		})
	case *ast.ArrayNode:
		list, _ := v.([]any)
		for i, e := range node.Nodes {
			if i >= len(list) || givesNil(e, list[i]) {
				return true
			}
		}
		return false
	}
	return v == nil
}

// Formatted returns the source in its canonical form.
func (e *Expression) Formatted() string { return e.code.syntax.String() }

// IsName reports whether the expression is just a name.
func (e *Expression) IsName(name string) bool { return isIdentifier(e.code.syntax, name) }

// IsStateVariable reports whether the expression is just a variable of the state: state.name.
func (e *Expression) IsStateVariable(name string) bool { return isVariable(e.code.syntax, name) }

// EvalBool evaluates a condition: nil is false, anything but a boolean is an
// error.
func (e *Expression) EvalBool(m *Machine, page *rules.Context) (bool, error) {
	v, err := e.Eval(m, page)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil
	}
	return false, fmt.Errorf("want true or false, got %s; truthy(…) converts any value to a boolean", kindOf(v))
}

// RuleError says which rule failed while it ran.
type RuleError struct {
	Rule rules.Rule
	Err  error
}

// Error names the rule, describes the failure, and says where the rule is written.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %s: %v (%s; %s)", e.Rule.ID, e.Err, e.Rule.Source, e.Rule.Origin)
}

// Placed describes the failure, with the expression and the place where it is written. An expression that
// is only a number is left out, because it would say nothing by itself.
func (e *RuleError) Placed() string {
	if _, err := strconv.ParseFloat(e.Rule.Source, 64); err == nil {
		return fmt.Sprintf("%v (%s)", e.Err, e.Rule.Origin)
	}
	return fmt.Sprintf("%v, in %s (%s)", e.Err, e.Rule.Source, e.Rule.Origin)
}

// Unwrap returns the error without the rule.
func (e *RuleError) Unwrap() error { return e.Err }
