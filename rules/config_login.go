package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// AuthPart is a header or a parameter of requests that an expression of the credentials
// gives.
type AuthPart struct {
	Role   Role   // [Header] or [Param]; empty for expires
	Name   string // the name of the header or the parameter
	Source string // expression
	Path   string // config path
}

// loginFields are the keys of a login's request: the keys of a job that describe its request.
var loginFields = slices.DeleteFunc(cloneFields(jobFields), func(f Field) bool {
	return !slices.Contains([]string{"endpoint", "method", "params", "headers"}, f.Name)
})

var apiRequestFields = []Field{
	{Name: "headers", Kind: Map, Doc: "expressions over `login`, by the names of headers"},
	{Name: "params", Kind: Map, Doc: "expressions over `login`, by the names of parameters of the query"},
}

// LoginParams returns the common parameters (api.http) that a login request also sends.
func (c *Config) LoginParams() Object {
	if SwitchesOf(c.Dialect).LoginAlone {
		return nil
	}
	return c.HTTP.Params
}

// login reads authentication of type login.
func (d *decoder) login(auth *Auth, s settings) {
	job := d.job(s.inner("loginRequest"), settings{})
	job.ID = "login"
	auth.Login = &job
	if d.keboola != nil {
		auth.Format = d.keboola.loginFormat
	}
	auth.Parts = append(d.authParts(Header, s.get("apiRequest.headers")), d.authParts(Param, s.get("apiRequest.params"))...)
	if len(auth.Parts) == 0 && s.get("apiRequest").given() {
		d.diags.Errorf(diag.Value(s.get("apiRequest").path()), "apiRequest needs headers or params, which the response of the login gives").
			WithHint(`for instance {"headers": {"X-Token": "login.body.token"}}`)
	}
	if expires := s.get("expires"); expires.text() != "" {
		auth.Expires = &AuthPart{Source: expires.text(), Path: expires.path()}
	}
}

// sign reads authentication of type sign. The parameters come before the headers, so that the
// headers see them. Each group keeps the order in the configuration.
func (d *decoder) sign(auth *Auth, s settings) {
	auth.Parts = append(d.authParts(Param, s.get("params")), d.authParts(Header, s.get("headers"))...)
	auth.AtOnce = d.keboola != nil && d.keboola.signsAtOnce
	if len(auth.Parts) == 0 {
		d.diags.Errorf(diag.Value(auth.Path), "authentication of type sign needs headers or params").
			WithHint(`for instance "headers": {"X-Signature": "hmac('sha256', input.key, request.method + request.path)"}`)
	}
}

// authParts reads expressions by the names of headers or parameters.
func (d *decoder) authParts(role Role, s setting) []AuthPart {
	var parts []AuthPart
	for _, m := range s.object() {
		at := diag.Join(s.path(), m.Name)
		source, isText := m.Value.(string)
		if c, ok := computed(at, m.Value); ok {
			source, isText, at = c.Source, true, c.Path
		}
		if !isText || strings.TrimSpace(source) == "" {
			d.diags.Errorf(diag.Value(at), "%s needs an expression, got %s", m.Name, describe(m.Value))
			continue
		}
		parts = append(parts, AuthPart{Role: role, Name: strings.TrimPrefix(m.Name, "#"), Source: source, Path: at})
	}
	return parts
}

// AuthRules are the expressions of the credentials.
type AuthRules struct {
	Scope Scope
	Set   *Ruleset // the names that its rules may read
	Login *Ruleset // the request of a login, or nil

	Values  []Rule // values of keys, which are their targets; evaluated when a run begins
	Params  []Rule // oauth2: computed parameters of the token request, evaluated then too
	Parts   []Rule // headers and parameters of requests
	Expires *Rule  // when a login ends; may be nil
}

// LowerAuth turns the credentials into rules. It returns nil if they have no expression.
func (c *Config) LowerAuth() (*AuthRules, diag.Diagnostics) {
	auth := c.Auth
	if auth == nil {
		return nil, nil
	}
	l := newLowerer(c)
	out := &AuthRules{Set: l.ruleset()}
	switch auth.Type {
	case AuthLogin:
		out.Scope = ScopeLogin
	case AuthSign:
		out.Scope = ScopeSign
	}
	for _, f := range authenticationFields {
		name, hidden := strings.CutPrefix(f.Name, "#")
		if c, ok := auth.Computed[name]; ok && f.Name == authKey(name) {
			out.Values = append(out.Values, l.authRule(AuthPart{Name: name, Source: c.Source, Path: c.Path}, c.Secret || hidden))
		}
	}
	set := l.ruleset()
	l.computedValues(set, "authentication.params", Param, auth.Params, false)
	out.Params = set.Rules
	for _, p := range auth.Parts {
		out.Parts = append(out.Parts, l.authRule(p, true))
	}
	if auth.Expires != nil {
		rule := l.authRule(*auth.Expires, false)
		out.Expires = &rule
	}
	if auth.Login != nil {
		out.Login = l.ruleset()
		out.Login.Job = *auth.Login
		l.jobRequest(out.Login)
	}
	return out, l.diags.Diagnostics().Unique()
}

// authRule returns the rule of a part. Its id is its place in api.authentication.
func (l *lowerer) authRule(p AuthPart, hidden bool) Rule {
	id := strings.TrimPrefix(p.Path, diag.Join(l.cfg.path, "api.authentication")+".")
	return Rule{
		ID: id, Role: cmp.Or(p.Role, Param), Target: p.Name, Source: p.Source,
		Placement: Placement{Secret: hidden}, Clause: "is", Origin: l.origin(Author{}, p.Path),
	}
}

// WithValues returns the credentials with values that expressions have given: those of keys,
// and the parameters of the token request.
func (a *Auth) WithValues(values map[string]string, params Object) *Auth {
	complete := *a
	complete.Values = maps.Clone(a.Values)
	maps.Copy(complete.Values, values)
	complete.Params = constants(a.Params).Merge(params)
	return &complete
}
