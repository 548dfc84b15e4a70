package language

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// PartitionField is the field of the context that has the variables of for.
const PartitionField = "partition"

// expandNames replaces the names that stand for something else:
//
//   - null is nil,
//   - a variable of for, which expressions read by its own name, is a member of partition,
//     unless a let variable of the same name hides it,
//   - login.header("X") is header("X"): in the scope of a login, the headers of the context
//     are those of its response.
func expandNames(node *ast.Node, variables []string) {
	switch n := (*node).(type) {
	case nil:
		return
	case *ast.IdentifierNode:
		switch {
		case n.Value == "null":
			null := &ast.NilNode{}
			null.SetLocation(n.Location())
			*node = null
		case slices.Contains(variables, n.Value):
			*node = memberAt(PartitionField, n.Value, n)
		}
		return
	case *ast.VariableDeclaratorNode:
		expandNames(&n.Value, variables)
		inner := slices.DeleteFunc(slices.Clone(variables), func(name string) bool { return name == n.Name })
		expandNames(&n.Expr, inner)
		return
	}
	for _, child := range children(*node) {
		expandNames(child, variables)
	}
	if call, ok := (*node).(*ast.CallNode); ok {
		loginHeader(call)
	}
}

// loginHeader replaces the callee of login.header("X").
func loginHeader(call *ast.CallNode) {
	callee := call.Callee
	if chain, optional := callee.(*ast.ChainNode); optional {
		callee = chain.Node
	}
	member, ok := callee.(*ast.MemberNode)
	if !ok || !isIdentifier(member.Node, "login") {
		return
	}
	if key, ok := member.Property.(*ast.StringNode); ok && key.Value == "header" {
		call.Callee = identifierAt("header", call.Callee)
	}
}

// memberAt returns the member of an object at the place of another node.
func memberAt(object, key string, place ast.Node) ast.Node {
	property := &ast.StringNode{Value: key}
	member := &ast.MemberNode{Node: identifierAt(object, place), Property: property}
	property.SetLocation(place.Location())
	member.SetLocation(place.Location())
	return member
}
