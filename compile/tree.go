package compile

import (
	"slices"

	"github.com/expr-lang/expr/ast"
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
	switch n := node.(type) {
	case *ast.NilNode:
		return new(*n)
	case *ast.IdentifierNode:
		return new(*n)
	case *ast.IntegerNode:
		return new(*n)
	case *ast.FloatNode:
		return new(*n)
	case *ast.BoolNode:
		return new(*n)
	case *ast.StringNode:
		return new(*n)
	case *ast.ConstantNode:
		return new(*n)
	case *ast.PointerNode:
		return new(*n)
	case *ast.UnaryNode:
		return new(*n)
	case *ast.BinaryNode:
		return new(*n)
	case *ast.ChainNode:
		return new(*n)
	case *ast.MemberNode:
		return new(*n)
	case *ast.SliceNode:
		return new(*n)
	case *ast.PredicateNode:
		return new(*n)
	case *ast.VariableDeclaratorNode:
		return new(*n)
	case *ast.ConditionalNode:
		return new(*n)
	case *ast.PairNode:
		return new(*n)
	case *ast.CallNode:
		c := *n
		c.Arguments = slices.Clone(n.Arguments)
		return &c
	case *ast.BuiltinNode:
		c := *n
		c.Arguments = slices.Clone(n.Arguments)
		return &c
	case *ast.SequenceNode:
		c := *n
		c.Nodes = slices.Clone(n.Nodes)
		return &c
	case *ast.ArrayNode:
		c := *n
		c.Nodes = slices.Clone(n.Nodes)
		return &c
	case *ast.MapNode:
		c := *n
		c.Pairs = slices.Clone(n.Pairs)
		return &c
	}
	return node
}

func isIdentifier(n ast.Node, name string) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == name
}
