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

// The subjects of the properties of requests and responses.
const (
	limitsSubject = "limits"
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

// add adds a property. Two properties are the same if their values are equal; the text is printed.
func (p *propertyCollector) add(subject, name string, v any, text string) {
	p.all = append(p.all, property{subject: subject, name: name, text: p.redact(text), key: plainJSON(v)})
}

// addIfSet adds a property whose value is printed, unless it is missing: nil, false, 0, or empty.
func (p *propertyCollector) addIfSet(subject, name string, v any) {
	if text, _ := value.Text(v); text != "" && text != "0" && v != false {
		p.add(subject, name, v, text)
	}
}

// addSettings adds the settings whose Heading in the tables of fields is the given one.
func (p *propertyCollector) addSettings(cfg *rules.Config, subject string) {
	for _, prop := range cfg.Properties {
		if prop.Heading == subject {
			p.addIfSet(subject, prop.Path, prop.Value)
		}
	}
}

// addSecret adds a property whose value is never printed, unless it is empty.
func (p *propertyCollector) addSecret(subject, name, v string) {
	if v != "" {
		p.add(subject, name, v, "")
	}
}

// addMembers adds a property for each member of an object. Computed members are left
// out, because they are rules.
func (p *propertyCollector) addMembers(subject string, object rules.Object) {
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
	f.add("dialect", "", string(cfg.Dialect), string(cfg.Dialect))
	f.add("base address", "", cfg.BaseURL, cfg.BaseURL)
	if cfg.User != nil {
		f.addSecret("base address", "user", cfg.User.String())
	}
	f.addSettings(cfg, "base address")
	f.addMembers("headers of all requests", cfg.HTTP.Headers)
	f.addMembers("parameters of all requests", cfg.HTTP.Params)
	f.addCredentials(cfg, x.Auth)
	f.add("retries", "maxRetries", x.Retries.Max, fmt.Sprint(x.Retries.Max))
	codes := slices.Sorted(slices.Values(x.Retries.Statuses))
	f.add("retries", "codes", codes, plainJSON(codes))
	limited := slices.Sorted(slices.Values(x.Retries.Limited))
	f.add("retries", "limitCodes", limited, plainJSON(limited))
	f.addIfSet("retries", "retryHeader", x.Retries.Header)
	f.addSettings(cfg, "rate limit")
	if x.Pace != nil {
		f.add("pace", "", *x.Pace, x.Pace.Says)
	}
	f.addSettings(cfg, limitsSubject)
	for _, in := range cfg.Inputs {
		f.addInput(in)
	}
	f.addIfSet("environment variables", "", strings.Join(slices.Sorted(slices.Values(cfg.Env)), ", "))
	f.addSettings(cfg, "detailed log")
	return f.all
}

// addCredentials adds the credentials of requests. Only the names of their values are printed.
func (p *propertyCollector) addCredentials(cfg *rules.Config, x *AuthExplanation) {
	if auth := cfg.Auth; auth != nil {
		p.add("credentials", "type", auth.Type, auth.Type)
		p.add("credentials", "", x.Says, x.Says)
		for _, key := range slices.Sorted(maps.Keys(auth.Values)) {
			if key != "scopes" {
				p.addSecret("credentials", key, auth.Values[key])
			}
		}
		p.addIfSet("credentials", "scopes", auth.Values["scopes"])
		p.addMembers("parameters of the token request", auth.Params)
		p.addIfSet("credentials", "allowHttp", auth.AllowHTTP)
		if login := auth.Login; login != nil {
			p.add("credentials", "endpoint of the login", login.Endpoint, login.Endpoint)
			p.addMembers("parameters of the login", login.Params)
			p.addMembers("headers of the login", login.Headers)
		}
	}
	p.addSecret("certificates", "", cfg.Certificates)
}

// addInput adds an input.
func (p *propertyCollector) addInput(in rules.Input) {
	p.add("inputs", in.Name, []any{in.Default, in.Optional, in.Secret, in.Pattern}, inputInWords(in))
}

// inputInWords says what the value of an input is if a run does not set it, and what else holds of it.
func inputInWords(in rules.Input) string {
	text := fmt.Sprintf("required: a run without it ends with %s", statusConfig)
	switch shown, _ := value.Text(in.Default); {
	case in.Default != nil && in.Secret:
		text = "has a default"
	case in.Default != nil:
		text = "by default " + shown
	case in.Optional:
		text = "may be left out"
	}
	if in.Secret {
		text += "; secret"
	}
	if in.Pattern != "" {
		text += "; matches " + in.Pattern
	}
	return text
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
	f.addRequests(x)
	f.add("endpoint", "", job.Endpoint, job.Endpoint)
	f.add("HTTP method", "", job.Method, job.Method)
	f.addMembers("parameters", job.Params)
	f.addMembers("body", job.Body)
	f.addMembers("headers", job.Headers)
	f.addItems(j.Job, x)
	if x.Limit != nil {
		f.add("page size", "", x.Limit, value.Preview(x.Limit))
	}
	var limits []any // without the names of the rules
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
	f.addPartitions(j.Job, x.Partitions)
	return f.all
}

// addRequests adds the first two requests.
func (p *propertyCollector) addRequests(x *JobExplanation) {
	for _, row := range []struct {
		name string
		of   *RequestExplanation
	}{{firstRequest, &x.First}, {"first request, with kept values", x.FirstKept}, {secondRequest, x.Second}} {
		if row.of == nil {
			continue
		}
		sent := row.of.String()
		if strings.HasPrefix(row.of.URL, unknownRequest) { // the reason names places in the text
			sent = unknownRequest
		}
		p.add(row.name, "", sent, row.of.String())
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

// addItems adds where the items are and where they go.
func (p *propertyCollector) addItems(j *compile.Job, x *JobExplanation) {
	job := j.Spec()
	places := []any{job.Response, job.DataField != nil}
	if job.DataField != nil {
		places = append(places, job.DataField.Keys)
		for _, l := range job.DataField.Lists {
			places = append(places, l.Steps, l.DataType)
		}
	}
	p.add("items", "", places, x.Items.Where)
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

// addPartitions adds the properties of the job's partitions.
func (p *propertyCollector) addPartitions(j *compile.Job, x *PartitionsExplanation) {
	if x == nil {
		return
	}
	var variables []any
	for _, s := range j.For {
		variables = append(variables, s.Name, s.Items, s.Values == nil)
		if s.Window != nil {
			variables = append(variables, fmt.Sprintf("%+v", *s.Window))
		}
		if s.Constants != nil {
			p.add("partitions", "values of "+s.Name, s.Constants, plainJSON(s.Constants))
		}
	}
	p.add("partitions", "", variables, x.Says)
	p.add("partitions", "when one fails", string(x.OnError), string(x.OnError))
}
