package language

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// names are the names in a source that are checked for each rule, because the configuration declares
// them or only some rules may use them.
type names struct {
	declared  []checkedName // names in an object whose names the configuration declares: state.offset, kept.since
	scoped    []checkedName // fields that only the rules of a scope may read: item, signs
	functions []Function    // added functions, each once
}

// checkedName is a field, or a name in it.
type checkedName struct {
	field *rules.ContextField
	name  string
	node  ast.Node
}

// nameCheck finds names that do not exist, and calls with the wrong number of
// arguments. It runs before the checker of the expression language, whose errors
// suggest nothing.
type nameCheck struct {
	language *Language
	found    names
	locals   map[string]*rules.ContextField // let variables, and the field that each holds, if any
	err      *Fault                         // the first mistake
}

func (l *Language) checkNames(node ast.Node) (names, error) {
	c := &nameCheck{language: l, locals: map[string]*rules.ContextField{}}
	c.walk(node)
	if c.err != nil {
		return names{}, c.err
	}
	return c.found, nil
}

func (c *nameCheck) fail(f *Fault) {
	if c.err == nil {
		c.err = f
	}
}

// walk checks a tree and returns the field of the context that is its value, or nil.
func (c *nameCheck) walk(node ast.Node) *rules.ContextField {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.IdentifierNode:
		return c.value(n)
	case *ast.ChainNode:
		return c.walk(n.Node)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.CallNode:
		c.call(n)
		return nil
	case *ast.VariableDeclaratorNode:
		return c.variable(n)
	case *ast.ConditionalNode:
		c.walk(n.Cond)
		return same(c.walk(n.Exp1), c.walk(n.Exp2))
	case *ast.BinaryNode:
		a, b := c.walk(n.Left), c.walk(n.Right)
		if n.Operator == "??" {
			return same(a, b)
		}
		return nil
	}
	for _, child := range children(node) {
		c.walk(*child)
	}
	return nil
}

// same returns a field if another has the same fields.
func same(a, b *rules.ContextField) *rules.ContextField {
	if a != nil && b != nil && a.Type == b.Type {
		return a
	}
	return nil
}

func (c *nameCheck) variable(n *ast.VariableDeclaratorNode) *rules.ContextField {
	field, outer := c.walk(n.Value), c.locals
	defer func() { c.locals = outer }()
	c.locals = maps.Clone(outer)
	c.locals[n.Name] = field
	return c.walk(n.Expr)
}

// value checks a name that is not called.
func (c *nameCheck) value(n *ast.IdentifierNode) *rules.ContextField {
	field := c.identifier(n)
	_, local := c.locals[n.Value]
	if isFunction := field == nil || contextFunction(n.Value) != nil; isFunction && !local {
		c.fail(faultAt(n, "%s is a function, which is not called", n.Value).withHint("write " + n.Value + "(…)"))
	}
	return field
}

func (c *nameCheck) identifier(n *ast.IdentifierNode) *rules.ContextField {
	if held, local := c.locals[n.Value]; local {
		return held
	}
	field := pageFields().find(n.Value)
	switch {
	case field != nil:
		if field.Scope != rules.ScopePage {
			c.found.scoped = append(c.found.scoped, checkedName{field: field, node: n})
		}
	case c.language.function(n.Value) == nil && !isBuiltin(n.Value):
		c.fail(c.unknownName(n))
	}
	return field
}

func isBuiltin(name string) bool {
	_, ok := builtin.Index[name]
	return ok
}

func (c *nameCheck) unknownName(n *ast.IdentifierNode) *Fault {
	f := faultAt(n, "unknown name %s", n.Value).withNearest(n.Value, c.language.names())
	if f.Hint == "" && keypath.IsExpressionName(n.Value) {
		f.Hint, f.Lists = "known names: "+strings.Join(pageFields().names(), ", ")+"; a key of the response is body."+n.Value, true
	}
	return f
}

func (c *nameCheck) unknownFunction(n *ast.IdentifierNode) *Fault {
	known := append(c.language.names(), builtin.Names...)
	return faultAt(n, "unknown name %s", n.Value).withNearest(n.Value, known)
}

func (c *nameCheck) member(n *ast.MemberNode) *rules.ContextField {
	object := c.walk(n.Node)
	key, constant := n.Property.(*ast.StringNode)
	if !constant {
		c.walk(n.Property)
		return nil
	}
	switch {
	case object == nil:
		return nil
	case object.Declared != "":
		c.found.declared = append(c.found.declared, checkedName{object, key.Value, key})
		return nil
	case object.Fields == nil:
		return nil
	}
	field := fieldTable(object.Fields).find(key.Value)
	if field == nil {
		known := fieldTable(object.Fields).names()
		c.fail(faultAt(n, "unknown name %s; known names: %s", key.Value, strings.Join(known, ", ")).withNearest(key.Value, known))
	}
	return field
}

// call checks the name that is called: a function of this package or of the context.
func (c *nameCheck) call(n *ast.CallNode) {
	callee, named := n.Callee.(*ast.IdentifierNode)
	_, local := c.locals[calleeName(n)]
	switch {
	case !named || local:
		c.walk(n.Callee)
	case pageFields().find(callee.Value) != nil:
		c.identifier(callee)
	default:
		c.function(n, callee)
	}
	for _, a := range n.Arguments {
		c.walk(a)
	}
}

func (c *nameCheck) function(n *ast.CallNode, callee *ast.IdentifierNode) {
	f := c.language.function(callee.Value)
	switch {
	case f == nil && isBuiltin(callee.Value):
	case f == nil:
		c.fail(c.unknownFunction(callee))
	case f.overload(len(n.Arguments)) == nil:
		c.fail(faultAt(n, "%s in call to %s", f.tooManyOrFew(len(n.Arguments)), f.Name).withHint(f.usage()))
	case f.metered != nil && !slices.ContainsFunc(c.found.functions, func(had Function) bool { return had.Name == f.Name }):
		c.found.functions = append(c.found.functions, f.described())
	}
}

// calleeName returns the name that is called, or the empty string.
func calleeName(n *ast.CallNode) string {
	if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
		return callee.Value
	}
	return ""
}

func (f *function) tooManyOrFew(arguments int) string {
	for _, t := range f.types {
		if arguments < t.NumIn() {
			return "not enough arguments"
		}
	}
	return "too many arguments"
}

// checkArguments finds arguments of the wrong kind in a typed tree. The kind of a
// value of the response is known only when the expression runs.
func (l *Language) checkArguments(tree ast.Node) error {
	for node := range nodes(tree) {
		call, ok := node.(*ast.CallNode)
		if !ok || l.function(calleeName(call)) == nil {
			continue
		}
		f := l.function(calleeName(call))
		t := f.overload(len(call.Arguments))
		for i, a := range call.Arguments {
			if want := parameter(t, i); !accepts(want, a.Type()) {
				return faultAt(a, "%v", f.mismatch(i, want, kindName(a.Type()))).withHint(f.usage())
			}
		}
	}
	return nil
}

// accepts reports whether an argument of a static type may go with a parameter.
func accepts(parameter, argument reflect.Type) bool {
	if parameter == anyType || argument == anyType || parameter == argument {
		return true
	}
	switch parameter.Kind() {
	case reflect.Int, reflect.Float64:
		return argument != durationType && slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Float64}, argument.Kind())
	case reflect.Slice, reflect.Map:
		return parameter.Kind() == argument.Kind()
	}
	return false
}

// checkFor finds a name that the rule may not use, because the configuration does not declare it or it
// belongs to another scope.
func (n names) checkFor(set *rules.Ruleset, scope rules.Scope) error {
	for _, d := range n.declared {
		known := map[string][]string{
			"state": set.StateNames, "keep": set.KeptNames, "inputs": set.InputNames, "for": set.ForNames,
		}[d.field.Declared]
		if slices.Contains(known, d.name) {
			continue
		}
		return faultAt(d.node, "unknown name %s.%s", d.field.Name, d.name).
			withHint(fmt.Sprintf("declare it in %q", d.field.Declared)).withNearest(d.name, known)
	}
	for _, s := range n.scoped {
		if s.field.Scope != scope {
			return faultAt(s.node, "unknown name %s", s.field.Name).withHint(s.field.Scope.Hint())
		}
	}
	return nil
}

// IsField reports whether a name is a field of the page context.
func IsField(name string) bool { return pageFields().find(name) != nil }

// HasFunction reports whether a name is a function, of the language or an addition to it.
func (l *Language) HasFunction(name string) bool { return l.function(name) != nil || isBuiltin(name) }
