package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The reference implementation has credentials of the types query, login, oauth10, oauth20
// and oauth20.login, whose values functions compute. They become credentials of the types sign
// and login, whose values are expressions.

// credentials returns api.authentication as other dialects write it.
func (k *keboolaConfig) credentials(path string, auth any) any {
	object, ok := value.Members(auth)
	if !ok {
		return k.aws(auth)
	}
	if k.awsCredentials != nil {
		k.diags.Errorf(diag.Key(diag.Join(k.cfg.path, "aws")), "requests cannot have a signature of AWS and other credentials").
			WithHint("remove one of aws and api.authentication")
	}
	switch object.Value("type") {
	case "query", "url.query":
		if object.Value("query") == nil { // as other dialects write it
			return auth
		}
		return k.signed(Object{{Name: "params", Value: k.parts(path, object, "query", k.requestReferences())}})
	case "oauth10":
		return k.oauth10(path)
	case "oauth20":
		references := k.requestReferences()
		references["authorization"] = k.authorization(object.Value("format") == "json")
		delete(references, "attr")
		return k.signed(Object{
			{Name: "params", Value: k.parts(path, object, "query", references)},
			{Name: "headers", Value: k.parts(path, object, "headers", references)},
		})
	case "login":
		return k.loginOf(path, object, nil)
	case "oauth20.login":
		return k.loginOf(path, object, k.owners())
	}
	return auth
}

// signed returns credentials of type sign, without empty parts.
func (k *keboolaConfig) signed(parts Object) any {
	parts = slices.DeleteFunc(parts, func(m Member) bool { o, _ := m.Value.(Object); return len(o) == 0 })
	k.signsIndependently = true
	return append(Object{{Name: "type", Value: AuthSign}}, parts...)
}

// parts returns the expressions that compute the members of an object of the credentials. A text
// without a function is a secret.
func (k *keboolaConfig) parts(path string, object Object, name string, references map[string]resolver) Object {
	f := functions{decoder: k.decoder, references: references}
	return k.computedMembers(diag.Join(path, name), object.Value(name), func(place string, v any) (string, bool) {
		if text, ok := k.scalar(place, v); ok {
			return k.secretInput(strings.TrimPrefix(place, k.cfg.path+"."), text), true
		}
		return f.source(place, v)
	})
}

// computedMembers returns the members of an object as computed values. The function source returns, for
// the config path and the value of a member, its expression and whether it is hidden.
func (k *keboolaConfig) computedMembers(path string, object any, source func(path string, v any) (string, bool)) Object {
	members, _ := value.Members(object)
	var out Object
	for _, m := range members {
		c := Computed{Path: diag.Join(path, m.Name)}
		c.Source, c.Secret = source(c.Path, m.Value)
		out = append(out, Member{Name: m.Name, Value: c})
	}
	return out
}

// scalar returns a scalar as text, or the value of the environment variable that it names.
func (k *keboolaConfig) scalar(path string, v any) (string, bool) {
	if name, isReference := envReference(v); isReference {
		text, _ := k.envText(name, path)
		return text, true
	}
	return value.Text(v)
}

// secretInput declares an input that holds a secret, and returns the expression for it.
func (k *keboolaConfig) secretInput(name, text string) string {
	k.hide(text)
	if !slices.ContainsFunc(k.cfg.Inputs, func(in Input) bool { return in.Name == name }) {
		k.cfg.Inputs = append(k.cfg.Inputs, Input{Name: name, Default: text, Secret: true})
	}
	return keypath.Format("input", []string{name})
}

// requestReferences are the references to the request that is sent.
func (k *keboolaConfig) requestReferences() map[string]resolver {
	sources := value.ObjectOf( // names and expressions
		"url", "request.url",
		"path", "request.path",
		"queryString", "request.query",
		"method", "request.method",
		"hostname", `phpAddress(request.url, "hostname")`,
		"port", `phpAddress(request.url, "port")`,
		"resource", `phpAddress(request.url, "resource")`,
	)
	return map[string]resolver{
		"attr": k.attributes.refer,
		"query": func(_, name string) (string, bool) {
			return fmt.Sprintf("phpFound(query(request.query, %s), %s)", strconv.Quote(name), strconv.Quote("parameter "+name)), false
		},
		"request": func(path, name string) (string, bool) {
			source, _ := sources.Value(name).(string)
			if source == "" {
				nearest(k.diags.Errorf(diag.Value(path), "unknown part of a request %q", name), name, sources.Names())
			}
			return source, false
		},
	}
}

// oauthCredential returns the value of a key of authorization.oauth_api.credentials as text.
func (k *keboolaConfig) oauthCredential(key string) string {
	place := diag.Join("authorization.oauth_api.credentials", key)
	v := value.ObjectAt(k.authorized, "oauth_api", "credentials").Value(key)
	text, _ := k.scalar(place, v)
	if _, isReference := envReference(v); text == "" && !isReference {
		k.diags.Errorf(diag.Outside(place), "missing: OAuth needs #data, appKey and #appSecret under authorization.oauth_api.credentials")
	}
	return text
}

// data returns the tokens that the OAuth provider has issued, as an object.
func (k *keboolaConfig) data() Object {
	text := k.oauthCredential("#data")
	source, err := ParseJSON(diag.NewSource("authorization", text))
	object, ok := value.Members(source)
	if (err != nil || !ok) && text != "" {
		k.diags.Errorf(diag.Outside("authorization.oauth_api.credentials.#data"), "want a JSON object in a text")
	}
	return object
}

// secrets are references to values that are secret. Their inputs have a prefix before their
// names.
func (k *keboolaConfig) secrets(prefix string, values Object) resolver {
	return func(path, name string) (string, bool) {
		v, ok := values.Get(name)
		if !ok {
			nearest(k.diags.Errorf(diag.Value(path), "the OAuth credentials have no value %q", name), name, values.Names())
			return "", false
		}
		text, _ := value.Text(v)
		return k.secretInput(prefix+name, text), true
	}
}

// authorization are the references of oauth20: to the data, as text or as JSON, to the id of
// the client, and to a nonce and a time for each request.
func (k *keboolaConfig) authorization(isJSON bool) resolver {
	values := Object{{Name: "clientId", Value: k.oauthCredential("appKey")}}
	k.oauthCredential("#appSecret")
	if isJSON {
		values = append(values, flatten("data.", k.data())...)
	} else {
		values = values.With("data", k.oauthCredential("#data"))
	}
	secrets := k.secrets("authorization.", values)
	return func(path, name string) (string, bool) {
		switch name {
		case "nonce":
			return `phpSprintf("%.16s", phpSha1(uuid()))`, false
		case "timestamp":
			return sourceOfNow, false
		}
		return secrets(path, name)
	}
}

// owners are the references to the consumer and the user of OAuth.
func (k *keboolaConfig) owners() map[string]resolver {
	return map[string]resolver{
		"consumer": k.secrets("authorization.consumer.", Object{
			{Name: "client_id", Value: k.oauthCredential("appKey")}, {Name: "client_secret", Value: k.oauthCredential("#appSecret")},
		}),
		"user": k.secrets("authorization.user.", flatten("", k.data())),
	}
}

// oauth10 returns credentials that sign requests by OAuth 1.0 (RFC 5849) with HMAC-SHA1.
func (k *keboolaConfig) oauth10(path string) any {
	data := k.data()
	secret := func(name, text string) string { return k.secretInput("authorization."+name, text) }
	token, _ := value.Text(data.Value("oauth_token"))
	tokenSecret, _ := value.Text(data.Value("oauth_token_secret"))
	source := fmt.Sprintf("phpOAuth1(request, %s, %s, %s, %s, phpSha1(uuid()), %s)",
		secret("appKey", k.oauthCredential("appKey")), secret("appSecret", k.oauthCredential("#appSecret")),
		secret("oauth_token", token), secret("oauth_token_secret", tokenSecret), sourceOfNow)
	signature := Object{{Name: "Authorization", Value: Computed{Source: source, Secret: true, Path: path}}}
	return k.signed(Object{{Name: "headers", Value: signature}})
}

// loginOf returns credentials of type login. The references are for its request, in
// addition to the attributes.
func (k *keboolaConfig) loginOf(path string, object Object, references map[string]resolver) any {
	place := diag.Join(path, "loginRequest")
	request, _ := value.Members(object.Value("loginRequest"))
	k.loginFormat = k.format(path, object.Value("format"))
	f := k.functions(references)
	out := Object{}
	for _, m := range request {
		if m.Name == "params" || m.Name == "headers" {
			m.Value = f.evaluated(setting{Value: m.Value, base: diag.Join(place, m.Name)}).Value
		}
		out = append(out, m)
	}
	given := Object{}
	answer, _ := value.Members(object.Value("apiRequest"))
	for _, part := range []struct{ written, name string }{
		{written: "headers", name: "headers"},
		{written: "query", name: "params"},
	} {
		if parts := k.answers(diag.Join(path, "apiRequest"), answer, part.written); len(parts) > 0 {
			given = append(given, Member{Name: part.name, Value: parts})
		}
	}
	login := Object{{Name: "type", Value: AuthLogin}, {Name: "loginRequest", Value: out}, {Name: "apiRequest", Value: given}}
	if source := k.expires(diag.Join(path, "expires"), object.Value("expires")); source != "" {
		login = append(login, Member{Name: "expires", Value: source}, Member{Name: "renewBefore", Value: json.Number("0.001")})
	}
	return login
}

// format returns the format of the response of a login.
func (k *keboolaConfig) format(path string, v any) string {
	switch {
	case php.EmptyConfig(v) || v == LoginJSON:
		return LoginJSON
	case v != LoginText:
		k.diags.Errorf(diag.Value(diag.Join(path, "format")), "want %q or %q, got %s", LoginJSON, LoginText, describe(v))
	}
	return LoginText
}

// answers returns the values that requests get from the response of a login: functions, or texts,
// which are paths if the response has a value there.
func (k *keboolaConfig) answers(path string, object Object, name string) Object {
	response := func(name string) string { return keypath.Format("login.body", strings.Split(name, ".")) }
	f := k.functions(map[string]resolver{"response": func(_, name string) (string, bool) { return response(name), true }})
	return k.computedMembers(diag.Join(path, name), object.Value(name), func(place string, v any) (string, bool) {
		if text, ok := v.(string); ok {
			return fmt.Sprintf("%s ?? %s", response(text), strconv.Quote(text)), true
		}
		source, _ := f.source(place, v)
		return source, true
	})
}

// expires returns the expression for the seconds until a login ends, or "".
func (k *keboolaConfig) expires(path string, v any) string {
	object, isObject := value.Members(v)
	if !isObject {
		text, _ := value.Text(v)
		return text
	}
	name, _ := value.Text(object.Value("response"))
	if name == "" {
		k.diags.Errorf(diag.Value(path), `want a number of seconds, or {"response": "a.path"}`)
		return ""
	}
	field := keypath.Format("login.body", strings.Split(name, "."))
	if relative, _ := object.Value("relative").(bool); relative {
		return fmt.Sprintf("phpInt(phpFound(%s, %q))", field, name)
	}
	return fmt.Sprintf("(phpNumeric(%[1]s) ? phpInt(%[1]s) : phpStrtotime(phpFound(%[1]s, %[2]q), %[3]s)) - %[3]s", field, name, sourceOfNow)
}

// aws returns credentials that sign requests for AWS, if the configuration has them next to
// api.
func (k *keboolaConfig) aws(auth any) any {
	object := k.awsCredentials
	if object == nil {
		return auth
	}
	text := func(name string) any { return object.Value(name) }
	return Object{
		{Name: "type", Value: AuthAWS4}, {Name: "region", Value: text("regionName")}, {Name: "service", Value: text("serviceName")},
		{Name: "accessKeyId", Value: text("accessKeyId")}, {Name: "#secretAccessKey", Value: text("#secretKey")},
	}
}
