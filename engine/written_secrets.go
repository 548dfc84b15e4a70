package engine

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
)

// WrittenSecrets reports secrets that are written in the text of the configuration instead of
// being read from the environment. The engine must have been loaded with [WithPlaceholders] and
// without [WithEnv].
func (d Distribution) WrittenSecrets() Diagnostics {
	e := d.engine
	found := diag.NewCollector(e.cfg.Source)
	text := ""
	if e.cfg.Source != nil {
		text = e.cfg.Source.Text
	}
	var places []secretPlace
	written := false
	defaults := e.secretDefaults(found)
	for _, secret := range e.cfg.Secrets {
		if rules.HasPlaceholder(secret) || secret == "" || slices.Contains(defaults, secret) {
			continue
		}
		written = true
		if at := strings.Index(text, secret); at >= 0 { // it may be escaped, or derived from another secret
			places = append(places, e.secretPlace(at))
		}
	}
	const hint = `read it from the environment of the workers, with {"env": "NAME"}`
	if u, err := url.Parse(e.cfg.BaseURL); err == nil && u.RawQuery != "" && strings.Contains(text, u.RawQuery) {
		found.Errorf(diag.Outside("the configuration"), "api.baseUrl has a query, which requests do not have, and which may be secret").
			WithHint("leave it out; a parameter of every request belongs under api.http.defaultOptions.params")
	}
	if written && places == nil {
		found.Errorf(diag.Outside("the configuration"), "a secret is written in it").WithHint(hint)
	}
	slices.SortFunc(places, func(a, b secretPlace) int { return cmp.Compare(a.line, b.line) })
	for _, place := range slices.Compact(places) {
		found.Errorf(diag.Outside("the configuration"), "line %d holds a secret%s", place.line, place.where).WithHint(hint)
	}
	return found.Diagnostics()
}

// A secretPlace describes where a secret is written, without revealing the secret.
type secretPlace struct {
	line  int
	where string // such as " of job users, at config.jobs[0].params.#key"; the job and the path may be missing
}

// secretPlace returns the place of a byte offset in the text of the configuration.
func (e *Engine) secretPlace(at int) secretPlace {
	place := secretPlace{line: e.cfg.Source.Position(at).Line}
	path := e.cfg.Source.PathAt(at)
	if path == "" {
		return place
	}
	place.where = ", at " + path
	for i, job := range e.cfg.Jobs {
		if strings.Contains(path+".", fmt.Sprintf("jobs[%d].", i)) {
			place.where = " of job " + job.ID + place.where
		}
	}
	return place
}

// secretDefaults reports and returns the defaults of secret inputs. Their places are known,
// whereas the text of a short secret may also occur elsewhere.
func (e *Engine) secretDefaults(found *diag.Collector) []string {
	var defaults []string
	for _, in := range e.cfg.Inputs {
		text, _ := value.Text(in.Default)
		if !in.Secret || text == "" || rules.HasPlaceholder(text) {
			continue
		}
		defaults = append(defaults, text)
		found.Errorf(diag.Outside("inputs."+in.Name+".default"), "the default of a secret input is written in the configuration").
			WithRemedy("leave it out, and set the input where the workers run, with %s", remedy.InputValue.Of(in.Name))
	}
	return defaults
}
