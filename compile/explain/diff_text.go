package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// String returns the difference for people, as [Difference.Text] does without options.
func (d *Difference) String() string { return d.Text(TextOptions{}) }

// Text returns the difference for people: "-" marks what the first configuration does, "+"
// what the second one does. Full has no effect.
func (d *Difference) Text(o TextOptions) string {
	t := &diffWriter{newLayout(o.Width)}
	if d.Same && len(d.Simulated) == 0 {
		t.paragraph(0, "No difference: both have the same requests, rules, limits and outputs.")
		return t.String()
	}
	t.side(0, "-", d.A)
	t.side(0, "+", d.B)
	t.blank()
	t.paragraph(0, d.counts())
	groups, own := d.groups()
	for _, g := range groups {
		if len(g.changes) > 0 {
			t.blank()
			t.paragraph(0, d.title(g))
			t.changes(g.changes)
		}
	}
	for i, x := range d.Jobs {
		if x.Changes = own[i]; x.Change != Changed || x.Was != "" || len(x.Changes) > 0 {
			t.blank()
			t.job(x)
		}
	}
	if len(d.Simulated) > 0 {
		t.blank()
		t.paragraph(0, "in simulated runs")
		for _, line := range d.Simulated {
			t.paragraph(2, line)
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
func (d *Difference) groups() (groups []changeGroup, own [][]Change) {
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
	own = make([][]Change, len(d.Jobs))
	for i, x := range d.Jobs {
		for _, c := range x.Changes {
			jobs := found.jobs[plainJSON(c)]
			switch {
			case len(jobs) < 2:
				own[i] = append(own[i], c)
				continue
			case jobs[0] != i: // it is in a group already
				continue
			case len(jobs) == inBoth:
				jobs = nil
			}
			at := slices.IndexFunc(groups, func(g changeGroup) bool { return slices.Equal(g.jobs, jobs) })
			if at < 0 {
				groups, at = append(groups, changeGroup{jobs: jobs}), len(groups)
			}
			groups[at].changes = append(groups[at].changes, c)
		}
	}
	return groups, own
}

// title names the jobs of a group.
func (d *Difference) title(g changeGroup) string {
	if g.jobs == nil {
		return "every job"
	}
	return jobsInWords(value.Map(g.jobs, func(job int) string { return d.Jobs[job].Job }))
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
	var says []string
	for _, one := range []struct {
		n         int
		one, many string
	}{
		{n[Changed], "differs", "differ"}, {n[Added], "is new", "are new"}, {n[Removed], "is removed", "are removed"},
		{len(d.Unchanged), "is " + same, "are " + same},
	} {
		switch one.n {
		case 0:
		case 1:
			says = append(says, "1 job "+one.one)
		default:
			says = append(says, value.Counted(one.n, "job")+" "+one.many)
		}
	}
	return strings.Join(says, ". ") + "."
}

// diffWriter writes a difference as text.
type diffWriter struct{ layout }

// side writes a text after its sign. Further lines are indented as the first one.
func (w *diffWriter) side(indent int, sign, text string) {
	for i, line := range value.Wrap(text, w.width-indent-2) {
		if i > 0 {
			sign = " "
		}
		w.line(indent, strings.TrimRight(sign+" "+line, " "))
	}
}

func (w *diffWriter) job(x JobDifference) {
	switch x.Change {
	case Added:
		w.paragraph(0, "job "+x.Job+"   new")
		w.side(2, "+", x.Summary)
		return
	case Removed:
		w.paragraph(0, "job "+x.Job+"   removed")
		w.side(2, "-", x.Summary)
		return
	}
	w.paragraph(0, "job "+x.Job)
	if x.Was != "" {
		w.line(2, "id")
		w.side(4, "-", x.Was)
		w.side(4, "+", x.Job)
	}
	w.changes(x.Changes)
}

// changes writes changes under the headings of their parts. Those of one part are together.
func (w *diffWriter) changes(all []Change) {
	for i, c := range all {
		of := func(other Change) bool { return other.Part == c.Part }
		if slices.ContainsFunc(all[:i], of) {
			continue
		}
		w.paragraph(2, c.Part)
		for _, c := range all[i:] {
			if of(c) {
				w.change(c)
			}
		}
	}
}

func (w *diffWriter) change(c Change) {
	switch {
	case c.Change == Renamed:
		w.side(4, "=", fmt.Sprintf("%s is now called %s, and is the same", c.A.ID, c.B.ID))
	case c.Hidden && c.Change == Changed:
		w.side(4, "~", cmp.Or(c.Name, c.Part)+": another value, which is not printed")
	case c.Hidden:
		w.side(4, map[ChangeKind]string{Added: "+", Removed: "-"}[c.Change], cmp.Or(c.Name, c.Part)+": a value that is not printed")
	case c.A != nil && c.B != nil && c.A.Text == c.B.Text && c.A.ID == c.B.ID:
		w.side(4, "~", c.B.ID+": "+c.B.Text)
		for _, says := range c.B.Says {
			if slices.Contains(c.A.Says, says) {
				w.paragraph(8, says)
			}
		}
		w.says("-", c.A, c.B)
		w.says("+", c.B, c.A)
	default:
		w.rule("-", c.Name, c.A)
		w.rule("+", c.Name, c.B)
	}
}

// says writes a text that only one side of a rule has.
func (w *diffWriter) says(sign string, of, other *Side) {
	for _, says := range of.Says {
		if !slices.Contains(other.Says, says) {
			w.side(6, sign, says)
		}
	}
}

// rule writes the rule of one configuration. It writes nothing for nil.
func (w *diffWriter) rule(sign, name string, s *Side) {
	if s == nil {
		return
	}
	text := s.Text
	if name = cmp.Or(s.ID, name); name != "" {
		text = strings.TrimSuffix(name+": "+text, ": ")
	}
	w.side(4, sign, text)
	for _, says := range s.Says {
		w.paragraph(8, says)
	}
}
