package report

import (
	_ "embed" // the template
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

//go:embed stress.txt
var stressTXT string

// TextOptions say how texts about stress are written.
type TextOptions struct {
	Width  int  // columns of a line, from 60 to 120; 0 is 100
	All    bool // whether to also describe the rows that are complete, and to list the omitted behaviours
	Colour bool // whether to mark the verdicts with the colours of a terminal
}

// StressText writes how a configuration copes with stress, for people: for each job the assumptions
// of the model, then the rows that are not complete, the worst first, then the number of complete rows.
func StressText(w io.Writer, r *stress.Report, o TextOptions) error {
	o = o.bounded()
	view := struct {
		*stress.Report
		Jobs []stressLines
	}{Report: r}
	for i := range r.Jobs {
		view.Jobs = append(view.Jobs, newStressLines(i, &r.Jobs[i], o))
	}
	return o.template().write(w, "text", view)
}

// StressBrief says in a few lines how a configuration fares: how many behaviours have each
// verdict, and which ones are SILENT. The width is in columns.
func StressBrief(r *stress.Report, width int) string {
	return TextOptions{Width: width}.text("brief", r)
}

// SimulationText returns a simulation for people: each page with its request and the verdicts of
// the rules. Guards that are not met are left out, unless all rules are wanted.
func SimulationText(s *stress.Simulation, o TextOptions) string { return o.text("simulation", s) }

// text returns the text of a template, which is complete.
func (o TextOptions) text(name string, data any) string {
	text, _ := o.bounded().template().render(name, data)
	return text
}

// bounded returns the options with a width that can be used.
func (o TextOptions) bounded() TextOptions {
	const usual, least, most = 100, 60, 120
	if o.Width == 0 {
		o.Width = usual
	}
	o.Width = min(max(o.Width, least), most)
	return o
}

func (o TextOptions) template() textTemplate {
	return newTextTemplate(stressTXT, o.Width, template.FuncMap{
		"all":     func() bool { return o.All },
		"room":    func() int { return o.Width - fixColumn },
		"verdict": o.verdict,
		"list":    o.list,
		"rules":   o.rules,
	})
}

// The columns of the text of a job.
const (
	verdictColumn = 12 // where the text next to a verdict begins
	fixColumn     = 21 // where the text of a fix begins
)

// The colours of a terminal.
const (
	bold, dim          = "1", "2"
	red, green, yellow = "31", "32", "33"
	reset              = "\x1b[0m"
)

var colours = map[stress.Verdict]string{
	stress.Silent: bold + ";" + red, stress.Endless: red, stress.Reported: yellow, stress.Complete: green,
}

func (o TextOptions) coloured(colour, text string) string {
	if !o.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + reset
}

// verdict returns a verdict in its colour, with spaces up to a width.
func (o TextOptions) verdict(v stress.Verdict, width int) string {
	return o.coloured(colours[v], string(v)) + strings.Repeat(" ", max(0, width-len(v)))
}

// list returns parts, which end with line ends, separated by commas after a label. A part is on
// one line.
func (o TextOptions) list(label, parts string) string {
	const space = "\u00a0" // a space at which no line is broken
	text := strings.ReplaceAll(strings.TrimSuffix(parts, "\n"), " ", space)
	return strings.ReplaceAll(hanging(label, strings.ReplaceAll(text, "\n", ", "), o.Width), space, " ")
}

// stressLines is a job as the text shows it.
type stressLines struct {
	stressJob
	Heading string // heading of the table; empty if the line is too narrow for a table
	Rows    []stressLine
}

// A stressLine is a row of the table.
type stressLine struct {
	stress.Row
	Gap   string // a line end before the first row of a verdict
	Cells string // the numbers, in their columns; empty if the line is too narrow
	Ended string // how the run ended; empty if the row is not silent or endless, unless all rows are written
	Apart bool   // whether the findings have a line of their own
	Same  string // another behaviour with the same fix
}

func newStressLines(n int, j *stress.JobReport, o TextOptions) stressLines {
	v := stressLines{stressJob: newStressJob(n, j)}
	rows := v.stressJob.Rows
	if o.All {
		rows, v.Covered = j.Sorted(stress.Verdicts()...), 0
	}
	t := newStressTable(rows, o.Width)
	if t.widths != nil {
		v.Heading = o.coloured(dim, "  verdict   "+t.line(headings, "findings")) + "\n"
	}
	fixed := map[string]string{} // first behaviour of each fix
	for i, row := range rows {
		line := stressLine{Row: row, Cells: t.line(cellsOf(row), strings.Join(row.Findings, ", ")), Apart: !t.findings && len(row.Findings) > 0}
		if i > 0 && row.Verdict != rows[i-1].Verdict {
			line.Gap = "\n"
		}
		if row.Verdict == stress.Silent || row.Verdict == stress.Endless || o.All && row.Verdict != stress.Complete {
			line.Ended = row.Ending()
		}
		if row.Fix != nil {
			key := fmt.Sprint(row.Fix.Says, row.Fix.Changes)
			if line.Same = fixed[key]; line.Same == "" {
				fixed[key] = row.Behaviour
			}
		}
		v.Rows = append(v.Rows, line)
	}
	return v
}

// A stressTable has the rows of a job in columns. On a line that is too narrow for it, the
// numbers of a row are a sentence.
type stressTable struct {
	widths   []int // widths of the columns after the verdict; nil if the line is too narrow
	findings bool  // whether there is room for a column of findings
}

// headings are the headings of the columns after the verdict.
var headings = []string{"behaviour", "obtained", "missing", "duplicated", "requests", "exit"}

func cellsOf(r stress.Row) []string {
	return []string{
		r.Behaviour, fmt.Sprintf("%d of %d", r.Obtained, r.Served), strconv.Itoa(r.Missing), strconv.Itoa(r.Duplicated),
		strconv.Itoa(r.Requests), strconv.Itoa(r.Exit),
	}
}

func newStressTable(rows []stress.Row, width int) stressTable {
	widths := make([]int, len(headings))
	total, longest := verdictColumn, 0
	for i, h := range headings {
		widths[i] = len(h)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(cellsOf(r)[i]))
		}
		total += widths[i] + 2
	}
	for _, r := range rows {
		longest = max(longest, utf8.RuneCountInString(strings.Join(r.Findings, ", ")))
	}
	if total-2 > width {
		return stressTable{}
	}
	return stressTable{widths, longest > 0 && total+max(longest, len("findings")) <= width}
}

// line writes the cells in their columns: the first is a name, the others are numbers.
func (t stressTable) line(cells []string, findings string) string {
	if t.widths == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", t.widths[0], cells[0])
	for i, cell := range cells[1:] {
		fmt.Fprintf(&b, "  %*s", t.widths[i+1], cell)
	}
	if t.findings && findings != "" {
		b.WriteString("  " + findings)
	}
	return b.String()
}

// rules writes the verdicts of the rules on a page: next to the id of a rule or, if the id is
// long, below it.
func (o TextOptions) rules(s *stress.Simulation, p trace.Record) string {
	const indent, column = "        ", 17 // indent of the lines, and column at which the ids begin
	shown := slices.DeleteFunc(slices.Clone(p.Verdicts), func(v trace.Verdict) bool {
		return !o.All && !v.Met && slices.Contains(s.Guards, v.Rule)
	})
	width := 0
	for _, v := range shown {
		width = max(width, len(v.Rule))
	}
	var b strings.Builder
	for _, v := range shown {
		word := "not met  "
		if v.Met {
			word = o.coloured(yellow, "met") + "      "
		}
		b.WriteString(indent + word)
		lines := wording.Wrap(v.Because, o.Width-column-width-2)
		if len(lines) > 1 && width > 20 {
			b.WriteString(v.Rule + "\n" + hanging(strings.Repeat(" ", column+2), v.Because, o.Width))
			continue
		}
		below := "\n" + strings.Repeat(" ", column+width+2)
		fmt.Fprintf(&b, "%-*s  %s\n", width, v.Rule, strings.Join(lines, below))
	}
	return b.String()
}
