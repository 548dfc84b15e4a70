package workbench

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
)

// An outline holds the facts about a text that need no compilation.
type outline struct {
	root    *syntax.Node
	slot    rules.Slot // of the root
	anchors map[string]*syntax.Node
	uses    map[string]*syntax.Node // the first alias of each anchor
}

func newOutline(text string) *outline {
	o := &outline{root: syntax.Parse(text), anchors: map[string]*syntax.Node{}, uses: map[string]*syntax.Node{}}
	o.root.Each(func(n *syntax.Node) {
		if n.Anchor != "" {
			o.anchors[n.Anchor] = n
		}
		if n.Kind == syntax.Alias && o.uses[n.Text] == nil {
			o.uses[n.Text] = n
		}
	})
	o.slot = rules.Builtin().Slot(o.root.Value())
	return o
}

// mergeKey is the merge key of YAML.
const mergeKey = "<<"

// steps returns the keys and indexes that lead to a node. Those of a value under an anchor, which has no place
// of its own, lead to the place of its alias.
func (o *outline) steps(n *syntax.Node) []string { return o.stepsOf(n, 0) }

func (o *outline) stepsOf(n *syntax.Node, depth int) []string {
	var keys []string
	for node := n; node != nil && node.Parent != nil; node = node.Parent {
		if alias := o.uses[node.Anchor]; node.Anchor != "" && alias != nil && depth < 8 && o.shared(node) {
			for alias.Parent != nil && (alias.Name == mergeKey || alias.Index >= 0 && alias.Parent.Name == mergeKey) {
				alias = alias.Parent
			}
			return append(o.stepsOf(alias, depth+1), keys...)
		}
		keys = append(node.Steps()[len(node.Parent.Steps()):], keys...)
	}
	return keys
}

// shared reports whether a node is below a key of the root that begins with x-, which no table describes.
func (o *outline) shared(n *syntax.Node) bool {
	steps := n.Steps()
	return strings.HasPrefix(steps[0], "x-") || steps[0] == "parameters" && len(steps) > 1 && strings.HasPrefix(steps[1], "x-")
}

// slotAt returns the place that keys and indexes lead to.
func (o *outline) slotAt(steps []string) rules.Slot {
	slot := o.slot
	for _, step := range steps {
		slot = slot.Step(step)
	}
	return slot
}

// inner returns the steps below the outer object parameters, if there is one.
func inner(steps []string) []string {
	if len(steps) > 0 && steps[0] == "parameters" {
		return steps[1:]
	}
	return steps
}

// config returns the object that has api and config.
func (o *outline) config() *syntax.Node {
	if n := o.root.Member("parameters"); n != nil {
		return n
	}
	return o.root
}

// A spot is a place in the text, with the node at it and the kinds of values allowed there.
type spot struct {
	offset int
	node   *syntax.Node // the value at the place, possibly a missing one; nil at a key
	member *syntax.Node // member whose key the place is in; nil at a value, or if no key is there yet
	object *syntax.Node // at a key: the object that has or would have the key
	start  int          // of the text there
	end    int
	steps  []string   // of the value or, at a key, of the object
	slot   rules.Slot // the same
}

// isKey reports whether the place is at a key.
func (s *spot) isKey() bool { return s.object != nil }

// spotAt returns the place at an offset. It returns nil in a comment, and where nothing may stand.
func (d *Document) spotAt(offset int) *spot {
	o := d.outline()
	if d.inComment(offset) {
		return nil
	}
	s := o.find(o.root, offset)
	if s == nil {
		s = d.blank(offset)
	}
	if s == nil {
		return nil
	}
	s.offset = offset
	node := s.node
	if s.isKey() {
		node = s.object
	}
	s.steps = o.steps(node)
	s.slot = o.slotAt(s.steps)
	return s
}

// inComment reports whether an offset is after the # of a comment.
func (d *Document) inComment(offset int) bool {
	start := strings.LastIndexByte(d.Text[:offset], '\n') + 1
	return strings.HasPrefix(strings.TrimLeft(d.Text[start:offset], " \t"), "#")
}

// find returns the place in a node.
func (o *outline) find(n *syntax.Node, offset int) *spot {
	for _, inner := range n.Inner {
		if inner.KeyStart >= 0 && inner.KeyStart <= offset && offset <= inner.KeyEnd {
			return &spot{member: inner, object: n, start: inner.KeyStart, end: inner.KeyEnd}
		}
		if offset < inner.Start || offset > inner.End {
			continue
		}
		switch inner.Kind {
		case syntax.Object, syntax.List:
			if s := o.find(inner, offset); s != nil {
				return s
			}
		case syntax.Missing:
			if inner.KeyStart >= 0 && !inner.Colon {
				continue
			}
			return &spot{node: inner, start: offset, end: offset}
		default:
			return &spot{node: inner, start: inner.Start, end: inner.End}
		}
	}
	if n.Flow && n.Start < offset && (offset < n.End || !n.Closed) {
		if n.Kind == syntax.Object {
			return &spot{object: n, start: offset, end: offset}
		}
		return &spot{node: &syntax.Node{Start: offset, End: offset, KeyStart: -1, Index: len(n.Inner), Parent: n}, start: offset, end: offset}
	}
	if n.Parent == nil && n.Kind == syntax.Scalar && offset <= n.End { // the beginning of a text
		return &spot{object: n, start: n.Start, end: n.End}
	}
	return nil
}

// blank returns the place in a line that has nothing but white space before an offset: by its column.
func (d *Document) blank(offset int) *spot {
	o := d.outline()
	start := strings.LastIndexByte(d.Text[:offset], '\n') + 1
	if strings.TrimSpace(d.Text[start:offset]) != "" || o.root.Flow {
		return nil
	}
	column := offset - start
	last := o.root
	o.root.Each(func(n *syntax.Node) {
		if at := max(n.KeyStart, n.Start); at < start && (n.KeyStart >= 0 && n.KeyStart < start || n.Start < start) && !inFlow(n) {
			if max(last.KeyStart, last.Start) <= at {
				last = n
			}
		}
	})
	for n := last; n.Parent != nil; n = n.Parent {
		switch own := n.Parent.Column; {
		case n.KeyStart >= 0 && own == column:
			return &spot{object: n.Parent, start: offset, end: offset}
		case own < column && n.Kind != syntax.List:
			return &spot{object: n, start: offset, end: offset}
		case n.Index >= 0 && own == column:
			return nil // a dash comes first
		}
	}
	return &spot{object: o.root, start: offset, end: offset}
}

// inFlow reports whether a node is within brackets.
func inFlow(n *syntax.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.Flow {
			return true
		}
	}
	return false
}

// An expressionSpot is a place in an expression of the configuration.
type expressionSpot struct {
	*spot
	source string
	base   int // offset of the source in the text of the node
	at     int // offset in the source
	chain
}

// expression returns the place in the expression that a place is in, or nil.
func (s *spot) expression() *expressionSpot {
	if s.isKey() || s.node.Kind != syntax.Scalar {
		return nil
	}
	offset := s.node.Within(s.offset)
	for _, part := range expressionsIn(s.node, s.slot) {
		if part[0] <= offset && offset <= part[1] {
			e := &expressionSpot{spot: s, source: s.node.Text[part[0]:part[1]], base: part[0], at: offset - part[0]}
			e.chain = chainAt(e.source, e.at)
			return e
		}
	}
	return nil
}

// sourceEdit returns the edit that replaces a part of a source by a text, escaped for the quotes around the source.
func (d *Document) sourceEdit(n *syntax.Node, from, to int, text string) Edit {
	if n.Style == syntax.DoubleQuoted {
		text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
	} else if n.Style == syntax.SingleQuoted {
		text = strings.ReplaceAll(text, "'", "''")
	}
	return Edit{Range: d.lines().span(n.Source(from), n.Source(to)), Text: text}
}

// expressionsIn returns the expressions in a scalar: offsets in its text.
func expressionsIn(n *syntax.Node, slot rules.Slot) [][2]int {
	switch slot.Sources {
	case rules.WholeSource:
		if isConstant(n, slot) {
			return nil
		}
		return [][2]int{{0, len(n.Text)}}
	case rules.BraceSource:
		return holes(n.Text)
	}
	return nil
}

// isConstant reports whether a scalar is not an expression where one may stand: a date, a duration, a number.
func isConstant(n *syntax.Node, slot rules.Slot) bool {
	if _, isText := n.Literal().(string); !isText && n.Style == syntax.Plain {
		return true
	}
	if !slices.Contains([]rules.Kind{rules.KindMomentOrSource, rules.KindWait}, slot.Field.Kind) {
		return false
	}
	_, noTime := times.Parse(n.Text)
	_, noDuration := rules.ParseDuration(n.Text)
	return noTime == nil || noDuration == nil
}

// expressions calls f with every expression of the configuration: its offsets in the text of a node.
func (o *outline) expressions(f func(n *syntax.Node, slot rules.Slot, from, to int)) {
	var walk func(n *syntax.Node, slot rules.Slot)
	walk = func(n *syntax.Node, slot rules.Slot) {
		if n.Anchor != "" && n.Parent != nil && o.shared(n) && o.uses[n.Anchor] != nil {
			slot = o.slotAt(o.steps(n))
		}
		if n.Kind == syntax.Scalar {
			for _, part := range expressionsIn(n, slot) {
				f(n, slot, part[0], part[1])
			}
			return
		}
		for _, inner := range n.Inner {
			steps := inner.Steps()
			walk(inner, slot.Step(steps[len(steps)-1]))
		}
	}
	walk(o.root, o.slot)
}
