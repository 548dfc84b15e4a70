package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The exit statuses of runs that fail, as they are named in texts.
var (
	statusAPI       = exitStatus(failure.API)
	statusTransient = exitStatus(failure.Transient)
	statusResponse  = exitStatus(failure.Response)
	statusPolicy    = exitStatus(failure.Policy)
	statusSuspect   = exitStatus(failure.Suspect)
)

func exitStatus(class failure.Class) string { return fmt.Sprintf("exit status %d", class.ExitStatus()) }

// statusOf returns the exit status of a run that fails because of a rule, or 0 for a rule that fails no
// run.
func statusOf(r rules.Rule) int {
	switch {
	case r.Role == rules.OnError && r.Do == rules.ErrorFail:
		return failure.API.ExitStatus()
	case r.Role == rules.OnError && r.Do == rules.ErrorRestart:
		return failure.Policy.ExitStatus()
	case r.Role != rules.Stop || r.Outcome != rules.Failed:
		return 0
	case r.Guard:
		return failure.Policy.ExitStatus()
	}
	return failure.Response.ExitStatus()
}

// refused says which exit status a run has whose list ends with an outcome, if it is not that of a
// complete list.
func refused(outcome rules.Outcome) string {
	return fmt.Sprintf("exit status 0, or %d with --fail-on %s", failure.Suspect.ExitStatus(), outcome)
}

// A NeedExplanation is a value that items must have.
type NeedExplanation struct {
	Path string `json:"path" doc:"path in an item; empty: the item itself"`
	Rule string `json:"rule" doc:"id of the rule that fails the run if an item lacks it"`
}

// needs returns the values that the rules of the job need of every item: greatest(items, "id") fails
// if an item has no id.
func (j explainer) needs() (all []NeedExplanation) {
	for _, e := range slices.Concat(j.Next, compile.Expressions(j.Stops), j.Parts, j.Keeps) {
		for _, keys := range e.ItemKeys() {
			need := NeedExplanation{Path: rules.PathOf(keys...), Rule: e.Rule.ID}
			if !slices.ContainsFunc(all, func(had NeedExplanation) bool { return had.Path == need.Path }) {
				all = append(all, need)
			}
		}
	}
	return all
}

// String says when the run fails.
func (n NeedExplanation) String() string {
	what := "an item has no " + n.Path
	if n.Path == "" {
		what = "an item is null"
	}
	return what + ", or another value there than a number or a text"
}

// A TermExplanation says what a name or a function in the expressions means.
type TermExplanation struct {
	Name string `json:"name" doc:"the name, or the function as it is called"`
	Says string `json:"says" doc:"what it means"`
}

// names are the fields of the page context that are explained where a rule reads them.
var explainedNames = []string{"page", "samePage", "emptyWindow", "polled"}

// terms returns the functions and the less obvious names in the rules, in the order of their tables.
func (e *Explanation) terms() (all []TermExplanation) {
	calls, reads := map[string]bool{}, map[string]bool{}
	see := func(list []RuleExplanation) {
		for _, r := range list {
			for _, name := range r.calls {
				calls[name] = true
			}
			for _, name := range r.Reads {
				reads[name] = true
			}
		}
	}
	see(e.Auth.rules())
	for i := range e.Jobs {
		x := &e.Jobs[i]
		see(slices.Concat(x.variables(), x.Computed, x.State, x.Next, x.Shape, x.Stops, x.OnError, x.Keep))
	}
	for _, f := range language.Builtin().Functions() {
		if calls[f.Name] {
			all = append(all, TermExplanation{Name: f.Signature, Says: f.Doc})
		}
	}
	for _, f := range rules.ContextFields() {
		if reads[f.Name] && slices.Contains(explainedNames, f.Name) {
			all = append(all, TermExplanation{Name: f.Name, Says: f.Doc})
		}
	}
	return all
}

// explainOrigins says what becomes of links and redirects to other origins.
func explainOrigins(cfg *rules.Config) string {
	switch {
	case rules.SwitchesOf(cfg.Dialect).FollowAnyOrigin:
		return "A link or redirect to another origin than that of api.baseUrl is followed, without credentials and secrets."
	case len(cfg.AllowedOrigins) > 0:
		return fmt.Sprintf("A link or redirect to %s is followed, without credentials and secrets (api.allowedOrigins). "+
			"One to another origin, unless it is that of api.baseUrl, fails the run (%s).", value.OrList(cfg.AllowedOrigins), statusPolicy)
	}
	return fmt.Sprintf("A link or redirect to another origin (scheme, host and port) than that of api.baseUrl "+
		"fails the run (%s); api.allowedOrigins allows one.", statusPolicy)
}

// RetryWaits are the waits before retries.
type RetryWaits struct {
	First   time.Duration // the bound of the first one, which doubles with each retry
	Longest time.Duration // the bound of all of them
	Asked   time.Duration // the longest wait that the API may ask for
}

// String says in words how often a request is made again.
func (r RetryExplanation) String() string {
	if r.Max == 0 {
		return fmt.Sprintf("It fails the run: no request is retried (api.http.maxRetries). The exit status is %d for a request "+
			"without a response, %d for a status of 400 or above, and %d for another status than 200, 201, 203 or 204%s.",
			failure.Transient.ExitStatus(), failure.API.ExitStatus(), failure.Response.ExitStatus(), r.renewed())
	}
	which := "A request without a response"
	list := func(statuses []int) string {
		return value.OrList(strings.Fields(strings.Trim(fmt.Sprint(statuses), "[]")))
	}
	if len(r.Statuses) > 0 {
		which += ", or with status " + list(r.Statuses) + ","
	}
	if len(r.Limited) > 0 {
		which = strings.TrimSuffix(which, ",") + ", or with status " + list(r.Limited) + " that says that a rate limit is exceeded,"
	}
	text := fmt.Sprintf("%s is retried, at most %s, or fewer if very many requests of the run fail; after that the run fails (%s). "+
		"An empty body or an HTML page in the place of a page is retried, too, once or twice. ",
		which, value.Counted(r.Max, "time"), statusTransient)
	return text + r.waits() + fmt.Sprintf("Any other status than 200, 201, 203 or 204 fails the run at once (%s, or %d if it is below 400)%s.",
		statusAPI, failure.Response.ExitStatus(), r.renewed())
}

// waits says how long a run waits before retries.
func (r RetryExplanation) waits() string {
	if r.wait.First == 0 {
		return fmt.Sprintf("The header %s says when. ", r.Header)
	}
	return fmt.Sprintf("The header %s says when; if that is later than in %s, the run fails at once. Without the header, "+
		"the wait is a random time of up to %s, which doubles with each retry to at most %s. ",
		r.Header, inWords(r.wait.Asked), inWords(r.wait.First), inWords(r.wait.Longest))
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
	if d%time.Minute == 0 {
		return value.Counted(int(d/time.Minute), "minute")
	}
	return value.Counted(int(d/time.Second), "second")
}

// files says where the items of the job are written. The names are those of the files of all types.
func (j explainer) files(x *ItemsExplanation, names map[string]string) {
	if !j.Spec().Emits {
		return
	}
	for _, dataType := range j.Spec().DataTypes() {
		x.Files = value.AppendNew(x.Files, names[dataType])
	}
	for job := j.Job; job != nil; job = job.Parent {
		x.Added = x.Added || len(job.Keeps) > 0
	}
}

// fileNames returns the names of the files of all types of items.
func fileNames(cfg *rules.Config) map[string]string {
	var types []string
	for _, job := range cfg.Jobs {
		if job.Emits {
			types = append(types, job.DataTypes()...)
		}
	}
	names := map[string]string{}
	for i, name := range rules.FileNames(types) {
		names[types[i]] = name
	}
	return names
}

// written says where the items go, and in which form.
func (x *JobExplanation) written() string {
	files := value.Map(x.Items.Files, func(name string) string { return name + ".ndjson" })
	if len(files) == 0 {
		return "nowhere: they are for other jobs only (emit)"
	}
	form, then := "as the API sent them", "is replaced when the run has ended well"
	switch {
	case len(x.Shape) > 0:
		form = "after " + strings.Join(shapes(x.Shape), " and ")
	case x.Items.Format != "" && x.Items.Format != rules.NDJSON:
		form = "as JSON"
	}
	if len(files) > 1 {
		then = "are replaced when the run has ended well"
	}
	if x.Items.Added {
		then = "to which the rows are added (keep)"
	} else {
		then = "which " + then
	}
	return fmt.Sprintf("to standard output, one per line, %s; with --out to %s (--format gives another ending), %s",
		form, strings.Join(files, " and "), then)
}

// shapes returns the keys of a job whose rules change its items.
func shapes(list []RuleExplanation) (keys []string) {
	for _, r := range list {
		key := "fields"
		if r.rule.Role == rules.Filter {
			key = "filter"
		}
		keys = value.AppendNew(keys, key)
	}
	return keys
}

// keepInWords says when the values for the next run are saved, and which of several.
func (j explainer) keepInWords() string {
	if len(j.Keeps) == 0 {
		return ""
	}
	when := "the list is complete"
	switch {
	case j.Parent != nil || len(j.Children) > 0:
		when = "all jobs of the tree are complete"
	case len(j.For) > 0:
		when = "all partitions are complete"
	}
	says := []string{fmt.Sprintf("Saved in the file of --kept or --state when %s.", when)}
	if len(j.For) > 0 {
		says = append(says, "Each partition gives its own value, and the greatest is saved.")
	}
	var ofAll []string
	for _, e := range j.Keeps {
		if compile.KeepsItems(e) {
			ofAll = append(ofAll, e.Rule.Target)
		}
	}
	if ofAll != nil {
		says = append(says, fmt.Sprintf("In %s, items are those of all pages, and kept.%s is the value so far.",
			strings.Join(ofAll, ", "), ofAll[0]))
	}
	return strings.Join(append(says, "A missing value leaves that of the run before."), " ")
}
