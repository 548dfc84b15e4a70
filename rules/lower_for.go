package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/times"
)

// linkPartitions checks how the jobs depend on each other, and determines the variables that each can read.
func (l *lowerer) linkPartitions(sets []*Ruleset) {
	if !slices.ContainsFunc(sets, func(set *Ruleset) bool { return len(set.Job.For) > 0 }) {
		return
	}
	byID := make(map[string]*Ruleset, len(sets))
	for _, set := range sets {
		if set.Job.ID != "" { // it is empty only after errors
			byID[set.Job.ID] = set
		}
	}
	for _, set := range sets {
		l.linkParent(set, byID)
	}
	for _, set := range sets {
		l.reportCycle(set, byID)
	}
	for _, set := range sets {
		l.setForNames(set, byID)
	}
	for _, set := range sets {
		l.addForRules(set)
	}
}

// linkParent finds the parent of a job: the job runs for each item of its parent.
func (l *lowerer) linkParent(set *Ruleset, byID map[string]*Ruleset) {
	for i, s := range set.Job.For {
		if s.Items == "" {
			continue
		}
		place := diag.Value(s.settings.get("items").path())
		switch {
		case byID[s.Items] == nil:
			nearest(l.diags.Errorf(place, "no job has the id %q", s.Items), s.Items, l.cfg.jobIDs())
		case set.Parent != "":
			l.diags.Errorf(place, "a job can have one parent, and the parent of this job is %s already", set.Parent).
				WithHint("a variable of that job can be read here too; to combine two lists, request the second for each item of the first")
		case i > 0:
			l.diags.Errorf(place, "the variable with items must be the first: its items arrive page by page").
				WithHint(fmt.Sprintf("write %s before %s", s.Name, set.Job.For[0].Name))
		default:
			set.Parent = s.Items
		}
	}
}

// reportCycle reports a job that is its own ancestor.
func (l *lowerer) reportCycle(set *Ruleset, byID map[string]*Ruleset) {
	path := []string{set.Job.ID}
	for up := byID[set.Parent]; up != nil; up = byID[up.Parent] {
		path = append(path, up.Job.ID)
		if up == set {
			slices.Reverse(path)
			l.diags.Errorf(diag.Value(diag.Join(set.Job.path, "for")), "the jobs are parents of each other: %s",
				strings.Join(path, " → "))
			for _, id := range path {
				byID[id].Parent = ""
			}
			return
		}
		if len(path) > len(byID) { // a cycle above this job
			return
		}
	}
}

// setForNames sets the names of the variables that a job can read: the variables of its ancestors, then
// its own. It reports a name that an ancestor has already.
func (l *lowerer) setForNames(set *Ruleset, byID map[string]*Ruleset) {
	set.ForNames = nil
	var chain []*Ruleset
	for up := set; up != nil; up = byID[up.Parent] {
		chain = append(chain, up)
	}
	for _, up := range slices.Backward(chain) {
		for _, s := range up.Job.For {
			if slices.Contains(set.ForNames, s.Name) && up == set {
				l.diags.Errorf(diag.Key(s.path), "a parent of this job has a variable %s already", s.Name).WithHint("give it another name")
			}
			set.ForNames = append(set.ForNames, s.Name)
		}
	}
}

// addForRules adds the rules of the variables of for.
func (l *lowerer) addForRules(set *Ruleset) {
	for i, v := range set.Job.For {
		for _, key := range []string{"when", "values", "from", "to", "step"} {
			s := v.settings.get(key)
			if s.Value == nil || s.Invalid || key == "values" && v.Constants != nil ||
				key == "step" && (v.Window == nil || !v.Window.Computed) {
				continue
			}
			source := sourceOf(s.Value)
			if key == "from" || key == "to" {
				source = momentSource(s.Value)
			}
			set.Rules = append(set.Rules, Rule{
				ID: v.ID(key), Role: RoleFor, Target: key, Source: source, Clause: "is", Origin: l.configured(s.path()), ForIndex: i,
			})
		}
		if s := v.settings.get("splitWhen"); s.text() != "" {
			if i < len(set.Job.For)-1 {
				l.diags.Errorf(diag.Key(s.path()), "a variable whose windows are split must be the last").
					WithHint(fmt.Sprintf("write %v after the others", v.Name))
			}
			// A guard that drops a page and ends the list is before it: the items of that page are no reason to split.
			end := slices.IndexFunc(set.Rules, func(r Rule) bool { return r.Guard && r.Stop.Drop && r.Outcome == Complete })
			set.Rules = slices.Insert(set.Rules, end+1, Rule{
				ID: v.ID("splitWhen"), Role: RoleStop, Source: s.text(), Outcome: Split, Clause: s.text(), Stop: Stopping{Drop: true},
				Message: "the window is read again in two halves", Origin: l.configured(s.path()), ForIndex: i,
			})
		}
	}
}

// checkPartitionPolicy refuses a policy for partitions that fail in a job that has none.
func (l *lowerer) checkPartitionPolicy(job Job) {
	if len(job.For) == 0 && job.OnFailure == PartitionSkip {
		l.diags.Errorf(diag.Value(diag.Join(job.path, "onPartitionError")), "onPartitionError needs for: a job without variables has one list").
			WithHint("remove onPartitionError")
	}
}

// addKeepFor adds the rule that tells apart the partitions whose kept values are their own.
func (l *lowerer) addKeepFor(set *Ruleset) {
	job := &set.Job
	place := diag.Value(job.keepForPath)
	switch {
	case job.KeepFor == "":
	case len(job.For) == 0:
		l.diags.Errorf(place, "keepFor needs for: a job without variables has one list").WithHint("remove keepFor")
	case len(set.KeptNames) == 0:
		l.diags.Errorf(place, "the job keeps no value for the next run").
			WithHint("add incremental, or keep in the pagination; or remove keepFor")
	default:
		set.Rules = append(set.Rules, Rule{
			ID: "keepFor", Role: RoleKeepFor, Target: "keepFor", Source: job.KeepFor,
			Clause: "is", Origin: l.configured(job.keepForPath),
		})
	}
}

// momentSource returns the expression for the beginning or the end of windows. A date may
// be written as it is.
func momentSource(v any) string {
	text, isText := v.(string)
	if !isText {
		return literal(v)
	}
	if _, err := times.Parse(text); err == nil {
		return fmt.Sprintf("date(%q)", text)
	}
	return text
}
