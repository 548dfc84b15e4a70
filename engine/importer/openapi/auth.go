package openapi

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// credentials sets the authentication: the first alternative of the operation's security that a
// configuration can have.
func (t *translation) credentials() {
	security := t.node.get("security")
	if !security.given() {
		security = t.root.get("security")
	}
	alternatives := security.list()
	if len(alternatives) == 0 {
		return
	}
	var why string
	for _, a := range alternatives {
		if len(a.names()) == 0 {
			continue // it is optional
		}
		problem := t.alternative(a)
		if problem == "" {
			return
		}
		why = cmp.Or(why, problem)
	}
	if why != "" {
		t.note(importer.Credentials, "security", "api.authentication", "%s; write api.authentication", why)
	}
}

// alternative sets the authentication of one alternative, which may have several schemes at once. It
// returns why it cannot.
func (t *translation) alternative(a node) string {
	var auth []importer.Member
	var headers, params []importer.Member
	for _, name := range a.names() {
		scheme, err := t.resolve(t.root.get("components", "securitySchemes", name))
		if err != nil || !scheme.given() {
			return fmt.Sprintf("the scheme %s is not in components.securitySchemes", name)
		}
		member, problem := t.scheme(name, scheme, a.get(name).texts())
		switch {
		case problem != "":
			return problem
		case auth == nil:
			auth = member
		case scheme.get("type").text() != "apiKey" || scheme.get("in").text() == "cookie":
			return "several schemes at once"
		default:
			key := importer.Member{Name: "#" + scheme.get("name").text(), Value: member[len(member)-1].Value}
			if scheme.get("in").text() == "header" {
				headers = append(headers, key)
			} else {
				params = append(params, key)
			}
		}
	}
	t.out.Auth = auth
	t.out.Headers = append(t.out.Headers, headers...)
	t.out.Params = append(t.out.Params, params...)
	return ""
}

func auth(kind string, members ...importer.Member) []importer.Member {
	return append([]importer.Member{{Name: "type", Value: importer.Constant(kind)}}, members...)
}

// secret returns a member whose value is an input that is a secret.
func (t *translation) secret(key, input, doc, place string) importer.Member {
	return importer.Member{Name: key, Value: importer.Computed(t.input(importer.Input{Name: input, Doc: doc, Secret: true, Place: place}))}
}

func (t *translation) open(key, input, doc, place string) importer.Member {
	return importer.Member{Name: key, Value: importer.Computed(t.input(importer.Input{Name: input, Doc: doc, Place: place}))}
}

// scheme returns the authentication of one scheme, or why a configuration cannot have it.
func (t *translation) scheme(name string, s node, scopes []string) ([]importer.Member, string) {
	place := "components.securitySchemes." + name
	doc := importer.FirstSentence(s.get("description").text())
	switch kind := s.get("type").text(); kind {
	case "apiKey":
		return t.apiKey(name, s, doc, place)
	case "http":
		switch scheme := strings.ToLower(s.get("scheme").text()); scheme {
		case "basic":
			return auth("basic", t.open("username", "username", doc, place), t.secret("#password", "password", "", place)), ""
		case "bearer":
			return auth("bearer", t.secret("#token", "token", cmp.Or(doc, "bearer token"), place)), ""
		default:
			return nil, fmt.Sprintf("the scheme %s of HTTP is not translated", scheme)
		}
	case "oauth2":
		return t.oauth2(s.get("flows"), scopes, place)
	case "openIdConnect":
		t.note(importer.Check, "security", "api.authentication",
			"The token is an input; the API's documentation says where it comes from (OpenID Connect)")
		return auth("bearer", t.secret("#token", "token", "bearer token", place)), ""
	default:
		return nil, fmt.Sprintf("the scheme %s is not translated", cmp.Or(kind, name))
	}
}

func (t *translation) apiKey(name string, s node, doc, place string) ([]importer.Member, string) {
	input := importer.InputName(name)
	if !strings.Contains(input, "key") && !strings.Contains(input, "token") && !strings.Contains(input, "secret") {
		input = "api_key"
	}
	key := s.get("name").text()
	switch in := s.get("in").text(); in {
	case "header", "query":
		return auth(in, importer.Member{Name: "name", Value: importer.Constant(key)}, t.secret("#value", input, doc, place)), ""
	case "cookie":
		m := t.secret("#value", input, doc, place)
		m.Value.Source = importer.Quote(key+"=") + " + " + m.Value.Source
		return auth("header", importer.Member{Name: "name", Value: importer.Constant("Cookie")}, m), ""
	default:
		return nil, fmt.Sprintf("the key of %s is in %s, which is unknown", name, in)
	}
}

// oauth2 returns the authentication of the flow that a program can use: with the credentials of a
// client, with a refresh token, or with a password.
func (t *translation) oauth2(flows node, scopes []string, place string) ([]importer.Member, string) {
	client := func(flow, tokenURL string) []importer.Member {
		flowPlace := place + ".flows." + flow
		return []importer.Member{
			{Name: "tokenUrl", Value: importer.Constant(tokenURL)},
			t.open("clientId", "client_id", "", flowPlace), t.secret("#clientSecret", "client_secret", "", flowPlace),
		}
	}
	var scope []importer.Member
	if len(scopes) > 0 {
		scope = []importer.Member{{Name: "scopes", Value: importer.Constant(lists.Map(scopes, func(s string) any { return s }))}}
	}
	if f := flows.get("clientCredentials"); f.given() {
		return auth("oauth2", append(client("clientCredentials", f.get("tokenUrl").text()), scope...)...), ""
	}
	for _, flow := range []string{"authorizationCode", "deviceAuthorization"} {
		if f := flows.get(flow); f.given() {
			address := cmp.Or(f.get("refreshUrl").text(), f.get("tokenUrl").text())
			t.note(importer.Check, "security", "api.authentication", "Authorize the client once, and set the refresh token that you get")
			return auth("oauth2", append(client(flow, address),
				t.secret("#refreshToken", "refresh_token", "", place+".flows."+flow))...), ""
		}
	}
	if f := flows.get("password"); f.given() {
		m := append(client("password", f.get("tokenUrl").text()),
			t.open("username", "username", "", place), t.secret("#password", "password", "", place))
		return auth("oauth2", append(m, scope...)...), ""
	}
	if flows.get("implicit").given() {
		t.note(importer.Check, "security", "api.authentication", "The token is an input, since the flow implicit is for browsers")
		return auth("bearer", t.secret("#token", "token", "access token", place)), ""
	}
	return nil, "the scheme oauth2 has no flow that is known"
}
