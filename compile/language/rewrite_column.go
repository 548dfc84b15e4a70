package language

import (
	"iter"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// A fieldTest is a predicate on the items in one of two simple forms: a field is true, as in
// all(items, .done), or a field is compared with a value that is the same for all items, as in
// filter(items, .at > state.at). It is applied by a loop over the column of the field: the interpreter
// would take longer to call the functions than the functions take to run.
type fieldTest struct {
	path     []string
	operator binaryOperator // nil if the field must be true
	swapped  bool           // the field is the operand on the right
}

// A testedCall is the body of a function whose predicate is a field test.
type testedCall func(m *meter, t *fieldTest, other any) any

// replaceByFieldTest replaces a call whose predicate, which was made safe, is a field test on all items, or which
// selects a field of them: map(items, .id). It reports whether it replaced the call.
func replaceByFieldTest(node *ast.Node, n *ast.BuiltinNode, predicate ast.Node) bool {
	f := library[n.Name]
	if !isCallOf(n.Arguments[0], safeList) || !isCallOf(n.Arguments[0].(*ast.CallNode).Arguments[0], safeItems) {
		return false
	}
	if path, isField := fieldOfElement(predicate); isField && n.Name == "map" {
		replaceMetered(node, safeColumn, &ast.ConstantNode{Value: path})
		return true
	}
	if f.tested == nil {
		return false
	}
	test, operand := fieldTestOf(predicate, fieldOfElement)
	if test == nil {
		return false
	}
	replaceMetered(node, safeTest+n.Name, &ast.ConstantNode{Value: test}, operand)
	(*node).SetType(f.gives[0].Out(0))
	(*node).SetLocation(predicate.Location()) // of an error
	return true
}

// fieldTestOf returns a predicate as a field test, and the value that the field is compared with. It
// returns nil if the predicate has another form. pathOf returns the path of a node that is a field.
func fieldTestOf(predicate ast.Node, pathOf func(ast.Node) ([]string, bool)) (*fieldTest, ast.Node) {
	call, ok := predicate.(*ast.CallNode)
	if !ok {
		return nil, nil
	}
	name := calleeName(call)
	if name == safeBool {
		if path, isField := pathOf(call.Arguments[0]); isField {
			return &fieldTest{path: path}, &ast.NilNode{}
		}
	}
	operator, ok := strings.CutPrefix(name, safeOp)
	if !ok || !operators[operator].boolean {
		return nil, nil
	}
	left, right := call.Arguments[1], call.Arguments[2] // after the meter
	if path, isField := pathOf(left); isField && isFixed(right) {
		return &fieldTest{path: path, operator: operators[operator].apply}, right
	}
	if path, isField := pathOf(right); isField && isFixed(left) {
		return &fieldTest{path: path, operator: operators[operator].apply, swapped: true}, left
	}
	return nil, nil
}

// fieldOfElement returns the path of a node that is a field of the element of its predicate.
func fieldOfElement(node ast.Node) ([]string, bool) {
	if !isCallOf(node, safeField) {
		return nil, false
	}
	arguments := node.(*ast.CallNode).Arguments
	path, ok := constant(arguments[1])
	keys, _ := path.([]string)
	return keys, ok && isPointer(arguments[0])
}

// fieldOfItem returns the path of a node that is a field of the item that filter or fields is about.
func fieldOfItem(node ast.Node) (path []string, ok bool) {
	for isCallOf(node, safeGet) {
		arguments := node.(*ast.CallNode).Arguments
		key, isText := arguments[1].(*ast.StringNode)
		if !isText {
			return nil, false
		}
		node, path = arguments[0], append(path, key.Value)
	}
	slices.Reverse(path)
	return path, path != nil && isIdentifier(node, rules.ContextItem)
}

// An itemTest is an expression that compares a field of the item with a constant: item.price > 10. It is
// evaluated without the interpreter.
type itemTest struct {
	*fieldTest
	operand any
}

// itemTestOf returns a rewritten expression as an itemTest, or nil if it has another form.
func itemTestOf(node ast.Node) *itemTest {
	test, operand := fieldTestOf(node, fieldOfItem)
	if test == nil {
		return nil
	}
	switch v, _ := constant(operand); v.(type) {
	case bool, int, float64, string:
		return &itemTest{test, v}
	}
	return nil
}

// maxTested is the length, in bytes, of the longest text in a field that an itemTest compares. A longer text
// is left to the interpreter, which meters the comparison.
const maxTested = 1 << 10

// eval reports whether the item of the page meets the test. If ok is false, the interpreter must evaluate
// the expression.
func (t *itemTest) eval(m *meter) (result, ok bool, err error) {
	field, _, err := fieldAt(m.page.Item, t.path)
	switch text := field.(type) {
	case nil, bool, int, float64:
	case string:
		if len(text) > maxTested {
			return false, false, nil
		}
	default:
		return false, false, nil
	}
	if err == nil {
		result, err = t.met(m, field, t.operand)
	}
	return result, true, err
}

// isFixed reports whether a node has the same value for all elements of a list. Its evaluation never
// fails and takes no time, so it may be evaluated even if the list is empty.
func isFixed(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return true
	case *ast.UnaryNode:
		_, ok := constant(n.Node)
		return ok && n.Operator == "-" && !hasUnknownKind(n.Node)
	case *ast.CallNode:
		return calleeName(n) == safeGet && isFixed(n.Arguments[0]) && isFixed(n.Arguments[1])
	}
	_, ok := constant(node)
	return ok
}

func isCallOf(node ast.Node, name string) bool {
	n, ok := node.(*ast.CallNode)
	return ok && calleeName(n) == name
}

// A direction is the direction of a search through a list.
type direction int

const (
	forwards direction = iota
	backwards
)

// met reports whether the test is met by a value of the field.
func (t *fieldTest) met(m *meter, field, operand any) (bool, error) {
	var v any
	var err error
	switch {
	case t.operator == nil:
		v, err = boolean(field)
	case t.swapped:
		v, err = t.operator(m, operand, field)
	default:
		v, err = t.operator(m, field, operand)
	}
	return v == true, err
}

// results yields the indexes of the items in a direction, and whether they meet the test. Each
// item costs a step.
func (t *fieldTest) results(m *meter, operand any, to direction) iter.Seq2[int, bool] {
	return func(yield func(int, bool) bool) {
		values := must(fieldsAt(m.page, t.path))
		for k := range values.len() {
			i := k
			if to == backwards {
				i = values.len() - 1 - k
			}
			m.step()
			if !yield(i, must(t.met(m, values.at(i), operand))) {
				return
			}
		}
	}
}

// find returns the index of the first item in a direction whose test has the wanted result, or -1.
func (t *fieldTest) find(m *meter, other any, want bool, to direction) int {
	for i, result := range t.results(m, other, to) {
		if result == want {
			return i
		}
	}
	return -1
}

// The results of a test, which [fieldTest.find] looks for.
const (
	met   = true
	unmet = false
)

// testedAll reports whether all items meet the test.
func testedAll(m *meter, t *fieldTest, other any) any { return t.find(m, other, unmet, forwards) < 0 }

// testedAny reports whether an item meets the test.
func testedAny(m *meter, t *fieldTest, other any) any { return t.find(m, other, met, forwards) >= 0 }

// testedNone reports whether no item meets the test.
func testedNone(m *meter, t *fieldTest, other any) any { return t.find(m, other, met, forwards) < 0 }

// testedIndex returns a body that returns the index of the first item in a direction that meets the test, or
// nil.
func testedIndex(to direction) testedCall {
	return func(m *meter, t *fieldTest, other any) any {
		if i := t.find(m, other, met, to); i >= 0 {
			return i
		}
		return nil
	}
}

// testedItem returns a body that returns the item itself, or nil.
func testedItem(to direction) testedCall {
	return func(m *meter, t *fieldTest, other any) any {
		if i := t.find(m, other, met, to); i >= 0 {
			return must(itemsOf(m.page))[i]
		}
		return nil
	}
}

// testedFilter returns the items that meet the test.
func testedFilter(m *meter, t *fieldTest, other any) any {
	items, list := must(itemsOf(m.page)), []any{}
	for i, met := range t.results(m, other, forwards) {
		if met {
			list = append(list, items[i])
		}
	}
	return list
}

// testedCount returns the number of items that meet the test.
func testedCount(m *meter, t *fieldTest, other any) any {
	n := 0
	for _, met := range t.results(m, other, forwards) {
		if met {
			n++
		}
	}
	return n
}

// testedOne reports whether exactly one item meets the test.
func testedOne(m *meter, t *fieldTest, other any) any { return testedCount(m, t, other) == 1 }
