package compile

import (
	"math"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// What can be said of an expression without a page: which numbers it can be,
// whether it can be true and whether it can be false. What is not known may be
// anything.

// span is a range of numbers, its ends included.
type span struct{ low, high float64 }

// ranges are the numbers of the context that are never nil.
var ranges = map[string]span{
	"page": {1, math.Inf(1)}, "count": {0, math.Inf(1)}, "bytes": {0, math.Inf(1)}, "status": {200, 599}, "sameItems": {0, math.Inf(1)},
	"total.pages": {1, math.Inf(1)}, "total.items": {0, math.Inf(1)}, "total.bytes": {0, math.Inf(1)}, "total.seconds": {0, math.Inf(1)},
}

// counters grow from page to page, so that a rule which waits for one of them is
// met in the end. Pages and seconds always do; the others as long as data comes.
var counters = map[string]string{
	"page": "pages", "total.pages": "pages", "total.items": "items", "total.bytes": "bytes", "total.seconds": "seconds",
}

// truth is what is known of a condition.
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

// prover knows what a ruleset fixes: the limit.
type prover struct{ set *rules.Ruleset }

// condition is what is known of a condition, whatever the page.
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
	a, left := p.number(n.Left)
	b, right := p.number(n.Right)
	if !left || !right {
		return either
	}
	switch n.Operator {
	case "<":
		return decided(a.high < b.low, a.low >= b.high)
	case "<=":
		return decided(a.high <= b.low, a.low > b.high)
	case ">":
		return decided(a.low > b.high, a.high <= b.low)
	case ">=":
		return decided(a.low >= b.high, a.high < b.low)
	case "==":
		return decided(a == b && a.low == a.high, a.high < b.low || a.low > b.high)
	case "!=":
		return decided(a.high < b.low || a.low > b.high, a == b && a.low == a.high)
	}
	return either
}

func both(a, b truth) truth {
	if a == b {
		return a
	}
	return either
}

func decided(holds, fails bool) truth {
	switch {
	case holds:
		return always
	case fails:
		return never
	}
	return either
}

// number is the range of a number that is never nil.
func (p prover) number(node ast.Node) (span, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return span{float64(n.Value), float64(n.Value)}, true
	case *ast.FloatNode:
		return span{n.Value, n.Value}, true
	case *ast.IdentifierNode, *ast.MemberNode:
		name := node.String()
		if limit, fixed := p.set.Limit.(int); fixed && name == "limit" {
			return span{float64(limit), float64(limit)}, true
		}
		s, ok := ranges[name]
		return s, ok
	case *ast.UnaryNode:
		if s, ok := p.number(n.Node); ok && n.Operator == "-" {
			return span{-s.high, -s.low}, true
		}
	case *ast.BinaryNode:
		a, left := p.number(n.Left)
		b, right := p.number(n.Right)
		if left && right {
			return a.combine(n.Operator, b)
		}
	}
	return span{}, false
}

func (a span) combine(operator string, b span) (span, bool) {
	switch operator {
	case "+":
		return span{a.low + b.low, a.high + b.high}, true
	case "-":
		return span{a.low - b.high, a.high - b.low}, true
	case "*":
		if a.low >= 0 && b.low >= 0 && !math.IsInf(a.high, 0) && !math.IsInf(b.high, 0) {
			return span{a.low * b.low, a.high * b.high}, true
		}
	}
	return span{}, false
}

// Bound is what bounds a scroll: its rule is met when so many pages, items,
// bytes or seconds have come.
type Bound struct {
	Of string  `json:"of"` // "pages", "items", "bytes" or "seconds"
	At float64 `json:"at"`
}

// String is the bound for people: "20 pages".
func (b Bound) String() string { return strconv.FormatFloat(b.At, 'f', -1, 64) + " " + b.Of }

// bound is what a condition waits for, if it is met at the latest when a counter
// has come so far.
func (p prover) bound(node ast.Node) (Bound, bool) {
	n, ok := node.(*ast.BinaryNode)
	if !ok {
		return Bound{}, false
	}
	switch n.Operator {
	case "or", "||":
		if b, ok := p.bound(n.Left); ok {
			return b, true
		}
		return p.bound(n.Right)
	case ">=", "==":
		return p.counter(n.Left, n.Right, 0)
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
	of, ok := counters[counter.String()]
	s, fixed := p.number(at)
	if !ok || !fixed || s.low != s.high {
		return Bound{}, false
	}
	if of == "seconds" {
		more = 0
	}
	return Bound{of, s.low + more}, true
}
