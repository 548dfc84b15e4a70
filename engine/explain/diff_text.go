package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// String returns the difference for people, as [Difference.Text] does without options.
func (d *Difference) String() string { return d.Text(TextOptions{}) }

// Text returns the difference for people. "-" begins a text about the first configuration, "+" a text
// about the second. Full has no effect.
func (d *Difference) Text(o TextOptions) string {
	t := &diffWriter{newLayout(o.Width)}
	if d.Same && len(d.Simulated) == 0 {
		t.writeParagraph(0, "No difference: both have the same requests, rules, limits and outputs.")
		return t.String()
	}
	t.writeSide(0, "-", d.A)
	t.writeSide(0, "+", d.B)
	t.writeBlank()
	t.writeParagraph(0, d.counts())
	groups, rest := d.groups()
	for _, g := range groups {
		if len(g.changes) > 0 {
			t.writeBlank()
			t.writeParagraph(0, d.title(g))
			t.writeChanges(g.changes)
		}
	}
	for i, x := range d.Jobs {
		if x.Changes = rest[i]; x.Change != Changed || x.Was != "" || len(x.Changes) > 0 {
			t.writeBlank()
			t.writeJob(x)
		}
	}
	if len(d.Simulated) > 0 {
		t.writeBlank()
		t.writeParagraph(0, "in simulated runs")
		for _, line := range d.Simulated {
			t.writeParagraph(2, line)
		}
	}
	return t.String()
}

// changeGroup is a group of changes that several jobs have in common, which is printed once.
type changeGroup struct {
	jobs    []int // positions of the jobs; nil for every job
	changes []Change
}

// groups returns the changes that concern several jobs, beginning with changes of every job, and the
// other changes of each job.
func (d *Difference) groups() (groups []changeGroup, rest [][]Change) {
	var found sharing[string]
	inBoth := len(d.Unchanged)
	for i, x := range d.Jobs {
		for _, c := range x.Changes {
			found.add(plainJSON(c), i)
		}
		if x.Change == Changed {
			inBoth++
		}
	}
	groups = []changeGroup{{changes: slices.Clone(d.Changes)}}
	rest = make([][]Change, len(d.Jobs))
	for i, x := range d.Jobs {
		for _, c := range x.Changes {
			jobs := found.jobs[plainJSON(c)]
			switch {
			case len(jobs) < 2:
				rest[i] = append(rest[i], c)
				continue
			case jobs[0] != i: // it is in a group already
				continue
			case len(jobs) == inBoth:
				jobs = nil
			}
			group := slices.IndexFunc(groups, func(g changeGroup) bool { return slices.Equal(g.jobs, jobs) })
			if group < 0 {
				groups, group = append(groups, changeGroup{jobs: jobs}), len(groups)
			}
			groups[group].changes = append(groups[group].changes, c)
		}
	}
	return groups, rest
}

// title names the jobs of a group.
func (d *Difference) title(g changeGroup) string {
	if g.jobs == nil {
		return "every job"
	}
	return jobsInWords(lists.Map(g.jobs, func(job int) string { return d.Jobs[job].Job }))
}

// counts says how many jobs differ.
func (d *Difference) counts() string {
	n := map[ChangeKind]int{}
	for _, x := range d.Jobs {
		n[x.Change]++
	}
	same := "the same"
	if len(d.Changes) > 0 {
		same += ", apart from what concerns every job"
	}
	var counts []string
	for _, row := range []struct {
		n         int
		one, many string
	}{
		{n[Changed], "differs", "differ"}, {n[Added], "is new", "are new"}, {n[Removed], "is removed", "are removed"},
		{len(d.Unchanged), "is " + same, "are " + same},
	} {
		switch row.n {
		case 0:
		case 1:
			counts = append(counts, "1 job "+row.one)
		default:
			counts = append(counts, wording.Counted(row.n, "job")+" "+row.many)
		}
	}
	return strings.Join(counts, ". ") + "."
}

// diffWriter writes a difference as text.
type diffWriter struct{ layout }

// writeSide writes a text after its sign. Further lines are indented as the first one.
func (w *diffWriter) writeSide(indent int, sign, text string) {
	for i, line := range wording.Wrap(text, w.width-indent-2) {
		if i > 0 {
			sign = " "
		}
		w.writeLine(indent, strings.TrimRight(sign+" "+line, " "))
	}
}

func (w *diffWriter) writeJob(x JobDifference) {
	switch x.Change {
	case Added:
		w.writeParagraph(0, "job "+x.Job+"   new")
		w.writeSide(2, "+", x.Summary)
		return
	case Removed:
		w.writeParagraph(0, "job "+x.Job+"   removed")
		w.writeSide(2, "-", x.Summary)
		return
	}
	w.writeParagraph(0, "job "+x.Job)
	if x.Was != "" {
		w.writeLine(2, "id")
		w.writeSide(4, "-", x.Was)
		w.writeSide(4, "+", x.Job)
	}
	w.writeChanges(x.Changes)
}

// writeChanges writes changes under the headings of their parts, each part once.
func (w *diffWriter) writeChanges(list []Change) {
	for i, c := range list {
		samePart := func(other Change) bool { return other.Part == c.Part }
		if slices.ContainsFunc(list[:i], samePart) {
			continue
		}
		w.writeParagraph(2, c.Part)
		for _, c := range list[i:] {
			if samePart(c) {
				w.writeChange(c)
			}
		}
	}
}

func (w *diffWriter) writeChange(c Change) {
	switch {
	case c.Change == Renamed:
		w.writeSide(4, "=", fmt.Sprintf("%s is now called %s, and is the same", c.A.ID, c.B.ID))
	case c.Hidden && c.Change == Changed:
		w.writeSide(4, "~", cmp.Or(c.Name, c.Part)+": another value, which is not printed")
	case c.Hidden:
		w.writeSide(4, map[ChangeKind]string{Added: "+", Removed: "-"}[c.Change], cmp.Or(c.Name, c.Part)+": a value that is not printed")
	case c.A != nil && c.B != nil && c.A.Text == c.B.Text && c.A.ID == c.B.ID:
		w.writeSide(4, "~", c.B.ID+": "+c.B.Text)
		for _, says := range c.B.Says {
			if slices.Contains(c.A.Says, says) {
				w.writeParagraph(8, says)
			}
		}
		w.writeText("-", c.A, c.B)
		w.writeText("+", c.B, c.A)
	default:
		w.writeRule("-", c.Name, c.A)
		w.writeRule("+", c.Name, c.B)
	}
}

// writeText writes a text that only one side of a rule has.
func (w *diffWriter) writeText(sign string, of, other *Side) {
	for _, says := range of.Says {
		if !slices.Contains(other.Says, says) {
			w.writeSide(6, sign, says)
		}
	}
}

// writeRule writes the rule of one configuration. It writes nothing for nil.
func (w *diffWriter) writeRule(sign, name string, s *Side) {
	if s == nil {
		return
	}
	text := s.Text
	if name = cmp.Or(s.ID, name); name != "" {
		text = strings.TrimSuffix(name+": "+text, ": ")
	}
	w.writeSide(4, sign, text)
	for _, says := range s.Says {
		w.writeParagraph(8, says)
	}
}
