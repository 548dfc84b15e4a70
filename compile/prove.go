package compile

import (
	"math"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// A proof finds, without a page, the numbers that an expression can have, and whether
// a condition can be true or false. An unknown value may be anything.

// truth is the result of a proof about a condition.
type truth int

const (
	either truth = iota
	always
	never
)

func (t truth) not() truth {
	switch t {
	case always:
		return never
	case never:
		return always
	}
	return either
}

func truthOf(b bool) truth {
	if b {
		return always
	}
	return never
}

// A prover proves facts about the expressions of a ruleset, which fixes the limit.
type prover struct {
	set   *rules.Ruleset
	empty bool // the page has no items
}

// condition reports whether a condition is true on every page, or on none.
func (p prover) condition(node ast.Node) truth {
	switch n := node.(type) {
	case *ast.BoolNode:
		return truthOf(n.Value)
	case *ast.NilNode:
		return never
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return p.condition(n.Node).not()
		}
	case *ast.ConditionalNode:
		switch p.condition(n.Cond) {
		case always:
			return p.condition(n.Exp1)
		case never:
			return p.condition(n.Exp2)
		}
		if a, b := p.condition(n.Exp1), p.condition(n.Exp2); a == b {
			return a
		}
	case *ast.BinaryNode:
		return p.binary(n)
	}
	return either
}

// remaining returns the alternative of a conditional expression that is chosen on every page, or
// the node itself.
func (p prover) remaining(node ast.Node) ast.Node {
	n, ok := node.(*ast.ConditionalNode)
	if !ok {
		return node
	}
	switch p.condition(n.Cond) {
	case always:
		return p.remaining(n.Exp1)
	case never:
		return p.remaining(n.Exp2)
	}
	return node
}

func (p prover) binary(n *ast.BinaryNode) truth {
	switch n.Operator {
	case "and", "&&":
		a, b := p.condition(n.Left), p.condition(n.Right)
		if a == never || b == never {
			return never
		}
		return both(a, b)
	case "or", "||":
		a, b := p.condition(n.Left), p.condition(n.Right)
		if a == always || b == always {
			return always
		}
		return both(a, b)
	}
	if t := p.absence(n); t != either {
		return t
	}
	a, left := p.number(n.Left)
	b, right := p.number(n.Right)
	if !left || !right {
		return either
	}
	switch n.Operator {
	case "<":
		return decided(a.High < b.Low, a.Low >= b.High)
	case "<=":
		return decided(a.High <= b.Low, a.Low > b.High)
	case ">":
		return decided(a.Low > b.High, a.High <= b.Low)
	case ">=":
		return decided(a.Low >= b.High, a.High < b.Low)
	case "==":
		return decided(a == b && a.Low == a.High, a.High < b.Low || a.Low > b.High)
	case "!=":
		return decided(a.High < b.Low || a.Low > b.High, a == b && a.Low == a.High)
	}
	return either
}

// absence decides a comparison by which of its sides are nil: only nil equals nil, and
// any other comparison with nil is false.
func (p prover) absence(n *ast.BinaryNode) truth {
	a, b := p.isNil(n.Left), p.isNil(n.Right)
	switch n.Operator {
	case "==", "!=":
		if a == either || b == either || a == never && b == never {
			return either
		}
		return truthOf((a == b) == (n.Operator == "=="))
	case "<", "<=", ">", ">=":
		if a == always || b == always {
			return never
		}
	}
	return either
}

// isNil reports whether a value is nil on every page, or on none.
func (p prover) isNil(node ast.Node) truth {
	if _, ok := node.(*ast.NilNode); ok {
		return always
	}
	if isIdentifier(node, "limit") {
		if p.set.LimitBy != "" {
			return either
		}
		return truthOf(p.set.Limit == nil)
	}
	if _, ok := p.number(node); ok {
		return never
	}
	return either
}

func both(a, b truth) truth {
	if a == b {
		return a
	}
	return either
}

func decided(isTrue, isFalse bool) truth {
	switch {
	case isTrue:
		return always
	case isFalse:
		return never
	}
	return either
}

// number returns the range of a number that is never nil.
func (p prover) number(node ast.Node) (rules.Range, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return interval(float64(n.Value), float64(n.Value)), true
	case *ast.FloatNode:
		return interval(n.Value, n.Value), true
	case *ast.IdentifierNode, *ast.MemberNode:
		if p.empty && isIdentifier(node, "count") {
			return interval(0, 0), true
		}
		if limit, fixed := p.set.Limit.(int); fixed && isIdentifier(node, "limit") {
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

// Bound limits a list: its rule is met at the latest after At pages, items, bytes or
// seconds.
type Bound struct {
	Of string  `json:"of" doc:"pages, items, bytes or seconds"`
	At float64 `json:"at" doc:"number of them"`
}

// String returns the bound for people: "20 pages".
func (b Bound) String() string {
	unit := b.Of
	if b.At == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return strconv.FormatFloat(b.At, 'f', -1, 64) + " " + unit
}

// bound returns the bound of a condition that is met when a counter of the context
// reaches a number.
func (p prover) bound(node ast.Node) (Bound, bool) {
	n, ok := node.(*ast.BinaryNode)
	if !ok {
		return Bound{}, false
	}
	switch n.Operator {
	case "or", "||":
		left, ok := p.bound(n.Left)
		right, also := p.bound(n.Right)
		if ok && (!also || left.Of != "items") { // pages without items may go on
			return left, true
		}
		return right, also
	case ">=":
		return p.counter(n.Left, n.Right, 0)
	case "==": // of the counters, only that of pages takes every value
		b, ok := p.counter(n.Left, n.Right, 0)
		at, _ := p.number(n.Right)
		return b, ok && b.Of == "pages" && at.Low >= 1 && at.Low == math.Trunc(at.Low)
	case ">":
		return p.counter(n.Left, n.Right, 1)
	case "<=":
		return p.counter(n.Right, n.Left, 0)
	case "<":
		return p.counter(n.Right, n.Left, 1)
	}
	return Bound{}, false
}

func (p prover) counter(counter, at ast.Node, more float64) (Bound, bool) {
	field := fieldOf(counter)
	n, fixed := p.number(at)
	if field == nil || field.Counts == "" || !fixed || n.Low != n.High {
		return Bound{}, false
	}
	if field.Counts == "seconds" {
		more = 0
	}
	least := 0.0
	if field.Counts == "pages" { // the rules are evaluated after the first page
		least = 1
	}
	return Bound{field.Counts, max(n.Low+more, least)}, true
}

func interval(low, high float64) rules.Range { return rules.Range{Low: low, High: high} }
