package explain

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// DifferenceVersion is the version of the JSON of a [Difference]. It changes when a key is
// removed or gets another meaning, not when one is added.
const DifferenceVersion = 1

// Difference holds the differences between two configurations, A and B: as JSON for programs, by
// [Difference.Text] for people. [DifferenceSchema] is the schema of the JSON.
type Difference struct {
	Version   int             `json:"version" doc:"version of this form"`
	A         string          `json:"a,omitempty" doc:"file name of the first configuration"`
	B         string          `json:"b,omitempty" doc:"file name of the second one"`
	Same      bool            `json:"same" doc:"the configurations do the same, although their texts may differ"`
	Changes   []Change        `json:"changes,omitempty" doc:"what differs for all jobs together"`
	Jobs      []JobDifference `json:"jobs,omitempty" doc:"the jobs that differ, in the order of b; those that only a has are last"`
	Unchanged []string        `json:"unchanged,omitempty" doc:"ids of the jobs that are the same"`
	Simulated []string        `json:"simulated,omitempty" doc:"what differs in simulated runs, in words"`
}

// JobDifference holds the differences of a job.
type JobDifference struct {
	Job     string     `json:"job" doc:"id of the job; of a job that b does not have, that in a"`
	Was     string     `json:"was,omitempty" doc:"id in a, if it differs"`
	Change  ChangeKind `json:"change" doc:"added, removed or changed"`
	Summary string     `json:"summary,omitempty" doc:"of a job that only one of them has: what it does"`
	Changes []Change   `json:"changes,omitempty" doc:"of a job that both have: what differs"`
}

// Change is one thing that differs.
type Change struct {
	Part   string     `json:"part" doc:"what it is about: first request, page size, normal ends"`
	Name   string     `json:"name,omitempty" doc:"which one, if there are several: the name of a header; of rules, their id"`
	Change ChangeKind `json:"change" doc:"added, removed, changed, or renamed: of a rule that only has another id"`
	A      *Side      `json:"a,omitempty" doc:"what the first configuration has; absent: nothing"`
	B      *Side      `json:"b,omitempty" doc:"what the second one has; absent: nothing"`
	Hidden bool       `json:"hidden,omitempty" doc:"the values differ in something that is secret and not printed"`
}

// Side is one side of a change.
type Side struct {
	ID   string   `json:"id,omitempty" doc:"of a rule: its id"`
	Text string   `json:"text,omitempty" doc:"the value; of a rule, its expression"`
	Says []string `json:"says,omitempty" doc:"of a rule: what it does, in words"`
}

// ChangeKind says how something differs.
type ChangeKind string

// The kinds of changes.
const (
	Added   ChangeKind = "added"   // only B has it
	Removed ChangeKind = "removed" // only A has it
	Changed ChangeKind = "changed" // both have it
	Renamed ChangeKind = "renamed" // both have the same rule, with different ids
)

// DifferenceSchema returns the JSON Schema of a [Difference].
func DifferenceSchema() rules.Object {
	return rules.TypeSchema("stopwhen difference", reflect.TypeFor[Difference]())
}

// Diff compares the rules, requests, limits and credentials of two configurations; their spelling does
// not matter. Both explanations must come from [Explain]: an explanation that was read from JSON lacks
// the values that are not printed. Jobs are matched by their ids, then by their endpoints.
func Diff(a, b *Explanation) *Difference {
	d := &Difference{Version: DifferenceVersion, A: a.Config, B: b.Config}
	d.Changes = append(diffProperties(a.properties, b.properties), diffRules("credentials", "", a.Auth.rules(), b.Auth.rules())...)
	pairs, removed := match(a.Jobs, b.Jobs,
		func(x *JobExplanation) string { return x.Job }, func(x *JobExplanation) string { return x.endpoint })
	for i := range b.Jobs {
		d.addJob(pairs[i], &b.Jobs[i])
	}
	if order := diffOrder("order of the jobs", jobIDs(a.Jobs), jobIDs(b.Jobs)); order != nil {
		d.Changes = append(d.Changes, *order)
	}
	for _, x := range removed {
		d.Jobs = append(d.Jobs, JobDifference{Job: x.Job, Change: Removed, Summary: x.Summary})
	}
	d.Same = len(d.Changes) == 0 && len(d.Jobs) == 0
	for _, redact := range []func(string) string{a.redact, b.redact} {
		d.hide(redact) // a secret of one configuration may be an ordinary text of the other
	}
	return d
}

// hide replaces the secrets in all texts of the difference.
func (d *Difference) hide(redact func(string) string) {
	if redact == nil {
		return
	}
	hide := func(changes []Change) {
		for _, c := range changes {
			for _, s := range []*Side{c.A, c.B} {
				if s == nil {
					continue
				}
				s.Text = redact(s.Text)
				for i, says := range s.Says {
					s.Says[i] = redact(says)
				}
			}
		}
	}
	hide(d.Changes)
	for i, x := range d.Jobs {
		d.Jobs[i].Summary = redact(x.Summary)
		hide(x.Changes)
	}
}

// addJob adds the differences between two jobs. a is nil for a job that only B has.
func (d *Difference) addJob(a, b *JobExplanation) {
	if a == nil {
		d.Jobs = append(d.Jobs, JobDifference{Job: b.Job, Change: Added, Summary: b.Summary})
		return
	}
	x := JobDifference{Job: b.Job, Change: Changed, Changes: diffJobs(a, b)}
	if a.Job != b.Job {
		x.Was = a.Job
	}
	if x.Was == "" && len(x.Changes) == 0 {
		d.Unchanged = append(d.Unchanged, b.Job)
		return
	}
	d.Jobs = append(d.Jobs, x)
}

// match pairs the elements of a and b that have the same key: by the first key, then the
// remaining elements by the next key. pairs[i] is the partner of b[i], or nil; left holds the
// elements of a without a partner.
func match[T any](a, b []T, keys ...func(*T) string) (pairs, left []*T) {
	pairs = make([]*T, len(b))
	matched := make([]bool, len(a))
	for _, key := range keys {
		free := map[string][]int{}
		for i := range a {
			if !matched[i] {
				k := key(&a[i])
				free[k] = append(free[k], i)
			}
		}
		for i := range b {
			if pairs[i] != nil {
				continue
			}
			k := key(&b[i])
			if found := free[k]; len(found) > 0 {
				pairs[i], matched[found[0]], free[k] = &a[found[0]], true, found[1:]
			}
		}
	}
	for i := range a {
		if !matched[i] {
			left = append(left, &a[i])
		}
	}
	return pairs, left
}

func jobIDs(jobs []JobExplanation) []string {
	return lists.Map(jobs, func(x JobExplanation) string { return x.Job })
}

// diffProperties compares properties by subject and name. If the requests differ, properties that the
// requests show are left out.
func diffProperties(a, b []property) []Change {
	var out []Change
	shown := false
	add := func(before, after *property) {
		c := diffProperty(before, after)
		switch either := cmp.Or(after, before); {
		case before != nil && after != nil && before.key == after.key, shown && !c.Hidden && slices.Contains(requestSubjects, either.subject):
			return
		case either.subject == firstRequest, either.subject == secondRequest:
			shown = true
		}
		out = append(out, c)
	}
	pairs, removed := match(a, b, func(p *property) string { return p.subject + "\x00" + p.name })
	for i := range b {
		add(pairs[i], &b[i])
	}
	for _, p := range removed {
		add(p, nil)
	}
	return out
}

// diffProperty returns the change of a property. A property that a side does not have is nil.
func diffProperty(a, b *property) Change {
	prop := cmp.Or(b, a)
	c := newChange(prop.subject, prop.name, a.side(), b.side())
	c.Hidden = prop.text == ""
	if c.Change == Changed {
		c.Hidden = a.text == b.text
	}
	return c
}

// side returns the side of a change that has the property, or nil for the nil property.
func (p *property) side() *Side {
	if p == nil {
		return nil
	}
	return &Side{Text: p.text}
}

// newChange returns a change. A side that lacks the thing is nil.
func newChange(part, name string, a, b *Side) Change {
	c := Change{Part: part, Name: name, Change: Changed, A: a, B: b}
	switch {
	case a == nil:
		c.Change = Added
	case b == nil:
		c.Change = Removed
	}
	return c
}
