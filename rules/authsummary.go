package rules

import (
	"fmt"
	"net/url"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Summary says what the credentials are and when they are renewed, without values that are
// secret.
func (a *Auth) Summary() string {
	switch a.Type {
	case AuthBasic:
		return "a user name and a password, in the header Authorization"
	case AuthBearer:
		return "a fixed token, in the header Authorization"
	case AuthHeader:
		return "a fixed key, in the header " + a.Values["name"]
	case AuthQuery:
		return "a fixed key, in the parameter " + a.Values["name"]
	case AuthOAuth2:
		return fmt.Sprintf("a token of grant %s from %s; %s", a.Values["grant"], a.tokenPlace(), a.renewed("the token"))
	case AuthLogin:
		return fmt.Sprintf("what the response of %s %s gives; %s", a.Login.Method, a.Login.label(), a.renewed("the login"))
	case AuthSign:
		return "a signature of each request, computed when it is sent"
	case AuthAWS4:
		return "AWS Signature Version 4 of each request, computed when it is sent"
	}
	return ""
}

// tokenPlace names the token endpoint.
func (a *Auth) tokenPlace() string {
	if c, computed := a.Computed["tokenUrl"]; computed {
		return c.Source
	}
	u, err := url.Parse(a.Values["tokenUrl"])
	if err != nil {
		return "its endpoint"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

func (a *Auth) renewed(what string) string {
	when := ""
	if a.Type == AuthOAuth2 || a.Expires != nil {
		when = fmt.Sprintf("%s before it ends, and ", value.Counted(int(a.RenewBefore.Seconds()), "second"))
	}
	return fmt.Sprintf("all jobs share it, and %s is renewed %sonce when the API refuses it (status 401)", what, when)
}
