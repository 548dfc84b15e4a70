package language

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// A condition on items compares each of them with values that the run is given, such as kept.at. A comparison with
// nil is false. If the item lacks the member, it is left out; but if the run lacks the value, all items would be
// left out, and lost if the kept values move on. So the operands of such a condition are marked: see
// [Expression.Passes].

// A givenOperand is one side of a comparison in a condition on items.
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

// markOperands marks the operands that read values which the run is given. lets has the operands that the let
// variables in force hold.
func (l *Language) markOperands(node ast.Node, lets map[string]*givenOperand) {
	if let, ok := node.(*ast.VariableDeclaratorNode); ok {
		l.markOperands(let.Value, lets)
		inner := maps.Clone(lets)
		inner[let.Name] = l.givenOperandOf(let.Value, lets)
		l.markOperands(let.Expr, inner)
		return
	}
	for _, child := range children(node) {
		if *child != nil {
			l.markOperands(*child, lets)
		}
	}
	b, ok := node.(*ast.BinaryNode)
	if !ok || !operators[b.Operator].falseOfNil {
		return
	}
	for _, side := range []*ast.Node{&b.Left, &b.Right} {
		if o := l.givenOperandOf(*side, lets); slices.ContainsFunc(o.reads, func(r Read) bool { return r.isGiven() || r.Past != "" }) {
			replaceMetered(side, safeOperand, *side, &ast.ConstantNode{Value: o})
		}
	}
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

// orLack is an operator that is false if an operand is nil. It notes a lack if the other operand is not nil.
func orLack(apply binaryOperator) binaryOperator {
	return func(m *meter, a, b any) (any, error) {
		left, lacksLeft := a.(lack)
		right, lacksRight := b.(lack)
		switch {
		case !lacksLeft && !lacksRight:
			return apply(m, a, b)
		case a == nil || b == nil:
			return false, nil
		}
		m.lack = cmp.Or(m.lack, left, right)
		return m.ignoresLack, nil
	}
}

// Passes reports whether an item, that of the context, passes a condition like [Expression.EvalBool]. It is an error if the
// item would pass, but for a comparison with a value that the run is given, and that is nil.
func (e *Expression) Passes(m *Machine, c *rules.Context) (bool, error) {
	m.meter.reset(m.Context)
	passes, err := e.EvalBool(m, c)
	lacking := m.meter.lack
	if passes || err != nil || lacking == (lack{}) {
		return passes, err
	}
	m.meter.reset(m.Context)
	m.meter.page, m.meter.ignoresLack = c, true
	if v, _ := e.code.run(m); v != true { // an error has been passed over, too
		return false, nil
	}
	follows := ""
	if lacking.isKept {
		follows = ", although later runs read only what follows it"
	}
	return false, &RuleError{e.Rule, fmt.Errorf("%[1]s is nil, so that the item does not pass%[2]s: write %[1]s == nil or …, "+
		"or %[1]s != nil and … to leave out such items", lacking.source, follows)}
}
