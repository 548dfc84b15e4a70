package workbench

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// Definition returns the places that define the name at a position: a job, a scroller, an input, a variable of
// for, state or keep.
func (d *Document) Definition(at Position) []Range {
	ranges := []Range{}
	for _, m := range d.mentions(at) {
		if m.defines {
			ranges = append(ranges, d.lines().span(m.start, m.end))
		}
	}
	return ranges
}

// References returns all places of the name at a position, including its definition.
func (d *Document) References(at Position) []Range {
	ranges := []Range{}
	for _, m := range d.mentions(at) {
		ranges = append(ranges, d.lines().span(m.start, m.end))
	}
	return ranges
}

func (d *Document) mentions(at Position) []mention {
	m := d.nameIndex().at(d.lines().offset(at))
	if m == nil {
		return nil
	}
	return d.nameIndex().same(m)
}

// Renamable returns the range of the name at a position and the name. It reports false if there is none that
// can be renamed.
func (d *Document) Renamable(at Position) (Range, string, bool) {
	m := d.nameIndex().at(d.lines().offset(at))
	if m == nil || !slices.ContainsFunc(d.nameIndex().same(m), func(m mention) bool { return m.defines }) {
		return Range{}, "", false
	}
	return d.lines().span(m.start, m.end), m.name, true
}

// Rename returns the edits that rename the job, scroller, input or variable at a position.
func (d *Document) Rename(at Position, name string) ([]Edit, error) {
	m := d.nameIndex().at(d.lines().offset(at))
	if m == nil {
		return nil, errors.New("no name of a job, a scroller, an input or a variable stands here")
	}
	mentions := d.nameIndex().same(m)
	if err := d.checkName(m, name, mentions); err != nil {
		return nil, err
	}
	var edits []Edit
	for _, m := range mentions {
		if m.isKey {
			edits = append(edits, Edit{Range: d.lines().span(m.start, m.end), Text: d.spelledKey(m.start, name)})
			continue
		}
		if !m.node.Verbatim(m.from, m.to) {
			return nil, fmt.Errorf("%s has an escape here: rename it by hand", m.name)
		}
		edits = append(edits, d.sourceEdit(m.node, m.from, m.to, name))
	}
	if found := newNameIndex(newOutline(Apply(d.Text, edits))).count(m.kind, name); found != len(mentions) {
		return nil, fmt.Errorf("%q cannot be written here without quotes", name)
	}
	return edits, nil
}

// count returns the number of mentions of a name.
func (index *nameIndex) count(kind nameKind, name string) (n int) {
	for _, m := range index.mentions {
		if m.kind == kind && m.name == name {
			n++
		}
	}
	return n
}

// checkName says why a name cannot take the place of another.
func (d *Document) checkName(m *mention, name string, all []mention) error {
	scopes := []string{}
	for _, m := range all {
		if m.defines && !slices.Contains(scopes, m.scope) {
			scopes = append(scopes, m.scope)
		}
		if m.kind == jobName && m.defines && m.node.Name == "endpoint" {
			return errors.New("the job has no id, and its endpoint stands in for it: write an id")
		}
	}
	isWord := m.kind != jobName && m.kind != scrollerName
	switch {
	case len(scopes) == 0:
		return fmt.Errorf("%s %s is given nowhere", m.kind, m.name)
	case len(scopes) > 1:
		return fmt.Errorf("several places give the name %s, and others may mean any of them", m.name)
	case name == "", isWord && !keypath.IsExpressionName(name):
		return fmt.Errorf("%q is not a name: write letters, digits and _", name)
	case name != m.name && slices.Contains(d.nameIndex().names(m.kind), name):
		return fmt.Errorf("there is a %s %s already", m.kind, name)
	case m.kind == variableName && d.reserved(name):
		return fmt.Errorf("expressions read something else as %s", name)
	}
	return nil
}

// reserved reports whether expressions know a name.
func (d *Document) reserved(name string) bool {
	return slices.ContainsFunc(rules.ContextFields(), func(f rules.ContextField) bool { return f.Name == name })
}

// spelledKey returns a key as it is written in the place of another one.
func (d *Document) spelledKey(at int, name string) string {
	if quote := d.Text[at]; quote == '"' || quote == '\'' {
		return string(quote) + name + string(quote)
	}
	return name
}
