package language

import (
	"strings"

	"github.com/expr-lang/expr/ast"
)

// builtin makes a function of the expression language safe.
func (s *safeRewriter) builtin(node *ast.Node, n *ast.BuiltinNode) {
	f, ok := library[n.Name]
	switch {
	case !ok:
	case f.predicate != noPredicate:
		s.predicate(node, n, f)
	default:
		replaceMetered(node, safeLibrary+n.Name, n.Arguments...)
	}
}

// predicate makes each element that a predicate is applied to cost a step.
func (s *safeRewriter) predicate(node *ast.Node, n *ast.BuiltinNode, f libraryFunction) {
	replace(&n.Arguments[0], safeList, n.Arguments[0])
	for _, a := range n.Arguments {
		p, ok := a.(*ast.PredicateNode)
		if !ok {
			continue
		}
		if f.predicate == testsElements {
			asBool(&p.Node)
		}
		if replaceByFieldTest(node, n, p.Node) {
			return
		}
		if field := firstField(&p.Node); field != nil {
			replaceMetered(field, safeTicked, (*field).(*ast.CallNode).Arguments...)
			continue
		}
		var tick ast.Node = &ast.NilNode{}
		replaceMetered(&tick, safeTick)
		p.Node = &ast.SequenceNode{Nodes: []ast.Node{tick, p.Node}}
	}
	if f.rewrite != nil {
		f.rewrite(node, n)
	}
}

// callWithResults calls the function with the list of the predicate's results.
func callWithResults(node *ast.Node, n *ast.BuiltinNode) {
	replaceMetered(node, safeLibrary+n.Name, mapped(n, len(n.Arguments)))
}

// callWithKeys calls the function with a list of pairs: the predicate's result for each element, and
// the element.
func callWithKeys(node *ast.Node, n *ast.BuiltinNode) {
	p := n.Arguments[1].(*ast.PredicateNode)
	replaceMetered(&p.Node, safeKeyed, &ast.PointerNode{}, p.Node)
	arguments := append([]ast.Node{mapped(n, 2)}, n.Arguments[2:]...)
	replaceMetered(node, safeLibrary+n.Name, arguments...)
}

// findInReverse turns findLast into find in the reversed list.
func findInReverse(_ *ast.Node, n *ast.BuiltinNode) {
	n.Name = "find"
	replaceMetered(&n.Arguments[0], safeLibrary+"reverse", n.Arguments[0])
}

// findIndexInReverse searches the list in the other direction, as findInReverse does: the code that the
// expression language has for a search backwards leaves values on the stack of the interpreter.
//
//	let list = …; ·fromEnd(list, findIndex(reverse(list), …))
func findIndexInReverse(node *ast.Node, n *ast.BuiltinNode) {
	n.Name = "findIndex"
	result, list := n.Type(), n.Arguments[0]
	n.Arguments[0] = identifierAt(searchedList, n)
	replaceMetered(&n.Arguments[0], safeLibrary+"reverse", n.Arguments[0])
	var index ast.Node = n
	replace(&index, safeFromEnd, identifierAt(searchedList, n), n)
	index.SetType(result)
	ast.Patch(node, &ast.VariableDeclaratorNode{Name: searchedList, Value: list, Expr: index})
	(*node).SetType(result)
}

// identifierAt returns an identifier at the place of another node.
func identifierAt(name string, at ast.Node) ast.Node {
	v := &ast.IdentifierNode{Value: name}
	v.SetLocation(at.Location())
	return v
}

// fromEnd turns an index that counts from the end of a list into an index that counts from its
// beginning; nil stays nil.
func fromEnd(list, index any) any {
	i, found := index.(int)
	if !found {
		return nil
	}
	return len(list.([]any)) - 1 - i
}

// firstField returns the field of the element that the evaluation of a predicate reads first, on every
// element. The call that reads it can then also charge the step for the element. Other predicates
// have no such field, and firstField returns nil.
func firstField(node *ast.Node) *ast.Node {
	n, ok := (*node).(*ast.CallNode)
	if !ok {
		return nil
	}
	switch name := calleeName(n); {
	case name == safeField:
		return node
	case name == safeBool:
		return firstField(&n.Arguments[0])
	case strings.HasPrefix(name, safeOp):
		return firstField(&n.Arguments[1])
	}
	return nil
}

// mapped returns a call of map with the first arguments of another call, or the list
// alone if there is no predicate.
func mapped(n *ast.BuiltinNode, arguments int) ast.Node {
	if arguments == 1 {
		return n.Arguments[0]
	}
	m := &ast.BuiltinNode{Name: "map", Arguments: n.Arguments[:2]}
	m.SetLocation(n.Location())
	m.SetType(listType)
	return m
}

// The names of the variables that hold the list of a reduce, and of a findLastIndex.
const (
	reducedList  = "·reduced"
	searchedList = "·searched"
)

// reduceOrNil makes the result of an empty list nil if reduce has no initial value:
//
//	let list = …; list == [] ? nil : reduce(list, …)
func reduceOrNil(node *ast.Node, n *ast.BuiltinNode) {
	if len(n.Arguments) != 2 {
		return
	}
	list := n.Arguments[0]
	n.Arguments[0] = identifierAt(reducedList, n)
	empty := &ast.ArrayNode{}
	var isEmpty ast.Node = &ast.NilNode{}
	replaceMetered(&isEmpty, safeOp+"==", identifierAt(reducedList, n), empty)
	declared := &ast.VariableDeclaratorNode{
		Name: reducedList, Value: list,
		Expr: &ast.ConditionalNode{Cond: isEmpty, Exp1: &ast.NilNode{}, Exp2: n},
	}
	ast.Patch(node, declared)
	(*node).SetType(anyType)
}
