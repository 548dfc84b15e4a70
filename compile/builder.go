package compile

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A Builder makes the requests of one partition: it is a job whose computed values are known.
type Builder struct {
	First   requests.Request // the job's own request
	Limit   any              // page size in effect: an int, or nil
	Origins []string         // further origins that links and redirects may point to, without credentials
	Secrets []string         // values that must never be printed
	Derived []any            // other values that expressions compute from inputs, which may have parts of secrets

	job    *Job
	common rules.Object // parameters of every request (api.http.defaultOptions.params)
}

// ComputedValues are the values of [Job.Computed], in their order. They can be saved, as [PartValues] can.
type ComputedValues []any

// Compute evaluates the computed values of the job's own request, in the order of
// [Job.Computed]. c is the context before the first response.
func (j *Job) Compute(m *language.Machine, c *rules.Context) (ComputedValues, error) {
	values := make(ComputedValues, len(j.Computed))
	for i, e := range j.Computed {
		v, err := e.Value(m, c, maxPartBytes)
		if err != nil {
			return nil, err
		}
		values[i] = language.Sendable(v)
	}
	return values, nil
}

// Builder returns the job with computed values, which [Job.Compute] returned in this process or in
// an earlier one.
func (j *Job) Builder(values ComputedValues) (*Builder, error) {
	if len(values) != len(j.Computed) {
		return nil, fmt.Errorf("the job has %s, but %d are given", wording.Counted(len(j.Computed), "computed value"), len(values))
	}
	b := &Builder{First: j.Request, Limit: j.Ruleset.Limit, job: j, common: j.common}
	for i, e := range j.Computed {
		if err := b.set(e.Rule, values[i]); err != nil {
			return nil, &language.RuleError{Rule: e.Rule, Err: err}
		}
		if !e.Rule.Sending.Secret && j.Analysis().MayDerive(e) {
			b.Derived = append(b.Derived, values[i])
		}
	}
	return b, nil
}

// BaseURL returns the address that the job's endpoints are resolved against. It depends on
// the inputs alone.
func (j *Job) BaseURL(inputs map[string]any) (string, error) {
	for _, e := range j.Computed {
		if e.Rule.Role != rules.RoleBaseURL {
			continue
		}
		b := &Builder{}
		if _, err := b.setByInputs(e, inputs); err != nil {
			return "", &language.RuleError{Rule: e.Rule, Err: quoteAddress(b.First.Base.String(), errors.Unwrap(err))}
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
		if e.Rule.Role != rules.RoleAllowedOrigin || !e.Rule.Sending.Common {
			continue
		}
		v, err := new(Builder).setByInputs(e, inputs)
		if err != nil {
			return nil, err
		}
		origins = append(origins, v.(string))
	}
	return origins, nil
}

// CheckEndpoint returns the error of an endpoint that depends on the inputs alone, so that it can be refused before the
// first request of the run.
func (j *Job) CheckEndpoint(inputs map[string]any) error {
	otherThanInput := func(r language.Read) bool { return !r.Is(rules.ContextInput) }
	for _, e := range j.Computed {
		if e.Rule.Role != rules.RoleEndpoint || e.ReadsFunc(otherThanInput) {
			continue
		}
		if _, err := new(Builder).setByInputs(e, inputs); err != nil {
			return err
		}
	}
	return nil
}

// setByInputs sets a value that depends on the inputs alone, and returns it. All errors are of the type
// [*language.RuleError].
func (b *Builder) setByInputs(e *language.Expression, inputs map[string]any) (any, error) {
	v, err := e.Eval(&language.Machine{}, &rules.Context{Input: inputs})
	if err != nil {
		return nil, err
	}
	if err := b.set(e.Rule, v); err != nil {
		return nil, &language.RuleError{Rule: e.Rule, Err: err}
	}
	return v, nil
}

// quoteAddress returns an error that quotes an address, without the user name and the password in it.
func quoteAddress(address string, err error) error {
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
	if rule.Sending.Secret {
		b.Secrets = append(b.Secrets, value.Texts(v)...)
	}
	r := &b.First
	switch rule.Role {
	case rules.RoleBaseURL:
		var address string
		if address, err = addressOf(v); err == nil {
			err = rules.CheckOrigin(address)
		}
		r.Base = requests.NewBase(address)
	case rules.RoleAllowedOrigin:
		var origin string
		if origin, err = addressOf(v); err == nil {
			err = rules.CheckOrigin(origin)
		}
		if !rule.Sending.Common {
			b.Origins = append(b.Origins, origin)
		}
	case rules.RoleEndpoint: // unlike the address of a later request, it may not be empty
		r.Endpoint, err = addressOf(v)
	case rules.RoleParam:
		if rule.Sending.Common {
			b.common, err = merge(b.common, rule.Target, v)
			return err
		}
		if rule.Target == b.job.Ruleset.LimitParam {
			if b.Limit, err = rules.PageSize(b.job.Ruleset.Dialect, v); err != nil {
				return err
			}
		}
		err = b.job.applyPart(rule, v, r)
	case rules.RoleBody: // unlike that of a part of a later request, the target is a name, which may have dots, and not a path
		body, _ := r.Body.(rules.Object)
		r.Body, err = merge(body, rule.Target, v)
	case rules.RoleHeader:
		err = b.job.applyPart(rule, v, r)
	}
	return err
}

// Begin evaluates the initial state, and returns it with the first request. c is
// the context before the first response.
func (b *Builder) Begin(m *language.Machine, c *rules.Context) (state map[string]any, request requests.Request, err error) {
	if state, err = evaluate(b.job.Init, m, c); err != nil {
		return nil, requests.Request{}, err
	}
	values, _, err := evaluateParts(b.job.FirstParts, m, c, state)
	if err == nil {
		request, err = b.apply(b.job.FirstParts, values, b.First)
	}
	return state, request, err
}

// Apply returns the request that consists of parts: the job's own, with the parts
// applied to it. Relative addresses are resolved against base, the address of the
// response before it, unless the dialect says otherwise.
func (b *Builder) Apply(parts PartValues, base string) (requests.Request, error) {
	j := b.job
	if len(parts) != len(j.NextParts) {
		return requests.Request{}, fmt.Errorf("the next request has %s, but %d are given",
			wording.Counted(len(j.NextParts), "part"), len(parts))
	}
	request := b.First
	if !j.Ruleset.IncludeParams {
		request.Params = nil
	}
	if j.resolvesAgainstResponse() {
		request.Base = requests.NewBase(base)
	}
	return b.apply(j.NextParts, parts, request)
}

// apply applies parts to a request, and adds the parameters of every request that it does not have itself.
func (b *Builder) apply(parts []*language.Expression, values PartValues, request requests.Request) (requests.Request, error) {
	for i, e := range parts {
		if err := b.job.applyPart(e.Rule, values[i], &request); err != nil {
			return request, &language.RuleError{Rule: e.Rule, Err: err}
		}
	}
	return request.Under(b.common), nil
}

// CheckAddress returns an error if the request that [Builder.Apply] returned has no valid
// address. It names the rule that sets the address.
func (b *Builder) CheckAddress(request requests.Request) error {
	_, err := request.URL()
	if err == nil {
		return nil
	}
	for _, part := range b.job.NextParts {
		if part.Rule.Role.Addresses() {
			return &language.RuleError{Rule: part.Rule, Err: err}
		}
	}
	return err
}
