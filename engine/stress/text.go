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

// parts returns the names of the combined behaviours, or nil for a single behaviour.
func (r *Row) parts() []string {
	names := strings.Split(r.Behaviour, "+")
	if len(names) == 1 {
		return nil
	}
	return names
}

// A GroupCount is the number of complete rows of a group.
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

// Reasons returns the behaviours that were left out, by reason.
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
func (c Change) String() string { return c.Text(0) }

// Text writes a change in lines of a width, as far as that is possible. If the width is 0, it
// is one line.
func (c Change) Text(width int) string {
	path := rules.FormatPath(c.Path[0], c.Path[1:]) + ": "
	switch {
	case c.Remove:
		return path + "remove it"
	case c.Append:
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

// texts returns the text of each part.
func texts[T any](parts []T, of func(T) string) []string {
	all := make([]string, len(parts))
	for i, p := range parts {
		all[i] = of(p)
	}
	return all
}
