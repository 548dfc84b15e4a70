package jinja

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A Kind is the type of the value of an expression, as far as it is known.
type Kind int

// The kinds of values.
const (
	Any Kind = iota
	Text
	Number
	Bool
	Time
	Duration
	List
	Object
	None // nil
)

// How tightly the operators of the rule language bind.
const (
	precChoice = iota // c ? a : b
	precOr
	precAnd
	precCompare
	precNot
	precAdd
	precMultiply
	precPower
	precMember // names, calls, literals
)

// An Expr is an expression of the rule language.
type Expr struct {
	Source   string
	Kind     Kind
	Const    any  // its value, if Constant: a text, an int, a float64, a bool or nil
	Constant bool // it is a constant
	Absent   bool // its value may be absent, null or an empty text
	Page     bool // it reads the page before
	Flag     bool // its value is probably a boolean, by its name

	Segment bool // it is one segment of a path, without a slash

	Root string   // of a path: body
	Keys []string // of a path: its keys below the root

	prec  int
	list  []Expr           // the elements of a literal list
	dict  map[string]Expr  // the members of a literal object
	names []string         // their names, in order
	op    string           // of a binary operator
	sides []Expr           // its operands
	fill  func(v any) bool // makes a constant the default of an input without a default
	truth *Expr            // whether Python considers it true, if its kind does not tell
	inner *Expr            // for a value with a falsy default: the value
	json  *Expr            // of a value as JSON: the value
	back  *Expr            // for a time minus a duration: the time
	lag   string           // the duration
	time  *Expr            // of a text: the time that it writes to the second
	path  func(keys []string) (Expr, error)

	record bool  // it is a value of a record, whose type is not known
	has    *Expr // of a member of a record: whether the record has it
}

// Literal returns the expression for a constant.
func Literal(v any) Expr {
	e := Expr{Const: v, Constant: true, prec: precMember}
	switch v := v.(type) {
	case nil:
		e.Source, e.Kind, e.Absent = "nil", None, true
	case string:
		e.Source, e.Kind, e.Absent = importer.Quote(v), Text, v == ""
	case bool:
		e.Source, e.Kind = strconv.FormatBool(v), Bool
	case int:
		e.Source, e.Kind = strconv.Itoa(v), Number
	case float64:
		e.Source, e.Kind = strconv.FormatFloat(v, 'g', -1, 64), Number
		if v == math.Trunc(v) && !strings.ContainsAny(e.Source, ".e") {
			e.Source += ".0"
		}
	default:
		e.Source = fmt.Sprint(v)
	}
	if strings.HasPrefix(e.Source, "-") {
		e.prec = precMultiply
	}
	return e
}

// Name returns the expression for a name, a path of the context, or any other expression that needs
// no parentheses.
func Name(source string, kind Kind) Expr { return Expr{Source: source, Kind: kind, prec: precMember} }

// Input returns the expression for an input without a default, which may be nil if it is optional. If
// a template has a constant for the case that the input is not set, fill is called with it, and reports
// whether the constant is the default of the input from now on.
func Input(source string, kind Kind, optional bool, fill func(v any) bool) Expr {
	e := Name(source, kind)
	e.Absent, e.fill = optional, fill
	return e
}

// isCount reports whether a member of the response is a number, by its name.
func (e Expr) isCount() bool {
	return e.Root == "body" && len(e.Keys) > 0 && countName().MatchString(e.Keys[len(e.Keys)-1])
}

// countName matches the names of totals.
var countName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(total|count)|(count|total)$`) })

// isOptional reports whether the expression is an optional input.
func (e Expr) isOptional() bool { return e.fill != nil && e.Absent }

// filled returns an input with a constant as its default, if it can have that. A list is a text with commas there.
func (e Expr) filled(other Expr) (Expr, bool) {
	if joined, ok := commaSeparated(other.list); ok && e.fill != nil && e.fill(joined) {
		return e.Split(), true
	}
	if e.fill == nil || !other.Constant || other.Const == nil || other.Const == "" || !e.fill(other.Const) {
		return e, false
	}
	e.Absent, e.fill = false, nil
	return e, true
}

// Split returns the list in a text with commas between the elements.
func (e Expr) Split() Expr { return Name("split("+e.Source+", ',')", List) }

// commaSeparated returns constants as one text with commas between them, if it can be split again.
func commaSeparated(list []Expr) (string, bool) {
	var texts []string
	for _, e := range list {
		text := fmt.Sprint(e.Const)
		if !e.Constant || e.Const == nil || text == "" || strings.Contains(text, ",") {
			return "", false
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), len(texts) > 0
}

// Path returns the expression for a value whose members are read by their paths.
func Path(root string) Expr {
	e := Name(root, Any)
	e.path = func(keys []string) (Expr, error) {
		out := Name(keypath.Format(root, keys), Any)
		out.Absent, out.Flag, out.Root, out.Keys = true, flag(keys[len(keys)-1]), root, keys
		return out, nil
	}
	return e
}

// Members returns an expression whose members a function gives, by their paths.
func Members(source string, path func(keys []string) (Expr, error)) Expr {
	e := Name(source, Object)
	e.path = path
	return e
}

// ReadsPage marks an expression that reads the page before, and its members.
func (e Expr) ReadsPage() Expr {
	e.Page = true
	if inner := e.path; inner != nil {
		e.path = func(keys []string) (Expr, error) {
			out, err := inner(keys)
			out.Page = true
			return out, err
		}
	}
	return e
}

// flag reports whether a member with the name is probably a boolean.
func flag(name string) bool {
	name = strings.ToLower(name)
	for _, begin := range []string{"has", "is_", "is", "more", "last", "complete", "done", "finished", "end"} {
		if strings.HasPrefix(name, begin) && !strings.HasSuffix(name, "id") && !strings.HasPrefix(name, "issue") {
			return !strings.Contains(name, "cursor") && !strings.Contains(name, "key") && !strings.Contains(name, "token")
		}
	}
	return strings.HasSuffix(name, "more") || strings.HasSuffix(name, "_has_next") || strings.HasSuffix(name, "hasnext")
}

// at returns the source with parentheses if it binds less tightly than its place needs.
func (e Expr) at(prec int) string {
	if e.prec < prec {
		return "(" + e.Source + ")"
	}
	return e.Source
}

// Operand returns the source as an operand of any operator.
func (e Expr) Operand() string { return e.at(precMember) }

// maxSource is the length of the longest expression. A template may repeat a part of itself so often
// that its expression has no end.
const maxSource = 16 << 10

var errTooLong = errors.New("the expression would be too long")

// bounded panics with errTooLong if an expression grows out of all bounds; [Parts] recovers.
func (e Expr) bounded() Expr {
	if len(e.Source) > 4*maxSource {
		panic(errTooLong)
	}
	return e
}

func call(name string, kind Kind, args ...Expr) Expr {
	out := Expr{Kind: kind, prec: precMember}
	var texts []string
	for _, a := range args {
		texts = append(texts, a.Source)
		out.Page = out.Page || a.Page
		out.Absent = out.Absent || a.Absent
	}
	out.Source = name + "(" + strings.Join(texts, ", ") + ")"
	return out.bounded()
}

// method returns the call of a method of the value.
func (e Expr) method(name string, kind Kind, args ...Expr) Expr {
	out := call(name, kind, args...)
	out.Source = e.at(precMember) + "." + out.Source
	out.Page = out.Page || e.Page
	out.Absent = e.Absent
	return out
}

func binary(op string, prec int, kind Kind, a, b Expr) Expr {
	right := prec + 1
	if op == "and" || op == "or" || op == "+" {
		right = prec
	}
	leftPrec := prec
	if prec == precCompare {
		leftPrec++
	}
	return Expr{Source: a.at(leftPrec) + " " + op + " " + b.at(right), Kind: kind, Page: a.Page || b.Page, prec: prec,
		Absent: (a.Absent || b.Absent) && kind != Bool, op: op, sides: []Expr{a, b}}.bounded()
}

// inverses are the comparisons that are true where others are false.
var inverses = map[string]string{"==": "!=", "!=": "==", "in": "not in", "not in": "in"}

func not(e Expr) Expr {
	if inner, ok := strings.CutPrefix(e.Source, "not "); ok && e.prec == precNot {
		return Expr{Source: inner, Kind: Bool, Page: e.Page, prec: precNot}
	}
	if e.op == "and" && inverses[e.sides[0].op] != "" && inverses[e.sides[1].op] != "" {
		return binary("or", precOr, Bool, not(e.sides[0]), not(e.sides[1]))
	}
	if inverse, ok := inverses[e.op]; ok {
		return binary(inverse, precCompare, Bool, e.sides[0], e.sides[1])
	}
	return Expr{Source: "not " + e.at(precMember), Kind: Bool, Page: e.Page, prec: precNot}
}

// readsOnly matches calls that are nil if their argument, or their value, is nil: date(input.since).Unix().
var readsOnly = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:date|text|number)\(([a-z]+(?:\.\w+)+)\)(?:\.\w+\([^()]*\))?$`)
})

func choose(c, a, b Expr) Expr {
	switch {
	case c.Constant && c.Const == true:
		return a
	case c.Constant && c.Const == false:
		return b
	}
	if m := readsOnly().FindStringSubmatch(a.Source); m != nil && c.op == "!=" && c.sides[0].Source == m[1] && c.sides[1].Kind == None {
		a.Absent = true
		return Default(a, b)
	}
	out := Expr{Source: c.at(precOr) + " ? " + a.at(precOr) + " : " + b.at(precChoice), Kind: a.Kind, prec: precChoice,
		Page: a.Page || b.Page || c.Page, Absent: a.Absent || b.Absent}
	if a.Kind != b.Kind && b.Kind != None {
		out.Kind = Any
	}
	return out.bounded()
}

// True returns the expression for whether Python takes a value for true.
func (e Expr) True() Expr {
	if e.Constant {
		return Literal(e.Const != nil && e.Const != "" && e.Const != 0 && e.Const != false)
	}
	if e.truth != nil {
		return *e.truth
	}
	if e.inner != nil {
		return e.inner.True()
	}
	switch {
	case e.record:
		return pythonTruth(e)
	case e.Kind == Bool && e.Absent:
		if filled, ok := e.filled(Literal(false)); ok {
			return filled
		}
		return call("truthy", Bool, e).present()
	case e.Kind == Bool:
		return e
	case e.list != nil:
		return Literal(len(e.list) > 0)
	case e.dict != nil:
		return Literal(len(e.dict) > 0)
	case e.path != nil && e.Kind == Object:
		return Literal(true)
	case e.Kind == Text && !e.Absent, e.Kind == Time:
		return Literal(true)
	case e.Kind == Text && e.isOptional():
		return binary("!=", precCompare, Bool, e, Literal(nil))
	case e.Kind == Text:
		return not(call("empty", Bool, e))
	case e.Kind == List:
		return binary(">", precCompare, Bool, call("len", Number, e), Literal(0))
	case e.Kind == Number && !e.Absent:
		return binary("!=", precCompare, Bool, e, Literal(0))
	case e.Flag, e.isOptional(), e.isCount():
		return call("truthy", Bool, e)
	}
	return binary("and", precAnd, Bool, not(call("empty", Bool, e)), call("truthy", Bool, e))
}

// present returns an expression that is never absent.
func (e Expr) present() Expr {
	e.Absent = false
	return e
}

// TrueUnlessNil returns the expression, which Python takes for true unless source is nil.
func (e Expr) TrueUnlessNil(source string) Expr {
	truth := binary("!=", precCompare, Bool, Name(source, Text), Literal(nil))
	e.truth = &truth
	return e
}

// NeverFalse returns the expression, which Python takes for true whatever its value is.
func (e Expr) NeverFalse() Expr {
	truth := Literal(true)
	e.truth = &truth
	return e
}

// untrue returns the opposite of True, in the shortest form.
func (e Expr) untrue() Expr {
	t := e.True()
	if e.inner != nil {
		return e.inner.untrue()
	}
	switch {
	case t.Constant:
		return Literal(t.Const == false)
	case t.prec == precAnd && e.Kind != Bool && e.truth == nil && !e.isOptional() && !e.isCount():
		return binary("or", precOr, Bool, call("empty", Bool, e), not(call("truthy", Bool, e)))
	}
	return not(t)
}

// asText returns the expression for the value as a template writes it.
func (e Expr) asText() Expr {
	switch {
	case e.Constant && e.Const != nil:
		s := fmt.Sprint(e.Const)
		switch v := e.Const.(type) {
		case bool:
			s = map[bool]string{true: "True", false: "False"}[v]
		case float64:
			s = Literal(v).Source
		}
		return Literal(s)
	case e.Kind == Text:
		return e
	case e.Kind == Time:
		return e.method("Format", Text, Literal("2006-01-02 15:04:05.000000-07:00"))
	case e.Kind == List || e.Kind == Object:
		return call("toJSON", Text, e)
	}
	return call("text", Text, e)
}

// concat joins texts. An absent text is empty.
func concat(a, b Expr) Expr {
	a, b = a.asText(), b.asText()
	if a.Constant && b.Constant {
		return Literal(fmt.Sprint(a.Const) + fmt.Sprint(b.Const))
	}
	if a.Constant && a.Const == "" {
		return b
	}
	if b.Constant && b.Const == "" {
		return a
	}
	out := binary("+", precAdd, Text, a.orEmpty(), b.orEmpty())
	out.Absent = false
	return out
}

// AsLiteral returns the expression for a template whose result is read as a literal of Python, as far as that
// does not depend on values: a text in quotes loses them, and a value as JSON is the value again.
func (e Expr) AsLiteral() Expr {
	if e.json != nil {
		return *e.json
	}
	parts := e.summands()
	first, begins := parts[0].Const.(string)
	last, ends := parts[len(parts)-1].Const.(string)
	if len(parts) < 2 || !begins || !ends || first == "" || last == "" {
		return e
	}
	quote := first[:1]
	if quote != `"` && quote != "'" || !strings.HasSuffix(last, quote) {
		return e
	}
	parts = slices.Clone(parts)
	parts[0], parts[len(parts)-1] = Literal(first[1:]), Literal(last[:len(last)-1])
	for _, p := range parts {
		if text, isText := p.Const.(string); isText && strings.ContainsAny(text, quote+"\\\n") {
			return e
		}
	}
	return Joined(parts)
}

// summands returns the parts of a sum.
func (e Expr) summands() []Expr {
	if e.op != "+" {
		return []Expr{e}
	}
	return append(e.sides[0].summands(), e.sides[1].summands()...)
}

// orEmpty returns "" in the place of a value of a page that is absent.
func (e Expr) orEmpty() Expr {
	if e.Absent && !e.Constant {
		return Expr{Source: e.at(precMember) + " ?? ''", Kind: Text, Page: e.Page, prec: precChoice}
	}
	return e
}

// ListOf returns the expression for a list of expressions.
func ListOf(list []Expr) Expr {
	out := Expr{Kind: List, prec: precMember, list: append([]Expr{}, list...)}
	var texts []string
	for _, e := range list {
		texts = append(texts, e.Source)
		out.Page = out.Page || e.Page
	}
	out.Source = "[" + strings.Join(texts, ", ") + "]"
	return out
}

// List returns the elements of a literal list. It returns nil for any other expression.
func (e Expr) List() []Expr { return e.list }

// Dict returns the members of a literal object. It returns nil for any other expression.
func (e Expr) Dict() map[string]Expr { return e.dict }

// Names returns the names of a literal object in their order. It returns nil for any other expression.
func (e Expr) Names() []string {
	if e.dict == nil {
		return nil
	}
	return append([]string{}, e.names...)
}
