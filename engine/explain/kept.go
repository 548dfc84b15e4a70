package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// keepRules returns the expressions about the values for the next run.
func (j explainer) keepRules() []*language.Expression {
	if j.KeepFor == nil {
		return j.Keeps
	}
	return append([]*language.Expression{j.KeepFor}, j.Keeps...)
}

// keepInWords says when the values for the next run are saved, which value is saved if the pages have several,
// and which partitions have values of the previous run.
func (j explainer) keepInWords(kept map[string]map[string]any) string {
	if len(j.Keeps) == 0 {
		return ""
	}
	time := "the list is complete"
	switch {
	case j.Parent != nil || len(j.Children) > 0:
		time = "all jobs of the tree are complete"
	case len(j.For) > 0:
		time = "all partitions are complete"
	}
	evidence := " and without evidence"
	if j.Ruleset.Dialect.Switches().AcceptEvidence {
		evidence = ""
	}
	sentences, stay := []string{fmt.Sprintf("Saved for this job, and read by no other, in the files of --kept and --state that are given, "+
		"when %s%s; of both, that of --kept is read, and the state for a job that has no value there. "+
		"A run in which the job has another address, method, parameters, body, headers, dataField, filter, inputs that are not secret, "+
		"or keep, or another setting that decides which rows it has, or whose output file has changed since, is refused before the first "+
		"request of any job (%s); if that file is missing, the log warns, and the new rows alone "+
		"become the file. To read everything again, use --restart with --state, and remove the file of --kept.", time, evidence, statusState)}, ""
	switch {
	case j.KeepFor != nil:
		sentences = append(sentences, fmt.Sprintf("They are kept for each value of %s (keepFor): if several partitions have the same value, "+
			"the greatest is saved, and each partition reads its own.", j.redact(j.KeepFor.Rule.Source)))
		stay = ", and so do those for which there is no partition"
	case len(j.For) > 0:
		sentences = append(sentences, "Each partition gives its own value, and the greatest is saved for all (keepFor keeps one for each).")
	}
	if i := slices.IndexFunc(j.Keeps, func(e *language.Expression) bool { return slices.Contains(e.Calls(), "latestOf") }); i >= 0 {
		sentences = append(sentences, fmt.Sprintf("An item without %[1]s is passed over; if no item has it, and no run before kept "+
			"a value, no value of %[1]s is saved, and the log warns.", j.Keeps[i].Rule.Target))
		other := "A date"
		if _, format, _ := j.Keeps[i].GreatestOf(); format != "" {
			other = "A date in another form than " + format
		}
		sentences = append(sentences, fmt.Sprintf("%s that does not sort as text, such as 3 Jan 26, fails the run (%s).", other, statusResponse))
	}
	var ofAll, ofLast []string
	for _, e := range j.Keeps {
		switch {
		case compile.AccumulatesItems(e):
			ofAll = append(ofAll, e.Rule.Target)
		case e.ReadsFunc(variesByPage):
			ofLast = append(ofLast, e.Rule.Target)
		}
	}
	if ofAll != nil {
		filtered := ""
		if j.ItemRules.Filter != nil {
			filtered = " (also those that the filter leaves out)"
		}
		sentences = append(sentences, fmt.Sprintf("The value of %s is computed after each page, from its items%s and the value so far; "+
			"there, kept.%s means this value, and everywhere else that of the run before.", wording.AndList(ofAll), filtered, ofAll[0]))
	}
	if ofLast != nil {
		sentences = append(sentences, fmt.Sprintf("The last page gives the value of %s.", wording.AndList(ofLast)))
	}
	if lacking := j.lackingInWords(); lacking != "" {
		then := "the next run is refused, too, unless it merges the rows or has --append"
		if j.FollowsParent() {
			then = "a run in which one of them comes again has evidence (audit.unsent), unless it merges the rows"
		}
		sentences = append(sentences, fmt.Sprintf("If %s, %s.", lacking, then))
	}
	sentences = append(sentences, "If a value is missing, that of the run before stays"+stay+".")
	if j.KeepFor != nil && kept != nil {
		sentences = append(sentences, j.keptInWords(kept[j.ID()]))
	}
	return strings.Join(sentences, " ")
}

// lackingInWords says after which lists the next run may obtain items again, since values that decide where it begins are missing; see
// [compile.Analysis.Continues].
func (j explainer) lackingInWords() string {
	switch {
	case j.KeptUse() == compile.KeptUnused:
		return ""
	case j.KeepFor != nil:
		return fmt.Sprintf("the partitions of one value of %s have items, but give no value to keep, and those of another value give one",
			j.redact(j.KeepFor.Rule.Source))
	case len(j.Keeps) > 1 && len(j.SentCursors()) == 0:
		return "the list has items and keeps only some of these values, others of which decide which items the next run obtains"
	}
	return ""
}

// keptInWords says for which values of keepFor the previous run kept values.
func (j explainer) keptInWords(kept map[string]any) string {
	const most = 5
	known := map[string]bool{}
	for _, v := range kept {
		byKey, _ := v.(map[string]any)
		for key, v := range byKey {
			if v != nil {
				known[key] = true
			}
		}
	}
	keys := slices.Sorted(maps.Keys(known))
	switch n := len(keys); {
	case n == 0:
		return "The previous run kept none, so every partition begins without them."
	case n > most:
		keys = append(keys[:most], fmt.Sprintf("and %d others", n-most))
	}
	return fmt.Sprintf("The previous run kept values for %d of them (%s); a partition with another begins without.",
		len(known), j.redact(strings.Join(keys, ", ")))
}

// lacksOf returns the kept values, and the variables of the state that begin with one, which a stopping rule of the configuration
// reads, but does not compare with nil: the rule fails if such a value is nil and only so ends the list.
func (j explainer) lacksOf(e *language.Expression) (lacks []string) {
	if e.Rule.Role != rules.RoleStop || !e.Rule.Origin.IsConfig() || strings.Contains(e.Rule.Source, "nil") ||
		strings.Contains(e.Rule.Source, "??") {
		return nil
	}
	isKept := func(r language.Read) bool { return r.Is(rules.ContextKept) }
	for _, read := range e.Reads {
		begins := func(init *language.Expression) bool {
			return len(read.Path) == 1 && init.Rule.Target == read.Path[0] && init.ReadsFunc(isKept)
		}
		if isKept(read) && !read.Has || read.Is(rules.ContextState) && slices.ContainsFunc(j.Init, begins) {
			lacks = lists.AppendNew(lacks, j.redact(read.String()))
		}
	}
	return lacks
}

// variesByPage reports whether an expression reads a value that differs from page to page.
func variesByPage(r language.Read) bool {
	return r.Past == "" && (r.Phase() == rules.PhasePlan || r.Phase() == rules.PhaseResponse)
}
