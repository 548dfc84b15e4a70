package workbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A Hover says what stands at a place.
type Hover struct {
	Range Range  `json:"range"`
	Text  string `json:"text"` // Markdown
}

// Hover documents the word at a position: its documentation, its type, its default, and the
// values that recorded responses have. It returns nil if nothing is known.
func (d *Document) Hover(position Position) *Hover {
	s := d.spotAt(d.lines().offset(position))
	switch {
	case s == nil:
		return nil
	case s.isKey():
		return d.keyHover(s)
	}
	if e := s.expression(); e != nil {
		return d.expressionHover(e)
	}
	if m := d.nameIndex().at(s.offset); m != nil && m.kind == jobName {
		return d.hover(s.start, s.end, d.jobText(m.name))
	}
	for _, v := range s.slot.Field.Values {
		if v == s.node.Text && s.slot.Field.Name == "method" {
			return d.hover(s.start, s.end, "method **"+v+"**: "+methodDoc(v, s.slot.Dialect))
		}
	}
	return nil
}

func (d *Document) hover(start, end int, text string) *Hover {
	if text == "" {
		return nil
	}
	return &Hover{Range: d.lines().span(start, end), Text: text}
}

// keyHover describes the key at a place.
func (d *Document) keyHover(s *spot) *Hover {
	if s.member == nil {
		return nil
	}
	slot := s.slot.Step(s.member.Name)
	if !slot.Described || slot.Field.Name == "" {
		return nil
	}
	text := "**" + s.member.Name + "**"
	if slot.Field.Kind != rules.KindAny && !s.slot.HasFreeKeys() {
		text += ": " + kindOf(slot.Field)
	}
	if slot.Field.Doc != "" {
		text += "\n\n" + slot.Field.Doc
	}
	if m := d.nameIndex().at(s.start); m != nil && m.isKey {
		text += fmt.Sprintf("\n\n%s, which is named %s", m.kind, counted(len(d.nameIndex().same(m))-1))
	}
	return d.hover(s.start, s.end, text)
}

func counted(n int) string {
	switch n {
	case 0:
		return "nowhere else"
	case 1:
		return "in one other place"
	}
	return fmt.Sprintf("in %d other places", n)
}

// jobText describes a job, as explain does.
func (d *Document) jobText(id string) string {
	x := d.explained()
	if x == nil {
		return ""
	}
	for _, job := range x.Jobs {
		if job.Job == id {
			return "job **" + id + "**: " + job.Summary
		}
	}
	return ""
}

// expressionHover describes the name at a place in an expression.
func (d *Document) expressionHover(e *expressionSpot) *Hover {
	if e.text || e.from == e.to {
		return nil
	}
	name := e.source[e.from:e.to]
	text := d.nameText(e, name)
	return d.hover(e.node.Source(e.base+e.from), e.node.Source(e.base+e.to), text)
}

func (d *Document) nameText(e *expressionSpot, name string) string {
	job := d.jobHere(e.node)
	if e.root == "" {
		if i := slices.IndexFunc(rules.ContextFields(), func(f rules.ContextField) bool { return f.Name == name }); i >= 0 {
			return fieldText(name, rules.ContextFields()[i])
		}
		for _, f := range functions(e.slot.Dialect) {
			if f.Name == name {
				return fmt.Sprintf("`%s`\n\n%s\n\n`%s` is `%s`", f.Signature, f.Doc, f.Example, f.Result)
			}
		}
		if _, known := d.nameIndex().variable(d.outline().jobOf(e.node), name); known {
			return "**" + name + "**: variable of `for`"
		}
		return ""
	}
	fields, s, names := d.members(e.spot, job, e.root, e.path)
	path := keypath.Format(e.root, append(slices.Clone(e.path), name))
	for _, f := range fields {
		if f.Name == name {
			return fieldText(path, f)
		}
	}
	if slices.Contains(names, name) {
		return "**" + path + "**"
	}
	if member := shapeAt(s, []string{name}); member != nil {
		return "**" + path + "**: " + recorded(name, member)
	}
	if d.Recording != nil && s != nil {
		return "**" + path + "**: not in the recorded responses"
	}
	return ""
}

func fieldText(name string, f rules.ContextField) string {
	text := "**" + name + "**"
	if kind := typeOf(f); kind != "" {
		text += ": " + kind
	}
	return text + "\n\n" + f.Doc
}

// recorded describes recorded values.
func recorded(name string, s *shape.Shape) string {
	text := typeName(s)
	if sample := sampleOf(name, s); sample != "" {
		text += "\n\nrecorded: `" + strings.ReplaceAll(sample, "`", "'") + "`"
	}
	return text
}
