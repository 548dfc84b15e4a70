package workbench

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
)

// A Symbol is a part of a configuration, for an outline.
type Symbol struct {
	Name     string   `json:"name"`
	Detail   string   `json:"detail,omitempty"`
	Kind     string   `json:"kind"` // object, list, value, job, test, input or scroller
	Range    Range    `json:"range"`
	Selected Range    `json:"selectionRange"` // of its name
	Inner    []Symbol `json:"children,omitempty"`
}

// maxSymbols is the number of symbols of a document.
const maxSymbols = 20_000

// Symbols returns the outline of the text, which may have mistakes.
func (d *Document) Symbols() []Symbol {
	left := maxSymbols
	return d.symbols(d.outline().root, &left)
}

func (d *Document) symbols(n *syntax.Node, room *int) []Symbol {
	symbols := []Symbol{}
	for _, inner := range n.Inner {
		if *room--; *room < 0 {
			break
		}
		start, end := inner.Start, max(inner.Start, inner.End)
		if inner.KeyStart >= 0 {
			start, end = inner.KeyStart, max(end, inner.KeyEnd)
		}
		s := Symbol{Name: inner.Name, Kind: kindOfSymbol(inner), Range: d.lines().span(start, end)}
		s.Selected = d.lines().span(start, start)
		if inner.KeyStart >= 0 {
			s.Selected = d.lines().span(inner.KeyStart, inner.KeyEnd)
		} else {
			s.Name = nameOfElement(inner)
		}
		if s.Name == "" {
			s.Name = `""`
		}
		if inner.Kind == syntax.Scalar {
			s.Detail = clipped(inner.Text)
		} else {
			s.Inner = d.symbols(inner, room)
		}
		symbols = append(symbols, s)
	}
	return symbols
}

// kindOfSymbol returns the kind of a part.
func kindOfSymbol(n *syntax.Node) string {
	switch parent := n.Parent; {
	case n.Index >= 0 && parent.Name == "jobs":
		return "job"
	case n.Index >= 0 && parent.Name == "tests":
		return "test"
	case parent.Name == "inputs" && parent.Parent != nil && len(inner(parent.Steps())) == 1:
		return "input"
	case parent.Name == "scrollers":
		return "scroller"
	case n.Kind == syntax.Object:
		return "object"
	case n.Kind == syntax.List:
		return "list"
	}
	return "value"
}

// nameOfElement returns the name of an element of a list: that of a job or a test, or its index.
func nameOfElement(n *syntax.Node) string {
	for _, key := range []string{"id", "name", "endpoint", "when", "path"} {
		if m := n.Member(key); m != nil && m.Kind == syntax.Scalar && m.Text != "" {
			return clipped(m.Text)
		}
	}
	if n.Kind == syntax.Scalar && n.Text != "" {
		return clipped(n.Text)
	}
	return fmt.Sprintf("[%d]", n.Index)
}

// clipped returns the beginning of a text, on one line.
func clipped(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
