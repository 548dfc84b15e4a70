package compile

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Source is a variable of for, compiled.
type Source struct {
	rules.Source
	When   *language.Expression // condition on items; nil if all items count
	Values *language.Expression // nil for constants and other kinds of sources
	From   *language.Expression // expression of the start of windows
	To     *language.Expression
}

// addSource adds a rule of a variable.
func (j *Job) addSource(e *language.Expression) {
	s := &j.Sources[e.Rule.Variable]
	*map[string]**language.Expression{"when": &s.When, "values": &s.Values, "from": &s.From, "to": &s.To}[e.Rule.Target] = e
}

// checkSource reports a rule of a variable that reads what is known only later: a response,
// or a variable that follows.
func (c *compilation) checkSource(e *language.Expression) error {
	if err := checkBound(e); err != nil {
		return err
	}
	later := c.set.Job.For[e.Rule.Variable:]
	for _, r := range e.Reads {
		if r.Root != language.PartitionField || len(r.Path) == 0 {
			continue
		}
		own := e.Rule.Target == "when" && r.Path[0] == later[0].Name
		if !own && slices.ContainsFunc(later, func(s rules.Source) bool { return s.Name == r.Path[0] }) {
			return &language.Fault{
				Message: fmt.Sprintf("%s reads %s, which has no value yet", e.Rule.ID, r),
				Hint:    "a variable can read those before it",
			}
		}
	}
	return nil
}

// checkVariables reports variables whose names mean something else.
func (c *compilation) checkVariables() {
	for _, s := range c.set.Job.For {
		var taken string
		switch {
		case language.IsField(s.Name):
			taken = "a name that all expressions can read"
		case c.language.HasFunction(s.Name):
			taken = "a function"
		default:
			continue
		}
		place := diag.Key(diag.Join(diag.Join(c.set.Job.Path(), "for"), s.Name))
		c.found.Errorf(place, "%s is %s", s.Name, taken).WithHint("give the variable another name")
	}
}

// link connects the jobs with those whose items they are for, and says what has to be
// decoded of the items.
func link(jobs []*Job) {
	if !slices.ContainsFunc(jobs, func(j *Job) bool { return j.Set.Parent != "" }) {
		return
	}
	byID := make(map[string]*Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID()] = j
	}
	for _, j := range jobs {
		if parent := byID[j.Set.Parent]; j.Set.Parent != "" && parent != nil {
			j.Parent = parent
			parent.Children = append(parent.Children, j)
		}
	}
	for _, j := range jobs {
		if j.Parent != nil {
			j.ItemPaths = j.readsOf(j.Sources[0].Name, nil, func(j *Job) [][]string { return j.partitionReads })
			j.ItemNeeds = j.readsOf(j.Sources[0].Name, nil, func(j *Job) [][]string { return j.partitionNeeds })
		}
	}
}

// readsOf adds the paths that the job and the jobs below it read of a variable.
func (j *Job) readsOf(variable string, paths [][]string, of func(*Job) [][]string) [][]string {
	for _, path := range of(j) {
		switch {
		case len(path) == 0: // all variables
			paths = append(paths, nil)
		case path[0] == variable:
			paths = withPath(paths, path[1:])
		}
	}
	for _, child := range j.Children {
		paths = child.readsOf(variable, paths, of)
	}
	return paths
}

// Below returns the job and all jobs below it, parents first.
func (j *Job) Below() []*Job {
	all := []*Job{j}
	for _, child := range j.Children {
		all = append(all, child.Below()...)
	}
	return all
}

// Partitioned reports whether the job may run more than once, or jobs depend on its items.
func (j *Job) Partitioned() bool { return len(j.Sources) > 0 || len(j.Children) > 0 }

// Splits returns the variable whose windows may be split, or nil.
func (j *Job) Splits() *Source {
	if n := len(j.Sources); n > 0 && j.Sources[n-1].Window != nil && j.Sources[n-1].Window.Splits {
		return &j.Sources[n-1]
	}
	return nil
}
