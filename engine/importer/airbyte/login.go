package airbyte

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// oauth reads an OAuthAuthenticator.
func (t *translation) oauth(n node) error {
	n.mark("token_expiry_date", "token_expiry_date_format", "expires_in_name", "refresh_token_updater", "access_token_value", "grant_type",
		"token_expiry_is_time_of_expiration", "profile_assertion", "client_id_name", "client_secret_name", "refresh_token_name",
		"grant_type_name")
	if n.get("use_profile_assertion").flag() {
		return fmt.Errorf("a profile assertion is not translated")
	}
	endpoint := n.get("token_refresh_endpoint")
	if !endpoint.given() {
		return t.credentials("bearer", secretOf{"#token", n.get("access_token_value")})
	}
	if err := standardNames(n); err != nil {
		return err
	}
	parts, err := jinja.Parts(endpoint.text(), t.scope(endpoint, jinja.Literal(nil)))
	if err != nil {
		return err
	}
	auth := []importer.Member{{Name: "type", Value: importer.Constant("oauth2")}, {Name: "tokenUrl",
		Value: importer.Constant(t.addressText(parts))}}
	client, err := t.clientCredentials(n)
	if err != nil {
		return err
	}
	auth = append(auth, client...)
	params, scopes, err := t.tokenParams(n)
	if err != nil {
		return err
	}
	if scopes != nil {
		auth = append(auth, importer.Member{Name: "scopes", Value: *scopes})
	}
	if len(params) > 0 {
		auth = append(auth, importer.Member{Name: "params", Value: importer.Value{Object: params}})
	}
	if n.get("refresh_token_updater").given() {
		t.note(importer.Check, n.get("refresh_token_updater"), "api.authentication",
			"the API replaces the refresh token: keep it in a file for tokens (docs/guide/credentials.md)")
	}
	t.out.Auth = auth
	return nil
}

// clientCredentials returns the credentials of the client, and the refresh token if the grant needs it.
func (t *translation) clientCredentials(n node) (auth []importer.Member, err error) {
	keys := []secretOf{{"clientId", n.get("client_id")}, {"#clientSecret", n.get("client_secret")}}
	switch grant := t.plain(n.get("grant_type")); grant {
	case "", "refresh_token":
		keys = append(keys, secretOf{"#refreshToken", n.get("refresh_token")})
	case "client_credentials":
		n.mark("refresh_token")
	default:
		return nil, fmt.Errorf("the grant %s is not translated", grant)
	}
	for _, k := range keys {
		v, err := t.credential(k)
		if err != nil {
			return nil, err
		}
		if v.Source != "" || v.Const != "" {
			auth = append(auth, importer.Member{Name: k.key, Value: v})
		}
	}
	if headers := n.get("refresh_request_headers"); !strings.Contains(fmt.Sprint(headers.v), "Basic") {
		auth = append(auth, importer.Member{Name: "clientAuth", Value: importer.Constant("body")})
	}
	return auth, nil
}

// standardNames refuses names of the token request and its response that OAuth 2.0 does not have.
func standardNames(n node) error {
	for _, key := range []string{"access_token_name", "client_id_name", "client_secret_name", "refresh_token_name", "grant_type_name"} {
		usual := strings.TrimSuffix(key, "_name")
		if name := n.get(key).text(); name != "" && name != usual {
			return fmt.Errorf("the token request or its response has %s in the place of %s; use the type login", name, usual)
		}
	}
	return nil
}

// tokenParams returns the scopes and the further parameters of the token request.
func (t *translation) tokenParams(n node) (params []importer.Member, scopes *importer.Value, err error) {
	if s := n.get("scopes"); s.given() {
		var texts []string
		for _, one := range s.list() {
			e, err := t.one(one)
			if err != nil {
				return nil, nil, err
			}
			if !e.Constant {
				if len(s.list()) > 1 {
					return nil, nil, fmt.Errorf("a list of computed scopes is not translated")
				}
				v := importer.Computed(e.Source)
				return params, &v, nil
			}
			texts = append(texts, fmt.Sprint(e.Const))
		}
		if len(texts) > 0 {
			v := importer.Constant(strings.Join(texts, " "))
			scopes = &v
		}
	}
	own := []string{"grant_type", "client_id", "client_secret", "refresh_token"}
	for _, m := range n.get("refresh_request_body").members() {
		if slices.Contains(own, m.name) {
			continue
		}
		e, err := t.one(m.node)
		if err != nil {
			return nil, nil, err
		}
		if m.name == "scope" && e.Constant {
			v := importer.Constant(fmt.Sprint(e.Const))
			scopes = &v
			continue
		}
		params = append(params, importer.Member{Name: m.name, Value: t.sent(e, importer.InHeader)})
	}
	return params, scopes, nil
}

// session reads a SessionTokenAuthenticator: a login.
func (t *translation) session(n node) error {
	login := n.get("login_requester")
	n.mark("expiration_duration", "session_token_path", "request_authentication", "decoder", "type")
	inner := &translation{reader: t.reader, stream: t.stream, out: &importer.Stream{Name: "login"}, slice: map[string]jinja.Expr{},
		interval: map[string]jinja.Expr{}, overlay: map[string]string{}, initial: jinja.Literal(nil), token: jinja.Literal(nil)}
	if err := inner.authenticator(login.get("authenticator")); err != nil {
		return err
	}
	if err := inner.request(login); err != nil {
		return err
	}
	login.mark("error_handler")
	if len(inner.out.Notes) > 0 && inner.out.Auth == nil && login.get("authenticator").given() {
		return fmt.Errorf("the credentials of the login are not translated")
	}
	headers := append(loginHeaders(inner.out.Auth), inner.out.Headers...)
	request := []importer.Member{{Name: "endpoint", Value: importer.Constant(inner.out.BaseURL + strings.TrimPrefix(inner.out.Endpoint, "/"))}}
	if inner.out.Method != "" {
		request = append(request, importer.Member{Name: "method", Value: importer.Constant(inner.out.Method)})
	}
	if len(inner.out.Params) > 0 {
		request = append(request, importer.Member{Name: "params", Value: importer.Value{Object: secretMembers(inner.out.Params)}})
	}
	if len(inner.out.Body) > 0 {
		request = append(request, importer.Member{Name: "body", Value: importer.Value{Object: secretMembers(inner.out.Body)}})
	}
	if len(headers) > 0 {
		request = append(request, importer.Member{Name: "headers", Value: importer.Value{Object: headers}})
	}
	var keys []string
	for _, k := range n.get("session_token_path").list() {
		keys = append(keys, t.plain(k))
	}
	token := keypath.Format("login.body", keys)
	api, err := t.sessionRequest(n.get("request_authentication"), token)
	if err != nil {
		return err
	}
	auth := []importer.Member{{Name: "type", Value: importer.Constant("login")}, {Name: "loginRequest",
		Value: importer.Value{Object: request}},
		{Name: "apiRequest", Value: importer.Value{Object: api}}}
	if length, ok := jinja.Length(n.get("expiration_duration").text()); ok && n.get("expiration_duration").given() {
		if span, err := times.ParseSpan(length); err == nil && span.IsTime() && span.Months == 0 {
			auth = append(auth, importer.Member{Name: "expires",
				Value: importer.Constant(fmt.Sprint(span.Days*24*3600 + int(span.Duration.Seconds())))})
		}
	}
	t.out.Auth = auth
	return nil
}

// secretMembers marks the members of a login that expressions give as secrets.
func secretMembers(members []importer.Member) []importer.Member {
	var out []importer.Member
	for _, m := range members {
		if m.Value.Source != "" && !strings.Contains(strings.ToLower(m.Name), "user") {
			m.Name = "#" + m.Name
		}
		out = append(out, m)
	}
	return out
}

// loginHeaders returns the headers that authenticate the login itself.
func loginHeaders(auth []importer.Member) []importer.Member {
	get := func(key string) string {
		for _, m := range auth {
			if m.Name == key {
				if m.Value.Source != "" {
					return m.Value.Source
				}
				return jinja.Literal(m.Value.Const).Source
			}
		}
		return "''"
	}
	switch get("type") {
	case "'basic'":
		return []importer.Member{{Name: "#Authorization", Value: importer.Computed(
			"'Basic ' + base64(" + get("username") + " + ':' + " + get("#password") + ")")}}
	case "'bearer'":
		return []importer.Member{{Name: "#Authorization", Value: importer.Computed("'Bearer ' + " + get("#token"))}}
	case "'header'":
		name, _ := value.Text(auth[1].Value.Const)
		return []importer.Member{{Name: "#" + name, Value: importer.Computed(get("#value"))}}
	}
	return nil
}

// sessionRequest returns the parts of the other requests that a login gives.
func (t *translation) sessionRequest(n node, token string) ([]importer.Member, error) {
	part := func(kind, name, source string) []importer.Member {
		return []importer.Member{{Name: kind, Value: importer.Value{Object: []importer.Member{{Name: name, Value: importer.Constant(source)}}}}}
	}
	n.mark("type", "inject_into", "api_token")
	switch kind := n.own("type").text(); kind {
	case "Bearer", "SessionTokenRequestBearerAuthenticator", "":
		return part("headers", "Authorization", "'Bearer ' + "+token), nil
	case "ApiKey", "SessionTokenRequestApiKeyAuthenticator":
		source := token
		if key := n.get("api_token"); key.given() {
			e, err := jinja.Translate(key.text(), t.scope(key, jinja.Literal(nil)).With("session_token", jinja.Name(token, jinja.Text)))
			if err != nil {
				return nil, err
			}
			source = e.Source
		}
		target, _, err := t.option(n.get("inject_into"))
		if err != nil {
			return nil, err
		}
		switch target.In {
		case importer.InHeader:
			return part("headers", target.Name, source), nil
		case importer.InParam:
			return part("params", target.Name, source), nil
		}
	}
	return nil, fmt.Errorf("the session token goes into a part of the request that is not translated")
}

// jwt reads a JwtAuthenticator with a shared secret or a private RSA key.
func (t *translation) jwt(n node) error {
	algorithm := n.get("algorithm").text()
	family, bits := algorithm[:min(len("HS"), len(algorithm))], strings.TrimLeft(algorithm, "HRS")
	function := map[string]string{"HS": "hmac", "RS": "rsa"}[family]
	if function == "" || !slices.Contains([]string{"256", "384", "512"}, bits) || function == "rsa" && n.get("passphrase").given() {
		return fmt.Errorf("tokens that are signed with %s are not translated", algorithm)
	}
	secret, err := t.one(n.get("secret_key"))
	if err != nil {
		return err
	}
	t.secret(secret.Source)
	if n.get("base64_encode_secret_key").flag() {
		secret = jinja.Name("base64("+secret.Source+")", jinja.Text)
	}
	header := map[string]string{"alg": jinja.Literal(algorithm).Source, "typ": "'JWT'"}
	headerNames := []string{"alg", "typ"}
	seconds := n.get("token_duration").text()
	if seconds == "" {
		seconds = "1200"
	}
	payload := map[string]string{"iat": "now().Unix()", "exp": "now().Unix() + " + seconds, "nbf": "now().Unix()"}
	payloadNames := []string{"iat", "exp", "nbf"}
	if err := t.claims(n, header, payload, &headerNames, &payloadNames); err != nil {
		return err
	}
	name := "Authorization"
	if option := n.get("request_option"); option.given() {
		target, _, err := t.option(option)
		if err != nil || target.In != importer.InHeader {
			return fmt.Errorf("the token goes into a part of the request that is not translated")
		}
		name = target.Name
	}
	prefix := n.get("header_prefix").text()
	if prefix != "" {
		prefix += " "
	}
	source := fmt.Sprintf("let t = %s + '.' + %s; %s + t + '.' + %s",
		jwtObject(header, headerNames), jwtObject(payload, payloadNames), jinja.Literal(prefix).Source,
		base64url(fmt.Sprintf("%s('sha%s', %s, t)", function, bits, secret.Source)))
	n.mark("token_duration", "jwt_headers", "jwt_payload", "passphrase")
	t.out.Auth = []importer.Member{{Name: "type", Value: importer.Constant("sign")}, {Name: "headers",
		Value: importer.Value{Object: []importer.Member{
			{Name: name, Value: importer.Constant(source)}}}}}
	return nil
}

// jwtObject returns the expression for the header or the payload of a token, given the expressions for its
// members.
func jwtObject(values map[string]string, names []string) string {
	members := lists.Map(names, func(name string) string { return importer.Quote(name) + ": " + values[name] })
	return base64url("toJSON({" + strings.Join(members, ", ") + "})")
}

// base64url returns the expression for a value in the encoding of tokens (RFC 7515).
func base64url(source string) string {
	return "replace(replace(replace(base64(" + source + "), '+', '-'), '/', '_'), '=', '')"
}

// claims adds the configured members of the header and the payload of a token.
func (t *translation) claims(n node, header, payload map[string]string, headerNames, payloadNames *[]string) error {
	for _, part := range []struct {
		key   string
		into  map[string]string
		names *[]string
	}{
		{"jwt_headers", header, headerNames}, {"additional_jwt_headers", header, headerNames},
		{"jwt_payload", payload, payloadNames}, {"additional_jwt_payload", payload, payloadNames},
	} {
		for _, m := range n.get(part.key).members() {
			if m.name == "type" {
				continue
			}
			e, err := t.one(m.node)
			if err != nil {
				return err
			}
			if !slices.Contains(*part.names, m.name) {
				*part.names = append(*part.names, m.name)
			}
			part.into[m.name] = e.Source
		}
	}
	return nil
}
