package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// An authPart is a header or parameter of requests whose value an expression of the credentials computes.
type authPart struct {
	Role   Role   // [RoleHeader] or [RoleParam]; empty for expires
	Name   string // the name of the header or the parameter
	Source string // expression
	Path   string // config path
}

// loginFields are the keys of a login's request: the keys of a job that describe its request.
var loginFields = slices.DeleteFunc(cloneFields(jobFields), func(f Field) bool {
	return !slices.Contains([]string{"endpoint", "method", "params", "body", "headers"}, f.Name)
})

var apiRequestFields = []Field{
	{Name: "headers", Kind: KindMap, Sources: WholeSource, Scope: ScopeLogin, Doc: "expressions over `login`, by the names of headers"},
	{Name: "params", Kind: KindMap, Sources: WholeSource, Scope: ScopeLogin,
		Doc: "expressions over `login`, by the names of parameters of the query"},
}

// LoginParams returns the common parameters (api.http) that a login request also sends.
func (c *Config) LoginParams() Object {
	if c.Dialect.Switches().loginAlone {
		return nil
	}
	return c.HTTP.Params
}

// readLogin reads authentication of type login.
func (d *decoder) readLogin(auth *Auth, s settings) {
	job := d.job(s.inner("loginRequest"), settings{})
	job.ID = "login"
	auth.Login = &job
	if d.keboola != nil {
		auth.Format = d.keboola.loginFormat
	}
	auth.parts = append(d.authParts(RoleHeader, s.get("apiRequest.headers")), d.authParts(RoleParam, s.get("apiRequest.params"))...)
	if len(auth.parts) == 0 && s.get("apiRequest").given() {
		d.diags.Errorf(diag.Value(s.get("apiRequest").path()), "apiRequest needs headers or params, which the response of the login gives").
			WithHint(`for instance {"headers": {"X-Token": "login.body.token"}}`)
	}
	if expires := s.get("expires"); expires.text() != "" {
		auth.expires = &authPart{Source: expires.text(), Path: expires.path()}
	}
}

// readSign reads authentication of type sign. The parameters come before the headers, so that the
// headers see them. Each group keeps the order in the configuration.
func (d *decoder) readSign(auth *Auth, s settings) {
	auth.parts = append(d.authParts(RoleParam, s.get("params")), d.authParts(RoleHeader, s.get("headers"))...)
	auth.Independent = d.keboola != nil && d.keboola.signsIndependently
	if len(auth.parts) == 0 {
		d.diags.Errorf(diag.Value(auth.Path), "authentication of type sign needs headers or params").
			WithHint(`for instance "headers": {"X-Signature": "hmac('sha256', input.key, request.method + request.path)"}`)
	}
}

// authParts reads expressions by the names of headers or parameters.
func (d *decoder) authParts(role Role, s setting) []authPart {
	var parts []authPart
	for _, m := range s.object() {
		memberPath := diag.Join(s.path(), m.Name)
		source, isText := m.Value.(string)
		if c, ok := computed(memberPath, m.Value); ok {
			source, isText, memberPath = c.Source, true, c.Path
		}
		if !isText || strings.TrimSpace(source) == "" {
			d.diags.Errorf(diag.Value(memberPath), "%s needs an expression, got %s", m.Name, describe(m.Value))
			continue
		}
		d.hideKeysIn(source)
		parts = append(parts, authPart{Role: role, Name: strings.TrimPrefix(m.Name, "#"), Source: source, Path: memberPath})
	}
	return parts
}
