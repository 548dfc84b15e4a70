package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Binding is a job whose computed values are known: what the requests of one partition have
// in common.
type Binding struct {
	First   rules.Request // the job's own request
	Limit   any           // page size in effect: an int, or nil
	Secrets []string      // values that must never be printed

	job    *Job
	common rules.Object // parameters of every request (api.http.defaultOptions.params)
}

// Compute evaluates the computed values of the job's own request, in the order of
// [Job.Binds]. The page is the context before the first response.
func (j *Job) Compute(m *Machine, page *rules.Context) (Parts, error) {
	values := make(Parts, len(j.Binds))
	for i, e := range j.Binds {
		v, err := e.eval(m, page)
		if err == nil {
			err = checkSize(e, v, maxPartBytes)
		}
		if err != nil {
			return nil, &RuleError{e.Rule, err}
		}
		values[i] = sendable(v)
	}
	return values, nil
}

// Bind returns the job with computed values: those of [Job.Compute], of this process or of
// an earlier one.
func (j *Job) Bind(values Parts) (*Binding, error) {
	if len(values) != len(j.Binds) {
		return nil, fmt.Errorf("the job has %s, but %d are given", value.Counted(len(j.Binds), "computed value"), len(values))
	}
	b := j.unbound()
	for i, e := range j.Binds {
		if err := b.set(e.Rule, values[i]); err != nil {
			return nil, &RuleError{e.Rule, err}
		}
	}
	return b, nil
}

// unbound returns the job's own request as it is before its values are computed.
func (j *Job) unbound() *Binding {
	return &Binding{First: j.first, Limit: j.Set.Limit, job: j, common: j.common}
}

// BaseURL returns the address that the job's endpoints are resolved against. It depends on
// the inputs alone.
func (j *Job) BaseURL(inputs map[string]any) (string, error) {
	for _, e := range j.Binds {
		if e.Rule.Role != rules.BaseURL {
			continue
		}
		b := &Binding{}
		v, err := e.eval(&Machine{}, &rules.Context{Input: inputs})
		if err == nil {
			if err = b.set(e.Rule, v); err != nil && b.First.Base != "" {
				err = fmt.Errorf("%q is %w", b.First.Base, err)
			}
		}
		if err != nil {
			return "", &RuleError{e.Rule, err}
		}
		return b.First.Base, nil
	}
	return j.first.Base, nil
}

// set sets a part of the request.
func (b *Binding) set(rule rules.Rule, v any) (err error) {
	if rule.Secret {
		b.Secrets = append(b.Secrets, textsIn(v)...)
	}
	r := &b.First
	switch rule.Role {
	case rules.BaseURL:
		if r.Base, err = boundAddress(v); err == nil {
			err = rules.CheckBaseURL(r.Base)
		}
	case rules.Endpoint:
		r.Endpoint, err = boundAddress(v)
	case rules.Param:
		if rule.Common {
			b.common, err = merge(b.common, rule.Target, v)
			return err
		}
		if rule.Target == b.job.Set.LimitBy {
			if b.Limit, err = rules.PageSize(b.job.Set.Dialect, v); err != nil {
				return err
			}
		}
		r.Params, err = merge(r.Params, rule.Target, v)
	case rules.Header:
		r.Headers, err = mergeHeader(r.Headers, rule.Target, v)
	}
	return err
}

// boundAddress returns an address that an expression gives.
func boundAddress(v any) (string, error) {
	text, ok := v.(string)
	if !ok || text == "" {
		return "", fmt.Errorf("want an address, got %s", value.KindOf(v))
	}
	return text, rules.CheckURLLength(text)
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

// sendable returns a value as it is sent: a time as text (RFC 3339), a duration in
// seconds.
func sendable(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		return v.Seconds()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = sendable(v[i])
		}
		return out
	case rules.Object:
		out := slices.Clone(v)
		for i := range out {
			out[i].Value = sendable(out[i].Value)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = sendable(v[name])
		}
		return out
	}
	return v
}

// textsIn returns the scalars in a value as text.
func textsIn(v any) []string {
	if text, ok := value.Text(v); ok {
		return []string{text}
	}
	var texts []string
	list, _ := v.([]any)
	for _, e := range list {
		texts = append(texts, textsIn(e)...)
	}
	object, _ := value.Members(v)
	for _, m := range object {
		texts = append(texts, textsIn(m.Value)...)
	}
	return texts
}

// hintVariable says what the expressions of a variable may read.
const hintVariable = "the values of a variable come from input, kept, now() or a variable before it; " +
	`for the items of another job write {"items": "ID"}`

// checkBound reports a bound part that reads what is known only later.
func checkBound(e *Expression) error {
	for _, r := range e.Reads {
		switch {
		case e.Rule.Role == rules.BaseURL && r.Root != "input":
			return (&fault{message: fmt.Sprintf("baseUrl cannot read %s: all requests of a run have the same base address", r)}).
				withHint("baseUrl may read input; write what differs from request to request into the endpoint")
		case r.Root == "now" || r.known() == rules.KnownJob:
		case strings.HasPrefix(e.Rule.ID, "for."):
			return (&fault{message: fmt.Sprintf("%s is computed before the first request, when %s is not known", e.Rule.ID, r)}).
				withHint(hintVariable)
		default:
			return (&fault{message: fmt.Sprintf("%s is computed before the first request, when %s is not known", e.Rule.ID, r)}).
				withHint("values that change from page to page belong in nextRequest of the pagination")
		}
	}
	return nil
}

// segment returns a value as one segment of a path or one value of a query: everything but
// letters, digits and -._~ is percent-encoded (RFC 6570, 3.2.2).
func segment(v any) (any, error) {
	text, err := addressText(v)
	if err != nil {
		return nil, err
	}
	if text == "." || text == ".." {
		return nil, fmt.Errorf("the value %q would change the path of the address", text)
	}
	return percentEncode(text, ""), nil
}

// reserved returns a value as a part of an address, whose characters keep their meaning
// (RFC 6570, 3.2.3).
func reserved(v any) (any, error) {
	text, err := addressText(v)
	if err != nil {
		return nil, err
	}
	return percentEncode(text, ":/?#[]@!$&'()*+,;=%"), nil
}

func addressText(v any) (string, error) {
	text, ok := value.Text(sendable(v))
	switch {
	case v == nil:
		return "", errors.New("a value in the address is nil")
	case !ok:
		return "", fmt.Errorf("want text or a number in the address, got %s", described(v))
	case text == "":
		return "", errors.New("a value in the address is empty")
	}
	return text, nil
}

// percentEncode encodes everything but the unreserved characters and some others.
func percentEncode(text, others string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~"+others, c) >= 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
