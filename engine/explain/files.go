package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// addFiles adds the files to which the items of the job are written.
func (j explainer) addFiles(x *ItemsExplanation, cfg *rules.Config) {
	if j.Spec().Emits {
		for _, dataType := range j.Spec().DataTypes() {
			x.Files = lists.AppendNew(x.Files, rules.FileName(dataType))
		}
	}
	for _, keeper := range j.Keepers() {
		x.Added, x.keepers = true, append(x.keepers, keeper.ID())
		x.keepsSeveral = x.keepsSeveral || len(keeper.Keeps) > 1 && j.KeptUse() != compile.KeptUnused
	}
	x.mayGrow = len(j.Keeps) > 0 && len(j.Children) == 0 && j.RequestsByPosition()
	for job := j.Job; job != nil; job = job.Parent {
		if len(job.Children) > 0 {
			x.parents = append(x.parents, job.ID())
		}
	}
	if slices.Equal(x.keepers, []string{j.ID()}) {
		x.keepers = nil
	}
	if slices.ContainsFunc(cfg.Jobs, func(other rules.Job) bool { return other.Emits && other.ID != j.ID() }) {
		x.beside = ", job by job, also with --jobs,"
		if j.Parent != nil || len(j.Children) > 0 {
			x.beside = ", mixed with those of the other jobs of its tree, whose lines do not name the job,"
		}
	}
	evidence, hasEvidence, haveEvidence, orEvidence := " or evidence", ", and has no evidence", ", and have no evidence", " or has evidence"
	if cfg.Dialect.Switches().AcceptEvidence {
		evidence, hasEvidence, haveEvidence, orEvidence = "", "", "", ""
	}
	shared, sharedWithTree := x.areShared(cfg, j.ID())
	switch isTree := j.Parent != nil || len(j.Children) > 0; {
	case evidence == "":
	case isTree, sharedWithTree:
		x.ofEvidence = ", and after evidence in any job, the whole tree of that job"
	case len(j.For) > 0:
		x.ofEvidence = ", and after evidence all partitions of the jobs that have it"
	default:
		x.ofEvidence = ", and after evidence the lists that have it"
	}
	x.published, x.added = "the list ends without an error"+evidence, "the list is complete"+hasEvidence
	if len(j.For) > 0 {
		x.published, x.added = "the job does not fail"+hasEvidence, "all partitions are complete"+haveEvidence
	}
	if shared {
		if evidence != "" {
			x.ofEvidence += ", and those that write to the same file"
			if sharedWithTree {
				x.ofEvidence += " as one of its jobs"
			}
		}
		x.published, x.added = "no job that writes to it fails"+orEvidence, "all jobs that write to it are complete"+haveEvidence
	}
	if j.Parent != nil || len(j.Children) > 0 {
		x.published, x.added = "no job of the tree fails"+orEvidence, "all jobs of the tree are complete"+haveEvidence
	}
	if sharedWithTree {
		x.published = "no job that writes to it, and no other of its tree, fails" + orEvidence
		x.added = "all jobs that write to it, and the others of their trees, are complete" + haveEvidence
	}
	if x.Added && x.ofEvidence != "" {
		x.ofEvidence += ", with the kept values that they had"
	}
}

// areShared reports whether other jobs than the one with an id write to the files, and whether one of all these is in a tree.
func (x *ItemsExplanation) areShared(cfg *rules.Config, id string) (shared, withTree bool) {
	for _, job := range cfg.Jobs {
		if job.Emits && slices.ContainsFunc(job.DataTypes(), func(t string) bool { return slices.Contains(x.Files, rules.FileName(t)) }) {
			shared, withTree = shared || job.ID != id, withTree || isInTree(cfg, job)
		}
	}
	return shared, shared && withTree
}

// isInTree reports whether a job is for the items of another, or has jobs for its items.
func isInTree(cfg *rules.Config, job rules.Job) bool {
	isFor := func(v rules.ForVariable) bool { return v.Items != "" }
	return slices.ContainsFunc(job.For, isFor) || slices.ContainsFunc(cfg.Jobs, func(other rules.Job) bool {
		return slices.ContainsFunc(other.For, func(v rules.ForVariable) bool { return v.Items == job.ID })
	})
}

// invalid names a body that cannot be read.
func (x ItemsExplanation) invalid() string {
	switch x.Format {
	case "":
		return "invalid JSON, whatever its Content-Type"
	case rules.FormatAuto:
		return "invalid in its format, or HTML under another Content-Type"
	case rules.FormatCSV:
		return `invalid CSV, such as {"error": "denied"}, or HTML under another Content-Type`
	}
	return "invalid " + strings.ToUpper(string(x.Format)) + ", or HTML under another Content-Type"
}

// signs says where the audit looks for the signs that there is more. For a body, which most readers expect, it does so in full.
func (x ItemsExplanation) signs(full bool) string {
	switch {
	case x.Format == rules.FormatCSV:
		return "Signs of more are read from headers, such as Link and X-Total-Count, not from rows. "
	case full:
		return "Signs are known by their usual names, such as total, hasMore and next, in bodies and in headers, such as Link and " +
			"X-Total-Count. "
	}
	return ""
}

// afterFailure says which rows there are when the run fails, and what becomes of them.
func (x *JobExplanation) afterFailure() string {
	pages := "When a rule or another expression fails the run, the items of the response are written. "
	lost := "a page that fails the run, and those of its last 10 ms, or of 200 ms if it was killed"
	if x.Items.mayGrow {
		lost = "a page that fails the run; the last one before it, if that is not known to be full, since rows that are added meanwhile " +
			"may come to stand on it; and those of the last 10 ms, or of 200 ms if it was killed"
	}
	saved := " (not saved are " + lost + ")"
	if len(x.Items.Files) > 0 {
		saved += ", and replaces the rows of the later pages (on standard output, these rows come twice)"
	}
	if x.Method != "" && !x.Bounds.onePage {
		pages = "When the run fails, the items of the pages before are written, and so are those of a page on which a rule, a guard " +
			"or another expression fails it" + x.exceptShape() + ". "
	}
	without, over := "--state", ""
	if x.Items.Added {
		without, over = "--state and --kept", ", with no kept values but those of --kept"
	}
	written := len(x.Items.Files) > 0
	if !written {
		pages = ""
	}
	pages += "With --state FILE, the run after one that failed or was interrupted " + x.resumes(saved) +
		"; after exit status 0, it " + x.afterSuccess() + x.Items.ofEvidence
	pages += x.afterFailOn() + "." + x.notResumed() + " With --restart, it starts over" + over + ". A state of another configuration " +
		"or of other inputs is refused before the first request (" + statusState + "). Without " + without + ", every run requests everything. "
	if !written {
		return strings.TrimSuffix(pages, " ")
	}
	return pages + "A run that fails before it has a page leaves an earlier .partial file as it is; one that succeeds removes it."
}

// resumes says where the run after one that failed begins. saved says more of the pages that were saved, if there may be any.
func (x *JobExplanation) resumes(saved string) string {
	text := "requests what is not complete"
	if x.Method != "" && !x.Bounds.onePage {
		text = "begins after the last page that was saved" + saved
	}
	if x.Items.parents != nil {
		text += fmt.Sprintf(", taking the items of %s on saved pages from the state", wording.AndList(x.Items.parents))
	}
	var done []string
	switch {
	case x.Partitions == nil:
	case x.Partitions.OnError == rules.PartitionSkip:
		done = append(done, "partitions that have ended, or failed and were skipped (onPartitionError) before a page of a later one was saved")
	default:
		done = append(done, "partitions that have ended")
	}
	if x.Items.beside != "" {
		evidence := ""
		if x.Items.ofEvidence != "" {
			evidence = " without evidence"
		}
		done = append(done, "jobs that have ended"+evidence+", also by a limit")
	}
	if done != nil {
		text += ", and does not repeat " + strings.Join(done, " and ")
	}
	return text
}

// notResumed says after which failures the next run does not go on, but requests the list again, as sentences.
func (x *JobExplanation) notResumed() string {
	var causes []string
	skips := x.Partitions != nil && x.Partitions.OnError == rules.PartitionSkip
	for _, r := range x.stops(groupSafety) {
		if !skips && r.rule.Stop.CauseBefore && r.Outcome == rules.Failed {
			causes = append(causes, r.ID)
		}
	}
	if slices.ContainsFunc(x.OnError, func(r RuleExplanation) bool { return r.Do == string(rules.ErrorRestart) }) {
		causes = append(causes, "too many restarts")
	}
	what := "the list is"
	switch {
	case x.Items.parents != nil:
		what = "the tree is"
		if !skips {
			causes = append(causes, "an error in an expression about an item of a parent, before the first request for it")
		}
	case x.Partitions != nil:
		what = "all partitions are"
	}
	if causes == nil {
		return ""
	}
	rows := ""
	if len(x.Items.Files) > 0 {
		rows = ", and the rows in .partial are dropped"
	}
	return fmt.Sprintf(" If the run fails by %s, however, %s requested again from the start%s.", wording.OrList(causes), what, rows)
}

// afterSuccess says what the run after one that succeeded does.
func (x *JobExplanation) afterSuccess() string {
	if x.Items.Added {
		return "begins with the kept values"
	}
	return "requests everything again"
}

// exceptShape says that an expression about the items leaves no items of its page to write.
func (x *JobExplanation) exceptShape() string {
	if len(x.Shape) == 0 {
		return ""
	}
	return " (but not if that is an expression of " + wording.OrList(shapes(x.Shape)) + ")"
}

// afterFailOn says what the run after one does that --fail-on has failed, as the end of a sentence.
func (x *JobExplanation) afterFailOn() string {
	var phrases, others []string
	for _, outcome := range x.cutOff() {
		if outcome == string(rules.Limited) && len(x.Keep) == 0 {
			phrases = append(phrases, "after --fail-on limited, it requests nothing, and the rows in .partial become the file if that "+
				"flag is left out")
		} else {
			others = append(others, outcome)
		}
	}
	if others != nil {
		all := "the list"
		switch {
		case x.Items.parents != nil:
			all = "the whole tree"
		case x.Partitions != nil:
			all = "all partitions"
		}
		phrases = append(phrases, fmt.Sprintf("after --fail-on %s, it requests %s again", wording.OrList(others), all))
	}
	if phrases == nil {
		return ""
	}
	return " (" + strings.Join(phrases, "; ") + ")"
}

// outputInWords says where the items go, and in which form.
func (x *JobExplanation) outputInWords() string {
	if len(x.Items.Files) == 0 {
		return "nowhere, since emit is false: they are for other jobs only"
	}
	form := "as the API sent them, without the white space between values"
	if x.Items.Format != "" && x.Items.Format != rules.FormatNDJSON {
		form = "as JSON"
	}
	switch {
	case slices.Equal(shapes(x.Shape), []string{"filter"}):
		form = "after filter, otherwise " + form
	case len(x.Shape) > 0:
		form = "after " + strings.Join(shapes(x.Shape), " and ")
	}
	inFolder := strings.Join(lists.Map(x.Items.Files, func(name string) string { return "DIR/" + name + ".ndjson" }), " and ")
	also := ""
	file, stays, partial := "the file is replaced", "it stays as it is", inFolder+".partial"
	if len(x.Items.Files) > 1 {
		file, stays, partial = "the files are replaced", "they stay as they are", "DIR/NAME.ndjson.partial"
	}
	replaced := x.replacedInWords(file)
	if cut := x.cutOff(); cut != nil {
		names := wording.OrList(cut)
		also = fmt.Sprintf(" A list that is %s counts as one without an error, unless --fail-on names it", names)
		if x.Items.Added {
			also += "; but in a run with kept values, these and the file stay as they are, and its rows are in .partial"
		}
		also += "."
		if x.Partitions != nil && x.Partitions.capped {
			also += " If the limit leaves out all of its partitions, its file stays."
		}
	}
	unit := "page"
	switch {
	case len(x.stops(groupSplit)) > 0:
		unit = "window"
	case x.Method == "":
		unit = "response"
	}
	order := "in the order of the response"
	switch {
	case x.Partitions != nil:
		order = "partition by partition, also with --jobs"
		if strings.Contains(x.Items.beside, "--jobs") {
			order = "partition by partition"
		}
	case x.Method != "":
		order = "in the order of the pages"
	case x.Items.ordered:
		order = "in the order of the paths"
	}
	apart := ""
	if len(x.Items.Files) > 1 {
		apart = ", and does not name the file of a row. An item that occurs twice is written twice"
	}
	return fmt.Sprintf("one per line, %s, %s, to standard output%s or, with --out DIR, to %s. %s%s, and any new rows are in %s, "+
		"in place of earlier ones.%s Standard output "+
		"has the rows of a %s at once, also if the run fails later%s.",
		form, order, x.Items.beside, inFolder, replaced, stays, partial, also, unit, apart)
}

// replacedInWords says when a run replaces the file of the job, or adds rows to it, before what happens otherwise. file is the
// clause that says so: "the file is replaced".
func (x *JobExplanation) replacedInWords(file string) string {
	adds := "no row is written"
	if x.Partitions != nil && x.Partitions.mayLack {
		adds += ", or there is no partition"
	}
	if !x.Items.Added {
		return fmt.Sprintf("If %s, %s, also if %s; otherwise ", x.Items.published, file, adds)
	}
	of := ""
	if x.Items.keepers != nil {
		of = " of " + wording.OrList(x.Items.keepers)
	}
	if x.Items.keepsSeveral {
		of += " on which its items depend"
	}
	return fmt.Sprintf("In a run without kept values%s, as the first one is and each without --kept and --state, %s if %s, "+
		"also if %s; in one with them, the rows are added if %s. Otherwise ",
		of, file, x.Items.published, adds, x.Items.added)
}

// cutOff returns the outcomes with which the list may end although there may be more.
func (x *JobExplanation) cutOff() (outcomes []string) {
	if len(x.stops(groupCutOff)) > 0 || x.Partitions != nil && x.Partitions.capped {
		outcomes = append(outcomes, string(rules.Limited))
	}
	if slices.ContainsFunc(x.stops(groupSafety), func(r RuleExplanation) bool { return r.Outcome == rules.Guarded }) {
		outcomes = append(outcomes, string(rules.Guarded))
	}
	if x.Partitions != nil && x.Partitions.OnError == rules.PartitionSkip {
		outcomes = append(outcomes, string(rules.Partial))
	}
	return outcomes
}

// shapes returns the keys of a job whose rules change its items.
func shapes(list []RuleExplanation) (keys []string) {
	for _, r := range list {
		key := "fields"
		if r.rule.Role == rules.RoleFilter {
			key = "filter"
		}
		keys = lists.AppendNew(keys, key)
	}
	return keys
}
