package dlt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// authKeys are the keys of each type of auth.
var authKeys = map[string][]string{
	"bearer":     {"token"},
	"api_key":    {"name", "api_key", "location"},
	"http_basic": {"username", "password"},
	"oauth2_client_credentials": {
		"access_token", "access_token_url", "client_id", "client_secret", "access_token_request_data", "default_token_expiration", "session",
	},
}

// auth reads the credentials. If they cannot be translated, the rest of the stream is.
func (t *translation) auth() error {
	n := t.in(t.res, "auth")
	if !n.has {
		n = t.client.get("auth")
	}
	if !n.given() {
		return nil
	}
	kind := cmp.Or(n.text(), n.get("type").text(), "bearer")
	keys, known := authKeys[kind]
	if !known {
		t.note(importer.Credentials, n, "api.authentication",
			"the auth %s is not a type of dlt's, or a class of Python; write api.authentication", kind)
		return nil
	}
	for _, m := range n.members() {
		if m.name != "type" && !slices.Contains(keys, m.name) {
			t.out.Note(unknownKey(m))
		}
	}
	members, err := t.scheme(kind, n)
	if err != nil {
		t.note(importer.Credentials, n, "api.authentication", "%s; write api.authentication", err)
		return nil
	}
	t.out.Auth = members
	return nil
}

// scheme returns the authentication of a type.
func (t *translation) scheme(kind string, n node) ([]importer.Member, error) {
	switch kind {
	case "bearer":
		return t.keyed("bearer", n, [2]string{"#token", "token"})
	case "http_basic":
		return t.keyed("basic", n, [2]string{"username", "username"}, [2]string{"#password", "password"})
	case "api_key":
		location := cmp.Or(n.get("location").text(), "header")
		if location == "cookie" {
			return nil, fmt.Errorf("%s: a key in a cookie is not translated, and dlt does not send it either", n.get("location").path)
		}
		out, err := t.keyed("header", n, [2]string{"#value", "api_key"})
		if err != nil {
			return nil, err
		}
		if location != "header" {
			out[0].Value = importer.Constant("query")
		}
		return slices.Insert(out, 1, importer.Named("name", importer.Constant(cmp.Or(n.get("name").text(), "Authorization")))), nil
	}
	return t.oauth2(n)
}

// keyed returns an authentication with keys, each with its name here and in dlt. A # marks a secret.
func (t *translation) keyed(kind string, n node, keys ...[2]string) ([]importer.Member, error) {
	out := []importer.Member{importer.Named("type", importer.Constant(kind))}
	for _, key := range keys {
		v, err := t.secretOf(n.get(key[1]), key[1], strings.HasPrefix(key[0], "#"))
		if err != nil {
			return nil, err
		}
		out = append(out, importer.Named(key[0], v))
	}
	return out, nil
}

// secretOf returns a value of the credentials; hidden says whether it is a secret. dlt reads a missing value
// from its secrets, so it becomes an input. A secret in the document becomes an input, too.
func (t *translation) secretOf(n node, name string, hidden bool) (importer.Value, error) {
	text, isScalar := n.scalar()
	if !n.given() {
		p := t.input(importer.Input{Name: importer.InputName(name), Secret: hidden, Place: n.path}, n.path)
		return joined([]part{p}), nil
	}
	if !isScalar {
		return importer.Value{}, fmt.Errorf("%s: want a text", n.path)
	}
	parts, _, err := t.parts(n, text)
	if err != nil {
		return importer.Value{}, err
	}
	v := joined(parts)
	if hidden && v.Source == "" && text != "" {
		return importer.Computed(t.plainSecret(n, importer.InputName(name))), nil
	}
	return v, nil
}

// oauth2 returns the authentication with the credentials of a client, which dlt sends in the body.
func (t *translation) oauth2(n node) ([]importer.Member, error) {
	out, err := t.keyed("oauth2", n, [2]string{"clientId", "client_id"}, [2]string{"#clientSecret", "client_secret"})
	if err != nil {
		return nil, err
	}
	address, err := t.secretOf(n.get("access_token_url"), "access_token_url", false)
	if err != nil {
		return nil, err
	}
	out = slices.Insert(out, 1, importer.Named("tokenUrl", address))
	out = append(out, importer.Named("clientAuth", importer.Constant("body")))
	var params []importer.Member
	for _, m := range n.get("access_token_request_data").members() {
		v, err := t.value(m, importer.Target{In: importer.Nowhere})
		if err != nil {
			return nil, err
		}
		switch {
		case m.name == "scope" && v.IsConst():
			out = append(out, importer.Named("scopes", v))
		case m.name == "grant_type" && v.Const != "client_credentials":
			return nil, fmt.Errorf("%s: the grant %v is not translated", m.path, v.Const)
		case m.name != "grant_type":
			params = append(params, importer.Named(m.name, v))
		}
	}
	if params != nil {
		out = append(out, importer.Named("params", importer.Value{Object: params}))
	}
	if token := n.get("access_token"); token.given() {
		t.note(importer.Left, token, "", "the token is requested in any case")
	}
	if expires := n.get("default_token_expiration"); expires.given() {
		t.note(importer.Left, expires, "", "a token whose response does not say when it ends is used until the API refuses it")
	}
	if session := n.get("session"); session.given() {
		t.note(importer.Left, session, "", "a session is Python, and was left out")
	}
	return out, nil
}
