package compile

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/ohler55/ojg/jp"

	"github.com/stopwhen/stopwhen/rules"
)

// Names of the functions that makeSafe puts in the place of operators. They
// begin with a sign that no source can spell.
const (
	safeGet   = "·get"
	safeSlice = "·slice"
	safeBool  = "·bool"
	safeNeg   = "·neg"
	safeList  = "·list"
	safeNil   = "·nil"
	safeAt    = "·at"
	safeHas   = "·has"
	safeJSON  = "·jsonpath"
	safeTick  = "·tick"
	safeMatch = "·matches"
	safeParse = "·fromJSON"
	safeInt   = "·int"
	safeOp    = "·op " // followed by the operator
	safeGrow  = "·"    // followed by the name of a function of the language
)

// makeSafe rewrites a checked tree so that a value that is absent, or of a kind
// that only the response decides, cannot abort a run by itself, and so that what
// it spends is metered. What is known to be a number, a string or a boolean
// keeps the language's own comparisons.
func makeSafe(node *ast.Node) error {
	if err := checkBounds(*node); err != nil {
		return err
	}
	s := &safety{}
	ast.Walk(node, s)
	return s.err
}

type safety struct{ err error }

// Visit is called for children before their parents.
func (s *safety) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ChainNode:
		*node = n.Node
	case *ast.MemberNode:
		if !n.Method && n.Node.Type().Kind() != reflect.Struct {
			call(node, safeGet, n.Node, n.Property)
		}
	case *ast.SliceNode:
		call(node, safeSlice, n.Node, orNil(n.From), orNil(n.To))
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
		constantObject(node, n)
	}
}

// at is a fault at a node.
func at(n ast.Node, format string, args ...any) error {
	return &file.Error{Location: n.Location(), Message: fmt.Sprintf(format, args...)}
}

// maxPath is the longest JSONPath, in bytes.
const maxPath = 1024

// call puts a call of one of our functions in a node's place.
func call(node *ast.Node, name string, arguments ...ast.Node) {
	callee := &ast.IdentifierNode{Value: name}
	callee.SetLocation((*node).Location())
	ast.Patch(node, &ast.CallNode{Callee: callee, Arguments: arguments})
	(*node).SetType(anyType)
}

var anyType = reflect.TypeFor[any]()

func orNil(n ast.Node) ast.Node {
	if n == nil {
		return &ast.NilNode{}
	}
	return n
}

// unknown tells whether only a page decides the kind of a node's value.
func unknown(n ast.Node) bool {
	switch n.Type().Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Struct:
		_, isNil := n.(*ast.NilNode)
		return isNil
	}
	return true
}

func asBool(n *ast.Node) {
	if unknown(*n) {
		call(n, safeBool, *n)
	}
}

func (s *safety) unary(node *ast.Node, n *ast.UnaryNode) {
	switch {
	case n.Operator == "!" || n.Operator == "not":
		asBool(&n.Node)
	case n.Operator == "-" && unknown(n.Node):
		call(node, safeNeg, n.Node)
	}
}

func (s *safety) binary(node *ast.Node, n *ast.BinaryNode) {
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
		call(node, safeMatch, n.Left, &ast.ConstantNode{Value: p})
	case "+":
		metered(node, safeOp+"+", n.Left, n.Right)
	case "-", "*", "/", "%", "**", "^":
		call(node, safeOp+n.Operator, n.Left, n.Right)
	default:
		if _, ours := operators[n.Operator]; ours && (unknown(n.Left) || unknown(n.Right)) {
			call(node, safeOp+n.Operator, n.Left, n.Right)
		}
	}
}

// isNil is a call that tells whether one of the nodes is nil.
func isNil(nodes ...ast.Node) ast.Node {
	var n ast.Node = &ast.CallNode{Callee: &ast.IdentifierNode{Value: safeNil}, Arguments: nodes}
	return n
}

// withPredicate are the builtins that go through a list; those that are true
// take a condition, which must be boolean.
var withPredicate = map[string]bool{
	"all": true, "any": true, "one": true, "none": true, "filter": true, "find": true, "findIndex": true,
	"findLast": true, "findLastIndex": true, "count": true,
	"map": false, "groupBy": false, "sortBy": false, "sum": false, "reduce": false,
}

// takesNil are the builtins to which nil is a value like any other.
var takesNil = map[string]bool{"type": true, "toJSON": true, "get": true}

func (s *safety) builtin(node *ast.Node, n *ast.BuiltinNode) {
	condition, goesThrough := withPredicate[n.Name]
	switch {
	case goesThrough:
		if unknown(n.Arguments[0]) {
			call(&n.Arguments[0], safeList, n.Arguments[0])
		}
		for _, a := range n.Arguments {
			p, ok := a.(*ast.PredicateNode)
			if ok && condition {
				asBool(&p.Node)
			}
			if ok {
				counted(p)
			}
		}
	case n.Name == "toJSON":
		metered(node, safeGrow+n.Name, n.Arguments...)
	case !takesNil[n.Name]:
		var open []ast.Node
		for _, a := range n.Arguments {
			if unknown(a) {
				open = append(open, a)
			}
		}
		arguments := n.Arguments
		switch _, grows := sizes[n.Name]; {
		case grows:
			metered(node, safeGrow+n.Name, arguments...)
		case n.Name == "fromJSON":
			metered(node, safeParse, arguments...)
		case n.Name == "int":
			call(node, safeInt, arguments...)
		}
		if len(open) > 0 {
			ast.Patch(node, &ast.ConditionalNode{Cond: isNil(open...), Exp1: &ast.NilNode{}, Exp2: *node})
			(*node).SetType(anyType)
		}
	}
}

func last(nodes []ast.Node) ast.Node { return nodes[len(nodes)-1] }

// call gives the functions that read the body what they read it from.
func (s *safety) call(node *ast.Node, n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok || len(n.Arguments) == 0 || len(n.Arguments) > 2 {
		return
	}
	path := last(n.Arguments)
	var body ast.Node = &ast.IdentifierNode{Value: "body"}
	if len(n.Arguments) == 2 {
		body = n.Arguments[0]
	}
	constant, isConstant := path.(*ast.StringNode)
	switch callee.Value {
	case "at", "has":
		name := map[string]string{"at": safeAt, "has": safeHas}[callee.Value]
		if isConstant {
			path = &ast.ConstantNode{Value: rules.SplitPath(constant.Value)}
		}
		call(node, name, body, path)
	case "jsonpath":
		if !isConstant {
			s.err = at(path, "jsonpath takes its path as a text that stands in the expression")
			return
		}
		if len(constant.Value) > maxPath || strings.Count(constant.Value, "..") > 1 {
			s.err = at(path, "a JSONPath has at most one .. and %d bytes", maxPath)
			return
		}
		compiled, err := jp.ParseString(constant.Value)
		if err != nil {
			s.err = at(path, "not a JSONPath: %v", err)
			return
		}
		call(node, safeJSON, body, &ast.ConstantNode{Value: &jsonPath{compiled}})
	}
}

// constantObject keeps the order of an object that is written out.
func constantObject(node *ast.Node, n *ast.MapNode) {
	object := rules.Object{}
	for _, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, isText := pair.Key.(*ast.StringNode)
		v, ok := constant(pair.Value)
		if !isText || !ok {
			return
		}
		object = object.With(key.Value, v)
	}
	ast.Patch(node, &ast.ConstantNode{Value: object})
	(*node).SetType(anyType)
}

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
