package explain

import (
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
		t.blank()
		t.paragraph(0, g.title)
		t.changes(g.changes)
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

// changeGroup is what several jobs do differently, and is printed once.
type changeGroup struct {
	title   string
	changes []Change
}

// groups returns the changes that concern several jobs, those of every job first, and for each
// job those that are left.
func (d *Difference) groups() (groups []changeGroup, own [][]Change) {
	at := map[string][]int{} // jobs by change
	for i, x := range d.Jobs {
		for _, c := range x.Changes {
			at[plainJSON(c)] = append(at[plainJSON(c)], i)
		}
	}
	all, inBoth := changeGroup{"every job", slices.Clone(d.Changes)}, d.inBoth()
	titles := map[string]int{} // by the jobs
	for i, x := range d.Jobs {
		own = append(own, nil)
		for _, c := range x.Changes {
			jobs := at[plainJSON(c)]
			switch {
			case len(jobs) < 2:
				own[i] = append(own[i], c)
			case jobs[0] != i: // it is in a group already
			case len(jobs) == inBoth:
				all.changes = append(all.changes, c)
			default:
				key := fmt.Sprint(jobs)
				if _, known := titles[key]; !known {
					titles[key], groups = len(groups), append(groups, changeGroup{title: d.jobsTitle(jobs)})
				}
				g := &groups[titles[key]]
				g.changes = append(g.changes, c)
			}
		}
	}
	if len(all.changes) > 0 {
		groups = append([]changeGroup{all}, groups...)
	}
	return groups, own
}

// inBoth returns the number of jobs that both configurations have.
func (d *Difference) inBoth() int {
	n := len(d.Unchanged)
	for _, x := range d.Jobs {
		if x.Change == Changed {
			n++
		}
	}
	return n
}

func (d *Difference) jobsTitle(jobs []int) string {
	names := make([]string, len(jobs))
	for i, job := range jobs {
		names[i] = d.Jobs[job].Job
	}
	return jobsInWords(names)
}

// counts says how many jobs differ.
func (d *Difference) counts() string {
	n := map[ChangeKind]int{}
	for _, x := range d.Jobs {
		n[x.Change]++
	}
	var says []string
	add := func(n int, one, many string) {
		if n > 0 {
			says = append(says, value.Counted(n, "job")+" "+plural(n, one, many))
		}
	}
	add(n[Changed], "differs", "differ")
	add(n[Added], "is new", "are new")
	add(n[Removed], "is removed", "are removed")
	same := "the same"
	if len(d.Changes) > 0 {
		same += ", apart from what concerns every job"
	}
	add(len(d.Unchanged), "is "+same, "are "+same)
	return strings.Join(says, ". ") + "."
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// diffWriter writes a difference as text.
type diffWriter struct{ layout }

// side writes a text after its sign. Further lines are indented as the first one.
func (t *diffWriter) side(indent int, sign, text string) {
	for i, line := range value.Wrap(text, t.width-indent-2) {
		if i > 0 {
			sign = " "
		}
		t.line(indent, strings.TrimRight(sign+" "+line, " "))
	}
}

func (t *diffWriter) job(x JobDifference) {
	switch x.Change {
	case Added:
		t.paragraph(0, "job "+x.Job+"   new")
		t.side(2, "+", x.Summary)
		return
	case Removed:
		t.paragraph(0, "job "+x.Job+"   removed")
		t.side(2, "-", x.Summary)
		return
	}
	t.paragraph(0, "job "+x.Job)
	if x.Was != "" {
		t.line(2, "id")
		t.side(4, "-", x.Was)
		t.side(4, "+", x.Job)
	}
	t.changes(x.Changes)
}

// changes writes changes under the headings of their parts. Those of one part are together.
func (t *diffWriter) changes(all []Change) {
	var order []string
	by := map[string][]Change{}
	for _, c := range all {
		if by[c.Part] == nil {
			order = append(order, c.Part)
		}
		by[c.Part] = append(by[c.Part], c)
	}
	for _, part := range order {
		t.paragraph(2, part)
		for _, c := range by[part] {
			t.change(c)
		}
	}
}

func (t *diffWriter) change(c Change) {
	switch {
	case c.Change == Renamed:
		t.side(4, "=", fmt.Sprintf("%s is now called %s, and is the same", c.A.ID, c.B.ID))
		return
	case c.Hidden:
		t.side(4, map[ChangeKind]string{Added: "+", Removed: "-", Changed: "~"}[c.Change], c.hidden())
		return
	}
	if c.A != nil && c.B != nil && c.A.Text == c.B.Text && c.A.ID == c.B.ID {
		t.sameText(c)
		return
	}
	t.oneSide("-", c.Name, c.A)
	t.oneSide("+", c.Name, c.B)
}

// sameText writes the change of a rule whose expression is the same.
func (t *diffWriter) sameText(c Change) {
	t.side(4, "~", c.B.ID+": "+c.B.Text)
	for _, says := range c.B.Says {
		if slices.Contains(c.A.Says, says) {
			t.paragraph(8, says)
		}
	}
	for _, one := range []struct {
		sign     string
		of, than *Side
	}{{"-", c.A, c.B}, {"+", c.B, c.A}} {
		for _, says := range one.of.Says {
			if !slices.Contains(one.than.Says, says) {
				t.side(6, one.sign, says)
			}
		}
	}
}

// hidden says what differs in a value that is not printed.
func (c Change) hidden() string {
	name := c.Name
	if name == "" {
		name = c.Part
	}
	if c.Change == Changed {
		return name + ": another value, which is not printed"
	}
	return name + ": a value that is not printed"
}

// oneSide writes what one configuration has; nil is nothing.
func (t *diffWriter) oneSide(sign, name string, s *Side) {
	if s == nil {
		return
	}
	text := s.Text
	if s.ID != "" {
		name = s.ID
	}
	if name != "" {
		text = strings.TrimSuffix(name+": "+text, ": ")
	}
	t.side(4, sign, text)
	for _, says := range s.Says {
		t.paragraph(8, says)
	}
}
