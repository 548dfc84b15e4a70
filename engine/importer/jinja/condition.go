package jinja

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"
)

// OfRecord returns the expression for a member of a record. has is the condition that the record has the member: the member is
// undefined in Jinja without it, and null is another value.
func (e Expr) OfRecord(has Expr) Expr {
	e.record, e.has = true, &has
	return e
}

// Has returns the condition that an object has a member of a name.
func Has(object, name string) Expr {
	return binary("in", precCompare, Bool, Literal(name), Name(object, Object))
}

// falsyJSON are the values that are false in Python, as JSON. In the rule language, other values than these are false.
const falsyJSON = `['null', '""', 'false', '0', '0.0', '[]', '{}']`

// pythonTruth returns the expression for whether Python takes a value of any kind for true.
func pythonTruth(e Expr) Expr {
	return binary("not in", precCompare, Bool, call("toJSON", Text, e), Name(falsyJSON, List))
}

// isNone returns the condition that a value is null and not undefined.
func isNone(e Expr) Expr {
	is := binary("==", precCompare, Bool, e, Literal(nil))
	if e.has == nil || e.has.Constant {
		return is
	}
	return binary("and", precAnd, Bool, *e.has, is)
}

// given returns the value of a member that is read with get: it is null, and not undefined, without the member.
func (e Expr) given() Expr {
	if e.record {
		has := Literal(true)
		e.has = &has
	}
	return e
}

// orUndefined returns a member of a record or, if the record lacks it, another value.
func (e Expr) orUndefined(other Expr) Expr {
	out := choose(*e.has, e, other)
	out.Kind, out.Absent, out.record = Any, true, true
	if other.list != nil || other.dict != nil || other.Constant {
		if truth := other.True(); truth.Constant && truth.Const == false {
			truth = e.True()
			out.truth = &truth
		}
	}
	return out.given()
}

// The cases in which a condition over a record may differ from that of Python.
const (
	doubtValue = "the condition gives a value that is no boolean: there, null lets the record pass, and texts such as \"0\" and " +
		"\"False\" do not; here it is the other way around"
	doubtFails = "where a member has another type than the condition needs, as in null > 5, the record passes there; here the comparison " +
		"is false"
	doubtMissing = "where an object that a member is read of is missing, the whole condition is false there; here, only the comparison is"
	doubtNumber  = "a number equals the text with its digits here and not there, and 1 equals true and 0 equals false there and not here"
)

// Condition translates a template that says whether a record passes. The doubts say in which cases the result may be another
// one than that of the original.
func Condition(text string, scope Scope) (truth Expr, doubts []string, err error) {
	e, err := Translate(text, scope)
	if err != nil || !IsTemplate(text) {
		return e.True(), nil, err
	}
	parsed, err := parse(strings.TrimSpace(text))
	if err != nil {
		return e, nil, err
	}
	d := &doubter{translator: &translator{template: parsed, scope: maps.Clone(scope)}, found: map[string]bool{}}
	for _, n := range parsed.nodes {
		out, isOutput := n.(*nodes.Output)
		if !isOutput || len(parsed.nodes) > 1 || !isBoolean(out.Expression) {
			d.found[doubtValue] = !e.Constant
		}
		if isOutput {
			d.walk(out.Expression, true)
		}
	}
	for _, doubt := range []string{doubtValue, doubtFails, doubtMissing, doubtNumber} {
		if d.found[doubt] {
			doubts = append(doubts, doubt)
		}
	}
	return e.True(), doubts, nil
}

// isBoolean reports whether an expression is true or false in Python.
func isBoolean(n nodes.Node) bool {
	switch n := n.(type) {
	case *nodes.Bool, *nodes.Negation, *nodes.TestExpression:
		return true
	case *nodes.BinaryExpression:
		switch op := n.Operator.Token.Val; op {
		case "and", "or":
			return isBoolean(n.Left) && isBoolean(n.Right)
		case "==", "!=", "<", ">", "<=", ">=":
			return true
		}
	case *nodes.Call:
		if name, ok := n.Func.(*nodes.Name); ok && name.Name.Val == conditional {
			return len(n.Args) == 3 && isBoolean(n.Args[1]) && isBoolean(n.Args[2])
		}
		f, ok := n.Func.(*nodes.GetAttribute)
		return ok && (f.Attribute == "startswith" || f.Attribute == "endswith")
	}
	return false
}

// A doubter finds the cases in which a condition may differ.
type doubter struct {
	*translator
	found map[string]bool
}

// record returns the expression for a node, and whether it is a value of a record.
func (d *doubter) record(n nodes.Node) (Expr, bool) {
	e, err := d.expr(n)
	return e, err == nil && e.record
}

// doubtIf notes a case if one of the nodes is a value of a record.
func (d *doubter) doubtIf(doubt string, list ...nodes.Node) {
	for _, n := range list {
		if _, is := d.record(n); is {
			d.found[doubt] = true
		}
	}
}

// walk looks at an expression. positive says that the condition is false if the expression is.
func (d *doubter) walk(n nodes.Node, positive bool) {
	switch n := n.(type) {
	case *nodes.Negation:
		d.walk(n.Term, false)
	case *nodes.BinaryExpression:
		d.operator(n, positive)
	case *nodes.TestExpression:
		d.test(n, positive)
	case *nodes.FilteredExpression:
		if slices.ContainsFunc(n.Filters, func(f *nodes.FilterCall) bool { return f.Name != "default" && f.Name != "d" }) {
			d.doubtIf(doubtFails, n.Expression)
		}
		d.walk(n.Expression, positive)
		for _, f := range n.Filters {
			d.walkAll(f.Args)
		}
	case *nodes.Call:
		if f, ok := n.Func.(*nodes.GetAttribute); ok {
			if _, is := d.record(f.Node); is && (f.Attribute != "get" || !positive) {
				d.found[doubtMissing] = d.found[doubtMissing] || !positive
				d.found[doubtFails] = d.found[doubtFails] || f.Attribute != "get"
			}
			d.walk(f.Node, positive)
		}
		d.walkAll(n.Args)
	case *nodes.GetAttribute:
		d.of(n.Node, positive)
	case *nodes.GetItem:
		d.of(n.Node, positive)
	case *nodes.GetSlice:
		d.doubtIf(doubtFails, n.Node)
		d.of(n.Node, positive)
	}
}

func (d *doubter) walkAll(list []nodes.Expression) {
	for _, n := range list {
		d.walk(n, false)
	}
}

// of looks at the object of which a member is read.
func (d *doubter) of(n nodes.Node, positive bool) {
	if e, is := d.record(n); is && !positive && (e.has == nil || !e.has.Constant) {
		d.found[doubtMissing] = true
	}
	d.walk(n, positive)
}

func (d *doubter) operator(n *nodes.BinaryExpression, positive bool) {
	switch op := n.Operator.Token.Val; op {
	case "and":
	case "or":
		positive = false
	case "==", "!=":
		d.compared(n.Left, n.Right)
		positive = positive && op == "=="
	default:
		d.doubtIf(doubtFails, n.Left, n.Right)
	}
	d.walk(n.Left, positive)
	d.walk(n.Right, positive)
}

// compared notes that two values may be equal in one language alone, unless one of them is null or a text that is no number.
func (d *doubter) compared(one, other nodes.Node) {
	for _, pair := range [][2]nodes.Node{{one, other}, {other, one}} {
		if e, err := d.expr(pair[0]); err == nil && !isPlain(e) && !slices.ContainsFunc(e.list, isNotPlain) {
			if other, err := d.expr(pair[1]); err == nil && !isPlain(other) {
				d.doubtIf(doubtNumber, pair[0])
			}
		}
	}
}

func isNotPlain(e Expr) bool { return !isPlain(e) }

// isPlain reports whether a constant is null or a text that is no number, or a list of such constants.
func isPlain(e Expr) bool {
	if e.list != nil {
		return !slices.ContainsFunc(e.list, isNotPlain)
	}
	text, isText := e.Const.(string)
	_, err := strconv.ParseFloat(text, 64)
	return e.Constant && (e.Const == nil || isText && err != nil)
}

func (d *doubter) test(n *nodes.TestExpression, positive bool) {
	for _, arg := range n.Test.Args {
		if n.Test.Name == "in" {
			if _, is := d.record(arg); is {
				d.found[doubtFails] = true
			} else {
				d.compared(n.Expression, arg)
			}
		} else {
			d.compared(n.Expression, arg)
		}
		d.walk(arg, positive)
	}
	d.walk(n.Expression, positive)
}
