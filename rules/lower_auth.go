package rules

import (
	"cmp"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// AuthRules are the expressions of the credentials.
type AuthRules struct {
	Scope Scope    // the scope of Parts and Expires
	Set   *Ruleset // the names that the rules may read
	Login *Ruleset // the request of a login, or nil

	Values  []Rule // values of keys, which are their targets; evaluated when a run begins
	Params  []Rule // oauth2: computed parameters of the token request; evaluated when a run begins
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
	out := &AuthRules{Scope: findAuthType(auth.Type).Scope, Set: l.newRuleset()}
	for _, f := range authenticationFields {
		name, hidden := strings.CutPrefix(f.Name, "#")
		if c, ok := auth.Computed[name]; ok && f.Name == authKey(name) {
			out.Values = append(out.Values, l.authRule(authPart{Name: name, Source: c.Source, Path: c.Path}, c.Secret || hidden))
		}
	}
	set := l.newRuleset()
	l.addComputedValues(set, "authentication.params", RoleParam, auth.Params, Sending{})
	out.Params = set.Rules
	for _, p := range auth.parts {
		out.Parts = append(out.Parts, l.authRule(p, true))
	}
	if auth.expires != nil {
		rule := l.authRule(*auth.expires, false)
		out.Expires = &rule
	}
	if auth.Login != nil {
		out.Login = l.newRuleset()
		out.Login.Job = *auth.Login
		l.addJobRequest(out.Login)
	}
	return out, l.diags.Diagnostics().Unique()
}

// authRule returns the rule of a part. Its id is its place in api.authentication.
func (l *lowerer) authRule(p authPart, hidden bool) Rule {
	id := strings.TrimPrefix(p.Path, diag.Join(l.cfg.path, "api.authentication")+".")
	return Rule{
		ID: id, Role: cmp.Or(p.Role, RoleParam), Target: p.Name, Source: p.Source,
		Sending: Sending{Secret: hidden}, Clause: "is", Origin: l.configured(p.Path),
	}
}
