package language

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// A condition on items compares each of them with values that the run is given, such as kept.at. A comparison with
// nil is false. If the item lacks the member, it is left out; but if the run lacks the value, all items would be
// left out, and lost if the kept values move on. A stopping rule that compares with a kept value, such as
// not any(items, .id > kept.last), would end the list of the first run, too. So the operands of such rules are marked: see
// [Expression.Passes], [Expression.Chosen], [Expression.Ends] and [Expression.Address].

// A marking says which operands of a rule are marked.
type marking string

const (
	marksNone  marking = ""
	marksGiven marking = "given" // of a condition on items, or the values of a variable: those that read a value which the run is given
	marksKept  marking = "kept"  // of a rule that may end the list: those of <, <=, > and >= that read a kept value
)

func markingOf(rule rules.Rule) marking {
	switch {
	case rule.SelectsItems(), rule.Role == rules.RoleFor && rule.Target == "values":
		return marksGiven
	case rule.Role == rules.RoleStop, rule.Role.Addresses():
		return marksKept
	}
	return marksNone
}

// marks reports whether an operand with the read is marked.
func (k marking) marks(r Read) bool {
	switch k {
	case marksGiven:
		return r.isGiven() || r.Past != ""
	case marksKept:
		return r.Is(rules.ContextKept)
	}
	return false
}

// A givenOperand is one side of a comparison in a rule whose operands are marked, or the time or the argument of a method that
// compares times.
type givenOperand struct {
	reads  []Read // with the reads of the let variables in it; those of kept values come first
	lookup lack   // an element of a kept value that an expression chooses, such as kept.seen[item.id]; usually none
}

// A lack takes the place of the nil of an operand that is nil for want of a value which the run is given.
type lack struct {
	source string // of that value: kept.at
	isKept bool
}

// givenFields are the fields of the context whose values do not come from this page or its items.
var givenFields = []string{rules.ContextKept, rules.ContextInput, rules.ContextState, rules.ContextSent, rules.ContextJob}

func (r Read) isGiven() bool { return r.Past == "" && slices.Contains(givenFields, r.Root) }

// lack returns the value for want of which the operand is nil, or the zero lack. A member that the item or the page
// lacks is reason enough.
func (o *givenOperand) lack(c *rules.Context) (lacking lack) {
	for _, r := range o.reads {
		v, _ := r.Lookup(c)
		_, exists := r.page(c)
		switch {
		case v != nil || r.Has:
		case r.isGiven() || !exists:
			lacking = cmp.Or(lacking, lack{r.String(), r.Is(rules.ContextKept)})
		case !r.Defaulted:
			return lack{}
		}
	}
	return cmp.Or(lacking, o.lookup)
}

// elementName is the name of the element of a predicate among the let variables.
const elementName = "#"

// markOperands marks the operands of comparisons as marking says. lets has the operands that the let variables in
// force hold, and the element of a list literal whose predicate the node is in.
func (l *Language) markOperands(node ast.Node, marking marking, lets map[string]*givenOperand) {
	if let, ok := node.(*ast.VariableDeclaratorNode); ok {
		l.markOperands(let.Value, marking, lets)
		inner := maps.Clone(lets)
		inner[let.Name] = l.givenOperandOf(let.Value, lets)
		l.markOperands(let.Expr, marking, inner)
		return
	}
	ofElement := lets
	if call, ok := node.(*ast.BuiltinNode); ok && len(call.Arguments) > 1 {
		ofElement = maps.Clone(lets)
		delete(ofElement, elementName)
		if list, isLiteral := call.Arguments[0].(*ast.ArrayNode); isLiteral {
			ofElement[elementName] = l.givenOperandOf(list, lets)
		}
	}
	for _, child := range children(node) {
		switch _, isPredicate := (*child).(*ast.PredicateNode); {
		case *child == nil:
		case isPredicate:
			l.markOperands(*child, marking, ofElement)
		default:
			asOperator(child)
			l.markOperands(*child, marking, lets)
		}
	}
	for _, side := range l.comparedIn(node, marking) {
		if o := l.givenOperandOf(*side, lets); slices.ContainsFunc(o.reads, marking.marks) {
			replaceMetered(side, safeOperand, *side, &ast.ConstantNode{Value: o})
		}
	}
}

// asOperator replaces hasPrefix and hasSuffix by the operators that do the same.
func asOperator(node *ast.Node) {
	operator := map[string]string{"hasPrefix": "startsWith", "hasSuffix": "endsWith"}
	if call, ok := (*node).(*ast.BuiltinNode); ok && operator[call.Name] != "" {
		ast.Patch(node, &ast.BinaryNode{Operator: operator[call.Name], Left: call.Arguments[0], Right: call.Arguments[1]})
		(*node).SetType(boolType)
	}
}

// comparedIn returns the operands of a comparison that may be marked, or those of a method that compares times.
func (l *Language) comparedIn(node ast.Node, marking marking) []*ast.Node {
	switch n := node.(type) {
	case *ast.BinaryNode:
		switch {
		case n.Operator == "==":
			return slices.DeleteFunc([]*ast.Node{&n.Left, &n.Right}, func(side *ast.Node) bool { return !l.computes(*side) })
		case operators[n.Operator].falseOfNil && (marking == marksGiven || strings.ContainsAny(n.Operator, "<>")):
			return []*ast.Node{&n.Left, &n.Right}
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.MemberNode); ok && callee.Method && slices.Contains(comparingMethods, constantText(callee.Property)) {
			return append([]*ast.Node{&callee.Node}, places(n.Arguments)...)
		}
	}
	return nil
}

// comparingMethods are the methods of a time whose value is true or false, and depends on another time.
var comparingMethods = []string{"After", "Before", "Equal"}

func constantText(node ast.Node) string {
	text, _ := constantKey(node)
	return text
}

// computes reports whether an operand of == computes with values. The values themselves may be compared with nil.
func (l *Language) computes(node ast.Node) bool {
	f := &accessFinder{language: l}
	if _, isValue := f.read(node); isValue {
		return false
	}
	switch n := node.(type) {
	case *ast.CallNode:
		return calleeName(n) != "get"
	case *ast.BuiltinNode, *ast.SliceNode:
		return true
	case *ast.BinaryNode:
		return n.Operator != "??"
	}
	return false
}

// givenOperandOf returns a part of a condition as an operand.
func (l *Language) givenOperandOf(node ast.Node, lets map[string]*givenOperand) *givenOperand {
	o := &givenOperand{}
	var accesses []access
	f := &accessFinder{language: l, found: func(a access) { accesses = append(accesses, a) }, locals: map[string]int{}}
	for name := range lets {
		f.locals[name] = 1
	}
	f.walk(&node)
	o.reads = distinct(accesses, func(a access) Read { return a.read })
	for inner := range nodes(node) {
		switch n := inner.(type) {
		case *ast.IdentifierNode:
			if held := lets[n.Value]; held != nil {
				o.reads, o.lookup = append(o.reads, held.reads...), cmp.Or(o.lookup, held.lookup)
			}
		case *ast.PointerNode:
			if held := lets[elementName]; held != nil && n.Name == "" {
				o.reads, o.lookup = append(o.reads, held.reads...), cmp.Or(o.lookup, held.lookup)
			}
		case *ast.CallNode:
			if calleeName(n) == "get" {
				if base, ok := f.read(n.Arguments[0]); ok && base.Is(rules.ContextKept) {
					o.lookup = cmp.Or(o.lookup, lack{n.String(), true})
				}
			}
		case *ast.MemberNode:
			_, isConstant := constantKey(n.Property)
			if base, ok := f.read(n.Node); ok && !isConstant && base.Is(rules.ContextKept) {
				o.lookup = cmp.Or(o.lookup, lack{n.String(), true})
			}
		}
	}
	slices.SortStableFunc(o.reads, func(a, b Read) int {
		return cmp.Compare(truthOf(b.Is(rules.ContextKept)), truthOf(a.Is(rules.ContextKept)))
	})
	return o
}

// orLack is an operator that is false if an operand is a lack. It notes the lack unless the other operand is nil.
func orLack(apply binaryOperator) binaryOperator {
	return func(m *meter, a, b any) (any, error) {
		left, lacksLeft := a.(lack)
		right, lacksRight := b.(lack)
		switch {
		case !lacksLeft && !lacksRight:
			return apply(m, a, b)
		case a == nil || b == nil:
			return apply(m, nil, nil)
		}
		return m.compareLack(left, right), nil
	}
}

// compareLack notes the first lack of a comparison, and returns the value of the comparison.
func (m *meter) compareLack(lacks ...lack) bool {
	m.lack = cmp.Or(m.lack, cmp.Or(lacks...))
	return m.ignoresLack
}

// lackAmong returns the first lack among the arguments of a method, or the zero lack.
func lackAmong(args []any) lack {
	for _, a := range args {
		if lacking, ok := a.(lack); ok {
			return lacking
		}
	}
	return lack{}
}

// Passes reports whether an item, that of the context, passes a condition like [Expression.EvalBool]. It is an error if the
// item would pass, but for a comparison with a value that the run is given, and that is nil.
func (e *Expression) Passes(m *Machine, c *rules.Context) (bool, error) {
	passes, err := e.EvalBool(m, c)
	lacking := m.meter.lack
	if passes || err != nil || lacking == (lack{}) {
		return passes, err
	}
	if e.supposed(m, c) != true { // an error has been passed over, too
		return false, nil
	}
	return false, &RuleError{e.Rule, fmt.Errorf("%[1]s is nil, so that the item does not pass%[2]s: write %[1]s == nil or …, "+
		"or %[1]s != nil and … to leave out such items", lacking.source, lacking.follows())}
}

// Chosen evaluates the values of a variable like [Expression.Value]. It is an error if the list would be longer, but for a
// comparison with a value that the run is given, and that is nil.
func (e *Expression) Chosen(m *Machine, c *rules.Context, limit int) (any, error) {
	v, err := e.Value(m, c, limit)
	lacking := m.meter.lack
	if err != nil || lacking == (lack{}) {
		return v, err
	}
	list, _ := v.([]any)
	if longer, _ := e.supposed(m, c).([]any); len(longer) <= len(list) {
		return v, nil
	}
	return nil, &RuleError{e.Rule, fmt.Errorf("%[1]s is nil, so that values are left out%[2]s: write %[1]s == nil or …, "+
		"or %[1]s != nil and … to leave them out", lacking.source, lacking.follows())}
}

// Ends reports whether a stopping rule is met, like [Expression.EvalBool]. It is an error if the rule is met, and would not be,
// but for a comparison with a kept value that is nil.
func (e *Expression) Ends(m *Machine, c *rules.Context) (bool, error) {
	met, err := e.EvalBool(m, c)
	lacking := m.meter.lack
	if !met || err != nil || lacking == (lack{}) || e.supposed(m, c) != false {
		return met, err
	}
	return false, &RuleError{e.Rule, fmt.Errorf("%[1]s is nil, so that the list ends here%[2]s: write %[1]s != nil and …",
		lacking.source, lacking.follows())}
}

// Address evaluates the address of the next request like [Expression.Value]. It is an error if there is none, so that the list
// ends, and there would be one but for a comparison with a kept value that is nil.
func (e *Expression) Address(m *Machine, c *rules.Context, limit int) (any, error) {
	v, err := e.Value(m, c, limit)
	lacking := m.meter.lack
	if err != nil || lacking == (lack{}) || !IsNoAddress(v) || IsNoAddress(e.supposed(m, c)) {
		return v, err
	}
	return nil, &RuleError{e.Rule, fmt.Errorf("%[1]s is nil, so that the list ends here%[2]s: write %[1]s == nil or …",
		lacking.source, lacking.follows())}
}

// IsNoAddress reports whether the value of a rule for an address says that there is none.
func IsNoAddress(v any) bool { return v == nil || v == "" }

// supposed returns the value that the expression would have if all comparisons with a lack were true. It is nil if the
// evaluation fails.
func (e *Expression) supposed(m *Machine, c *rules.Context) any {
	m.meter.reset(m.Context)
	m.meter.page, m.meter.ignoresLack = c, true
	v, _ := e.code.run(m)
	return v
}

// follows says why the lack of a kept value loses items.
func (l lack) follows() string {
	if l.isKept {
		return ", although later runs read only what follows it"
	}
	return ""
}
