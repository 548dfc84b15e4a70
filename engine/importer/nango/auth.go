package nango

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// credentials sets the authentication and the headers. Some headers are credentials.
func (t *translation) credentials() {
	mode := t.node.get("auth_mode")
	if t.node.get("require_client_certificate").flag() {
		t.note(importer.Credentials, t.node.get("require_client_certificate"), "api.authentication",
			"the API wants a client certificate, which is not sent")
	}
	tokens := func(text string) bool { return strings.Contains(text, "${accessToken}") }
	var err error
	switch kind := mode.text(); kind {
	case "API_KEY":
		t.apiKey()
		return
	case "NONE":
		t.headers(tokens)
		return
	case "BASIC":
		t.headers(tokens)
		if slices.ContainsFunc(t.out.Headers, isAuthorization) {
			return // the header replaces the other one
		}
		t.auth("basic", importer.Named("username", t.credential("username")), importer.Named("#password", t.credential("password")))
		return
	case "OAUTH2":
		err = t.oauth2(t.headers(tokens))
	case "OAUTH2_CC":
		err = t.clientCredentials(t.headers(tokens))
	case "TWO_STEP":
		err = t.twoStep(t.headers(tokens))
	default:
		t.headers(tokens)
		err = fmt.Errorf("the credentials of mode %s are not translated", cmp.Or(kind, "(none)"))
	}
	if err != nil {
		t.out.Auth = nil
		t.note(importer.Credentials, mode, "api.authentication",
			"%v; write api.authentication: its types login, oauth2 and sign cover most of them", err)
	}
}

func isAuthorization(m importer.Member) bool { return strings.EqualFold(m.Name, "Authorization") }

func (t *translation) auth(kind string, members ...importer.Member) {
	t.out.Auth = append([]importer.Member{importer.Named("type", importer.Constant(kind))}, members...)
}

// apiKey reads where the key is sent: in a header, or in the query. If it is sent to several places, one
// becomes api.authentication, and the others become headers and parameters.
func (t *translation) apiKey() {
	found := t.headers(func(text string) bool { return strings.Contains(text, "${apiKey}") })
	places := []string{}
	for range found {
		places = append(places, "header")
	}
	for _, m := range t.node.get("proxy").get("query").members() {
		if strings.Contains(m.text(), "${apiKey}") {
			found, places = append(found, m), append(places, "query")
		}
	}
	for i, m := range found {
		v, err := t.template(m.node, "")
		switch {
		case err != nil:
			t.note(importer.Credentials, m.node, "api.authentication", "%v", err)
		case t.out.Auth != nil && places[i] == "header":
			t.out.Headers = append(t.out.Headers, importer.Named(m.name, v))
		case t.out.Auth != nil:
			t.out.Params = append(t.out.Params, importer.Named(m.name, v))
		case strings.EqualFold(m.name, "Authorization") && m.text() == "Bearer ${apiKey}":
			t.auth("bearer", importer.Named("#token", t.credential("apiKey")))
		default:
			t.auth(places[i], importer.Named("name", importer.Constant(m.name)), importer.Named("#value", v))
		}
	}
	sent := slices.ContainsFunc(t.out.Headers, func(m importer.Member) bool { return strings.Contains(m.Value.Source, "input.") })
	if len(found) == 0 && !sent && !strings.Contains(t.node.get("proxy").get("base_url").text(), "${apiKey}") {
		t.note(importer.Credentials, t.node.get("auth_mode"), "api.authentication",
			"the provider does not say where the key is sent; write api.authentication")
	}
}

// tokenURL returns the address of the token request.
func (t *translation) tokenURL(keys ...string) (string, error) {
	for _, key := range keys {
		n := t.node.get(key)
		if _, isObject := value.Members(n.v); isObject {
			n = n.get(t.node.get("auth_mode").text())
		}
		if n.text() != "" {
			return t.address(n)
		}
	}
	return "", fmt.Errorf("%s: there is no address for the token request", t.node.get("token_url").path)
}

// oauth2 reads OAuth 2.0 for a user, who has authorized the client: a refresh token.
func (t *translation) oauth2(headers []namedNode) error {
	url, err := t.tokenURL("refresh_url", "token_url")
	if err != nil {
		return err
	}
	params, err := t.tokenParams(t.node.get("refresh_params"), "grant_type", "client_id", "client_secret", "refresh_token")
	if err != nil {
		return err
	}
	t.note(importer.Check, t.node.get("authorization_url"), "api.authentication",
		"authorize the client once, and set the refresh token that you get")
	return t.grant(url, headers, []importer.Member{importer.Named("#refreshToken", t.credential("refresh_token"))}, params)
}

// clientCredentials reads OAuth 2.0 for a client.
func (t *translation) clientCredentials(headers []namedNode) error {
	url, err := t.tokenURL("token_url")
	if err != nil {
		return err
	}
	params := t.node.get("token_params")
	if t.node.get("token_headers").given() {
		return fmt.Errorf("the token request has headers of its own")
	}
	own := []string{"grant_type", "client_id", "client_secret"}
	var grant []importer.Member
	switch kind := cmp.Or(params.get("grant_type").text(), "client_credentials"); kind {
	case "client_credentials":
	case "password":
		own = append(own, "username", "password")
		for _, key := range []string{"username", "password"} {
			v, err := t.template(params.get(key), "")
			if err != nil {
				return err
			}
			grant = append(grant, importer.Named(map[string]string{"username": "username", "password": "#password"}[key], v))
		}
	default:
		return fmt.Errorf("the grant %s is not translated", kind)
	}
	more, err := t.tokenParams(params, own...)
	if err != nil {
		return err
	}
	if scopes := lists.Map(t.node.get("default_scopes").list(), node.text); len(scopes) > 0 {
		list := any(lists.Map(scopes, func(s string) any { return s }))
		if separator := t.node.get("scope_separator"); separator.given() && separator.text() != " " {
			list = strings.Join(scopes, separator.text())
		}
		grant = append(grant, importer.Named("scopes", importer.Constant(list)))
	}
	return t.grant(url, headers, grant, more)
}

// tokenParams returns the parameters of a token request without the parameters that have keys of their own.
func (t *translation) tokenParams(n node, own ...string) ([]importer.Member, error) {
	var out []importer.Member
	for _, m := range n.members() {
		if slices.Contains(own, m.name) {
			continue
		}
		v, err := t.template(m.node, "")
		if err != nil {
			return nil, err
		}
		out = append(out, importer.Named(m.name, v))
	}
	return out, nil
}

// grant sets the type oauth2.
func (t *translation) grant(url string, headers []namedNode, grant, more []importer.Member) error {
	switch {
	case t.node.get("body_format").text() == "json":
		return fmt.Errorf("the token request has a JSON body")
	case t.node.get("token_request_auth_method").text() == "custom":
		return fmt.Errorf("the token request has credentials of its own form")
	case t.node.get("alternate_access_token_response_path").given():
		return fmt.Errorf("the token is not in access_token of the response")
	}
	for _, h := range headers {
		if !strings.EqualFold(h.name, "Authorization") || h.text() != "Bearer ${accessToken}" {
			return fmt.Errorf("the token is sent as %s: %s", h.name, h.text())
		}
	}
	if slices.ContainsFunc(t.out.Headers, isAuthorization) {
		return fmt.Errorf("the header Authorization has no token")
	}
	auth := []importer.Member{importer.Named("tokenUrl", importer.Constant(url)), importer.Named("clientId", t.credential("client_id")),
		importer.Named("#clientSecret", t.credential("client_secret"))}
	if t.node.get("token_request_auth_method").text() != "basic" && t.node.get("authorization_method").text() != "header" {
		auth = append(auth, importer.Named("clientAuth", importer.Constant("body")))
	}
	auth = append(auth, grant...)
	if len(more) > 0 {
		auth = append(auth, importer.Named("params", importer.Value{Object: more}))
	}
	t.auth("oauth2", auth...)
	return nil
}

// twoStep reads a login: a request for a token, which the other requests have in a header.
func (t *translation) twoStep(headers []namedNode) error {
	for _, key := range []string{"additional_steps", "signature", "token"} {
		if t.node.get(key).given() {
			return fmt.Errorf("a login with %s is not translated", key)
		}
	}
	url, err := t.tokenURL("token_url")
	if err != nil {
		return err
	}
	body, err := t.tokenParams(t.node.get("token_params"))
	if err != nil {
		return err
	}
	own, err := t.tokenParams(t.node.get("token_headers"), "content-type")
	if err != nil {
		return err
	}
	method, err := t.loginMethod()
	if err != nil {
		return err
	}
	sent, err := t.tokenHeaders(headers)
	if err != nil {
		return err
	}
	request := []importer.Member{importer.Named("endpoint", importer.Constant(url)), importer.Named("method", importer.Constant(method))}
	if len(body) > 0 {
		request = append(request, importer.Named("params", importer.Value{Object: t.hidden(body)}))
	}
	if len(own) > 0 {
		request = append(request, importer.Named("headers", importer.Value{Object: t.hidden(own)}))
	}
	auth := []importer.Member{importer.Named("loginRequest", importer.Value{Object: request}),
		importer.Named("apiRequest", importer.Value{Object: []importer.Member{importer.Named("headers", importer.Value{Object: sent})}})}
	expires, err := t.expires()
	if expires != "" {
		auth = append(auth, importer.Named("expires", importer.Constant(expires)))
	}
	t.auth("login", auth...)
	return err
}

// loginMethod returns the method of the token request.
func (t *translation) loginMethod() (string, error) {
	switch format := t.node.get("body_format").text(); {
	case strings.EqualFold(t.node.get("token_request_method").text(), "GET"):
		return "GET", nil
	case format == "form":
		return "FORM", nil
	case format == "" || format == "json":
		return "POST", nil
	default:
		return "", fmt.Errorf("a login with a body in %s is not translated", format)
	}
}

// tokenHeaders returns the headers of the other requests, which have the token of a login.
func (t *translation) tokenHeaders(headers []namedNode) (sent []importer.Member, err error) {
	token, err := path(t.node.get("token_response").get("token"))
	if err != nil {
		return nil, err
	}
	source := keypath.Format("login.body", keypath.Split(token))
	for _, h := range headers {
		v, err := t.template(h.node, source)
		if err != nil {
			return nil, err
		}
		sent = append(sent, importer.Named(h.name, importer.Constant(v.Source)))
	}
	if len(headers) == 0 {
		sent = []importer.Member{importer.Named("Authorization", importer.Constant("'Bearer ' + "+source))}
	}
	return sent, nil
}

// expires returns the expression for the end of a login, or "" if the source does not say it.
func (t *translation) expires() (string, error) {
	if n := t.node.get("token_response").get("token_expiration"); n.text() != "" {
		p, err := path(n)
		return keypath.Format("login.body", keypath.Split(p)), err
	}
	if ms, err := strconv.Atoi(t.node.get("token_expires_in_ms").text()); err == nil && ms >= 1000 {
		return strconv.Itoa(ms / 1000), nil
	}
	return "", nil
}

// hidden marks the members that secret inputs give.
func (t *translation) hidden(members []importer.Member) []importer.Member {
	for i, m := range members {
		for _, in := range t.out.Inputs {
			if in.Secret && strings.Contains(m.Value.Source, "input."+in.Name) {
				members[i].Name = "#" + strings.TrimPrefix(m.Name, "#")
			}
		}
	}
	return members
}
