package jinja

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nikolalohinski/gonja/v2/nodes"
)

// access translates a name with the members that are read of it: a.b["c"][0].
func (t *translator) access(n nodes.Node) (Expr, error) {
	switch n := n.(type) {
	case *nodes.Name:
		return t.name(n.Name.Val)
	case *nodes.GetAttribute:
		key := n.Attribute
		if key == "" {
			key = fmt.Sprint(n.Index)
		}
		return t.member(n.Node, Literal(key))
	case *nodes.GetItem:
		if n.Arg == nil {
			return Expr{}, errors.New("an index is missing")
		}
		key, err := t.expr(n.Arg)
		if err != nil {
			return Expr{}, err
		}
		return t.member(n.Node, key)
	}
	return t.expr(n)
}

func (t *translator) name(name string) (Expr, error) {
	switch name {
	case "none", "None", "null":
		return Literal(nil), nil
	case "true", "True":
		return Literal(true), nil
	case "false", "False":
		return Literal(false), nil
	}
	e, ok := t.scope[name]
	if !ok {
		return Expr{}, fmt.Errorf("the name %s is unknown", name)
	}
	return e, nil
}

// member translates the access to a member of the value of a node.
func (t *translator) member(of nodes.Node, key Expr) (Expr, error) {
	e, err := t.expr(of)
	if err != nil {
		return Expr{}, err
	}
	return memberOf(e, key)
}

// memberOf returns the member of an object or a list.
func memberOf(e, key Expr) (Expr, error) {
	if e.Kind == None {
		return Literal(nil), nil
	}
	if key.Constant {
		text := fmt.Sprint(key.Const)
		if e.path != nil {
			return below(e.path, []string{text})
		}
		if e.dict != nil {
			if v, ok := e.dict[text]; ok {
				return v, nil
			}
			return Literal(nil), nil
		}
		if i, isInt := key.Const.(int); isInt && e.list != nil {
			if i < 0 {
				i += len(e.list)
			}
			if i < 0 || i >= len(e.list) {
				return Literal(nil), nil
			}
			return e.list[i], nil
		}
		out := Path(e.at(precMember))
		m, err := below(out.path, []string{text})
		m.Page = e.Page
		return m, err
	}
	if e.path != nil && e.Kind == Object {
		return Expr{}, errors.New("a setting is read by a computed name, which has no counterpart")
	}
	out := Expr{Source: e.at(precMember) + "[" + key.Source + "]", prec: precMember, Page: e.Page || key.Page, Absent: true}
	out.path = func(keys []string) (Expr, error) {
		m, err := Path(out.Source).path(keys)
		m.Page = out.Page
		return m, err
	}
	return out, nil
}

// below returns the value at keys. Its members are the values at longer paths.
func below(path func([]string) (Expr, error), keys []string) (Expr, error) {
	e, err := path(keys)
	if err != nil || e.path != nil || e.Constant {
		return e, err
	}
	if e.Kind == Any || e.Kind == Object {
		e.path = func(more []string) (Expr, error) {
			return path(append(slices.Clip(keys), more...))
		}
	}
	return e, nil
}

// Member returns the member of an object or a list, by a name or an index.
func Member(e, key Expr) (Expr, error) { return memberOf(e, key) }
