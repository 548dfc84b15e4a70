package explain

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The exit statuses of runs that fail, as they are named in texts.
var (
	statusConfig    = exitStatus(failure.Config)
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
	case r.Role == rules.RoleOnError && r.OnError.Do == rules.ErrorFail:
		return failure.API.ExitStatus()
	case r.Role == rules.RoleOnError && r.OnError.Do == rules.ErrorRestart:
		return failure.Policy.ExitStatus()
	case r.Role != rules.RoleStop || r.Outcome != rules.Failed:
		return 0
	case r.Guard:
		return failure.Policy.ExitStatus()
	}
	return failure.Response.ExitStatus()
}

// failOnStatus names the exit status of a run whose list ends with an outcome other than complete.
func failOnStatus(dialect rules.Dialect, outcome rules.Outcome) string {
	by := "by evidence or"
	if dialect.Switches().AcceptEvidence {
		by = "with"
	}
	return fmt.Sprintf("exit status 0, or %d %s --fail-on %s", failure.Suspect.ExitStatus(), by, outcome)
}

// A NeedExplanation is a value that items must have.
type NeedExplanation struct {
	Path string `json:"path" doc:"path in an item; empty: the item itself"`
	Rule string `json:"rule" doc:"id of the rule that fails the run if an item lacks it"`

	where  string // the end of the sentence: the pages on which the value is needed
	number bool   // a text must be a number
}

// needs returns the values that the rules of the job need of every item: greatest(items, "id") fails
// if an item has no id.
func (j explainer) needs() (needs []NeedExplanation) {
	for _, e := range slices.Concat(j.Next, compile.Expressions(j.Stops), j.Parts, j.Keeps) {
		for _, keys := range e.NeededKeys() {
			need := NeedExplanation{Path: keypath.Join(keys...), Rule: e.Rule.ID}
			switch e.Rule.Role {
			case rules.RoleNext:
				need.where = ", on any page but the last"
				need.number = slices.ContainsFunc(j.Parts, func(part *language.Expression) bool {
					return strings.Contains(part.Rule.Source, "number(state."+e.Rule.Target+")")
				})
			case rules.RoleKeep:
				need.where = ", also on the last page of a complete list"
			}
			i := slices.IndexFunc(needs, func(had NeedExplanation) bool { return had.Path == need.Path })
			if i < 0 {
				needs = append(needs, need)
			} else if needs[i].where != "" {
				needs[i].where = need.where
			}
		}
	}
	return needs
}

// String says when the run fails.
func (n NeedExplanation) String() string {
	text := "a text"
	if n.number {
		text = "the text of one"
	}
	if n.Path == "" {
		return fmt.Sprintf("an item is neither a number nor %s%s", text, n.where)
	}
	return fmt.Sprintf("an item has no %[1]s, or its %[1]s is neither a number nor %[2]s%[3]s", n.Path, text, n.where)
}

// originInWords returns the origin of an address in brackets, or "" if it has none.
func originInWords(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return fmt.Sprintf(" (%s://%s)", u.Scheme, u.Host)
}

// explainOrigins says how a run treats links and redirects to other origins.
func explainOrigins(cfg *rules.Config) string {
	allowed := cfg.AllowedOrigins
	if slices.ContainsFunc(cfg.Jobs, func(j rules.Job) bool { return j.AllowedOrigins != nil }) {
		allowed = append(slices.Clip(allowed), "an origin of allowedOrigins of its job")
	}
	switch {
	case cfg.Dialect.Switches().FollowAnyOrigin:
		return "A link, endpoint or redirect to another origin than that of api.baseUrl is followed, " +
			"without credentials and other secrets. " +
			"At a private address, such as one of a local network, it fails the run (" + statusPolicy + "), unless its host is that of " +
			"api.baseUrl, or api.allowedOrigins has the address."
	case len(allowed) > 0:
		return fmt.Sprintf("A link, endpoint or redirect to %s is followed, without credentials and other secrets, "+
			"unless its host name has a private address (api.allowedOrigins; "+statusPolicy+"). "+
			"One to any other origin but that of api.baseUrl%s fails the run (%s).",
			wording.OrList(allowed), originInWords(cfg.BaseURL), statusPolicy)
	}
	return fmt.Sprintf("A link, endpoint or redirect to another origin (scheme, host and port) than that of api.baseUrl "+
		"fails the run (%s), and nothing is sent there; api.allowedOrigins allows one.", statusPolicy)
}
