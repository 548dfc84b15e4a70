package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// CredentialSummary describes the credentials and says when they are renewed, without secret values. It is empty for an
// unknown type.
func (c *Config) CredentialSummary() string {
	if summary := findAuthType(c.Auth.Type).summary; summary != nil {
		return summary(c.Auth, c)
	}
	return ""
}

// CredentialRequest describes the request that obtains the credentials: its method, its address and what it sends,
// without secrets. It returns an empty string for credentials that need no request. A constant address
// is resolved against the base address.
func (c *Config) CredentialRequest() string {
	if request := findAuthType(c.Auth.Type).request; request != nil {
		return request(c.Auth, c)
	}
	return ""
}

// tokenRequest describes the request for a token of OAuth 2.0.
func (a *Auth) tokenRequest(c *Config) string {
	place := a.tokenPlace()
	if _, computed := a.Computed["tokenUrl"]; !computed {
		place = resolved(c.BaseURL, place)
	}
	return "POST " + fromBase(place) +
		sends(sent{"in the body, a URL-encoded form", a.tokenParams(c)},
			sent{"in the header Authorization: Basic, as user name and password", a.clientInHeader(c)})
}

// loginRequest describes the request of a login.
func (a *Auth) loginRequest(c *Config) string {
	job := a.Login
	place := job.label()
	if place == job.Endpoint && !strings.Contains(place, "{") {
		place = resolved(c.BaseURL, place)
	}
	params, body := sent{"in the query", c.shownAll(c.LoginParams().Merge(job.Params))}, sent{"in the body", c.shownAll(job.Body)}
	switch {
	case job.Method == http.MethodPost:
		body.place = "in the body, which is JSON"
	case job.Method != http.MethodGet:
		body.place = "in the body, a URL-encoded form"
	}
	if job.Body == nil && job.Method != http.MethodGet {
		params.place = body.place
	}
	return requests.Request{Method: job.Method}.Verb() + " " + fromBase(place) +
		sends(params, body, sent{"in the headers", c.shownAll(c.HTTP.Headers.Merge(job.Headers))})
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

// tokenParams returns the parameters of the token request, as [Config.shown] writes them.
func (a *Auth) tokenParams(c *Config) (shown []string) {
	add := func(params []TokenParam) {
		for _, p := range params {
			if a.sends(p.Key) {
				shown = lists.AppendNew(shown, p.Name+"="+a.shownKey(c, p.Key))
			}
		}
	}
	add(a.GrantParams())
	shown = append(shown, c.shownAll(a.Params)...)
	add(a.ClientParams())
	return shown
}

// clientInHeader says what the header Authorization of the token request has; nil if it has nothing.
func (a *Auth) clientInHeader(c *Config) []string {
	if a.ClientPlace() != ClientInHeader || !a.sends("clientId") && !a.sends("clientSecret") {
		return nil
	}
	shown := []string{"clientId=" + a.shownKey(c, "clientId")}
	if a.sends("clientSecret") {
		shown = append(shown, "clientSecret="+a.shownKey(c, "clientSecret"))
	}
	return shown
}

// shownKey returns the value of a key of the credentials as it is shown.
func (a *Auth) shownKey(c *Config, key string) string {
	if computed, ok := a.Computed[key]; ok {
		return c.shown(key, computed)
	}
	return c.shown(key, a.Values[key])
}

// hiddenValue stands for a value that is not shown.
const hiddenValue = "***"

// shownAll returns the members of an object, such as "user=ann".
func (c *Config) shownAll(o Object) []string {
	return lists.Map(o, func(m Member) string {
		name := strings.TrimPrefix(m.Name, "#")
		return name + "=" + c.shown(name, m.Value)
	})
}

// shown returns a value under a name as it is shown: an expression in braces, and *** for what may be a secret.
func (c *Config) shown(name string, v any) string {
	v = c.shownValue(name, v)
	if text, ok := value.Text(v); ok {
		return text
	}
	text, _ := value.Marshal(v) // it comes from JSON
	return string(text)
}

// shownValue returns a value in which texts stand for expressions and for what may be a secret.
func (c *Config) shownValue(name string, v any) any {
	if computed, ok := v.(Computed); ok {
		if computed.Secret {
			return hiddenValue
		}
		return "{" + computed.Source + "}"
	}
	if list, ok := v.([]any); ok {
		return lists.Map(list, func(element any) any { return c.shownValue(name, element) })
	}
	if object, ok := value.Members(v); ok {
		return Object(lists.Map(object, func(m Member) Member { return Member{Name: m.Name, Value: c.shownValue(m.Name, m.Value)} }))
	}
	if text, _ := value.Text(v); slices.Contains(c.Secrets, text) || secret.IsHeader(name, text) || secret.IsParameter(name, text) {
		return hiddenValue
	}
	return v
}

// resolved resolves an address against base, if that is possible.
func resolved(base, place string) string {
	if address, err := requests.Resolve(base, place); err == nil {
		return address
	}
	return place
}

// fromBase says that an address without an origin is relative.
func fromBase(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return address + " (relative to api.baseUrl)"
}

// A sent has values that a request sends, with their names, and the place where it has them.
type sent struct {
	place  string
	values []string
}

// sends lists what a request sends: " with user=ann, password=*** in the body".
func sends(all ...sent) string {
	var phrases []string
	for _, s := range all {
		if len(s.values) > 0 {
			phrases = append(phrases, strings.Join(s.values, ", ")+" "+s.place)
		}
	}
	if phrases == nil {
		return ""
	}
	return " with " + strings.Join(phrases, "; ")
}
