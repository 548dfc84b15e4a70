package compile

import (
	"fmt"
	"maps"
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

// A request is made in two steps. Begin and Advance evaluate its parts, which is
// where responses are read; FirstRequest and NextRequest apply the values to the
// job's own request. A checkpoint saves the values, so a resumed run makes the
// same request without the response that they were read from.

// Begin sets page.State to the initial values of the variables and evaluates the
// parts of the first request.
func (j *Job) Begin(m *Machine, page *rules.Context) (parts []any, err error) {
	if page.State, err = evalAll(j.Init, m, page); err != nil {
		return nil, err
	}
	parts, _, err = evalParts(j.partsOf(first), m, page)
	return parts, err
}

// Advance changes page.State after a page, every variable from the old values,
// and evaluates the parts of the next request. It reports false where they give
// no address, which ends the list.
func (j *Job) Advance(m *Machine, page *rules.Context) (parts []any, more bool, err error) {
	changed, err := evalAll(j.Next, m, page)
	if err != nil {
		return nil, false, err
	}
	state := maps.Clone(page.State)
	maps.Copy(state, changed)
	page.State = state
	return evalParts(j.partsOf(subsequent), m, page)
}

// FirstRequest applies the parts that [Job.Begin] evaluated.
func (j *Job) FirstRequest(parts []any) (rules.Request, error) {
	request, err := j.apply(j.first, j.partsOf(first), parts)
	return request.Under(j.common), err
}

// NextRequest applies the parts that [Job.Advance] evaluated. Base is the URL of
// the last response, which relative addresses are resolved against.
func (j *Job) NextRequest(parts []any, base string) (rules.Request, error) {
	request := j.first
	if !j.Set.IncludeParams {
		request.Params = nil
	}
	if !rules.SwitchesOf(j.Set.Dialect).RelativeToBase && slices.ContainsFunc(j.Parts, func(p *Expression) bool { return p.Rule.Role == rules.URL }) {
		request.Base = base
	}
	request, err := j.apply(request, j.partsOf(subsequent), parts)
	return request.Under(j.common), err
}

func first(r rules.Rule) bool      { return r.First }
func subsequent(r rules.Rule) bool { return r.Subsequent }

// partsOf returns the parts that the first or the subsequent requests have.
func (j *Job) partsOf(have func(rules.Rule) bool) []*Expression {
	var parts []*Expression
	for _, e := range j.Parts {
		if have(e.Rule) {
			parts = append(parts, e)
		}
	}
	return parts
}

// evalParts evaluates the parts of a request. It stops at an address that is nil
// or empty, unless it is that of the first request, which then has the job's own.
func evalParts(parts []*Expression, m *Machine, page *rules.Context) (values []any, more bool, err error) {
	values = make([]any, len(parts))
	for i, e := range parts {
		v, err := e.Eval(m, page)
		if err != nil {
			return nil, false, &RuleError{e.Rule, err}
		}
		if e.Rule.Role == rules.URL || e.Rule.Role == rules.Endpoint {
			to, err := address(v)
			if err != nil {
				return nil, false, &RuleError{e.Rule, err}
			}
			if to == "" && page.Page > 0 {
				return nil, false, nil
			}
		}
		values[i] = v
	}
	return values, true, nil
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

// apply applies the values of parts to a request.
func (j *Job) apply(request rules.Request, parts []*Expression, values []any) (rules.Request, error) {
	if len(parts) != len(values) {
		return request, fmt.Errorf("the request has %d parts, want %d", len(values), len(parts))
	}
	for i, e := range parts {
		if err := j.applyPart(&request, e.Rule, values[i]); err != nil {
			return request, &RuleError{e.Rule, err}
		}
	}
	return request, nil
}

func (j *Job) applyPart(request *rules.Request, rule rules.Rule, v any) (err error) {
	switch rule.Role {
	case rules.URL, rules.Endpoint:
		to, err := address(v)
		if err != nil || to == "" {
			return err
		}
		request.Endpoint = to
		if rule.Role == rules.URL && !j.Set.IncludeParams {
			request.Params = nil
		}
	case rules.HTTPVerb:
		request.Method, err = verb(v)
	case rules.Param:
		request.Params, err = applyTo(request.Params, rule.Target, v)
	case rules.Header:
		request.Headers, err = applyHeaders(request.Headers, rule.Target, v)
	case rules.Body:
		request.Body, err = applyBody(request.Body, rule.Target, v)
	}
	return err
}

func address(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("want an address, got %s (%s)", value.KindOf(v), value.Preview(v))
}

func verb(v any) (string, error) {
	text, _ := v.(string)
	if text = strings.ToUpper(text); slices.Contains(rules.HTTPMethods(), text) {
		return text, nil
	}
	return "", fmt.Errorf("want GET, POST or FORM, got %s", value.Preview(v))
}

// applyTo sets one name, or merges an object; nil leaves a name out.
func applyTo(under rules.Object, name string, v any) (rules.Object, error) {
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
		under, _ = applyTo(under, m.Name, m.Value)
	}
	return under, nil
}

func applyHeaders(under rules.Object, name string, v any) (rules.Object, error) {
	applied, err := applyTo(under, name, v)
	if err != nil {
		return under, err
	}
	for i, m := range applied {
		text, ok := value.Text(m.Value)
		if !ok || strings.ContainsAny(text, "\r\n") {
			return under, fmt.Errorf("want the text of a header for %s, got %s", m.Name, value.Preview(m.Value))
		}
		applied[i].Value = text
	}
	return applied, nil
}

func applyBody(under any, name string, v any) (any, error) {
	object, _ := under.(rules.Object)
	if name == "" {
		return applyTo(object, "", v)
	}
	if v == nil {
		return under, nil
	}
	return rules.SetPath(object, rules.SplitPath(name), v), nil
}
