package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A property is a value of a configuration that is not in a rule. Properties are compared by their
// values, and printed by a text that hides secrets.
type property struct {
	subject string // such as "page size" or "headers of all requests"
	name    string // name of a header or a setting, if there are several
	text    string // the value, without secrets
	key     string // the value as JSON, secrets included; it is compared and never printed
}

// The subjects of the properties of requests.
const (
	firstRequest  = "first request"
	secondRequest = "second request"
)

// requestSubjects are the subjects that the first two requests show.
var requestSubjects = []string{"parameters of all requests", "endpoint", "HTTP method", "parameters"}

// propertyCollector collects properties.
type propertyCollector struct {
	redact func(string) string
	all    []property
}

// add adds a property: the value decides whether it is the same, the text is printed.
func (p *propertyCollector) add(subject, name string, v any, text string) {
	p.all = append(p.all, property{subject: subject, name: name, text: p.redact(text), key: plainJSON(v)})
}

// addIfSet adds a property whose value is printed, unless it is missing: nil, false, 0, or empty.
func (p *propertyCollector) addIfSet(subject, name string, v any) {
	if text, _ := value.Text(v); text != "" && text != "0" && v != false {
		p.add(subject, name, v, text)
	}
}

// settings adds the properties that the tables of fields say are of a subject.
func (p *propertyCollector) settings(cfg *rules.Config, subject string) {
	for _, one := range cfg.Properties {
		if one.Subject == subject {
			p.addIfSet(subject, one.Path, one.Value)
		}
	}
}

// addSecret adds a property whose value is never printed, unless it is empty.
func (p *propertyCollector) addSecret(subject, name, v string) {
	if v != "" {
		p.add(subject, name, v, "")
	}
}

// members adds a property for each member of an object. Computed members are left
// out, because they are rules.
func (p *propertyCollector) members(subject string, object rules.Object) {
	for _, m := range object {
		if _, computed := m.Value.(rules.Computed); computed {
			continue
		}
		p.add(subject, m.Name, m.Value, memberText(m.Value))
	}
}

// memberText returns a value as it is printed. A text has quotes only if it is empty or could be
// taken for another value: 1 and "1" differ.
func memberText(v any) string {
	text, isText := v.(string)
	if !isText || text == "" || json.Valid([]byte(text)) {
		return plainJSON(v)
	}
	return text
}

// plainJSON returns a value as JSON or, if it cannot be encoded, as Go prints it.
func plainJSON(v any) string {
	text, err := value.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// propertiesOf returns the properties that all jobs of a configuration have in common.
func propertiesOf(cfg *rules.Config, x *Explanation, redact func(string) string) []property {
	f := &propertyCollector{redact: redact}
	f.add("dialect", "", cfg.Dialect, cfg.Dialect)
	f.add("base address", "", cfg.BaseURL, cfg.BaseURL)
	if cfg.User != nil {
		f.addSecret("base address", "user", cfg.User.String())
	}
	f.settings(cfg, "base address")
	f.members("headers of all requests", cfg.HTTP.Headers)
	f.members("parameters of all requests", cfg.HTTP.Params)
	f.credentials(cfg, x.Auth)
	f.add("retries", "maxRetries", x.Retries.Max, fmt.Sprint(x.Retries.Max))
	codes := slices.Sorted(slices.Values(x.Retries.Statuses))
	f.add("retries", "codes", codes, plainJSON(codes))
	limited := slices.Sorted(slices.Values(x.Retries.Limited))
	f.add("retries", "limitCodes", limited, plainJSON(limited))
	f.addIfSet("retries", "retryHeader", x.Retries.Header)
	f.settings(cfg, "rate limit")
	if x.Pace != nil {
		f.add("pace", "", *x.Pace, x.Pace.Says)
	}
	f.settings(cfg, "limits")
	for _, in := range cfg.Inputs {
		f.input(in)
	}
	f.addIfSet("environment variables", "", strings.Join(slices.Sorted(slices.Values(cfg.Env)), ", "))
	f.settings(cfg, "detailed log")
	return f.all
}

// credentials adds the credentials of requests. Only the names of their values are printed.
func (p *propertyCollector) credentials(cfg *rules.Config, x *AuthExplanation) {
	if auth := cfg.Auth; auth != nil {
		p.add("credentials", "type", auth.Type, auth.Type)
		p.add("credentials", "", x.Says, x.Says)
		for _, key := range slices.Sorted(maps.Keys(auth.Values)) {
			if key != "scopes" {
				p.addSecret("credentials", key, auth.Values[key])
			}
		}
		p.addIfSet("credentials", "scopes", auth.Values["scopes"])
		p.members("parameters of the token request", auth.Params)
		p.addIfSet("credentials", "allowHttp", auth.AllowHTTP)
		if login := auth.Login; login != nil {
			p.add("credentials", "endpoint of the login", login.Endpoint, login.Endpoint)
			p.members("parameters of the login", login.Params)
			p.members("headers of the login", login.Headers)
		}
	}
	p.addSecret("certificates", "", cfg.Certificates)
}

// input adds an input.
func (p *propertyCollector) input(in rules.Input) {
	text := "set by each run"
	switch shown, _ := value.Text(in.Default); {
	case in.Default != nil && in.Secret:
		text = "has a default"
	case in.Default != nil:
		text = "by default " + shown
	}
	if in.Secret {
		text += "; secret"
	}
	if in.Pattern != "" {
		text += "; matches " + in.Pattern
	}
	p.add("inputs", in.Name, []any{in.Default, in.Secret, in.Pattern}, text)
}

// properties returns the properties of the job.
func (j explainer) properties(x *JobExplanation) []property {
	f := &propertyCollector{redact: j.redact}
	job := j.Spec()
	paging := "none"
	if j.Paged() {
		paging = "method " + j.Ruleset.Method
	}
	f.add("paging", "", x.Method, paging)
	f.requests(x)
	f.add("endpoint", "", job.Endpoint, job.Endpoint)
	f.add("HTTP method", "", job.Method, job.Method)
	f.members("parameters", job.Params)
	f.members("body", job.Body)
	f.members("headers", job.Headers)
	f.items(j.Job, x)
	if x.Limit != nil {
		f.add("page size", "", x.Limit, value.Preview(x.Limit))
	}
	var limits []any // whatever the rules are called
	for _, l := range x.Bounds.Limits {
		limits = append(limits, l.Bound, l.Fails)
	}
	f.add("bounds", "", []any{x.Bounds.Unbounded, limits}, x.Bounds.Says)
	ahead := "possible with --prefetch"
	if x.Sequential != "" {
		ahead = "not possible: " + x.Sequential
	}
	f.add("fetching ahead", "", x.Sequential == "", ahead)
	f.addIfSet("the same-page check ignores", "", strings.Join(x.Ignore, ", "))
	f.partitions(j.Job, x.Partitions)
	return f.all
}

// requests adds the first two requests.
func (p *propertyCollector) requests(x *JobExplanation) {
	for _, one := range []struct {
		name string
		of   *RequestExplanation
	}{{firstRequest, &x.First}, {"first request, with kept values", x.FirstKept}, {secondRequest, x.Second}} {
		if one.of == nil {
			continue
		}
		sent := one.of.String()
		if strings.HasPrefix(one.of.URL, unknownRequest) { // the reason names places in the text
			sent = unknownRequest
		}
		p.add(one.name, "", sent, one.of.String())
	}
}

// String returns method and address, and the body after them.
func (r RequestExplanation) String() string {
	text := r.Method + " " + r.URL
	if r.Body != "" {
		text += " body " + r.Body
	}
	return text
}

// items adds where the items are and where they go.
func (p *propertyCollector) items(j *compile.Job, x *JobExplanation) {
	job := j.Spec()
	where := []any{job.Response, job.DataField != nil}
	if job.DataField != nil {
		where = append(where, job.DataField.Keys)
		for _, l := range job.DataField.Lists {
			where = append(where, l.Steps, l.DataType)
		}
	}
	p.add("items", "", where, x.Items.Where)
	if job.Key != nil {
		p.add("key of the items", "", job.Key, strings.Join(job.Key, ", "))
	}
	p.add("type of the items", "", job.DataTypes(), strings.Join(job.DataTypes(), ", "))
	written := "yes"
	if !job.Emits {
		written = "no: the items are for other jobs only"
	}
	p.add("written", "", job.Emits, written)
}

// partitions adds the properties of the job's partitions.
func (p *propertyCollector) partitions(j *compile.Job, x *PartitionsExplanation) {
	if x == nil {
		return
	}
	var each []any
	for _, s := range j.For {
		each = append(each, s.Name, s.Items, s.Values == nil)
		if s.Window != nil {
			each = append(each, fmt.Sprintf("%+v", *s.Window))
		}
		if s.Constants != nil {
			p.add("partitions", "values of "+s.Name, s.Constants, plainJSON(s.Constants))
		}
	}
	p.add("partitions", "", each, x.Says)
	p.add("partitions", "when one fails", string(x.OnError), string(x.OnError))
}
