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

// A marking says which operands of a rule are marked. After marksKept, it has the names of the variables of the state that
// begin with a kept value.
type marking string

const (
	marksNone  marking = ""
	marksGiven marking = "given" // of a condition on items, or the values of a variable: those that read a value which the run is given
	marksKept  marking = "kept"  // of a rule that may end the list: those of <, <=, > and >= that read a kept value, and lists of in
)

// markingOf returns the marking of a rule.
func (c *Compiler) markingOf(rule rules.Rule, set *rules.Ruleset) marking {
	switch {
	case rule.SelectsItems(), rule.Role == rules.RoleFor && rule.Target == "values":
		return marksGiven
	case rule.Role == rules.RoleStop, rule.Role == rules.RoleOnError && rule.OnError.Do == rules.ErrorStop, rule.Role.Addresses():
		return marking(strings.Join(append([]string{string(marksKept)}, c.keptVariables(set)...), " "))
	}
	return marksNone
}

// keptVariables returns the names of the variables of the state whose first values are kept values.
func (c *Compiler) keptVariables(set *rules.Ruleset) (names []string) {
	for _, r := range set.Rules {
		if r.Role != rules.RoleInit {
			continue
		}
		init, err := c.compile(r.Source, set.ForNames, marksNone)
		if err == nil && slices.ContainsFunc(init.reads, func(r Read) bool { return r.Is(rules.ContextKept) }) {
			names = append(names, r.Target)
		}
	}
	return names
}

// marks reports whether an operand with the read is marked.
func (k marking) marks(r Read) bool {
	names := strings.Fields(string(k))
	switch {
	case k == marksNone:
		return false
	case k == marksGiven:
		return r.isGiven() || r.Past != ""
	}
	return r.Is(rules.ContextKept) || r.Is(rules.ContextState) && len(r.Path) > 0 && slices.Contains(names[1:], r.Path[0])
}

// A givenOperand is one side of a comparison in a rule whose operands are marked, or the time or the argument of a method that
// compares times.
type givenOperand struct {
	reads  []Read // with the reads of the let variables in it; those of kept values come first
	lookup lack   // an element of a kept value that an expression chooses, such as kept.seen[item.id]; usually none

	whole, element site // stand for comparisons with the operand and, if it is a list, with its elements
}

// A lack takes the place of the nil of an operand that is nil for want of a value which the run is given.
type lack struct {
	source string // of that value: kept.at
	isKept bool
	of     *site // what has it, for a supposition

	isElement bool // of a list, which is supposed to have an element
}

// A site stands for a comparison with a lack. It has a size, so that each has an address of its own.
type site struct{ _ byte }

// A supposition has a value for each comparison with a lack: whether it is true. The operand with the lack has a
// site that stands for the comparison. The first supposition is that all are true.
type supposition struct {
	sites  []*site // in the order in which an evaluation has met them
	truths []bool
}

// maxSuppositions is the largest number of suppositions with which an expression is evaluated.
const maxSuppositions = 64

// of returns the value of a comparison.
func (s *supposition) of(o *site) bool {
	i := slices.Index(s.sites, o)
	if i < 0 {
		i = len(s.sites)
		s.sites, s.truths = append(s.sites, o), append(s.truths, true)
	}
	return s.truths[i]
}

// next makes another supposition. It reports false if there is none.
func (s *supposition) next() bool {
	last := len(s.truths) - 1
	for ; last >= 0 && !s.truths[last]; last-- { // both values of it have been supposed
	}
	if last < 0 {
		return false
	}
	s.sites, s.truths = s.sites[:last+1], s.truths[:last+1]
	s.truths[last] = false
	return true
}

// givenFields are the fields of the context whose values do not come from this page or its items.
var givenFields = []string{rules.ContextKept, rules.ContextInput, rules.ContextState, rules.ContextSent, rules.ContextJob}

func (r Read) isGiven() bool { return r.Past == "" && slices.Contains(givenFields, r.Root) }

// lack returns the value for want of which the operand is nil, or the zero lack. A member that the item or the page
// lacks is reason enough.
func (o *givenOperand) lack(c *rules.Context) (lacking lack) {
	defer func() {
		if lacking != (lack{}) {
			lacking.of = &o.whole
		}
	}()
	for _, r := range o.reads {
		v, _ := r.Lookup(c)
		_, exists := r.page(c)
		switch {
		case v != nil || r.Has:
		case r.isGiven() || !exists:
			lacking = cmp.Or(lacking, lack{source: r.String(), isKept: r.Is(rules.ContextKept)})
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
	mark := func(side *ast.Node, function string) {
		if o := l.givenOperandOf(*side, lets); slices.ContainsFunc(o.reads, marking.marks) {
			replaceMetered(side, function, *side, &ast.ConstantNode{Value: o})
		}
	}
	for _, side := range l.comparedIn(node, marking) {
		mark(side, safeOperand)
	}
	if call, ok := node.(*ast.BuiltinNode); ok && library[call.Name].predicate != noPredicate {
		mark(&call.Arguments[0], safeElements)
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
		case n.Operator == "==", n.Operator == "!=" && marking == marksGiven:
			left, right := l.computes(n.Left), l.computes(n.Right)
			if marking == marksGiven {
				left, right = left || l.isKept(n.Left) && l.isOfItem(n.Right), right || l.isKept(n.Right) && l.isOfItem(n.Left)
			}
			return sidesOf(n, left, right)
		case operators[n.Operator].falseOfNil && (marking == marksGiven || strings.ContainsAny(n.Operator, "<>")):
			return []*ast.Node{&n.Left, &n.Right}
		case n.Operator == "in":
			return []*ast.Node{&n.Right}
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.MemberNode); ok && callee.Method && slices.Contains(comparingMethods, constantText(callee.Property)) {
			return append([]*ast.Node{&callee.Node}, places(n.Arguments)...)
		}
	}
	return nil
}

// sidesOf returns the sides of a comparison that are to be marked.
func sidesOf(n *ast.BinaryNode, left, right bool) (sides []*ast.Node) {
	if left {
		sides = append(sides, &n.Left)
	}
	if right {
		sides = append(sides, &n.Right)
	}
	return sides
}

// isKept reports whether an operand is a kept value, or a member of one with a constant key.
func (l *Language) isKept(node ast.Node) bool {
	read, ok := (&accessFinder{language: l}).read(node)
	return ok && read.Is(rules.ContextKept) && len(read.Path) > 0 && !read.Open
}

// isOfItem reports whether an operand depends on the item, or on an element of a list.
func (l *Language) isOfItem(node ast.Node) bool {
	ofItem := false
	f := &accessFinder{language: l, found: func(a access) { ofItem = ofItem || a.read.Is(rules.ContextItem) }, locals: map[string]int{}}
	f.walk(&node)
	for inner := range nodes(node) {
		_, isElement := inner.(*ast.PointerNode)
		ofItem = ofItem || isElement
	}
	return ofItem
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
					o.lookup = cmp.Or(o.lookup, lack{source: n.String(), isKept: true})
				}
			}
		case *ast.MemberNode:
			_, isConstant := constantKey(n.Property)
			if base, ok := f.read(n.Node); ok && !isConstant && base.Is(rules.ContextKept) {
				o.lookup = cmp.Or(o.lookup, lack{source: n.String(), isKept: true})
			}
		}
	}
	slices.SortStableFunc(o.reads, func(a, b Read) int {
		return cmp.Compare(truthOf(b.Is(rules.ContextKept)), truthOf(a.Is(rules.ContextKept)))
	})
	return o
}

// orLack is an operator for which a lack is nil. It notes the lack unless the other operand is nil.
func orLack(apply binaryOperator) binaryOperator {
	return func(m *meter, a, b any) (any, error) {
		left, lacksLeft := a.(lack)
		right, lacksRight := b.(lack)
		switch {
		case !lacksLeft && !lacksRight:
			return apply(m, a, b)
		case left.isElement && b == nil, right.isElement && a == nil:
			return apply(m, a, b)
		case a == nil || b == nil:
			return apply(m, nil, nil)
		}
		if lacking := m.noteLack(left, right); m.supposes != nil {
			return m.supposes.of(lacking.of), nil
		}
		return apply(m, orNone(a), orNone(b))
	}
}

// orNone returns nil for a lack, and any other value as it is.
func orNone(v any) any {
	if _, lacks := v.(lack); lacks {
		return nil
	}
	return v
}

// noteLack notes the first lack of an evaluation. It returns the first one of this comparison.
func (m *meter) noteLack(lacks ...lack) lack {
	lacking := cmp.Or(lacks...)
	m.lack = cmp.Or(m.lack, lacking)
	return lacking
}

// compareLack notes a lack among the arguments of a method, and returns the value of the comparison.
func (m *meter) compareLack(lacking lack) bool {
	m.noteLack(lacking)
	return m.supposes != nil && m.supposes.of(lacking.of)
}

// elementsOrLack returns the list of a predicate. Of a list that is a lack, nothing is known: it is supposed to have an
// element, which is a lack as well.
func (m *meter) elementsOrLack(list any, o *givenOperand) any {
	if list != nil {
		return list
	}
	lacking := o.lack(m.page)
	if lacking == (lack{}) {
		return nil
	}
	if m.noteLack(lacking); m.supposes == nil || !m.supposes.of(lacking.of) {
		return nil
	}
	lacking.of, lacking.isElement = &o.element, true
	return []any{lacking}
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
	if !e.mayBe(m, c, func(v any) bool { return v == true }) {
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
	isLonger := func(v any) bool { longer, _ := v.([]any); return len(longer) > len(list) }
	if !e.mayBe(m, c, isLonger) {
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
	if !met || err != nil || lacking == (lack{}) || !e.mayBe(m, c, func(v any) bool { return v == false }) {
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
	isAddress := func(v any) bool { return !IsNoAddress(v) }
	if err != nil || lacking == (lack{}) || isAddress(v) || !e.mayBe(m, c, isAddress) {
		return v, err
	}
	return nil, &RuleError{e.Rule, fmt.Errorf("%[1]s is nil, so that the list ends here%[2]s: write %[1]s == nil or …",
		lacking.source, lacking.follows())}
}

// IsNoAddress reports whether the value of a rule for an address says that there is none.
func IsNoAddress(v any) bool { return v == nil || v == "" }

// mayBe reports whether the value of the expression may be one that fits, whatever the comparisons with a lack are.
func (e *Expression) mayBe(m *Machine, c *rules.Context, fits func(v any) bool) bool {
	for s, n := (&supposition{}), 0; n < maxSuppositions; n++ {
		m.meter.reset(m.Context)
		m.meter.page, m.meter.supposes = c, s
		if v, err := e.code.run(m); err == nil && fits(v) { // an error has been passed over, too
			return true
		}
		if !s.next() {
			return false
		}
	}
	return false
}

// follows says why the lack of a kept value loses items.
func (l lack) follows() string {
	if l.isKept {
		return ", although later runs read only what follows it"
	}
	return ""
}
