// Package jinja translates Jinja templates to expressions of the rule language.
//
// Templates are parsed by the parser of gonja, and are never run. A [Scope] gives the names that a template
// reads, each with an expression for it and for its members. In Python an empty text, zero and an empty list
// are false; this is written out only where a value may be one of them.
//
// # Decisions
//
// The parser of gonja lacks conditional expressions within others, and reads the escapes of texts as
// Go does. Both are rewritten in the tokens before it parses, so that the grammar of the library can stay.
package jinja

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// A Scope says what a template may read, by the names in it.
type Scope map[string]Expr

// With returns the scope with a further name.
func (s Scope) With(name string, e Expr) Scope {
	out := maps.Clone(s)
	if out == nil {
		out = Scope{}
	}
	out[name] = e
	return out
}

// IsTemplate reports whether a text has an expression, a statement or a comment of Jinja.
func IsTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// Translate translates a template. If the template is a single expression, the result has its kind; otherwise
// it is a text. The error names the part without a counterpart.
func Translate(text string, scope Scope) (Expr, error) {
	if !IsTemplate(text) {
		return Literal(text), nil
	}
	parts, err := Parts(text, scope)
	if err != nil {
		return Expr{}, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return Joined(parts), nil
}

// Joined returns the text of several parts.
func Joined(parts []Expr) Expr {
	out := Literal("")
	for _, p := range parts {
		out = concat(out, p)
	}
	return out
}

// Parts translates a template to the texts and expressions that it has one after another.
func Parts(text string, scope Scope) (parts []Expr, err error) {
	defer func() {
		if reason := recover(); isTooLong(reason) {
			parts, err = nil, fmt.Errorf("%w: %s", errTooLong, shown(text))
		} else if reason != nil {
			panic(reason)
		}
	}()
	parsed, err := parse(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("the template %s cannot be read: %w", shown(text), err)
	}
	t := &translator{template: parsed, scope: maps.Clone(scope)}
	if t.scope == nil {
		t.scope = Scope{}
	}
	parts, err = t.body(parsed.nodes)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, shown(text))
	}
	length := 0
	for _, p := range parts {
		length += len(p.Source)
	}
	if length > maxSource {
		return nil, fmt.Errorf("%w: %s", errTooLong, shown(text))
	}
	return parts, nil
}

// isTooLong reports whether a panic says that an expression is too long.
func isTooLong(reason any) bool {
	err, isError := reason.(error)
	return isError && errors.Is(err, errTooLong)
}

func shown(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

type translator struct {
	*template
	scope Scope
	depth int
}

// body translates the nodes of a template one after another.
func (t *translator) body(list []nodes.Node) ([]Expr, error) {
	var parts []Expr
	add := func(e Expr) {
		if n := len(parts); n > 0 && parts[n-1].Constant && e.Constant {
			parts[n-1] = concat(parts[n-1], e)
		} else if !e.Constant || e.Const != "" {
			parts = append(parts, e)
		}
	}
	for _, n := range list {
		switch n := n.(type) {
		case nil:
		case *nodes.Comment:
		case *nodes.Data:
			text := n.Data.Val
			if n.Trim.Left || n.Data.Trim {
				text = strings.TrimLeft(text, " \t\r\n")
			}
			if n.Trim.Right {
				text = strings.TrimRight(text, " \t\r\n")
			}
			add(Literal(text))
		case *nodes.Output:
			e, err := t.expr(n.Expression)
			if err != nil {
				return nil, err
			}
			add(e)
		case *nodes.ControlStructureBlock:
			e, err := t.statement(n)
			if err != nil {
				return nil, err
			}
			add(e)
		default:
			return nil, fmt.Errorf("%T has no counterpart", n)
		}
	}
	return parts, nil
}

// statement translates if, and reads set.
func (t *translator) statement(n *nodes.ControlStructureBlock) (Expr, error) {
	switch n := n.ControlStructure.(type) {
	case *setNode:
		v, err := t.expr(n.value)
		if err == nil {
			t.scope[n.name] = v
		}
		return Literal(""), err
	case *ifNode:
		out := Literal(nil)
		for i, v := range slices.Backward(n.bodies) {
			parts, err := t.body(v.Nodes)
			if err != nil {
				return Expr{}, err
			}
			body := Literal(nil)
			if len(parts) == 1 {
				body = trimmed(parts[0])
			} else if len(parts) > 1 {
				body = trimmed(Joined(parts))
			}
			if i >= len(n.conditions) {
				out = body
				continue
			}
			c, err := t.expr(n.conditions[i])
			if err != nil {
				return Expr{}, err
			}
			out = t.choice(c, body, out)
		}
		return out, nil
	}
	return Expr{}, fmt.Errorf("the statement %s has no counterpart", n.Name)
}

// trimmed leaves out the spaces around a constant text.
func trimmed(e Expr) Expr {
	if text, ok := e.Const.(string); ok && e.Constant {
		return Literal(strings.TrimSpace(text))
	}
	return e
}

// choice translates "a if c else b".
func (t *translator) choice(c, a, b Expr) Expr {
	truth := c.True()
	if truth.Constant {
		if truth.Const == true {
			return a
		}
		return b
	}
	if c.isOptional() && c.Source == a.Source {
		return or(c, b)
	}
	if b.Kind == None && c.Root != "" && c.Root == a.Root && len(a.Keys) > len(c.Keys) && slices.Equal(a.Keys[:len(c.Keys)], c.Keys) {
		return a // it is nil without c
	}
	if a.Kind == Bool && b.Kind == Bool && a.Constant && b.Constant && a.Const != b.Const {
		if a.Const == true {
			return truth
		}
		return c.untrue()
	}
	return choose(truth, a, b)
}

func (t *translator) exprs(list []nodes.Expression) ([]Expr, error) {
	var out []Expr
	for _, n := range list {
		e, err := t.expr(n)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// expr translates an expression.
func (t *translator) expr(n nodes.Node) (Expr, error) {
	t.depth++
	defer func() { t.depth-- }()
	if t.depth > 4*maxNesting {
		return Expr{}, errors.New("an expression is nested too deeply")
	}
	switch n := n.(type) {
	case *nodes.String:
		return Literal(t.text(n)), nil
	case *nodes.Integer:
		return Literal(n.Val), nil
	case *nodes.Float:
		return Literal(n.Val), nil
	case *nodes.Bool:
		return Literal(n.Val), nil
	case *nodes.None:
		return Literal(nil), nil
	case *nodes.Name, *nodes.GetAttribute, *nodes.GetItem:
		return t.access(n)
	case *nodes.List:
		return t.listOf(n.Val)
	case *nodes.Tuple:
		return t.listOf(n.Val)
	case *nodes.Dict:
		return t.dict(n)
	case *nodes.Negation:
		e, err := t.expr(n.Term)
		return e.untrue(), err
	case *nodes.UnaryExpression:
		return t.unary(n)
	case *nodes.BinaryExpression:
		return t.binary(n)
	case *nodes.FilteredExpression:
		return t.filtered(n)
	case *nodes.TestExpression:
		return t.test(n)
	case *nodes.Call:
		return t.called(n)
	case *nodes.GetSlice:
		return t.slice(n)
	}
	return Expr{}, fmt.Errorf("%T has no counterpart", n)
}

func (t *translator) listOf(list []nodes.Expression) (Expr, error) {
	elements, err := t.exprs(list)
	if err != nil {
		return Expr{}, err
	}
	return ListOf(elements), nil
}

func (t *translator) dict(n *nodes.Dict) (Expr, error) {
	out := Expr{Kind: Object, prec: precMember, dict: map[string]Expr{}}
	var texts []string
	for _, p := range n.Pairs {
		k, err := t.expr(p.Key)
		if err != nil {
			return Expr{}, err
		}
		v, err := t.expr(p.Value)
		if err != nil {
			return Expr{}, err
		}
		name, isText := k.Const.(string)
		if !isText {
			return Expr{}, errors.New("the key of an object is computed, which has no counterpart")
		}
		out.dict[name] = v
		out.names = append(out.names, name)
		out.Page = out.Page || v.Page
		texts = append(texts, importer.Quote(name)+": "+v.Source)
	}
	out.Source = "{" + strings.Join(texts, ", ") + "}"
	return out, nil
}

func (t *translator) unary(n *nodes.UnaryExpression) (Expr, error) {
	e, err := t.expr(n.Term)
	if err != nil || !n.Negative {
		return e, err
	}
	switch v := e.Const.(type) {
	case int:
		return Literal(-v), nil
	case float64:
		return Literal(-v), nil
	}
	e.Source, e.prec, e.Kind = "-"+e.at(precMember), precMultiply, Number
	return e, nil
}
