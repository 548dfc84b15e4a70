package language

import (
	"cmp"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

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
		literals = append(literals, constantsOf(node)...)
	}
	return literals
}

// ComparedWith returns the constants that the expression compares with a field of the context: 403 and 404 for
// the field status of status in [403, 404]. The field may be one of a field: total.pages.
func (e *Expression) ComparedWith(field string) (literals []any) {
	for node := range nodes(e.code.syntax) {
		b, isBinary := node.(*ast.BinaryNode)
		if !isBinary || b.Left.String() != field && b.Right.String() != field {
			continue
		}
		for inner := range nodes(b) {
			literals = append(literals, constantsOf(inner)...)
		}
	}
	return literals
}

// constantsOf returns the text or the whole number that a node is.
func constantsOf(node ast.Node) []any {
	switch n := node.(type) {
	case *ast.StringNode:
		return []any{n.Value}
	case *ast.IntegerNode:
		return []any{n.Value}
	}
	return nil
}

// PathsInItems returns the paths that the expression reads of an item, of one at an index or of all items, and for whose absence
// it does not provide: item.id, items[-1].id, greatest(items, "id"), any(items, .id).
func (e *Expression) PathsInItems() (paths [][]string) {
	for _, a := range e.code.accesses {
		switch r := a.read; {
		case r.Has || r.Defaulted:
		case r.Is(rules.ContextItem):
			paths = append(paths, r.Path)
		case r.Is(rules.ContextItems) && a.ofElement:
			paths = append(paths, a.element)
		case r.Is(rules.ContextItems) && len(r.Path) > 0:
			paths = append(paths, r.Path[1:])
		}
	}
	return paths
}

// Items returns the paths that the expression reads of every item of the page. An empty path is the
// complete item.
func (e *Expression) Items() [][]string { return e.code.items }

// Functions returns the functions of an embedder that the expression calls, each once.
func (e *Expression) Functions() []Function { return e.code.names.functions }

// Calls returns the names of the functions that the expression calls, each once. Those of methods begin with a dot.
func (e *Expression) Calls() (names []string) {
	for node := range nodes(e.code.syntax) {
		switch call := node.(type) {
		case *ast.CallNode:
			if name := calleeName(call); name != "" {
				names = lists.AppendNew(names, name)
			}
			if member, ok := call.Callee.(*ast.MemberNode); ok {
				if name, ok := member.Property.(*ast.StringNode); ok {
					names = lists.AppendNew(names, "."+name.Value)
				}
			}
		case *ast.BuiltinNode:
			names = lists.AppendNew(names, call.Name)
		}
	}
	return names
}

// GreatestOf returns the path whose greatest value greatest or latestOf returns, and the form of times, if the expression is
// a call of one of them, as in greatest(items, "id", kept.id). It reports false otherwise.
func (e *Expression) GreatestOf() (keys []string, format string, ok bool) {
	call, isCall := e.code.syntax.(*ast.CallNode)
	if !isCall || calleeName(call) != "greatest" && calleeName(call) != "latestOf" {
		return nil, "", false
	}
	path, isText := call.Arguments[1].(*ast.StringNode)
	if !isText {
		return nil, "", false
	}
	if len(call.Arguments) > 3 {
		if form, isText := call.Arguments[3].(*ast.StringNode); isText && form.Value != rules.AnyTime {
			format = form.Value
		}
	}
	return keypath.Split(path.Value), format, true
}

// KeptAsIs returns the name of the kept value that the expression yields if there is one, as kept.until ?? '2026-01-01'
// yields kept.until. It returns "" if the expression is not a kept value, or changes it.
func (e *Expression) KeptAsIs() string { return keptAsIs(e.code.syntax) }

func keptAsIs(node ast.Node) string {
	switch n := node.(type) {
	case *ast.ChainNode:
		return keptAsIs(n.Node)
	case *ast.MemberNode:
		base, isName := n.Node.(*ast.IdentifierNode)
		name, isText := n.Property.(*ast.StringNode)
		if isName && isText && base.Value == rules.ContextKept {
			return name.Value
		}
	case *ast.BinaryNode:
		if n.Operator == "??" {
			return keptAsIs(n.Left)
		}
	case *ast.ConditionalNode:
		return cmp.Or(keptAsIs(n.Exp1), keptAsIs(n.Exp2))
	case *ast.CallNode:
		if calleeName(n) == "date" {
			return keptAsIs(n.Arguments[0])
		}
	case *ast.BuiltinNode:
		if n.Name == "date" {
			return keptAsIs(n.Arguments[0])
		}
	}
	return ""
}

// NeedsKept returns the name of a kept value that the expression compares by <, <=, > or >= and without which it is never
// true. It returns "" if there is none, or if the expression asks for kept values, as
// kept.id == nil or item.id > kept.id and truthy(kept.id) and item.id > kept.id do.
func (e *Expression) NeedsKept() string { return e.code.needsKept }

func neededKept(condition ast.Node) string {
	name := neededBy(condition, map[string]ast.Node{})
	if name == "" { // as for nearly every expression
		return ""
	}
	for node := range nodes(condition) {
		if asksForKept(node) {
			return ""
		}
	}
	return name
}

// asksForKept reports whether a node says by itself what is to be without a kept value.
func asksForKept(node ast.Node) bool {
	name, operands := called(node)
	asks := name == "truthy" || name == "empty"
	switch n := node.(type) {
	case *ast.UnaryNode:
		asks, operands = n.Operator != "-", []ast.Node{n.Node}
	case *ast.BinaryNode:
		operands = []ast.Node{n.Left, n.Right}
		switch n.Operator {
		case "==", "!=":
			if isNil(n.Left) || isNil(n.Right) {
				return true
			}
			_, asks = constant(n.Right)
		case "and", "&&", "or", "||":
			asks = true
		}
	}
	return slices.ContainsFunc(operands, func(o ast.Node) bool {
		return isIdentifier(o, rules.ContextKept) || asks && keptAsIs(o) != ""
	})
}

func isNil(node ast.Node) bool { _, ok := node.(*ast.NilNode); return ok }

// neededBy is neededKept for a part of a condition. lets has the values of the let variables in force.
func neededBy(node ast.Node, lets map[string]ast.Node) string {
	if let, ok := node.(*ast.VariableDeclaratorNode); ok {
		inner := maps.Clone(lets)
		inner[let.Name] = let.Value
		return neededBy(let.Expr, inner)
	}
	b, ok := node.(*ast.BinaryNode)
	if !ok {
		return ""
	}
	switch b.Operator {
	case "<", "<=", ">", ">=":
		return cmp.Or(keptOperand(b.Left, lets), keptOperand(b.Right, lets))
	case "and", "&&":
		return cmp.Or(neededBy(b.Left, lets), neededBy(b.Right, lets))
	case "or", "||":
		if neededBy(b.Right, lets) != "" {
			return neededBy(b.Left, lets)
		}
	}
	return ""
}

// keptOperand returns the name of the kept value without which an operand is nil, or "".
func keptOperand(node ast.Node, lets map[string]ast.Node) string {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		if value := lets[n.Value]; value != nil {
			return keptOperand(value, lets)
		}
	case *ast.BinaryNode:
		if slices.Contains([]string{"+", "-", "*", "/"}, n.Operator) {
			return cmp.Or(keptOperand(n.Left, lets), keptOperand(n.Right, lets))
		}
	case *ast.SliceNode:
		return keptOperand(n.Node, lets)
	case *ast.CallNode:
		if method, ok := n.Callee.(*ast.MemberNode); ok {
			return keptOperand(method.Node, lets)
		}
		if slices.Contains([]string{"date", "number", "text", "earlier"}, calleeName(n)) {
			return keptOperand(n.Arguments[0], lets)
		}
	case *ast.BuiltinNode:
		if n.Name == "date" {
			return keptOperand(n.Arguments[0], lets)
		}
	case *ast.ChainNode, *ast.MemberNode:
		return keptAsIs(node)
	}
	return ""
}

// Composite returns the value of an expression that is a list or an object literal, as
// [{"id": state.id}] is. Constants in the literal are themselves; for any other value in it, compute is
// called with the source of the value, here state.id, and its result is inserted. Composite reports
// false if the expression is not such a literal. Of x == nil ? a : b, it takes b: a value that is not known is taken
// to be there.
func (e *Expression) Composite(compute func(source string) any) (any, bool) {
	node := e.code.syntax
	if n, ok := node.(*ast.ConditionalNode); ok && comparesNil(n.Cond) {
		node = n.Exp2
	}
	switch node.(type) {
	case *ast.ArrayNode, *ast.MapNode:
		return compositeValue(node, compute), true
	}
	return nil, false
}

// comparesNil reports whether a condition is that a value is nil.
func comparesNil(node ast.Node) bool {
	n, ok := node.(*ast.BinaryNode)
	return ok && n.Operator == "==" && isNil(n.Right)
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
		return lists.Map(n.Nodes, func(element ast.Node) any { return compositeValue(element, compute) })
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

// NilValues returns the numbers of the values written in the expression that are nil, given its value v. They are counted from 0,
// at any depth of an object or a list literal; any other expression is its only value.
func (e *Expression) NilValues(v any) []int {
	var counter nilCounter
	counter.count(e.code.syntax, v)
	return counter.nil
}

// IsComposite reports whether the expression is an object or a list literal.
func (e *Expression) IsComposite() bool {
	_, object := e.code.syntax.(*ast.MapNode)
	_, list := e.code.syntax.(*ast.ArrayNode)
	return object || list
}

// A nilCounter numbers the values written in an expression.
type nilCounter struct {
	next int   // the number of the next value
	nil  []int // the numbers of those that are nil
}

func (c *nilCounter) count(node ast.Node, v any) {
	switch node := node.(type) {
	case *ast.MapNode:
		object, _ := value.Members(v)
		for _, pair := range node.Pairs {
			p, _ := pair.(*ast.PairNode)
			if key, constant := p.Key.(*ast.StringNode); constant {
				c.count(p.Value, object.Value(key.Value))
			}
		}
	case *ast.ArrayNode:
		list, _ := v.([]any)
		for i, e := range node.Nodes {
			var element any
			if i < len(list) {
				element = list[i]
			}
			c.count(e, element)
		}
	default:
		if v == nil {
			c.nil = append(c.nil, c.next)
		}
		c.next++
	}
}

// Formatted returns the source in its canonical form.
func (e *Expression) Formatted() string { return e.code.syntax.String() }

// IsName reports whether the expression is just a name.
func (e *Expression) IsName(name string) bool { return isIdentifier(e.code.syntax, name) }

// IsStateVariable reports whether the expression is just a variable of the state: state.name.
func (e *Expression) IsStateVariable(name string) bool { return isVariable(e.code.syntax, name) }
