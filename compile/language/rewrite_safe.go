package language

import (
	"reflect"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// makeSafe rewrites a checked tree so that an absent value, or a value of an unexpected kind, does not
// fail a rule by itself, and so that the expression is metered. It replaces nodes by calls of the
// functions in eval_internal.go, which take any value:
//
//	body.next.page + 1    becomes    ·op +(·meter, ·get(·get(body, "next"), "page"), 1)
//
// A comparison of values that are known to be numbers, strings or booleans stays as it is.
func (l *Language) makeSafe(node *ast.Node) error {
	s := &safeRewriter{language: l}
	ast.Walk(node, s)
	return s.err
}

type safeRewriter struct {
	language *Language
	err      error
}

// Visit is called for children before their parents.
func (s *safeRewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ChainNode:
		*node = n.Node
	case *ast.MemberNode:
		if !n.Method && !isStruct(n.Node.Type()) {
			replace(node, safeGet, n.Node, n.Property)
		}
	case *ast.SliceNode:
		replace(node, safeSlice, n.Node, orNil(n.From), orNil(n.To))
	case *ast.UnaryNode:
		s.unary(node, n)
	case *ast.BinaryNode:
		s.binary(node, n)
	case *ast.ConditionalNode:
		asBool(&n.Cond)
	case *ast.BuiltinNode:
		s.builtin(node, n)
	case *ast.CallNode:
		s.call(node, n)
	case *ast.MapNode:
		orderedObject(node, n)
	}
}

// isStruct reports whether values of a type always have their members. The facts of the
// audit are structs that are there whenever an expression reads them.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t == reflect.TypeFor[*rules.Signs]() || t == reflect.TypeFor[*rules.ListFacts]() ||
		t == reflect.TypeFor[*rules.PartitionFacts]()
}

// replace replaces a node by a call of an internal function.
func replace(node *ast.Node, name string, arguments ...ast.Node) {
	callee := &ast.IdentifierNode{Value: name}
	callee.SetLocation((*node).Location())
	ast.Patch(node, &ast.CallNode{Callee: callee, Arguments: arguments})
	(*node).SetType(anyType)
}

// replaceMetered replaces a node by a call with the meter as its first argument.
func replaceMetered(node *ast.Node, name string, arguments ...ast.Node) {
	replace(node, name, append([]ast.Node{&ast.IdentifierNode{Value: meterName}}, arguments...)...)
}

func orNil(n ast.Node) ast.Node {
	if n == nil {
		return &ast.NilNode{}
	}
	return n
}

// hasUnknownKind reports whether the kind of a node's value is known only at run time.
func hasUnknownKind(n ast.Node) bool {
	switch n.Type().Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Float64:
		_, isNil := n.(*ast.NilNode)
		return isNil
	}
	return n.Type() != timeType
}

// mayBeTimes reports whether both operands are texts, which are compared as times if they are times.
func mayBeTimes(n *ast.BinaryNode) bool {
	return n.Left.Type().Kind() == reflect.String && n.Right.Type().Kind() == reflect.String
}

// asBool makes the value of a condition boolean, unless its static type is boolean.
func asBool(n *ast.Node) {
	if call, ok := (*n).(*ast.CallNode); ok {
		if operator, ok := strings.CutPrefix(calleeName(call), safeOp); ok && operators[operator].boolean {
			return // the value is boolean
		}
	}
	if hasUnknownKind(*n) {
		replace(n, safeBool, *n)
	}
}

func (s *safeRewriter) unary(node *ast.Node, n *ast.UnaryNode) {
	switch {
	case n.Operator == "!" || n.Operator == "not":
		asBool(&n.Node)
	case n.Operator == "-" && hasUnknownKind(n.Node):
		replaceMetered(node, safeNeg, n.Node)
	}
}

func (s *safeRewriter) binary(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		asBool(&n.Left)
		asBool(&n.Right)
	case "matches":
		p, err := patternOf(n.Right)
		if err != nil {
			s.err = err
			return
		}
		replaceMetered(node, safeMatch, n.Left, &ast.ConstantNode{Value: p})
	default:
		if n.Operator == "in" {
			shareList(&n.Right)
		}
		operator, ours := operators[n.Operator]
		if ours && (!operator.boolean || hasUnknownKind(n.Left) || hasUnknownKind(n.Right) || mayBeTimes(n)) {
			replaceMetered(node, safeOp+n.Operator, n.Left, n.Right)
		}
	}
}

// call replaces the functions that read the body, and meters the others.
func (s *safeRewriter) call(node *ast.Node, n *ast.CallNode) {
	if callee, ok := n.Callee.(*ast.MemberNode); ok && callee.Method {
		s.method(node, n, callee)
		return
	}
	name := calleeName(n)
	f := s.language.function(name)
	switch {
	case f == nil && library[name].ownCheck:
		replaceMetered(node, safeLibrary+name, n.Arguments...)
	case f == nil:
	case f.access != noAccess:
		s.bodyCall(node, n, f.access)
	default:
		result := n.Type()
		replaceMetered(node, safeFunction+f.Name, n.Arguments...)
		if f.metered == nil {
			(*node).SetType(result)
		}
	}
}

// bodyCall replaces at, has and jsonpath. These functions read the body, which is not among their
// arguments unless at and has are given another value: at("a.b") becomes
// ·at(·meter, body, ["a", "b"]). A constant path is split or compiled here, once.
func (s *safeRewriter) bodyCall(node *ast.Node, n *ast.CallNode, access bodyAccess) {
	var body ast.Node = &ast.IdentifierNode{Value: rules.ContextBody}
	path := n.Arguments[len(n.Arguments)-1]
	if len(n.Arguments) == 2 {
		body = n.Arguments[0]
	}
	text, constant := path.(*ast.StringNode)
	if constant {
		path = &ast.ConstantNode{Value: keypath.Split(text.Value)}
	}
	switch access {
	case valueAtPath:
		replaceMetered(node, safeAt, body, path)
	case presenceOfPath:
		replaceMetered(node, safeHas, body, path)
	case searchByPath:
		compiled, err := jsonPathOf(n.Arguments[0])
		if err != nil {
			s.err = err
			return
		}
		replaceMetered(node, safeJSON, body, &ast.ConstantNode{Value: compiled})
	}
}

// orderedObject replaces an object literal, whose members would lose their order.
func orderedObject(node *ast.Node, n *ast.MapNode) {
	keys, values, object := []string{}, []ast.Node{}, rules.Object{}
	constants := true
	for _, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, isText := pair.Key.(*ast.StringNode)
		if !isText {
			return
		}
		keys, values = append(keys, key.Value), append(values, pair.Value)
		v, ok := constant(pair.Value)
		object, constants = object.With(key.Value, v), constants && ok
	}
	if !constants {
		replaceMetered(node, safeObject, append([]ast.Node{&ast.ConstantNode{Value: keys}}, values...)...)
		return
	}
	ast.Patch(node, &ast.ConstantNode{Value: object})
	(*node).SetType(anyType)
}

// shareList replaces a list of constants by its value, which all evaluations share.
func shareList(node *ast.Node) {
	list, isList := (*node).(*ast.ArrayNode)
	if v, constants := constant(*node); isList && constants {
		ast.Patch(node, &ast.ConstantNode{Value: v})
		(*node).SetType(list.Type())
	}
}

// constant returns the value of a literal.
func constant(n ast.Node) (any, bool) {
	switch n := n.(type) {
	case *ast.NilNode:
		return nil, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.StringNode:
		return n.Value, true
	case *ast.ConstantNode:
		return n.Value, true
	case *ast.ArrayNode:
		list := make([]any, len(n.Nodes))
		for i, e := range n.Nodes {
			v, ok := constant(e)
			if !ok {
				return nil, false
			}
			list[i] = v
		}
		return list, true
	}
	return nil, false
}
