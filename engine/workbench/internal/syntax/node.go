// Package syntax parses the text of a configuration, in JSON or YAML, to a tree whose nodes have positions. It
// accepts incomplete and malformed text: the tree then has the parts that were recognized. For valid text it has
// the same values as the parsers of packages rules and rules/yaml.
package syntax

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Kind is a kind of node.
type Kind uint8

// The kinds.
const (
	Missing Kind = iota // a value that is not written
	Scalar
	List
	Object
	Alias // *name
)

// A Style is the way in which a scalar is written.
type Style uint8

// The styles.
const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
	Block // | or >
)

// A Node is a value, with the key or the index under which its parent has it.
type Node struct {
	Kind       Kind
	Style      Style
	Start, End int // of the value, in bytes; of a missing one, the white space in which it could be

	Name             string // key; "" in a list
	KeyStart, KeyEnd int    // of the key as it is written; -1 without one
	Colon            bool   // whether a colon follows the key
	Index            int    // position in a list; -1 in an object
	Parent           *Node
	Inner            []*Node // values of a list or an object, in their order

	Text   string // of a scalar, without quotes and escapes; of an alias, its name
	Anchor string // &name

	Flow   bool // a list or an object in brackets
	Closed bool // whether the brackets, or the quotes, are closed
	Column int  // of keys or dashes that are not in brackets, in bytes

	offsets []int // offset of each byte of Text, and of its end; nil if these are Start and following
	text    bool  // a tag says that it is a text
}

// Source returns the offset in the source of an offset in Text.
func (n *Node) Source(offset int) int {
	offset = min(max(offset, 0), len(n.Text))
	if n.offsets == nil {
		return n.Start + offset
	}
	return n.offsets[offset]
}

// Within returns the offset in Text of an offset in the source: the nearest one at it or after it.
func (n *Node) Within(source int) int {
	if n.offsets == nil {
		return min(max(source-n.Start, 0), len(n.Text))
	}
	i, _ := slices.BinarySearch(n.offsets, source)
	return min(i, len(n.Text))
}

// Verbatim reports whether a part of Text can be replaced in the source by a text without quotes and
// backslashes: each of its bytes is one of the source.
func (n *Node) Verbatim(from, to int) bool {
	return n.Source(to)-n.Source(from) == to-from
}

// Steps returns the keys and indexes that lead from the root to the node.
func (n *Node) Steps() []string {
	var steps []string
	for ; n.Parent != nil; n = n.Parent {
		if n.Index >= 0 {
			steps = append(steps, strconv.Itoa(n.Index))
		} else {
			steps = append(steps, n.Name)
		}
	}
	slices.Reverse(steps)
	return steps
}

// Path returns the config path of the node.
func (n *Node) Path() string {
	if n.Parent == nil {
		return ""
	}
	if n.Index >= 0 {
		return diag.Index(n.Parent.Path(), n.Index)
	}
	return diag.Join(n.Parent.Path(), n.Name)
}

// Member returns the last member with a name, or nil.
func (n *Node) Member(name string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for _, m := range slices.Backward(n.Inner) {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// At returns the node that keys and indexes lead to, or nil.
func (n *Node) At(steps ...string) *Node {
	for _, step := range steps {
		switch {
		case n == nil:
			return nil
		case n.Kind == List:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.Inner) {
				return nil
			}
			n = n.Inner[i]
		default:
			n = n.Member(step)
		}
	}
	return n
}

// Each calls f with the node and all nodes in it.
func (n *Node) Each(f func(*Node)) {
	f(n)
	for _, inner := range n.Inner {
		inner.Each(f)
	}
}

// maxAliases bounds the values that aliases expand to.
const maxAliases = 10_000

// Value returns the value of the node as the parsers return it, with aliases and merge keys.
func (n *Node) Value() any {
	if n.Kind == Scalar {
		return n.Literal()
	}
	root := n
	for root.Parent != nil {
		root = root.Parent
	}
	r := &resolver{anchors: map[string]*Node{}}
	root.Each(func(n *Node) {
		if n.Anchor != "" {
			r.anchors[n.Anchor] = n
		}
	})
	return r.value(n, 0)
}

type resolver struct {
	anchors map[string]*Node
	aliased int // values within aliases
}

func (r *resolver) value(n *Node, depth int) any {
	if depth > 0 {
		if r.aliased++; r.aliased > maxAliases {
			return nil
		}
	}
	switch n.Kind {
	case List:
		list := []any{}
		for _, inner := range n.Inner {
			list = append(list, r.value(inner, depth))
		}
		return list
	case Object:
		return r.object(n, depth)
	case Scalar:
		return n.Literal()
	case Alias:
		if target := r.anchors[n.Text]; target != nil && depth < rules.MaxConfigDepth {
			return r.value(target, depth+1)
		}
	}
	return nil
}

// merge is the key whose value gives members.
const merge = "<<"

func (r *resolver) object(n *Node, depth int) any {
	own, merged := rules.Object{}, rules.Object{}
	for _, m := range n.Inner {
		v := r.value(m, depth)
		if m.Name != merge {
			own = own.With(m.Name, v)
			continue
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for _, one := range list {
			from, _ := one.(rules.Object)
			for _, member := range from {
				if _, has := merged.Get(member.Name); !has {
					merged = append(merged, member)
				}
			}
		}
	}
	for _, m := range merged {
		if _, has := own.Get(m.Name); !has {
			own = append(own, m)
		}
	}
	return own
}

// Literal returns the value of a scalar.
func (n *Node) Literal() any {
	if n.Style != Plain || n.text {
		return n.Text
	}
	switch n.Text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if i, err := strconv.Atoi(n.Text); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(n.Text, 64); err == nil && strings.IndexAny(n.Text, "0123456789.+-") == 0 {
		return f
	}
	return n.Text
}
