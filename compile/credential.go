package compile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Credentials are the compiled expressions of api.authentication. They never change and
// may be shared.
type Credentials struct {
	Login   *Job                   // request of a login, or nil
	Parts   []*language.Expression // headers and parameters of requests
	Expires *language.Expression   // nil if there is no expression

	values []*language.Expression // expressions of keys, which are their targets
	params []*language.Expression // parameters of the token request
}

// compileCredentials compiles the expressions of the credentials in a language; nil is
// [language.Builtin]. It returns nil if there are no credentials.
func compileCredentials(cfg *rules.Config, in *language.Language) (*Credentials, diag.Diagnostics) {
	lowered, diags := cfg.LowerAuth()
	if lowered == nil || diags.Err() != nil {
		return nil, diags
	}
	collector := diag.NewCollector(cfg.Source)
	c := &compilation{shared: newShared(in), set: lowered.Set, diags: collector}
	out := &Credentials{
		values: c.credentials(lowered.Values, rules.ScopePage), params: c.credentials(lowered.Params, rules.ScopePage),
		Parts: c.credentials(lowered.Parts, lowered.Scope),
	}
	if lowered.Expires != nil {
		if list := c.credentials([]rules.Rule{*lowered.Expires}, lowered.Scope); len(list) > 0 {
			out.Expires = list[0]
		}
	}
	if lowered.Login != nil {
		out.Login = (&compilation{shared: c.shared, set: lowered.Login, diags: collector}).job()
		out.Login.Request, out.Login.common = cfg.FirstRequest(lowered.Login.Job), cfg.LoginParams()
	}
	return out, append(diags, collector.Diagnostics()...)
}

// credentials compiles expressions that are evaluated outside of a list.
func (c *compilation) credentials(list []rules.Rule, scope rules.Scope) []*language.Expression {
	var out []*language.Expression
	for _, rule := range list {
		e, err := c.expression(rule, scope)
		if err == nil {
			err = checkCredential(e, scope)
		}
		if err != nil {
			c.report(rule, err)
			continue
		}
		out = append(out, e)
	}
	return out
}

// checkCredential reports a name that an expression of the credentials cannot read, because it belongs
// to a list and its pages.
func checkCredential(e *language.Expression, scope rules.Scope) error {
	object, members := scope.Object()
	for _, r := range e.Reads {
		switch {
		case r.Root == rules.ContextInput || r.Root == rules.ContextNow || r.Root == rules.ContextUUID:
		case r.Root == rules.ContextHeader && scope == rules.ScopeLogin: // login.header
		case r.Root == object && object != "":
			if len(r.Path) > 0 && !slices.Contains(members, r.Path[0]) {
				return &language.Fault{
					Message: fmt.Sprintf("unknown name %s.%s", object, r.Path[0]),
					Hint:    fmt.Sprintf("%s has %s", object, wording.OrList(members)),
				}
			}
		default:
			readable := []string{rules.ContextInput}
			if object != "" {
				readable = append(readable, object)
			}
			return &language.Fault{
				Message: fmt.Sprintf("credentials cannot read %s, which belongs to a page", r),
				Hint:    "they may read " + strings.Join(readable, " and "),
			}
		}
	}
	return nil
}

// Values evaluates the values of keys and the parameters of the token request, when a run
// begins. The context has the inputs and the time. A text may be empty, as it may be in the
// configuration. A parameter that is nil is left out.
func (cred *Credentials) Values(m *language.Machine, c *rules.Context) (values map[string]string, params rules.Object, err error) {
	values = map[string]string{}
	for _, e := range cred.values {
		text, given, err := cred.evaluate(e, m, c)
		if err == nil && !given {
			err = &language.RuleError{Rule: e.Rule, Err: errAbsent}
		}
		if err != nil {
			return nil, nil, err
		}
		values[e.Rule.Target] = text
	}
	for _, e := range cred.params {
		text, given, err := cred.evaluate(e, m, c)
		if err != nil {
			return nil, nil, err
		}
		if given {
			params = params.With(e.Rule.Target, text)
		}
	}
	return values, params, nil
}

// Text evaluates an expression of a login or a signature. A value that is absent or empty is an
// error: a request without it would not be authenticated.
func (cred *Credentials) Text(e *language.Expression, m *language.Machine, c *rules.Context) (string, error) {
	text, given, err := cred.evaluate(e, m, c)
	switch {
	case err != nil:
		return "", err
	case !given:
		return "", &language.RuleError{Rule: e.Rule, Err: errAbsent}
	case text == "":
		return "", &language.RuleError{Rule: e.Rule, Err: errors.New("the value is empty")}
	}
	return text, nil
}

var errAbsent = errors.New("the value is absent")

// evaluate returns the text that an expression computes, which may be empty. It reports false for nil.
func (cred *Credentials) evaluate(e *language.Expression, m *language.Machine, c *rules.Context) (text string, given bool, err error) {
	v, err := e.Eval(m, c)
	if err != nil || v == nil {
		return "", false, err
	}
	if text, err = credentialText(v); err != nil {
		return "", false, &language.RuleError{Rule: e.Rule, Err: err}
	}
	return text, true, nil
}

// maxCredential is the length of the longest value that is sent as a credential, in bytes.
const maxCredential = 64 << 10

func credentialText(v any) (string, error) {
	v = language.Sendable(v)
	text, ok := value.Text(v)
	switch {
	case !ok:
		return "", fmt.Errorf("want text, got %s", value.KindOf(v))
	case strings.ContainsAny(text, "\r\n"):
		return "", errors.New("the value has a line break")
	case len(text) > maxCredential:
		return "", &requests.LengthError{What: "the value", Limit: maxCredential}
	}
	return text, nil
}

// End evaluates when a login ends: a time, or how long after its request. Both are zero if
// the response does not say.
func (cred *Credentials) End(m *language.Machine, c *rules.Context) (expiresAt time.Time, after time.Duration, err error) {
	v, err := cred.Expires.Eval(m, c)
	if err != nil {
		return expiresAt, after, err
	}
	if expiresAt, after, err = endOf(v); err != nil {
		return expiresAt, after, &language.RuleError{Rule: cred.Expires.Rule, Err: err}
	}
	return expiresAt, after, nil
}

// epoch is the least number that is a time and not a duration, in seconds: 2001. In
// milliseconds it is a thousand times as large.
const epoch = 1e9

func endOf(v any) (time.Time, time.Duration, error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, 0, nil
	case time.Time:
		return v, 0, nil
	case time.Duration:
		return time.Time{}, v, nil
	}
	if seconds, ok := language.Float(v); ok {
		switch {
		case seconds >= 1000*epoch:
			return time.UnixMilli(int64(min(seconds, 1e15))), 0, nil
		case seconds >= epoch:
			return time.Unix(int64(seconds), 0), 0, nil
		}
		return time.Time{}, time.Duration(max(seconds, 0) * float64(time.Second)), nil
	}
	if text, ok := v.(string); ok {
		if at, err := times.Parse(text); err == nil {
			return at, 0, nil
		}
	}
	return time.Time{}, 0, fmt.Errorf("want seconds or a time, got %s; date(…) reads a time in another form", language.Described(v))
}

// LoginPaths returns the paths in the body of a login's response that the parts read, whose
// values must be hidden.
func (cred *Credentials) LoginPaths() [][]string {
	var paths [][]string
	for _, e := range cred.Parts {
		for _, r := range e.Reads {
			if r.Root == rules.ContextLogin && len(r.Path) > 1 && r.Path[0] == "body" {
				paths = append(paths, r.Path[1:])
			}
		}
	}
	return paths
}

// Expressions returns all expressions of the credentials, in the order of their evaluation.
func (cred *Credentials) Expressions() []*language.Expression {
	list := slices.Concat(cred.values, cred.params)
	if cred.Login != nil {
		list = append(list, cred.Login.Computed...)
	}
	list = append(list, cred.Parts...)
	if cred.Expires != nil {
		list = append(list, cred.Expires)
	}
	return list
}
