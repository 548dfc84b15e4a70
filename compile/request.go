package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// RuleError says which rule failed while it ran.
type RuleError struct {
	Rule rules.Rule
	Err  error
}

// Error names the rule, what went wrong and where the rule stands.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %s: %v (%s; %s)", e.Rule.ID, e.Err, e.Rule.Source, e.Rule.Origin)
}

// Unwrap gives what went wrong.
func (e *RuleError) Unwrap() error { return e.Err }

// Begin gives the state its initial values, which page.State then holds, and
// returns the first request.
func (j *Job) Begin(m *Machine, page *rules.Context) (rules.Request, error) {
	state, err := evalAll(j.Init, m, page)
	if err != nil {
		return rules.Request{}, err
	}
	page.State = state
	request := j.first
	request, _, err = j.build(request, func(r rules.Rule) bool { return r.First }, m, page)
	return request.Under(j.common), err
}

// Advance changes the state after a page, every variable from the old values,
// and returns the request for the next page. It reports false where the rules
// give no address to go to: the scrolling has ended.
func (j *Job) Advance(m *Machine, page *rules.Context, base string) (rules.Request, bool, error) {
	changed, err := evalAll(j.Next, m, page)
	if err != nil {
		return rules.Request{}, false, err
	}
	state := make(map[string]any, len(page.State))
	for name, v := range page.State {
		state[name] = v
	}
	for name, v := range changed {
		state[name] = v
	}
	page.State = state
	return j.later(m, page, base)
}

// later is the request for a page after the first.
func (j *Job) later(m *Machine, page *rules.Context, base string) (rules.Request, bool, error) {
	request := j.first
	if !j.Set.IncludeParams {
		request.Params = nil
	}
	if !rules.SwitchesOf(j.Set.Dialect).RelativeToBase && slices.ContainsFunc(j.Parts, func(p *Expression) bool { return p.Rule.Role == rules.URL }) {
		request.Base = base
	}
	request, more, err := j.build(request, func(r rules.Rule) bool { return r.Subsequent }, m, page)
	return request.Under(j.common), more, err
}

// Laid are the values that [Job.Advance] laid over the last request it made. With
// them [Job.Resume] makes the same request, in another process too.
func (m *Machine) Laid() []any { return slices.Clone(m.laid) }

// Resume makes the request that Advance made, from the values that were laid over
// it, without the response that they were read from.
func (j *Job) Resume(laid []any, page *rules.Context, base string) (rules.Request, error) {
	n := 0
	for _, e := range j.Parts {
		if e.Rule.Subsequent {
			n++
		}
	}
	if n != len(laid) {
		return rules.Request{}, fmt.Errorf("the next request has %d parts, %d were kept", n, len(laid))
	}
	again := *j
	again.Parts = nil
	for _, e := range j.Parts {
		if e.Rule.Subsequent {
			again.Parts = append(again.Parts, &Expression{Rule: e.Rule, fixed: &laid[len(again.Parts)]})
		}
	}
	request, _, err := again.later(&Machine{}, page, base)
	return request, err
}

// Keep gives what is kept for the next run: what was kept before, with the
// values of the keep expressions that are not nil.
func (j *Job) Keep(m *Machine, page *rules.Context) (map[string]any, error) {
	values, err := evalAll(j.Keeps, m, page)
	if err != nil || len(j.Keeps) == 0 {
		return nil, err
	}
	for name, v := range values {
		if had, ok := page.Kept[name]; v == nil && ok {
			values[name] = had
		}
	}
	return values, nil
}

// Paged tells whether there can be a second request.
func (j *Job) Paged() bool { return len(j.Parts) > 0 }

func evalAll(expressions []*Expression, m *Machine, page *rules.Context) (map[string]any, error) {
	values := make(map[string]any, len(expressions))
	for _, e := range expressions {
		v, err := e.Eval(m, page)
		if err != nil {
			return nil, &RuleError{e.Rule, err}
		}
		values[e.Rule.Target] = v
	}
	return values, nil
}

// build lays the parts that a request has over it.
func (j *Job) build(request rules.Request, has func(rules.Rule) bool, m *Machine, page *rules.Context) (rules.Request, bool, error) {
	m.laid = m.laid[:0]
	for _, e := range j.Parts {
		if !has(e.Rule) {
			continue
		}
		v, err := e.Eval(m, page)
		if err != nil {
			return request, false, &RuleError{e.Rule, err}
		}
		m.laid = append(m.laid, v)
		more := true
		switch e.Rule.Role {
		case rules.URL, rules.Endpoint:
			var to string
			if to, more, err = address(v); more {
				request.Endpoint = to
			}
			if more && page.Page == 0 && e.Rule.Role == rules.URL && !j.Set.IncludeParams {
				request.Params = nil
			}
		case rules.HTTPVerb:
			request.Method, err = verb(v)
		case rules.Param:
			request.Params, err = lay(request.Params, e.Rule.Target, v)
		case rules.Header:
			request.Headers, err = layText(request.Headers, e.Rule.Target, v)
		case rules.Body:
			request.Body, err = layBody(request.Body, e.Rule.Target, v)
		}
		if err != nil {
			return request, false, &RuleError{e.Rule, err}
		}
		if !more && page.Page > 0 { // before the first page it is the job's own
			return request, false, nil
		}
	}
	return request, true, nil
}

func address(v any) (string, bool, error) {
	switch v := v.(type) {
	case nil:
		return "", false, nil
	case string:
		return v, v != "", nil
	}
	return "", false, fmt.Errorf("want an address, got %s (%s)", value.KindOf(v), value.Preview(v))
}

func verb(v any) (string, error) {
	text, _ := v.(string)
	if text = strings.ToUpper(text); slices.Contains(rules.HTTPMethods(), text) {
		return text, nil
	}
	return "", fmt.Errorf("want GET, POST or FORM, got %s", value.Preview(v))
}

// lay gives one name a value, or merges an object; nil leaves a name out.
func lay(under rules.Object, name string, v any) (rules.Object, error) {
	if name != "" {
		if v == nil {
			return under.Without(name), nil
		}
		return under.With(name, v), nil
	}
	if v == nil {
		return under, nil
	}
	object, ok := value.Members(v)
	if !ok {
		return under, fmt.Errorf("want an object, got %s (%s)", value.KindOf(v), value.Preview(v))
	}
	for _, m := range object {
		under, _ = lay(under, m.Name, m.Value)
	}
	return under, nil
}

func layText(under rules.Object, name string, v any) (rules.Object, error) {
	laid, err := lay(under, name, v)
	if err != nil {
		return under, err
	}
	for i, m := range laid {
		text, ok := value.Text(m.Value)
		if !ok || strings.ContainsAny(text, "\r\n") {
			return under, fmt.Errorf("want the text of a header for %s, got %s", m.Name, value.Preview(m.Value))
		}
		laid[i].Value = text
	}
	return laid, nil
}

func layBody(under any, name string, v any) (any, error) {
	object, _ := under.(rules.Object)
	if name == "" {
		return lay(object, "", v)
	}
	if v == nil {
		return under, nil
	}
	return rules.SetPath(object, rules.SplitPath(name), v), nil
}
