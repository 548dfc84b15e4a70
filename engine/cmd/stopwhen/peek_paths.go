package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A peekReport is the page that stopwhen peek shows.
type peekReport struct {
	Version   int                    `json:"version"` // keys may be added to a version
	Job       string                 `json:"job"`
	Page      int                    `json:"page"`                // number of the page of the job
	Partition map[string]any         `json:"partition,omitempty"` // values of the variables of for that expressions read
	Request   trace.Request          `json:"request"`
	Status    int                    `json:"status"` // 0 without a response
	Type      string                 `json:"contentType,omitempty"`
	Bytes     int                    `json:"bytes"`
	Headers   []workbench.ReadHeader `json:"headers"` // the headers that rules read
	Items     int                    `json:"items"`
	OfItems   bool                   `json:"ofItems,omitempty"` // body describes the list of items, since the response is not JSON
	Body      []workbench.ReadPath   `json:"body"`              // in the order of the response
	StoppedBy []string               `json:"stoppedBy,omitempty"`
	Error     string                 `json:"error,omitempty"`

	err error
}

// peekText is the template of a report.
//
//go:embed peek.txt
var peekText string

// A laidOutPeek is a report with its lines as they are printed.
type laidOutPeek struct {
	*peekReport
	HeaderLines, PathLines []string
	Ends                   string
}

// laidOut lays out a report for the width of the terminal, or for 100 columns.
func (a *app) laidOut(r *peekReport) laidOutPeek {
	width := cmp.Or(a.columns(), 100)
	l := laidOutPeek{peekReport: r}
	for _, h := range r.Headers {
		text := fmt.Sprintf("%s: %s", h.Name, h.Value)
		if h.Absent {
			text = h.Name + " is absent"
		}
		l.HeaderLines = append(l.HeaderLines, marked("  "+text, "read by "+strings.Join(h.ReadBy, ", "), width))
	}
	var columns [3]int
	for _, p := range r.Body {
		for i, cell := range cells(p) {
			columns[i] = max(columns[i], utf8.RuneCountInString(cell))
		}
	}
	columns[0], columns[1] = min(columns[0], max(12, width*2/5)), min(columns[1], 24)
	for _, p := range r.Body {
		l.PathLines = append(l.PathLines, lineOf(p, columns, width))
	}
	return l
}

// cells returns the name, the type and the count of a path.
func cells(p workbench.ReadPath) [3]string {
	cells := [3]string{strings.Repeat("  ", p.Depth) + p.Name, p.Type, ""}
	if p.Count < p.Of {
		cells[2] = fmt.Sprintf("%d of %d", p.Count, p.Of)
	}
	return cells
}

// lineOf returns the line of a path, whose columns have the given widths.
func lineOf(p workbench.ReadPath, columns [3]int, width int) string {
	cells := cells(p)
	text := fmt.Sprintf("%-*s", columns[0], cells[0])
	if p.Absent {
		return marked(text+"  not in this response", "read by "+strings.Join(p.ReadBy, ", "), width)
	}
	for i, cell := range cells[1:] {
		if columns[i+1] > 0 {
			text += fmt.Sprintf("  %-*s", columns[i+1], cell)
		}
	}
	if room := width - utf8.RuneCountInString(text) - 2; room > 8 && p.Sample != "" {
		text += "  " + wording.Clip(p.Sample, min(room-1, 40))
	}
	var marks []string
	if p.Items {
		marks = append(marks, "the items")
	}
	if len(p.ReadBy) > 0 {
		marks = append(marks, "read by "+strings.Join(p.ReadBy, ", "))
	}
	return marked(strings.TrimRight(text, " "), strings.Join(marks, "; "), width)
}

// marked returns a text with a mark after it, or below it if the line would be too long.
func marked(text, mark string, width int) string {
	switch {
	case mark == "":
		return text
	case utf8.RuneCountInString(text)+utf8.RuneCountInString(mark)+5 <= width:
		return text + "   ← " + mark
	}
	indent := len(text) - len(strings.TrimLeft(text, " ")) + 2
	return text + "\n" + strings.Repeat(" ", indent) + "↑ " + wording.Clip(mark, max(width-indent-3, 20))
}
