package compile

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Builder makes the requests of one partition: it is a job whose computed values are known.
type Builder struct {
	First   requests.Request // the job's own request
	Limit   any              // page size in effect: an int, or nil
	Origins []string         // further origins that links and redirects may point to, without credentials
	Secrets []string         // values that must never be printed

	job    *Job
	common rules.Object // parameters of every request (api.http.defaultOptions.params)
}

// Compute evaluates the computed values of the job's own request, in the order of
// [Job.Computed]. The page is the context before the first response.
func (j *Job) Compute(m *language.Machine, page *rules.Context) (Parts, error) {
	values := make(Parts, len(j.Computed))
	for i, e := range j.Computed {
		v, err := e.Value(m, page, maxPartBytes)
		if err != nil {
			return nil, err
		}
		values[i] = language.Sendable(v)
	}
	return values, nil
}

// Builder returns the job with computed values, which [Job.Compute] returned in this process or in
// an earlier one.
func (j *Job) Builder(values Parts) (*Builder, error) {
	if len(values) != len(j.Computed) {
		return nil, fmt.Errorf("the job has %s, but %d are given", value.Counted(len(j.Computed), "computed value"), len(values))
	}
	b := &Builder{First: j.Request, Limit: j.Ruleset.Limit, job: j, common: j.common}
	for i, e := range j.Computed {
		if err := b.set(e.Rule, values[i]); err != nil {
			return nil, &language.RuleError{Rule: e.Rule, Err: err}
		}
	}
	return b, nil
}

// BaseURL returns the address that the job's endpoints are resolved against. It depends on
// the inputs alone.
func (j *Job) BaseURL(inputs map[string]any) (string, error) {
	for _, e := range j.Computed {
		if e.Rule.Role != rules.BaseURL {
			continue
		}
		b := &Builder{}
		v, err := e.Eval(&language.Machine{}, &rules.Context{Input: inputs})
		if err == nil {
			if err = b.set(e.Rule, v); err != nil {
				err = named(b.First.Base.String(), err)
			}
		}
		if err != nil {
			return "", &language.RuleError{Rule: e.Rule, Err: err}
		}
		return b.First.Base.String(), nil
	}
	return j.Request.Base.String(), nil
}

// AllowedOrigins returns the computed origins that links and redirects of every job may point to. They depend
// on the inputs alone.
func (j *Job) AllowedOrigins(inputs map[string]any) ([]string, error) {
	var origins []string
	for _, e := range j.Computed {
		if e.Rule.Role != rules.Allowed || !e.Rule.Common {
			continue
		}
		v, err := e.Eval(&language.Machine{}, &rules.Context{Input: inputs})
		if err == nil {
			err = (&Builder{}).set(e.Rule, v)
		}
		if err != nil {
			return nil, &language.RuleError{Rule: e.Rule, Err: err}
		}
		origins = append(origins, v.(string))
	}
	return origins, nil
}

// BaseReads reports whether the base address depends on an input.
func (j *Job) BaseReads(input string) bool {
	return slices.ContainsFunc(j.Computed, func(e *language.Expression) bool {
		return e.Rule.Role == rules.BaseURL && slices.ContainsFunc(e.Reads, func(r language.Read) bool { return r.Is("input") && len(r.Path) > 0 && r.Path[0] == input })
	})
}

// named returns an error about an address with the address, but without the user name and the password in it.
func named(address string, err error) error {
	if u, invalid := url.Parse(address); invalid == nil && u.User != nil {
		u.User = nil
		address = u.String()
	}
	if address == "" || strings.Contains(address, "@") {
		return err
	}
	return fmt.Errorf("%q is %w", address, err)
}

// set sets a part of the request.
func (b *Builder) set(rule rules.Rule, v any) (err error) {
	if rule.Secret {
		b.Secrets = append(b.Secrets, textsIn(v)...)
	}
	r := &b.First
	switch rule.Role {
	case rules.BaseURL:
		var address string
		if address, err = addressText(v); err == nil {
			err = rules.CheckOrigin(address)
		}
		r.Base = requests.NewBase(address)
	case rules.Allowed:
		var origin string
		if origin, err = addressText(v); err == nil {
			err = rules.CheckOrigin(origin)
		}
		if !rule.Common {
			b.Origins = append(b.Origins, origin)
		}
	case rules.Endpoint:
		r.Endpoint, err = addressText(v)
	case rules.Param:
		if rule.Common {
			b.common, err = merge(b.common, rule.Target, v)
			return err
		}
		if rule.Target == b.job.Ruleset.LimitBy {
			if b.Limit, err = rules.PageSize(b.job.Ruleset.Dialect, v); err != nil {
				return err
			}
		}
		r.Params, err = merge(r.Params, rule.Target, v)
	case rules.Header:
		r.Headers, err = mergeHeader(r.Headers, rule.Target, v)
	}
	return err
}

// addressText returns an address that an expression gives.
func addressText(v any) (string, error) {
	text, ok := v.(string)
	if !ok || text == "" {
		return "", fmt.Errorf("want an address, got %s", value.KindOf(v))
	}
	return text, requests.CheckURLLength(text)
}

// mergeHeader sets one header. A value that is nil leaves the header out.
func mergeHeader(to rules.Object, name string, v any) (rules.Object, error) {
	if v == nil {
		return to.Without(name), nil
	}
	text, ok := value.Text(v)
	if !ok || strings.ContainsAny(text, "\r\n") {
		return to, fmt.Errorf("want the value of a header, got %s", value.Preview(v))
	}
	return to.With(name, text), nil
}

// textsIn returns the scalars in a value as text.
func textsIn(v any) []string {
	if text, ok := value.Text(v); ok {
		return []string{text}
	}
	var texts []string
	list, _ := v.([]any)
	object, _ := value.Members(v)
	for _, e := range slices.Concat(list, object.Values()) {
		texts = append(texts, textsIn(e)...)
	}
	return texts
}

// hintFor says what the expressions of a variable may read.
const hintFor = "the values of a variable come from input, kept, now() or a variable before it; " +
	`for the items of another job write {"items": "ID"}`

// checkKnown reports an expression that is evaluated before the first request, and reads a value
// that is not known by then.
func checkKnown(e *language.Expression) error {
	for _, r := range e.Reads {
		late := fmt.Sprintf("%s is computed before the first request, when %s is not known", e.Rule.ID, r)
		switch {
		case e.Rule.Role == rules.BaseURL && r.Root != "input":
			return &language.Fault{
				Message: fmt.Sprintf("baseUrl cannot read %s: all requests of a run have the same base address", r),
				Hint:    "baseUrl may read input; write what differs from request to request into the endpoint",
			}
		case e.Rule.Role == rules.Allowed && e.Rule.Common && r.Root != "input":
			return &language.Fault{
				Message: fmt.Sprintf("api.allowedOrigins cannot read %s: it is about all requests of a run", r),
				Hint:    "it may read input; an origin that differs between partitions belongs in allowedOrigins of the job",
			}
		case r.Root == "now" || r.Known() == rules.KnownJob:
		case e.Rule.OfFor():
			return &language.Fault{Message: late, Hint: hintFor}
		default:
			return &language.Fault{Message: late, Hint: "values that change from page to page belong in nextRequest of the pagination"}
		}
	}
	return nil
}
