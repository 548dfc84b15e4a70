package language

import (
	"math"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// Proofs find, without a page, whether a condition can be true or false. They compute with intervals: a
// number that is never nil has the range of values that it can have on any page. The tags of [rules.Context]
// say that page is in [1, ∞), so page + 1 is in [2, ∞), and page + 1 < 2 is never true. A value of the
// response may be anything, including nil, so nothing is proven about it.

// Truth is the result of a proof about a condition.
type Truth int

// The results of a proof. Their order makes conjunction the minimum, disjunction the maximum, and
// negation the opposite number.
const (
	Never     Truth = -1
	Sometimes Truth = 0 // on some pages
	Always    Truth = 1
)

func truthOf(b bool) Truth { return decided(b, !b) }

// A Prover proves facts about the expressions of a ruleset. The ruleset has the value of limit.
type Prover struct {
	Set    *rules.Ruleset
	Assume map[string]rules.Range // the proofs are about pages on which these fields of the context have such values
}

// Condition reports whether a condition is true on every page, on no page, or on some pages.
func (p Prover) Condition(e *Expression) Truth { return p.condition(e.code.syntax) }

// Bound returns the bound of a condition that is met when a counter of the context reaches a
// number.
func (p Prover) Bound(e *Expression) (Bound, bool) { return p.bound(e.code.syntax) }

// Later describes the value of an expression after the first page in words. It returns "" if the words
// are only the source. A conditional expression whose condition is decided by then, such as
// page > 0 ? a : b, is described by the alternative that is left.
func (p Prover) Later(e *Expression) string {
	node := p.remaining(e.code.syntax)
	source := e.Rule.Source
	if node != e.code.syntax {
		source = node.String()
	}
	if words := inWords(node, source); words != e.Rule.Source {
		return words
	}
	return ""
}

// Increment returns the whole number that an expression adds to a variable of the state:
// state.offset + limit. It reports false for any other expression.
func (p Prover) Increment(e *Expression, variable string) (int, bool) {
	sum, ok := e.code.syntax.(*ast.BinaryNode)
	if !ok || sum.Operator != "+" || !isVariable(sum.Left, variable) {
		return 0, false
	}
	by, ok := p.number(sum.Right)
	return int(by.Low), ok && by.Low == by.High && by.Low == math.Trunc(by.Low)
}

// condition is [Prover.Condition] for a node.
func (p Prover) condition(node ast.Node) Truth {
	switch n := node.(type) {
	case *ast.BoolNode:
		return truthOf(n.Value)
	case *ast.NilNode:
		return Never
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return -p.condition(n.Node)
		}
	case *ast.ConditionalNode:
		if chosen := p.remaining(n); chosen != node {
			return p.condition(chosen)
		}
		if a, b := p.condition(n.Exp1), p.condition(n.Exp2); a == b {
			return a
		}
	case *ast.BinaryNode:
		return p.binary(n)
	}
	return Sometimes
}

// remaining returns the alternative of a conditional expression that is chosen on every page, or
// the node itself.
func (p Prover) remaining(node ast.Node) ast.Node {
	n, ok := node.(*ast.ConditionalNode)
	if !ok {
		return node
	}
	switch p.condition(n.Cond) {
	case Always:
		return p.remaining(n.Exp1)
	case Never:
		return p.remaining(n.Exp2)
	}
	return node
}

// binary decides a condition with an operator. A comparison of numbers is decided if their ranges do not
// overlap: with a in [1, 5] and b in [5, 9], a <= b is always true, and a < b is either.
func (p Prover) binary(n *ast.BinaryNode) Truth {
	switch n.Operator {
	case "and", "&&":
		return min(p.condition(n.Left), p.condition(n.Right))
	case "or", "||":
		return max(p.condition(n.Left), p.condition(n.Right))
	}
	if t := p.absence(n); t != Sometimes {
		return t
	}
	a, left := p.number(n.Left)
	b, right := p.number(n.Right)
	if !left || !right {
		return Sometimes
	}
	less := decided(a.High < b.Low, a.Low >= b.High)
	greater := decided(a.Low > b.High, a.High <= b.Low)
	equal := decided(a == b && a.Low == a.High, max(less, greater) == Always)
	switch n.Operator {
	case "<":
		return less
	case "<=":
		return -greater
	case ">":
		return greater
	case ">=":
		return -less
	case "==":
		return equal
	case "!=":
		return -equal
	}
	return Sometimes
}

// absence decides a comparison by which of its sides are nil: only nil equals nil, and
// any other comparison with nil is false.
func (p Prover) absence(n *ast.BinaryNode) Truth {
	a, b := p.isNil(n.Left), p.isNil(n.Right)
	switch n.Operator {
	case "==", "!=":
		if a == Sometimes || b == Sometimes || a == Never && b == Never {
			return Sometimes
		}
		return truthOf((a == b) == (n.Operator == "=="))
	case "<", "<=", ">", ">=":
		if a == Always || b == Always {
			return Never
		}
	}
	return Sometimes
}

// isNil reports whether a value is nil on every page, on no page, or on some pages.
func (p Prover) isNil(node ast.Node) Truth {
	if _, ok := node.(*ast.NilNode); ok {
		return Always
	}
	if isIdentifier(node, rules.ContextLimit) {
		if p.Set.LimitParam != "" {
			return Sometimes
		}
		return truthOf(p.Set.Limit == nil)
	}
	if _, ok := p.number(node); ok {
		return Never
	}
	return Sometimes
}

func decided(isTrue, isFalse bool) Truth {
	switch {
	case isTrue:
		return Always
	case isFalse:
		return Never
	}
	return Sometimes
}

// number returns the range of a number that is never nil.
func (p Prover) number(node ast.Node) (rules.Range, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return interval(float64(n.Value), float64(n.Value)), true
	case *ast.FloatNode:
		return interval(n.Value, n.Value), true
	case *ast.IdentifierNode, *ast.MemberNode:
		if name, ok := node.(*ast.IdentifierNode); ok {
			if assumed, ok := p.Assume[name.Value]; ok {
				return assumed, true
			}
		}
		if limit, fixed := p.Set.Limit.(int); fixed && isIdentifier(node, rules.ContextLimit) {
			return interval(float64(limit), float64(limit)), true
		}
		if field := fieldOf(node); field != nil && field.Range != nil {
			return *field.Range, true
		}
	case *ast.UnaryNode:
		if s, ok := p.number(n.Node); ok && n.Operator == "-" {
			return interval(-s.High, -s.Low), true
		}
	case *ast.BinaryNode:
		a, left := p.number(n.Left)
		b, right := p.number(n.Right)
		if left && right {
			return combine(n.Operator, a, b)
		}
	}
	return rules.Range{}, false
}

func combine(operator string, a, b rules.Range) (rules.Range, bool) {
	switch operator {
	case "+":
		return interval(a.Low+b.Low, a.High+b.High), true
	case "-":
		return interval(a.Low-b.High, a.High-b.Low), true
	case "*":
		if a.Low >= 0 && b.Low >= 0 && !math.IsInf(a.High, 0) && !math.IsInf(b.High, 0) {
			return interval(a.Low*b.Low, a.High*b.High), true
		}
	}
	return rules.Range{}, false
}

// Bound limits a list: the rule is met after Most pages, items, bytes or seconds (Unit) at the latest.
type Bound struct {
	Unit string  `json:"of" doc:"pages, items, bytes or seconds"`
	Most float64 `json:"at" doc:"number of them"`
}

// String returns the bound for people: "20 pages".
func (b Bound) String() string {
	unit := b.Unit
	if b.Most == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return strconv.FormatFloat(b.Most, 'f', -1, 64) + " " + unit
}

// bound returns the bound of a condition that is met when a counter of the context
// reaches a number.
func (p Prover) bound(node ast.Node) (Bound, bool) {
	n, ok := node.(*ast.BinaryNode)
	if !ok {
		return Bound{}, false
	}
	switch n.Operator {
	case "or", "||":
		left, ok := p.bound(n.Left)
		right, rightKnown := p.bound(n.Right)
		if ok && (!rightKnown || left.Unit != "items") { // pages without items may go on
			return left, true
		}
		return right, rightKnown
	case ">=":
		return p.counter(n.Left, n.Right, 0)
	case "==": // of the counters, only that of pages takes every value
		b, ok := p.counter(n.Left, n.Right, 0)
		at, _ := p.number(n.Right)
		return b, ok && b.Unit == "pages" && at.Low >= 1 && at.Low == math.Trunc(at.Low)
	case ">":
		return p.counter(n.Left, n.Right, 1)
	case "<=":
		return p.counter(n.Right, n.Left, 0)
	case "<":
		return p.counter(n.Right, n.Left, 1)
	}
	return Bound{}, false
}

func (p Prover) counter(counter, limit ast.Node, added float64) (Bound, bool) {
	field := fieldOf(counter)
	n, fixed := p.number(limit)
	if field == nil || field.Counts == "" || !fixed || n.Low != n.High {
		return Bound{}, false
	}
	if field.Counts == "seconds" {
		added = 0
	}
	least := 0.0
	if field.Counts == "pages" { // the rules are evaluated after the first page
		least = 1
	}
	return Bound{field.Counts, max(n.Low+added, least)}, true
}

func interval(low, high float64) rules.Range { return rules.Range{Low: low, High: high} }

// HasAlternative reports whether a condition with a bound may be true for another reason.
func (e *Expression) HasAlternative() bool {
	n, ok := e.code.syntax.(*ast.BinaryNode)
	return !ok || n.Operator == "or" || n.Operator == "||"
}
