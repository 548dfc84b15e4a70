package jinja

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nikolalohinski/gonja/v2/nodes"
)

// operators are the binary operators that mean the same in both languages.
var operators = map[string]struct {
	op   string
	prec int
	kind Kind
}{
	"==": {"==", precCompare, Bool}, "!=": {"!=", precCompare, Bool}, "<": {"<", precCompare, Bool}, ">": {">", precCompare, Bool},
	"<=": {"<=", precCompare, Bool}, ">=": {">=", precCompare, Bool}, "-": {"-", precAdd, Number}, "*": {"*", precMultiply, Number},
	"/": {"/", precMultiply, Number}, "%": {"%", precMultiply, Number}, "**": {"**", precPower, Number},
}

// binary translates an operator.
func (t *translator) binary(n *nodes.BinaryExpression) (Expr, error) {
	a, err := t.expr(n.Left)
	if err != nil {
		return Expr{}, err
	}
	b, err := t.expr(n.Right)
	if err != nil {
		return Expr{}, err
	}
	switch op := n.Operator.Token.Val; op {
	case "or":
		return or(a, b), nil
	case "and":
		return and(a, b), nil
	case "~":
		return concat(a, b), nil
	case "+":
		return add(a, b)
	case "-":
		return subtract(a, b)
	case "//":
		return call("floor", Number, binary("/", precMultiply, Number, a, b)), nil
	case "%":
		if a.Kind == Text {
			return formatted(a, b)
		}
	case "==", "!=":
		return equal(op, a, b), nil
	}
	known, ok := operators[n.Operator.Token.Val]
	if !ok {
		return Expr{}, fmt.Errorf("the operator %s has no counterpart", n.Operator.Token.Val)
	}
	return binary(known.op, known.prec, known.kind, a, b), nil
}

// or returns the first value if it is true, and otherwise the second value.
func or(a, b Expr) Expr {
	if a.Kind == Bool && b.Kind == Bool {
		return binary("or", precOr, Bool, a, b)
	}
	truth := a.True()
	if filled, ok := a.filled(b); ok || a.isOptional() && b.Constant && b.Const == "" {
		return filled
	}
	switch {
	case a.isOptional() && a.Kind != Bool && a.Kind != Number:
		return Default(a, b)
	case truth.Constant && truth.Const == true:
		return a
	case truth.Constant:
		return b
	case b.Kind == Bool && !b.Constant:
		return binary("or", precOr, Bool, truth, b)
	case a.record:
		out, either := choose(truth, a, b), binary("or", precOr, Bool, truth, b.True())
		out.truth = &either
		return out
	case a.Kind == Text || a.Kind == Any && !a.Flag:
		return choose(call("empty", Bool, a), b, a)
	}
	return choose(truth, a, b)
}

// equalsText reports whether a condition is that a value is a text, so that it need not be tested before that there is one.
func equalsText(condition, exists Expr) bool {
	value, is := strings.CutSuffix(exists.Source, " != nil")
	return is && condition.Kind == Bool && strings.HasPrefix(condition.Source, value+" == '") && strings.Count(condition.Source, "'") == 2 &&
		strings.HasSuffix(condition.Source, "'")
}

// and returns the first value if it is false, and otherwise the second value.
func and(a, b Expr) Expr {
	truth := a.True()
	switch {
	case truth.Constant && truth.Const == true:
		return b
	case truth.Constant:
		return a
	case equalsText(b, a):
		return b
	case b.Kind == Any && a.Kind != Bool && a.prec == precMember && b.prec == precMember:
		both := binary("and", precAnd, Bool, truth, b.True())
		out := b
		if !a.above(b) {
			out = choose(truth, b, a)
		}
		out.truth = &both
		return out
	case b.Kind == Bool || b.Kind == Any:
		return binary("and", precAnd, Bool, truth, b.True())
	}
	return choose(truth, b, a)
}

// above reports whether the path of e equals the path of other or is a prefix of it, so that other has no value if
// e has none.
func (e Expr) above(other Expr) bool {
	return e.Root != "" && e.Root == other.Root && len(e.Keys) <= len(other.Keys) && slices.Equal(e.Keys, other.Keys[:len(e.Keys)])
}

// equal compares values. A boolean member that is compared with a constant keeps its meaning: null is
// not false.
func equal(op string, a, b Expr) Expr {
	if strings.HasSuffix(a.Source, " ?? false") && a.inner != nil && op == "==" && b.Const == false {
		return binary("!=", precCompare, Bool, *a.inner, Literal(true))
	}
	if b.record {
		a, b = b, a
	}
	if a.record && b.Constant && b.Const == nil {
		if op == "==" {
			return isNone(a)
		}
		return not(isNone(a))
	}
	if a.Constant && b.Constant && (a.Kind == b.Kind || a.Kind == None || b.Kind == None) {
		return Literal((a.Const == b.Const) == (op == "=="))
	}
	return binary(op, precCompare, Bool, a, b)
}

func add(a, b Expr) (Expr, error) {
	switch {
	case a.Kind == Text && b.Kind == Text, a.Kind == Text && b.Kind == Any && a.Constant, b.Kind == Text && a.Kind == Any && b.Constant:
		return concat(a, b), nil
	case a.list != nil && b.list != nil:
		out := Expr{Kind: List, prec: precMember, list: append(append([]Expr{}, a.list...), b.list...), Page: a.Page || b.Page}
		out.Source = "concat(" + a.Source + ", " + b.Source + ")"
		return out, nil
	case a.Kind == List || b.Kind == List:
		return call("concat", List, a, b), nil
	case a.Kind == Time || b.Kind == Time:
		return binary("+", precAdd, Time, a, b), nil
	case a.Kind == Duration:
		return binary("+", precAdd, Duration, a, b), nil
	}
	x, isA := a.Const.(int)
	y, isB := b.Const.(int)
	if isA && isB {
		return Literal(x + y), nil
	}
	kind := Any
	if a.Kind == Number || b.Kind == Number {
		kind = Number
	}
	return binary("+", precAdd, kind, a, b), nil
}

func subtract(a, b Expr) (Expr, error) {
	x, isA := a.Const.(int)
	y, isB := b.Const.(int)
	switch {
	case isA && isB:
		return Literal(x - y), nil
	case a.Kind == Time && b.Kind == Time:
		return binary("-", precAdd, Duration, a, b), nil
	case b.Kind == Duration && b.Constant:
		return before(asTime(a), fmt.Sprint(b.Const)), nil
	case a.Kind == Time:
		return binary("-", precAdd, Time, a, b), nil
	}
	return binary("-", precAdd, Number, a, b), nil
}

// before returns the time a length before another one.
func before(e Expr, lag string) Expr {
	if lag == "" {
		return e
	}
	out := binary("-", precAdd, Time, e, Name(durationSource(lag), Duration))
	if strings.HasSuffix(lag, "mo") {
		out = call("date", Time, call("earlier", Text, e, Literal(lag)))
	}
	out.back, out.lag = &e, lag
	return out
}

// formatted translates "%s" % v.
func formatted(format, v Expr) (Expr, error) {
	text, known := format.Const.(string)
	if !known {
		return Expr{}, errors.New("a computed format has no counterpart")
	}
	args := v.list
	if args == nil {
		args = []Expr{v}
	}
	return interleave(text, []string{"%s", "%d"}, args)
}

// interleave puts values into a text in the places of marks.
func interleave(text string, marks []string, args []Expr) (Expr, error) {
	out := Literal("")
	for {
		best, length := -1, 0
		for _, m := range marks {
			if i := strings.Index(text, m); i >= 0 && (best < 0 || i < best) {
				best, length = i, len(m)
			}
		}
		if best < 0 {
			break
		}
		if len(args) == 0 {
			return Expr{}, errors.New("a format has more places than values")
		}
		out = concat(concat(out, Literal(text[:best])), args[0])
		text, args = text[best+length:], args[1:]
	}
	if len(args) > 0 || strings.ContainsAny(text, "%{") {
		return Expr{}, errors.New("a format has no counterpart")
	}
	return concat(out, Literal(text)), nil
}

// test translates "a is defined", "a in b" and the like.
func (t *translator) test(n *nodes.TestExpression) (Expr, error) {
	e, err := t.expr(n.Expression)
	if err != nil {
		return Expr{}, err
	}
	args, err := t.exprs(n.Test.Args)
	if err != nil {
		return Expr{}, err
	}
	switch name := n.Test.Name; name {
	case "in":
		if len(args) == 1 {
			return in(e, args[0]), nil
		}
	case "defined", "undefined", "none", "None":
		if e.Constant || e.list != nil || e.dict != nil {
			return Literal((e.Const == nil && e.Constant) == (name != "defined")), nil
		}
		switch isDefined := name == "defined"; {
		case e.has != nil && isDefined:
			return *e.has, nil
		case e.has != nil && name == "undefined":
			return e.has.untrue(), nil
		case isDefined:
			return binary("!=", precCompare, Bool, e, Literal(nil)), nil
		}
		return isNone(e), nil
	case "string":
		return kindIs(e, "string"), nil
	case "mapping":
		return kindIs(e, "map"), nil
	case "number", "integer":
		return binary("in", precCompare, Bool, call("type", Text, e), Name(`["int", "float"]`, List)), nil
	case "iterable", "sequence":
		return binary("in", precCompare, Bool, call("type", Text, e), Name(`["array", "map", "string"]`, List)), nil
	case "true", "false":
		return binary("==", precCompare, Bool, e, Literal(name == "true")), nil
	case "equalto", "eq", "==":
		if len(args) == 1 {
			return equal("==", e, args[0]), nil
		}
	}
	return Expr{}, fmt.Errorf("the test %s has no counterpart", n.Test.Name)
}

func kindIs(e Expr, name string) Expr {
	if e.Constant || e.Kind != Any {
		return Literal(name == "string" && e.Kind == Text || name == "map" && e.Kind == Object)
	}
	return binary("==", precCompare, Bool, call("type", Text, e), Literal(name))
}

// in translates membership: in a text, a list, or the keys of an object.
func in(e, list Expr) Expr {
	switch {
	case list.dict != nil && e.Constant:
		_, ok := list.dict[fmt.Sprint(e.Const)]
		return Literal(ok)
	case list.Kind == Text:
		return binary("contains", precCompare, Bool, list, e)
	case list.Kind == List:
		return binary("in", precCompare, Bool, e, list)
	case strings.HasPrefix(list.Root, "item") && len(list.Keys) > 0: // a member of an item may be a text, a list or an object
		return choose(kindIs(list, "string"), binary("contains", precCompare, Bool, list, e), binary("in", precCompare, Bool, e, list))
	case len(list.Keys) > 0 && textName().MatchString(list.Keys[len(list.Keys)-1]):
		return binary("contains", precCompare, Bool, list, e)
	case e.Constant && e.Kind == Text && list.path != nil:
		if m, err := memberOf(list, e); err == nil {
			if m.Constant {
				return Literal(m.Const != nil)
			}
			if m.has != nil {
				return *m.has
			}
			return binary("!=", precCompare, Bool, m, Literal(nil))
		}
	}
	return binary("in", precCompare, Bool, e, list)
}

// textName matches the names of members that are texts for people, or the codes of errors.
var textName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(code|message|msg|description|detail|reason|title|text)$`)
})

// slice translates a[1:2].
func (t *translator) slice(n *nodes.GetSlice) (Expr, error) {
	e, err := t.expr(n.Node)
	if err != nil {
		return Expr{}, err
	}
	if n.Step != nil {
		return Expr{}, errors.New("a slice with a step has no counterpart")
	}
	var bounds [2]string
	for i, b := range []nodes.Node{n.Start, n.End} {
		if b == nil {
			continue
		}
		v, err := t.expr(b)
		if err != nil {
			return Expr{}, err
		}
		bounds[i] = v.Source
		e.Page = e.Page || v.Page
	}
	out := Expr{Source: e.at(precMember) + "[" + bounds[0] + ":" + bounds[1] + "]", Kind: e.Kind, Page: e.Page, prec: precMember, Absent: true}
	return out, nil
}
