package language

import (
	"iter"
	"reflect"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// children returns pointers to a node's direct children, in the order of the source.
// Some of them may be nil.
func children(node ast.Node) []*ast.Node {
	switch n := node.(type) {
	case *ast.UnaryNode:
		return []*ast.Node{&n.Node}
	case *ast.BinaryNode:
		return []*ast.Node{&n.Left, &n.Right}
	case *ast.ChainNode:
		return []*ast.Node{&n.Node}
	case *ast.MemberNode:
		return []*ast.Node{&n.Node, &n.Property}
	case *ast.SliceNode:
		return []*ast.Node{&n.Node, &n.From, &n.To}
	case *ast.CallNode:
		return append([]*ast.Node{&n.Callee}, places(n.Arguments)...)
	case *ast.BuiltinNode:
		return places(n.Arguments)
	case *ast.PredicateNode:
		return []*ast.Node{&n.Node}
	case *ast.VariableDeclaratorNode:
		return []*ast.Node{&n.Value, &n.Expr}
	case *ast.SequenceNode:
		return places(n.Nodes)
	case *ast.ConditionalNode:
		return []*ast.Node{&n.Cond, &n.Exp1, &n.Exp2}
	case *ast.ArrayNode:
		return places(n.Nodes)
	case *ast.MapNode:
		return places(n.Pairs)
	case *ast.PairNode:
		return []*ast.Node{&n.Key, &n.Value}
	}
	return nil
}

func places(nodes []ast.Node) []*ast.Node {
	out := make([]*ast.Node, len(nodes))
	for i := range nodes {
		out[i] = &nodes[i]
	}
	return out
}

// nodes yields the nodes of a tree, each before its children.
func nodes(node ast.Node) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) { yieldNodes(node, yield) }
}

func yieldNodes(node ast.Node, yield func(ast.Node) bool) bool {
	if node == nil {
		return true
	}
	if !yield(node) {
		return false
	}
	for _, child := range children(node) {
		if !yieldNodes(*child, yield) {
			return false
		}
	}
	return true
}

// clone returns a copy of a tree that shares no node with it.
func clone(node ast.Node) ast.Node {
	if node == nil {
		return nil
	}
	node = shallow(node)
	for _, child := range children(node) {
		*child = clone(*child)
	}
	return node
}

// shallow copies one node. The copy has its own list of children.
func shallow(node ast.Node) ast.Node {
	from := reflect.ValueOf(node).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	for i := range to.Elem().NumField() { //nolint:modernize // its iterator allocates for each field
		field := to.Elem().Field(i)
		if field.Kind() == reflect.Slice && field.CanSet() {
			field.Set(reflect.AppendSlice(reflect.Zero(field.Type()), field))
		}
	}
	node, _ = reflect.TypeAssert[ast.Node](to)
	return node
}

func isIdentifier(n ast.Node, name string) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == name
}

// isVariable reports whether a node is the variable state.name.
func isVariable(node ast.Node, name string) bool {
	member, ok := node.(*ast.MemberNode)
	if !ok || !isIdentifier(member.Node, rules.ContextState) {
		return false
	}
	key, ok := member.Property.(*ast.StringNode)
	return ok && key.Value == name
}
