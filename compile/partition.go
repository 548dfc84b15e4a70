package compile

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// A ForVariable is a compiled variable of for.
type ForVariable struct {
	rules.ForVariable
	When   *language.Expression // condition on items; nil if no item is left out
	Values *language.Expression // list of values; nil for other kinds of variables, and for constants
	From   *language.Expression // beginning of the first window; nil for other kinds of variables
	To     *language.Expression // end of the last window; nil for other kinds of variables
	Step   *language.Expression // length of the windows; nil if it is a constant
	secret bool                 // whether a constant value is a secret
}

// MayRunBackwards reports whether the windows may end before they begin without a mistake in the
// configuration or its inputs, because a bound depends on a kept value or on an earlier variable.
func (v *ForVariable) MayRunBackwards() bool {
	return anyReads([]*language.Expression{v.From, v.To}, func(r language.Read) bool {
		return r.Is(rules.ContextKept) || r.Is(rules.ContextPartition)
	})
}

// MayLackValues reports whether the list of values of a variable may be nil without a mistake in the configuration or
// its inputs: it depends on a kept value, or on an item of a parent.
func (a Analysis) MayLackValues(v *ForVariable) bool {
	return v.Values.ReadsFunc(func(r language.Read) bool {
		return r.Is(rules.ContextKept) || r.Is(rules.ContextPartition) && a.job.Parent != nil
	})
}

// addForRule adds a rule of a variable.
func (j *Job) addForRule(e *language.Expression) {
	v := &j.For[e.Rule.ForIndex]
	switch e.Rule.Target {
	case "when":
		v.When = e
	case "values":
		v.Values = e
	case "from":
		v.From = e
	case "to":
		v.To = e
	case "step":
		v.Step = e
	}
}

// checkForRule reports a rule of a variable that reads a value before the value is known: a response, or
// a later variable.
func (c *compilation) checkForRule(e *language.Expression) error {
	if err := checkKnown(e); err != nil {
		return err
	}
	later := c.set.Job.For[e.Rule.ForIndex:]
	for _, r := range e.Reads {
		if r.Root != rules.ContextPartition || len(r.Path) == 0 {
			continue
		}
		own := e.Rule.Target == "when" && r.Path[0] == later[0].Name
		if !own && slices.ContainsFunc(later, func(v rules.ForVariable) bool { return v.Name == r.Path[0] }) {
			return &language.Fault{
				Message: fmt.Sprintf("%s reads %s, which has no value yet", e.Rule.ID, r),
				Hint:    "a variable can read those before it",
			}
		}
	}
	return nil
}

// checkForNames reports variables whose names are taken by a field or a function.
func (c *compilation) checkForNames() {
	for _, v := range c.set.Job.For {
		var owner string
		switch {
		case language.IsField(v.Name):
			owner = "a name that all expressions can read"
		case c.language.HasFunction(v.Name):
			owner = "a function"
		default:
			continue
		}
		place := diag.Key(diag.Join(diag.Join(c.set.Job.Path(), "for"), v.Name))
		c.diags.Errorf(place, "%v is %s", v.Name, owner).WithHint("give the variable another name")
	}
}

// link connects parents and children, and determines which paths of the parents' items the children
// read.
func link(jobs []*Job) {
	if !slices.ContainsFunc(jobs, func(j *Job) bool { return j.Ruleset.Parent != "" }) {
		return
	}
	byID := make(map[string]*Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID()] = j
	}
	for _, j := range jobs {
		if parent := byID[j.Ruleset.Parent]; j.Ruleset.Parent != "" && parent != nil {
			j.Parent = parent
			parent.Children = append(parent.Children, j)
		}
	}
	for _, j := range jobs {
		if j.Parent != nil {
			j.ItemPaths = j.readsOf(j.For[0].Name, nil, func(j *Job) [][]string { return j.partitionReads })
			j.RequiredItemPaths = j.readsOf(j.For[0].Name, nil, func(j *Job) [][]string { return j.requiredReads })
		}
	}
}

// readsOf appends to paths the paths below a variable that the job and its descendants read.
// readsOfJob returns the paths that one job itself reads.
func (j *Job) readsOf(variable string, paths [][]string, readsOfJob func(*Job) [][]string) [][]string {
	for _, path := range readsOfJob(j) {
		switch {
		case len(path) == 0: // all variables
			paths = append(paths, nil)
		case path[0] == variable:
			paths = withPath(paths, path[1:])
		}
	}
	for _, child := range j.Children {
		paths = child.readsOf(variable, paths, readsOfJob)
	}
	return paths
}

// CopiesFromItem reports whether the job or a descendant sends the value at a path of the parent's item, or
// copies it into its own items. If an item lacks the path, its partition runs, but with another request.
func (a Analysis) CopiesFromItem(path []string) bool {
	reads := a.job.readsOfItem(path)
	sends := func(job *Job) bool { return anyReads(job.Computed, reads) }
	return a.FillsFromItem(path) || slices.ContainsFunc(a.job.WithDescendants(), sends)
}

// FillsFromItem reports whether a field of the items of the job or its descendants is the value at a path
// of the parent's item.
func (a Analysis) FillsFromItem(path []string) bool {
	reads := a.job.readsOfItem(path)
	return slices.ContainsFunc(a.job.WithDescendants(), func(below *Job) bool {
		return slices.ContainsFunc(below.ItemRules.Fields, func(f ItemField) bool { return f.ReadsFunc(reads) })
	})
}

// FiltersByItem reports whether a filter of the job or of a descendant, which must be one of the selected jobs, compares its items with
// the value at a path of the parent's item. A filter that names nil allows for its absence.
func (a Analysis) FiltersByItem(path []string, selects func(*Job) bool) bool {
	reads := a.job.readsOfItem(path)
	return slices.ContainsFunc(a.job.WithDescendants(), func(below *Job) bool {
		f := below.ItemRules.Filter
		return f != nil && !f.ContainsNil() && f.ReadsFunc(reads) && selects(below)
	})
}

// readsOfItem returns a function that reports whether a read is about a path of the parent's item.
func (j *Job) readsOfItem(path []string) func(language.Read) bool {
	whole := append([]string{j.For[0].Name}, path...)
	return func(r language.Read) bool { return r.Is(rules.ContextPartition) && slices.Equal(r.Path, whole) }
}

// ExpectsValue reports whether an expression of [Job.Computed] should have a value in every partition. This
// holds for a parameter, a header or a value of the body that depends only on items of ancestors, unless
// the expression itself allows for nil.
func (a Analysis) ExpectsValue(e *language.Expression) bool {
	var items []string // the variables that hold items of ancestors
	for j := a.job; j.Parent != nil; j = j.Parent {
		items = append(items, j.For[0].Name)
	}
	ofItem := func(r language.Read) bool {
		return r.Is(rules.ContextPartition) && !r.Has && !r.Defaulted && len(r.Path) > 0 && slices.Contains(items, r.Path[0])
	}
	sent := slices.Contains([]rules.Role{rules.RoleParam, rules.RoleHeader, rules.RoleBody}, e.Rule.Role)
	return sent && len(e.Reads) > 0 && !e.ReadsFunc(func(r language.Read) bool { return !ofItem(r) }) &&
		!e.ContainsNil()
}

// readsInput returns a function that reports whether a read is of an input, or of all inputs.
func readsInput(input string) func(language.Read) bool {
	return func(r language.Read) bool {
		return r.Is(rules.ContextInput) && (len(r.Path) == 0 || r.Path[0] == input)
	}
}

// BaseReads reports whether the base address depends on an input.
func (a Analysis) BaseReads(input string) bool {
	return slices.ContainsFunc(a.job.Computed, func(e *language.Expression) bool {
		return e.Rule.Role == rules.RoleBaseURL && e.ReadsFunc(readsInput(input))
	})
}

// InputUse reports whether windows of the job or an ancestor end at an input, and whether the input is read
// anywhere else, or for windows that do not continue from the last run.
func (a Analysis) InputUse(input string) (endsWindows, elsewhere bool) {
	reads := readsInput(input)
	for j := a.job; j != nil; j = j.Parent {
		elsewhere = elsewhere || j.reads(reads)
		for _, v := range j.For {
			expressions := slices.DeleteFunc([]*language.Expression{v.When, v.Values, v.From, v.Step},
				func(e *language.Expression) bool { return e == nil })
			movesEnd := v.To != nil && v.To.ReadsFunc(reads)
			elsewhere = elsewhere || anyReads(expressions, reads) || movesEnd && !j.windowsContinue(v)
			endsWindows = endsWindows || movesEnd
		}
	}
	return endsWindows, elsewhere
}

// InputAddsKeys reports whether an input has effect on the job and its descendants only by the values of a variable that is the
// key of keepFor itself. A new value has no kept values, so its partitions begin as in the first run.
func (a Analysis) InputAddsKeys(input string) bool {
	reads := readsInput(input)
	if a.job.KeepFor == nil || a.job.Parent != nil {
		return false
	}
	adds := false
	for _, j := range a.job.WithDescendants() {
		if j.reads(reads) {
			return false
		}
		for _, v := range j.For {
			others := slices.DeleteFunc([]*language.Expression{v.When, v.Values, v.From, v.To, v.Step}, func(e *language.Expression) bool {
				return e == nil || e == v.Values && j == a.job && j.KeepFor.Rule.Source == v.Name
			})
			if anyReads(others, reads) {
				return false
			}
			adds = adds || v.Values != nil && v.Values.ReadsFunc(reads)
		}
	}
	return adds
}

// windowsContinue reports whether the windows of a variable begin at the end that the previous run kept.
func (j *Job) windowsContinue(v ForVariable) bool {
	return slices.ContainsFunc(j.Keeps, func(e *language.Expression) bool {
		return e.ReadsFunc(func(r language.Read) bool {
			return r.Is(rules.ContextPartition) && slices.Equal(r.Path, []string{v.Name, "to"})
		}) && v.From.ReadsFunc(func(r language.Read) bool {
			return r.Is(rules.ContextKept) && len(r.Path) > 0 && r.Path[0] == e.Rule.Target
		})
	})
}

// WithDescendants returns the job and its descendants, parents first.
func (j *Job) WithDescendants() []*Job {
	jobs := []*Job{j}
	for _, child := range j.Children {
		jobs = append(jobs, child.WithDescendants()...)
	}
	return jobs
}

// HasPartitions reports whether the job may have more than one partition, or has children.
func (j *Job) HasPartitions() bool { return len(j.For) > 0 || len(j.Children) > 0 }

// SplitVariable returns the variable whose windows may be split, or nil.
func (a Analysis) SplitVariable() *ForVariable {
	if n := len(a.job.For); n > 0 && a.job.For[n-1].Window != nil && a.job.For[n-1].Window.Splits {
		return &a.job.For[n-1]
	}
	return nil
}
