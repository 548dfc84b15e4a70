package compile

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// partitionField is the field of the context that has the variables of for.
const partitionField = "partition"

// nameVariables replaces the variables of for, which expressions read by their own names,
// by what they are: members of partition. A let variable of the same name hides one.
func nameVariables(node *ast.Node, variables []string) {
	if *node == nil || len(variables) == 0 {
		return
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if slices.Contains(variables, n.Value) {
			*node = variableNode(n)
		}
		return
	case *ast.VariableDeclaratorNode:
		nameVariables(&n.Value, variables)
		inner := slices.DeleteFunc(slices.Clone(variables), func(name string) bool { return name == n.Name })
		nameVariables(&n.Expr, inner)
		return
	}
	for _, child := range children(*node) {
		nameVariables(child, variables)
	}
}

func variableNode(n *ast.IdentifierNode) ast.Node {
	object, key := &ast.IdentifierNode{Value: partitionField}, &ast.StringNode{Value: n.Value}
	member := &ast.MemberNode{Node: object, Property: key}
	for _, part := range []ast.Node{object, key, member} {
		part.SetLocation(n.Location())
	}
	return member
}
