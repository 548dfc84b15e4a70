package language

import (
	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// InWords says the expression in words if it has one of a few simple forms, and otherwise returns
// its source.
func (e *Expression) InWords() string { return inWords(e.code.syntax, e.Rule.Source) }

// inWords says an expression of the user in words if it has one of a few simple forms, and
// otherwise returns its source.
func inWords(node ast.Node, source string) string {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if call, ok := n.Node.(*ast.CallNode); ok && (n.Operator == "not" || n.Operator == "!") {
			return applied(call, map[string]string{"truthy": " is missing or counts as false", "empty": " is present", "has": " is missing"}, source)
		}
	case *ast.CallNode:
		return applied(n, map[string]string{
			"truthy": " counts as true", "empty": " is missing or empty", "has": " is present",
			"text": "", "number": "", "at": "",
		}, source)
	case *ast.BinaryNode:
		_, missing := n.Right.(*ast.NilNode)
		zero, isInt := n.Right.(*ast.IntegerNode)
		place, known := placeOf(n.Left)
		switch {
		case missing && known && n.Operator == "==":
			return place + " is missing or null"
		case missing && known && n.Operator == "!=":
			return place + " is present"
		case isInt && zero.Value == 0 && isIdentifier(n.Left, rules.ContextCount) && (n.Operator == "==" || n.Operator == "<="):
			return "a page is empty"
		}
	}
	return source
}

// applied says a call of a function with one argument, which is a place in the response.
func applied(call *ast.CallNode, says map[string]string, source string) string {
	suffix, known := says[calleeName(call)]
	if !known || len(call.Arguments) != 1 {
		return source
	}
	name, isPath := call.Arguments[0].(*ast.StringNode)
	if callee := calleeName(call); isPath && (callee == "has" || callee == "at") {
		return keypath.Format(rules.ContextBody, keypath.Split(name.Value)) + suffix
	}
	place, ok := placeOf(call.Arguments[0])
	if !ok {
		return source
	}
	return place + suffix
}

// placeOf returns the source of a node that selects a value: body.meta.next, header("X").
func placeOf(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		return placeOf(n.Node)
	case *ast.IdentifierNode:
		return n.Value, true
	case *ast.MemberNode:
		inner, ok := placeOf(n.Node)
		key, constant := constantKey(n.Property)
		if !ok || !constant {
			return "", false
		}
		return keypath.Format(inner, []string{key}), true
	case *ast.CallNode:
		switch calleeName(n) {
		case rules.ContextHeader, rules.ContextLink:
			return n.String(), true
		case "at":
			text := applied(n, map[string]string{"at": ""}, "")
			return text, text != ""
		}
	}
	return "", false
}
