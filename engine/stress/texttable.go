package stress

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// verdictColumn is where the text next to a verdict begins.
const verdictColumn = 12

// The colours of a terminal.
const (
	bold, dim          = "1", "2"
	red, green, yellow = "31", "32", "33"
	reset              = "\x1b[0m"
)

var colours = map[Verdict]string{Silent: bold + ";" + red, Endless: red, Reported: yellow, Complete: green}

// padded returns a text with spaces up to a width, in the colour of a verdict.
func (t *textWriter) padded(text string, v Verdict, width int) string {
	return t.coloured(colours[v], text) + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func (t *textWriter) coloured(colour, text string) string {
	if !t.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + reset
}

// A table is the rows of a job in columns. On a line that is too narrow for it, the numbers
// of a row are a sentence.
type table struct {
	widths   []int // of the columns after the verdict; nil: the line is too narrow
	findings bool  // there is room for a column of findings
}

// headings are those of the columns after the verdict.
var headings = []string{"behaviour", "obtained", "missing", "duplicated", "requests", "exit"}

func (r *Row) cells() []string {
	return []string{
		r.Behaviour, r.share(), strconv.Itoa(r.Missing), strconv.Itoa(r.Duplicated), strconv.Itoa(r.Requests), strconv.Itoa(r.Exit),
	}
}

func (r *Row) share() string { return fmt.Sprintf("%d of %d", r.Obtained, r.Served) }

func (r *Row) findings() string { return strings.Join(r.Findings, ", ") }

func newTable(rows []Row, width int) table {
	widths := make([]int, len(headings))
	total, longest := verdictColumn, 0
	for i, h := range headings {
		widths[i] = len(h)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells()[i]))
		}
		total += widths[i] + 2
	}
	for _, r := range rows {
		longest = max(longest, utf8.RuneCountInString(r.findings()))
	}
	if total-2 > width {
		return table{}
	}
	return table{widths, longest > 0 && total+max(longest, len("findings")) <= width}
}

func (tab table) write(t *textWriter, rows []Row) {
	if tab.widths != nil {
		t.WriteString(t.coloured(dim, "  verdict   "+tab.line(headings, "findings")) + "\n")
	}
	for i := range rows {
		r := &rows[i]
		if i > 0 && r.Verdict != rows[i-1].Verdict {
			t.WriteString("\n")
		}
		t.WriteString("  " + t.padded(string(r.Verdict), r.Verdict, verdictColumn-2))
		if tab.widths != nil {
			t.WriteString(tab.line(r.cells(), r.findings()) + "\n")
		} else {
			t.WriteString(r.Behaviour + "\n")
			t.paragraph(verdictColumn, r.numbers())
		}
		t.details(r, tab.findings)
	}
}

// line writes the cells in their columns: the first is a name, the others are numbers.
func (tab table) line(cells []string, findings string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", tab.widths[0], cells[0])
	for i, cell := range cells[1:] {
		fmt.Fprintf(&b, "  %*s", tab.widths[i+1], cell)
	}
	if tab.findings && findings != "" {
		b.WriteString("  " + findings)
	}
	return b.String()
}

// numbers are those of the table as a sentence.
func (r *Row) numbers() string {
	return fmt.Sprintf("%s items, %d missing, %d duplicated, %s, exit status %d",
		r.share(), r.Missing, r.Duplicated, value.Counted(r.Requests, "request"), r.Exit)
}

// details says what the API did, how the run ended, and how to mend it. The run has said
// itself what a reported row says, so its details are short.
func (t *textWriter) details(r *Row, findings bool) {
	t.paragraph(verdictColumn, r.Says)
	shown := r.Verdict == Silent || r.Verdict == Endless || t.All && r.Verdict != Complete
	if shown && r.Ending() != "" {
		t.labelled(verdictColumn, "run      ", r.Ending())
	}
	if !findings && len(r.Findings) > 0 {
		t.labelled(verdictColumn, "findings ", r.findings())
	}
	t.fix(r)
}

// fix writes what helps. A fix that helps against several behaviours is written once.
func (t *textWriter) fix(r *Row) {
	const column = verdictColumn + len("fix      ")
	if r.Fix == nil {
		return
	}
	if first, had := t.fixed[r.Fix.key()]; had {
		t.labelled(verdictColumn, "fix      ", strings.TrimSuffix(fmt.Sprintf("That of %s: %s", first, r.Fix.effect()), ": "))
		return
	}
	t.fixed[r.Fix.key()] = r.Behaviour
	t.labelled(verdictColumn, "fix      ", r.Fix.Says)
	if len(r.Fix.Changes) == 0 {
		return
	}
	for _, c := range r.Fix.Changes {
		t.paragraph(column, c.text(t.Width-column))
	}
	t.paragraph(column, "With it, "+r.Fix.effect())
}

// key is the same for fixes that say the same.
func (f *Fix) key() string { return fmt.Sprint(f.Says, f.Changes) }

// effect says what a fix was found to do; empty: it is advice that was not tried.
func (f *Fix) effect() string {
	if f.Verdict == "" {
		return ""
	}
	text := fmt.Sprintf("the verdict is %s.", f.Verdict)
	if len(f.Costs) > 0 {
		text += fmt.Sprintf(" No longer complete with it: %s.", strings.Join(f.Costs, ", "))
	}
	return text
}
