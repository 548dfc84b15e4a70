package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The exit statuses of runs that fail, as they are named in texts.
var (
	statusAPI       = exitStatus(failure.API)
	statusTransient = exitStatus(failure.Transient)
	statusResponse  = exitStatus(failure.Response)
	statusPolicy    = exitStatus(failure.Policy)
	statusState     = exitStatus(failure.State)
	statusSuspect   = exitStatus(failure.Suspect)
)

func exitStatus(class failure.Class) string { return fmt.Sprintf("exit status %d", class.ExitStatus()) }

// statusOf returns the exit status of a run that fails because of a rule, or 0 for a rule that fails no
// run.
func statusOf(r rules.Rule) int {
	switch {
	case r.Role == rules.RoleOnError && r.Do == rules.ErrorFail:
		return failure.API.ExitStatus()
	case r.Role == rules.RoleOnError && r.Do == rules.ErrorRestart:
		return failure.Policy.ExitStatus()
	case r.Role != rules.RoleStop || r.Outcome != rules.Failed:
		return 0
	case r.Guard:
		return failure.Policy.ExitStatus()
	}
	return failure.Response.ExitStatus()
}

// failOnStatus names the exit status of a run whose list ends with an outcome other than complete.
func failOnStatus(outcome rules.Outcome) string {
	return fmt.Sprintf("exit status 0, or %d with --fail-on %s", failure.Suspect.ExitStatus(), outcome)
}

// A NeedExplanation is a value that items must have.
type NeedExplanation struct {
	Path string `json:"path" doc:"path in an item; empty: the item itself"`
	Rule string `json:"rule" doc:"id of the rule that fails the run if an item lacks it"`

	where string // the end of the sentence: the pages on which the value is needed
}

// needs returns the values that the rules of the job need of every item: greatest(items, "id") fails
// if an item has no id.
func (j explainer) needs() (needs []NeedExplanation) {
	for _, e := range slices.Concat(j.Next, compile.Expressions(j.Stops), j.Parts, j.Keeps) {
		for _, keys := range e.NeededKeys() {
			need := NeedExplanation{Path: rules.JoinPath(keys...), Rule: e.Rule.ID}
			if e.Rule.Role == rules.RoleNext {
				need.where = ", on any page but the last"
			}
			i := slices.IndexFunc(needs, func(had NeedExplanation) bool { return had.Path == need.Path })
			if i < 0 {
				needs = append(needs, need)
			} else if need.where == "" {
				needs[i].where = ""
			}
		}
	}
	return needs
}

// String says when the run fails.
func (n NeedExplanation) String() string {
	if n.Path == "" {
		return "an item is neither a number nor a text" + n.where
	}
	return fmt.Sprintf("an item has no %[1]s, or its %[1]s is neither a number nor a text%[2]s", n.Path, n.where)
}

// A TermExplanation explains a name or a function in the expressions.
type TermExplanation struct {
	Name string `json:"name" doc:"the name, or the function as it is called"`
	Says string `json:"says" doc:"what it means"`
}

// explainedNames are the fields of the page context that are explained if a rule reads them.
var explainedNames = []string{"page", "sent", "samePage", "emptyWindow", "polled", "key"}

// lacking are the names whose members a response, an item or the previous run may lack.
var lacking = []string{"body", "header", "link", "item", "items", "kept", "first", "prev"}

// usedNames are the functions and names that expressions use.
type usedNames struct {
	calls, reads map[string]bool
	lacks        bool // whether an expression of the configuration reads a value that a response or an item may lack
}

// add adds the names that the expressions of rules use.
func (u *usedNames) add(list []RuleExplanation) {
	if u.calls == nil {
		u.calls, u.reads = map[string]bool{}, map[string]bool{}
	}
	for _, r := range list {
		for _, name := range r.calls {
			u.calls[name] = true
		}
		for _, name := range r.Reads {
			u.reads[name] = true
			root := name[:max(0, strings.IndexAny(name, ".[("))]
			u.reads[root] = true
			u.lacks = u.lacks || r.Origin.By.Kind == rules.AuthorConfig && slices.Contains(lacking, root)
		}
	}
}

// join adds the names of other.
func (u *usedNames) join(other usedNames) {
	u.add(nil)
	u.lacks = u.lacks || other.lacks
	maps.Copy(u.calls, other.calls)
	maps.Copy(u.reads, other.reads)
}

// terms returns the functions and the less obvious names, in the order of their tables.
func (u usedNames) terms() (terms []TermExplanation) {
	for _, f := range language.Builtin().Functions() {
		if u.calls[f.Name] {
			terms = append(terms, TermExplanation{Name: f.Signature, Says: f.Doc})
		}
	}
	for _, f := range rules.ContextFields() {
		if u.reads[f.Name] && slices.Contains(explainedNames, f.Name) {
			terms = append(terms, TermExplanation{Name: f.Name, Says: f.Doc})
		}
	}
	if u.lacks {
		terms = append(terms, TermExplanation{Name: "nil", Says: "a value that is missing: " +
			"a comparison with it is false, unless it is == or !=; arithmetic with it gives nil; a part of a request that is nil is left out"})
	}
	return terms
}

// terms returns the functions and the less obvious names in all rules.
func (e *Explanation) terms() []TermExplanation {
	var used usedNames
	used.add(e.Auth.rules())
	for i := range e.Jobs {
		x := &e.Jobs[i]
		used.add(slices.Concat(x.variables(), x.Computed, x.State, x.Next, x.Shape, x.Stops, x.OnError, x.Keep))
	}
	return used.terms()
}

// explainOrigins says how a run treats links and redirects to other origins.
func explainOrigins(cfg *rules.Config) string {
	allowed := cfg.AllowedOrigins
	if slices.ContainsFunc(cfg.Jobs, func(j rules.Job) bool { return j.AllowedOrigins != nil }) {
		allowed = append(slices.Clip(allowed), "an origin of allowedOrigins of its job")
	}
	switch {
	case rules.SwitchesOf(cfg.Dialect).FollowAnyOrigin:
		return "A link or redirect to another origin than that of api.baseUrl is followed, without credentials and other secrets."
	case len(allowed) > 0:
		return fmt.Sprintf("A link or redirect to %s is followed, without credentials and other secrets (api.allowedOrigins). "+
			"One to another origin, unless it is that of api.baseUrl, fails the run (%s).", value.OrList(allowed), statusPolicy)
	}
	return fmt.Sprintf("A link or redirect to another origin (scheme, host and port) than that of api.baseUrl "+
		"fails the run (%s), and nothing is sent there; api.allowedOrigins allows one.", statusPolicy)
}

// Waits are the longest times that a request waits for its response, and those before retries.
type Waits struct {
	Begin    time.Duration // until the response begins, if no timeout is configured
	Pause    time.Duration // between two pieces of its body
	Response time.Duration // until it is complete, if no timeout is configured

	First   time.Duration // the longest wait before the first retry; it doubles with each retry
	Longest time.Duration // the longest wait before any retry
	Asked   time.Duration // the longest wait that the API may ask for
}

// String says in words how often a request is made again.
func (r RetryExplanation) String() string {
	if r.Max == 0 {
		return fmt.Sprintf("It fails the run: no request is retried (api.http.maxRetries). The exit status is %d for a request "+
			"without a response%s, %d for an unknown host, an untrusted certificate and any other status of 400 or above, and %d for "+
			"another status than "+requests.PageStatuses+"%s. Redirects are followed, up to 10. %s",
			failure.Transient.ExitStatus(), r.transient(), failure.API.ExitStatus(), failure.Response.ExitStatus(), r.renewed(),
			strings.TrimSuffix(r.describeTimeouts(), " "))
	}
	subject := "A request without a response"
	if len(r.Statuses) > 0 {
		subject += ", with status " + statusesInWords(r.Statuses) + ","
	}
	if len(r.Limited) > 0 {
		subject = strings.TrimSuffix(subject, ",") + ", or with status " + statusesInWords(r.Limited) + " that reports a rate limit,"
	}
	return fmt.Sprintf("%s is retried up to %s (less often if very many requests of the run fail); then the run fails (%s). %s"+
		"An unknown host or an untrusted certificate fails it at once (%s). "+
		"HTML by its Content-Type, or an empty body except of CSV and NDJSON, is retried once or twice; then it fails the run (%s). %s"+
		"Redirects are followed, up to 10. "+
		"Any other status than "+requests.PageStatuses+" fails the run at once (%s, or %d below 400)%s.",
		subject, value.Counted(r.Max, "time"), statusTransient, r.describeTimeouts(), statusAPI, statusResponse,
		r.describeWaits(), statusAPI, failure.Response.ExitStatus(), r.renewed())
}

// transient names the statuses that are retried, or would be, as the end of a list that begins with requests without a response.
func (r RetryExplanation) transient() string {
	if len(r.Statuses) == 0 {
		return ""
	}
	return " or with status " + statusesInWords(r.Statuses)
}

// statusesInWords lists statuses: "429, 500 or 520 to 524".
func statusesInWords(list []int) string {
	var ranges []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if end-i >= 2 {
			ranges = append(ranges, fmt.Sprintf("%d to %d", list[i], list[end]))
		} else {
			ranges = append(ranges, value.Map(list[i:end+1], strconv.Itoa)...)
		}
		i = end + 1
	}
	return value.OrList(ranges)
}

// describeTimeouts says how long a request waits for its response.
func (r RetryExplanation) describeTimeouts() string {
	pauses := " or pauses for " + inWords(r.wait.Pause)
	switch {
	case r.wait.Pause == 0:
		return ""
	case r.timeout == 0:
		return fmt.Sprintf("A response that does not begin within %s, is not complete after %s%s counts as none (api.http.timeout). ",
			inWords(r.wait.Begin), inWords(r.wait.Response), pauses)
	case r.timeout <= r.wait.Pause:
		pauses = ""
	}
	return fmt.Sprintf("A response that is not complete after %s (api.http.timeout)%s counts as none. ", inWords(r.timeout), pauses)
}

// describeWaits says how long a run waits before retries.
func (r RetryExplanation) describeWaits() string {
	if r.wait.First == 0 {
		return fmt.Sprintf("The header %s gives the wait. ", r.Header)
	}
	return fmt.Sprintf("The header %s gives the wait (more than %s: the run fails at once, %s). Without it, the wait is random, "+
		"at most %s before the first retry and twice as long before each further one, up to %s. ",
		r.Header, inWords(r.wait.Asked), statusTransient, inWords(r.wait.First), inWords(r.wait.Longest))
}

// renewed says that credentials are renewed, if they are.
func (r RetryExplanation) renewed() string {
	if !r.Renewed {
		return ""
	}
	return "; after 401, the credentials are renewed first, and the request is made again, once"
}

// inWords writes a duration without the zeros of [time.Duration.String].
func inWords(d time.Duration) string {
	switch {
	case d%time.Minute == 0:
		return value.Counted(int(d/time.Minute), "minute")
	case d%time.Second == 0:
		return value.Counted(int(d/time.Second), "second")
	}
	return d.String()
}

// addFiles adds the files to which the items of the job are written.
func (j explainer) addFiles(x *ItemsExplanation, cfg *rules.Config) {
	if !j.Spec().Emits {
		return
	}
	for _, dataType := range j.Spec().DataTypes() {
		x.Files = value.AppendNew(x.Files, rules.FileName(dataType))
	}
	for job := j.Job; job != nil; job = job.Parent {
		x.Added = x.Added || len(job.Keeps) > 0
	}
	if slices.ContainsFunc(cfg.Jobs, func(other rules.Job) bool { return other.Emits && other.ID != j.ID() }) {
		x.beside = ", among those of the other jobs,"
	}
	x.published, x.added = "the list ends without an error or evidence", "the list is complete"
	shared := slices.ContainsFunc(cfg.Jobs, func(other rules.Job) bool {
		return other.ID != j.ID() && other.Emits &&
			slices.ContainsFunc(other.DataTypes(), func(t string) bool { return slices.Contains(x.Files, rules.FileName(t)) })
	})
	if len(j.For) > 0 {
		x.published, x.added = "the job does not fail, and has no evidence", "all partitions are complete"
	}
	if shared {
		x.published, x.added = "no job that writes to it fails", "all jobs that write to it are complete"
	}
	if j.Parent != nil || len(j.Children) > 0 {
		x.published, x.added = "no job of the tree fails or has evidence", "all jobs of the tree are complete"
		if shared {
			x.published += ", and no other job that writes to it"
		}
	}
}

// outputInWords says where the items go, and in which form.
func (x *JobExplanation) outputInWords() string {
	if len(x.Items.Files) == 0 {
		return "nowhere: they are for other jobs only (emit)"
	}
	form := "as the API sent them"
	switch {
	case len(x.Shape) > 0:
		form = "after " + strings.Join(shapes(x.Shape), " and ")
	case x.Items.Format != "" && x.Items.Format != rules.NDJSON:
		form = "as JSON"
	}
	names := strings.Join(value.Map(x.Items.Files, func(name string) string { return name + ".ndjson" }), " and ")
	file, stays, partial := "the file is replaced", "it stays as it is", names+".partial"
	if len(x.Items.Files) > 1 {
		file, stays, partial = "the files are replaced", "they stay as they are", "NAME.ndjson.partial"
	}
	replaced := fmt.Sprintf("If %s, %s; otherwise ", x.Items.published, file)
	if x.Items.Added {
		replaced = fmt.Sprintf("Without kept values, %s if %s; with them, the rows are added (keep) if %s. Otherwise ",
			file, x.Items.published, x.Items.added)
	}
	return fmt.Sprintf("one per line, %s, to standard output%s or, with --out, to %s (--format changes this). "+
		"%s%s, and any new rows are in %s.", form, x.Items.beside, names, replaced, stays, partial)
}

// shapes returns the keys of a job whose rules change its items.
func shapes(list []RuleExplanation) (keys []string) {
	for _, r := range list {
		key := "fields"
		if r.rule.Role == rules.RoleFilter {
			key = "filter"
		}
		keys = value.AppendNew(keys, key)
	}
	return keys
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
	sentences, stay := []string{fmt.Sprintf("Saved for this job in the --kept or --state file when %s. "+
		"A run with another address, parameters or inputs, or whose file has changed since, is refused (%s).", time, statusState)}, ""
	switch {
	case j.KeepFor != nil:
		sentences = append(sentences, fmt.Sprintf("They are kept for each value of %s (keepFor): of the partitions with the same, "+
			"the greatest is saved, and each partition reads its own.", j.redact(j.KeepFor.Rule.Source)))
		stay = ", and so do those for which there is no partition"
	case len(j.For) > 0:
		sentences = append(sentences, "Each partition gives its own value, and the greatest is saved.")
	}
	var ofAll, ofLast []string
	for _, e := range j.Keeps {
		switch {
		case compile.AccumulatesItems(e):
			ofAll = append(ofAll, e.Rule.Target)
		case slices.ContainsFunc(e.Reads, variesByPage):
			ofLast = append(ofLast, e.Rule.Target)
		}
	}
	if ofAll != nil {
		sentences = append(sentences, fmt.Sprintf("In %s, items are the items of all pages, and kept.%s is the value so far.",
			strings.Join(ofAll, ", "), ofAll[0]))
	}
	if ofLast != nil {
		sentences = append(sentences, fmt.Sprintf("The value of %s is that of the last page.", strings.Join(ofLast, ", ")))
	}
	sentences = append(sentences, "If a value is missing, that of the run before stays"+stay+".")
	if j.KeepFor != nil && kept != nil {
		sentences = append(sentences, j.keptInWords(kept[j.ID()]))
	}
	return strings.Join(sentences, " ")
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

// variesByPage reports whether an expression reads a value that differs from page to page.
func variesByPage(r language.Read) bool {
	return r.Past == "" && (r.Phase() == rules.PhasePlan || r.Phase() == rules.PhaseResponse)
}
