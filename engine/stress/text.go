package stress

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// TextOptions say how [Report.Text] writes a report.
type TextOptions struct {
	Width  int  // columns of a line, from 60 to 120; 0 is 100
	All    bool // also describe the rows that are complete, and list what was left out
	Colour bool // mark the verdicts with the colours of a terminal
}

// The widths of a text, in columns.
const (
	defaultWidth = 100
	minWidth     = 60
	maxWidth     = 120
)

// Text returns the report for people: for each job what the model assumes, then the rows
// that are not complete, the worst first, then how many are.
func (r *Report) Text(o TextOptions) string {
	t := newTextWriter(o)
	for i := range r.Jobs {
		t.job(&r.Jobs[i])
		t.WriteString("\n")
	}
	t.paragraph(0, r.Summary())
	return t.String()
}

// Summary says in one line how many rows have each verdict.
func (r *Report) Summary() string {
	text := strings.Join(texts(verdicts, func(v Verdict) string { return fmt.Sprintf("%d %s", r.Count(v), v) }), ", ")
	if n := len(r.Unknown()); n > 0 {
		text += fmt.Sprintf("; %s without a model", value.Counted(n, "job"))
	}
	return text
}

// Unknown returns the jobs that have no model, and were not put under stress.
func (r *Report) Unknown() []string {
	var ids []string
	for _, j := range r.Jobs {
		if j.Unknown != "" {
			ids = append(ids, j.Job)
		}
	}
	return ids
}

// verdicts are all verdicts, the worst first.
var verdicts = []Verdict{Silent, Endless, Reported, Complete}

// Verdicts returns all verdicts, the worst first.
func Verdicts() []Verdict { return slices.Clone(verdicts) }

// Sorted returns the rows of the verdicts, in the order of the verdicts. Unless all is set, it
// omits a combination of behaviours if one of them alone has the same or a worse verdict, and
// returns the number of rows that it omitted.
func (j *JobReport) Sorted(all bool, of ...Verdict) (rows []Row, covered int) {
	alone := map[string]int{}
	for _, row := range j.Rows {
		alone[row.Behaviour] = slices.Index(verdicts, row.Verdict)
	}
	for _, v := range of {
		for _, row := range j.Rows {
			if row.Verdict != v {
				continue
			}
			worst := slices.ContainsFunc(row.parts(), func(name string) bool {
				n, known := alone[name]
				return known && n <= slices.Index(verdicts, v)
			})
			if !all && worst {
				covered++
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows, covered
}

// parts returns the names of the behaviours that were combined; nil: there is only one.
func (r *Row) parts() []string {
	names := strings.Split(r.Behaviour, "+")
	if len(names) == 1 {
		return nil
	}
	return names
}

// A GroupCount says how many rows of a group are complete.
type GroupCount struct {
	Group         string
	Complete, All int
}

// Groups counts the rows of each group, in the order of the rows. Rows of several behaviours
// are a group of their own.
func (j *JobReport) Groups() []GroupCount {
	var groups []GroupCount
	for _, row := range j.Rows {
		name := row.Group
		if row.parts() != nil {
			name = "combined"
		}
		i := slices.IndexFunc(groups, func(g GroupCount) bool { return g.Group == name })
		if i < 0 {
			i, groups = len(groups), append(groups, GroupCount{Group: name})
		}
		groups[i].All++
		if row.Verdict == Complete {
			groups[i].Complete++
		}
	}
	return groups
}

// A Reason is why behaviours were left out.
type Reason struct {
	Why        string
	Behaviours []string
}

// Reasons returns what was left out, by reason.
func (j *JobReport) Reasons() []Reason {
	var reasons []Reason
	for _, left := range j.Left {
		i := slices.IndexFunc(reasons, func(r Reason) bool { return r.Why == left.Why })
		if i < 0 {
			i, reasons = len(reasons), append(reasons, Reason{Why: left.Why})
		}
		reasons[i].Behaviours = append(reasons[i].Behaviours, left.Behaviour)
	}
	return reasons
}

// reasonError is the reason of a run that failed.
const reasonError = "error"

// Ending says how a run ended: by which rule, or by which error.
func (r *Row) Ending() string {
	switch {
	case r.Reason == "":
		return r.Why
	case r.Reason == reasonError:
		return "failed: " + r.Why
	case r.Reason == compile.ReasonEnd || r.Reason == compile.ReasonNextRequest:
		return "ended: " + r.Why
	}
	return fmt.Sprintf("was stopped by %s: %s", r.Reason, r.Why)
}

// String writes a change as the path of the key and its value in JSON.
func (c Change) String() string { return c.text(0) }

// text writes a change in lines of a width, as far as that is possible; 0 is one line.
func (c Change) text(width int) string {
	path := rules.FormatPath(c.Path[0], c.Path[1:]) + ": "
	if c.Append {
		path += "add "
	}
	return path + layout(c.Value, "", width, utf8.RuneCountInString(path))
}

// layout writes a value in JSON. An object or a list that does not fit on a line, after what
// is already on it, has a line for each of its values.
func layout(v any, indent string, width, used int) string {
	list, isList := v.([]any)
	members, isObject := value.Members(v)
	if !isList && !isObject {
		text, _ := value.Marshal(v)
		return string(text)
	}
	brackets := "[]"
	names := make([]string, len(list))
	if isObject {
		brackets, names, list = "{}", nil, nil
		for _, m := range members {
			name, _ := value.Marshal(m.Name)
			names, list = append(names, string(name)+": "), append(list, m.Value)
		}
	}
	join := func(before, between, indent string, width int) string {
		parts := make([]string, len(list))
		for i, inner := range list {
			parts[i] = names[i] + layout(inner, indent, width, len(names[i])+1)
		}
		return before + strings.Join(parts, between)
	}
	line := brackets[:1] + join("", ", ", "", 0) + brackets[1:]
	if width == 0 || used+len(indent)+utf8.RuneCountInString(line) <= width {
		return line
	}
	inner := "\n" + indent + "  "
	return brackets[:1] + join(inner, ","+inner, indent+"  ", width) + "\n" + indent + brackets[1:]
}

// textWriter writes a report as text.
type textWriter struct {
	TextOptions
	strings.Builder
	fixed map[string]string // by a fix, the behaviour that it was written for
}

func newTextWriter(o TextOptions) *textWriter {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = min(max(o.Width, minWidth), maxWidth)
	return &textWriter{TextOptions: o}
}

// paragraph writes a text, wrapped.
func (t *textWriter) paragraph(indent int, text string) {
	t.labelled(indent, "", text)
}

// labelled writes a text after a label; the lines after the first are indented as much.
func (t *textWriter) labelled(indent int, label, text string) {
	width := utf8.RuneCountInString(label)
	for i, line := range value.Wrap(text, t.Width-indent-width) {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		t.WriteString(strings.Repeat(" ", indent) + label + line + "\n")
	}
}

// list writes parts, separated by commas, after a label. A part is on one line.
func (t *textWriter) list(label string, parts []string) {
	const space = "\u00a0" // is not broken
	text := strings.ReplaceAll(strings.Join(parts, ",\n"), " ", space)
	lines := &textWriter{TextOptions: t.TextOptions}
	lines.labelled(2, label, strings.ReplaceAll(text, "\n", " "))
	t.WriteString(strings.ReplaceAll(lines.String(), space, " "))
}

// job writes what the API does, the rows that are not complete or, with All, all of them, how
// many rows of each group are complete, and what was left out.
func (t *textWriter) job(j *JobReport) {
	t.fixed = map[string]string{}
	t.paragraph(0, "job "+j.Job)
	if j.Unknown != "" {
		t.paragraph(4, "It was not put under stress: "+j.Unknown+".")
		return
	}
	t.model(j.Model)
	shown := verdicts
	if !t.All {
		shown = verdicts[:len(verdicts)-1]
	}
	rows, covered := j.Sorted(t.All, shown...)
	if len(rows) > 0 {
		t.WriteString("\n")
		newTable(rows, t.Width).write(t, rows)
	}
	if covered > 0 {
		t.WriteString("\n")
		const text = "%s with a verdict that one of the behaviours has alone, too; --all lists them"
		t.paragraph(2, fmt.Sprintf(text, value.Counted(covered, "combination")))
	}
	if groups := j.Groups(); len(groups) > 0 {
		t.WriteString("\n")
		t.list("complete  ", texts(groups, func(g GroupCount) string { return fmt.Sprintf("%s %d of %d", g.Group, g.Complete, g.All) }))
	}
	switch reasons := j.Reasons(); {
	case len(reasons) == 0:
	case t.All:
		t.WriteString("\n  left out\n")
		for _, r := range reasons {
			t.paragraph(4, r.Why+": "+strings.Join(r.Behaviours, ", "))
		}
	default:
		t.list("left out  ", texts(reasons, func(r Reason) string { return fmt.Sprintf("%s (%d)", r.Why, len(r.Behaviours)) }))
	}
}

// texts returns the text of each part.
func texts[T any](parts []T, of func(T) string) []string {
	all := make([]string, len(parts))
	for i, p := range parts {
		all[i] = of(p)
	}
	return all
}

// model writes what the API does.
func (t *textWriter) model(sentences []string) {
	if len(sentences) == 0 {
		return
	}
	t.paragraph(4, "The model of its API:")
	for _, sentence := range sentences {
		t.labelled(4, "- ", sentence)
	}
}
