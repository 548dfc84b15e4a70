package workbench

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/rules"
)

// An Inlay is a text that an editor shows within a line: the keys of an object that are not written, and whose
// default is in effect.
type Inlay struct {
	At    Position `json:"position"`
	Label string   `json:"label"`
	Doc   string   `json:"tooltip,omitempty"` // Markdown
}

// Inlays returns the inlays of a part of the text.
func (d *Document) Inlays(within Range) []Inlay {
	inlays := []Inlay{}
	if _, current := d.engine(); !current {
		return inlays
	}
	x := d.explained()
	inEffect := x.DefaultsInEffect()
	byNode, nodes := map[*syntax.Node][]rules.ConfiguredKey{}, []*syntax.Node{}
	paths := d.paths()
	for _, key := range rules.Builtin().ConfiguredKeys(d.outline().root.Value(), x.Dialect) {
		if key.Written || !inEffect(key.Path) {
			continue
		}
		n := paths.around(key.Path)
		if n == nil || n.Parent == nil || n.Kind != syntax.Object {
			continue
		}
		if byNode[n] == nil {
			nodes = append(nodes, n)
		}
		byNode[n] = append(byNode[n], key)
	}
	for _, n := range nodes {
		position := d.lines().position(d.endOfFirstLine(n))
		if position.Line < within.Start.Line || position.Line > within.End.Line {
			continue
		}
		inlay := Inlay{At: position}
		var labels []string
		for _, key := range byNode[n] {
			name := strings.TrimPrefix(strings.TrimPrefix(key.Path, n.Path()), ".")
			labels = append(labels, fmt.Sprintf("%s: %s", name, clipped(inline(key.Default))))
			inlay.Doc += fmt.Sprintf("**%s**: %s by default; %s\n\n", name, inline(key.Default), key.Doc)
		}
		inlay.Label, inlay.Doc = "default "+strings.Join(labels, ", "), strings.TrimSpace(inlay.Doc)
		inlays = append(inlays, inlay)
	}
	return inlays
}

// endOfFirstLine returns the end of the line in which an object, or its key, begins.
func (d *Document) endOfFirstLine(n *syntax.Node) int {
	end := n.Start
	if n.KeyStart >= 0 {
		end = n.KeyStart
	}
	if i := strings.IndexByte(d.Text[end:], '\n'); i >= 0 {
		return end + len(strings.TrimRight(d.Text[end:end+i], "\r"))
	}
	return len(d.Text)
}

// A pathTable has the nodes of a text by their config paths.
type pathTable map[string]*syntax.Node

func (d *Document) paths() pathTable {
	table := pathTable{}
	d.outline().root.Each(func(n *syntax.Node) { table[n.Path()] = n })
	return table
}

// around returns the innermost object in the text that would contain a key that the text does not have.
func (t pathTable) around(path string) *syntax.Node {
	for path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		if n := t[path]; n != nil {
			return n
		}
	}
	return nil
}
