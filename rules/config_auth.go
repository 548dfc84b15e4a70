package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Auth is one kind of authentication.
type Auth struct {
	Type   string            // the name of an [AuthType], such as [AuthBasic]
	Path   string            // config path
	Values map[string]string // the values of its keys, by their names without #: username, clientSecret
	Params Object            // oauth2: further parameters of the token request

	Computed    map[string]Computed // computed values, by the same keys as Values
	Login       *Job                // login: the request
	parts       []authPart          // login and sign: headers and parameters of requests
	expires     *authPart           // login: when the login ends; nil if the response does not say
	Format      string              // login: format of the response, [LoginJSON] or [LoginText]; empty for either
	Independent bool                // sign: no expression sees the values that earlier expressions have added

	RenewBefore time.Duration // oauth2 and login: how long before its end a token is renewed
	AllowHTTP   bool          // oauth2: the token endpoint may be an http address
}

// The names of the types of authentication.
const (
	AuthBasic  = "basic"
	AuthBearer = "bearer"
	AuthHeader = "header"
	AuthQuery  = "query"
	AuthOAuth2 = "oauth2"
	AuthLogin  = "login"
	AuthSign   = "sign"
	AuthAWS4   = "aws4"
)

// The formats of the response of a login in the reference implementation. A response
// that is not an object is under the key data.
const (
	LoginJSON = "json"
	LoginText = "text"
)

// An AuthType is a type of authentication. A # before a key marks a secret.
type AuthType struct {
	Name     string
	Doc      string   // the credentials that requests are sent with
	Required []string // the keys that it must have
	Optional []string // its other keys
	Scope    Scope    // the scope of its expressions for parts of requests

	summary func(*Auth, *Config) string     // describes the credentials
	places  func(*Auth) []string            // where requests have them; nil: in the headers of Parts
	request func(a *Auth, c *Config) string // describes the request that obtains them, which is repeated to renew them; nil: none
}

// inQuery says where a query has a parameter of the credentials.
const inQuery = "after the other parameters or in place of one of the same name"

var authTypes = []AuthType{
	{Name: AuthBasic, Doc: "a user name and a password (RFC 7617)", Required: []string{"username", "#password"},
		summary: func(a *Auth, c *Config) string {
			return "the user name " + a.shownKey(c, "username") + " and the password in #password, as base64 of both with a colon " +
				"between them, in the header Authorization: Basic"
		},
		places: func(*Auth) []string { return []string{authorization + "Basic ***"} }},
	{Name: AuthBearer, Doc: "a token in the header Authorization (RFC 6750)", Required: []string{"#token"},
		summary: func(*Auth, *Config) string { return "a fixed token, in the header Authorization: Bearer" },
		places:  bearerPlaces},
	{Name: AuthHeader, Doc: "a key in a header", Required: []string{"name", "#value"},
		summary: func(a *Auth, _ *Config) string { return "a fixed key, in the header " + a.Values["name"] },
		places:  func(a *Auth) []string { return []string{a.Values["name"] + ": ***"} }},
	{Name: AuthQuery, Doc: "a key in the query", Required: []string{"name", "#value"},
		summary: func(a *Auth, _ *Config) string {
			return "a fixed key, in the query parameter " + a.Values["name"] + ", " + inQuery
		},
		places: func(a *Auth) []string { return []string{"the parameter " + a.Values["name"] + "=***"} }},
	{Name: AuthOAuth2, Doc: "a token that an OAuth 2.0 token endpoint issues", Required: []string{"tokenUrl"}, Optional: []string{
		"grant", "clientId", "#clientSecret", "clientAuth", "#refreshToken", "username", "#password",
		"scopes", "params", "renewBefore", "allowHttp",
	},
		summary: func(a *Auth, _ *Config) string {
			return fmt.Sprintf("a token of OAuth 2.0 (grant %s), in the header Authorization: Bearer, %s", a.Values["grant"], a.renewed())
		},
		places: bearerPlaces, request: (*Auth).tokenRequest},
	{Name: AuthLogin, Doc: "what the response of a login gives", Required: []string{"loginRequest", "apiRequest"},
		Optional: []string{"expires", "renewBefore"}, Scope: ScopeLogin,
		summary: func(a *Auth, _ *Config) string {
			place := ""
			if slices.ContainsFunc(a.parts, func(p authPart) bool { return p.Role == RoleParam }) {
				place = " (those in the query are " + inQuery + ")"
			}
			return fmt.Sprintf("values of the response of a login%s, %s", place, a.renewed())
		},
		request: (*Auth).loginRequest},
	{Name: AuthSign, Doc: "a signature that expressions compute", Optional: []string{"params", "headers"}, Scope: ScopeSign,
		summary: func(a *Auth, _ *Config) string {
			text := "the values of these expressions, computed for each attempt, whose time is now(): " +
				"params are added to the query, " + inQuery + ", then headers are set"
			if !a.Independent {
				text += ", and each sees those before it"
			}
			return text
		}},
	{Name: AuthAWS4, Doc: "AWS Signature Version 4", Required: []string{"region", "service", "accessKeyId", "#secretAccessKey"},
		Optional: []string{"#sessionToken"},
		summary: func(a *Auth, c *Config) string {
			return fmt.Sprintf("AWS Signature Version 4 (region %s, service %s) in the header Authorization, computed for each attempt "+
				"over the method, the path, the query (sent sorted), the body and the headers Host, Content-Type and X-Amz-*",
				a.shownKey(c, "region"), a.shownKey(c, "service"))
		},
		places: awsPlaces},
}

// AuthTypes returns the types of authentication.
func AuthTypes() []AuthType { return slices.Clone(authTypes) }

func (t AuthType) has(key string) bool {
	return slices.ContainsFunc(append(slices.Clone(t.Required), t.Optional...), func(k string) bool {
		return strings.TrimPrefix(k, "#") == strings.TrimPrefix(key, "#")
	})
}

// findAuthType returns the row of a type, or an empty row.
func findAuthType(name string) AuthType {
	i := slices.IndexFunc(authTypes, func(t AuthType) bool { return t.Name == name })
	if i < 0 {
		return AuthType{Name: name}
	}
	return authTypes[i]
}

func authTypeNames() []string { return lists.Map(authTypes, func(t AuthType) string { return t.Name }) }

var authenticationFields = []Field{
	{Name: "type", Kind: KindText, Required: true, Values: authTypeNames(), Doc: "the type; it decides which other keys are needed"},
	{Name: "username", Kind: KindSecret, Doc: "for `basic`, and for `oauth2` with grant `password`"},
	{Name: "#password", Kind: KindSecret, Doc: "for `basic`, and for `oauth2` with grant `password`"},
	{Name: "password", Kind: KindSecret, Doc: "prefer `#password`"},
	{Name: "#token", Kind: KindSecret, Doc: "for `bearer`"},
	{Name: "token", Kind: KindSecret, Doc: "for `bearer`; prefer `#token`"},
	{Name: "name", Kind: KindText, Doc: "for `header` and `query`: the name that carries the key"},
	{Name: "#value", Kind: KindSecret, Doc: "for `header` and `query`: the key"},
	{Name: "value", Kind: KindSecret, Doc: "for `header` and `query`; prefer `#value`"},

	{Name: "grant", Kind: KindText, Values: oauthGrants,
		Doc: "for `oauth2`: by default `refresh_token` if there is a `#refreshToken`, `password` if there is a `username`, " +
			"and otherwise `client_credentials`"},
	{Name: "tokenUrl", Kind: KindSecret, Address: true,
		Doc: "for `oauth2`: the token endpoint; a relative address is resolved against `baseUrl`"},
	{Name: "clientId", Kind: KindSecret, Doc: "for `oauth2`"},
	{Name: "#clientSecret", Kind: KindSecret, Doc: "for `oauth2`"},
	{Name: "clientSecret", Kind: KindSecret, Doc: "for `oauth2`; prefer `#clientSecret`"},
	{Name: "clientAuth", Kind: KindText, Values: []string{ClientInHeader, ClientInBody},
		Doc: "for `oauth2`: where the token request has the client's id and secret: " +
			"in the `header` Authorization (the default if there is a secret), or in its `body`"},
	{Name: "#refreshToken", Kind: KindSecret, Doc: "for `oauth2` with grant `refresh_token`"},
	{Name: "refreshToken", Kind: KindSecret, Doc: "for `oauth2` with grant `refresh_token`; prefer `#refreshToken`"},
	{Name: "scopes", Kind: KindAny, Env: true, Doc: "for `oauth2`: a list, or a text with spaces between the scopes, " +
		"which `{\"expr\": …}` may compute"},
	{Name: "params", Kind: KindMap, Doc: "for `oauth2`: further parameters of the token request, such as `audience`; " +
		"for `sign`: expressions over `request`, which give parameters of each request"},
	{Name: "headers", Kind: KindMap, Sources: WholeSource, Scope: ScopeSign,
		Doc: "for `sign`: expressions over `request`, which give headers of each request; they see its params"},
	{Name: "loginRequest", Kind: KindBlock, Fields: loginFields, Doc: "for `login`: the request that logs in"},
	{Name: "apiRequest", Kind: KindBlock, Fields: apiRequestFields, Doc: "for `login`: what the other requests get of its response"},
	{Name: "expires", Kind: KindExpression, Scope: ScopeLogin,
		Doc: "for `login`: an expression over `login`, which gives when the login ends: " +
			"seconds from now, or a time; without it, the login is repeated when the API refuses a request with status 401"},
	{Name: "renewBefore", Kind: KindSeconds, Default: 60, QuietDefault: true,
		Doc: "for `oauth2` and `login`: how long before its end a token is renewed, but at most half of its lifetime"},
	{Name: "allowHttp", Kind: KindFlag, Default: false,
		Doc: "for `oauth2`: whether `tokenUrl` may be an http address of another machine, to which the credentials are sent unencrypted"},

	{Name: "region", Kind: KindSecret, Doc: "for `aws4`, such as `eu-west-1`"},
	{Name: "service", Kind: KindSecret, Doc: "for `aws4`, such as `execute-api`"},
	{Name: "accessKeyId", Kind: KindSecret, Doc: "for `aws4`"},
	{Name: "#secretAccessKey", Kind: KindSecret, Doc: "for `aws4`"},
	{Name: "secretAccessKey", Kind: KindSecret, Doc: "for `aws4`; prefer `#secretAccessKey`"},
	{Name: "#sessionToken", Kind: KindSecret, Doc: "for `aws4` with temporary credentials"},
	{Name: "sessionToken", Kind: KindSecret, Doc: "for `aws4`; prefer `#sessionToken`"},
}

// authentication reads api.authentication. The reference has the credentials of
// type basic in config.
func (d *decoder) authentication(s settings) *Auth {
	section := s.get("api.authentication")
	auth := &Auth{
		Type: s.get("api.authentication.type").text(), Path: section.path(),
		Values: map[string]string{}, Computed: map[string]Computed{},
	}
	if auth.Type == "" {
		return nil
	}
	sections := []string{"api.authentication"}
	if auth.Type == AuthBasic {
		sections = append(sections, "config")
	}
	kind := findAuthType(auth.Type)
	for _, key := range kind.Required {
		if !d.credential(auth, s, sections, key) {
			d.diags.Errorf(diag.Value(section.path()), "authentication of type %s needs %s", auth.Type, key)
		}
	}
	for _, key := range kind.Optional {
		d.credential(auth, s, sections, key)
	}
	d.reportUselessCredentials(kind, s.inner("api.authentication"))
	if auth.Type == AuthBasic && auth.Values["password"] != "" {
		d.hide(auth.Values["username"] + ":" + auth.Values["password"]) // encoded, even a short password is hidden
	}
	if text, ok := value.Text(s.get("api.authentication.renewBefore").Value); ok {
		auth.RenewBefore, _ = ParseDuration(text) // it was read as seconds
	}
	switch section := s.inner("api.authentication"); auth.Type {
	case AuthOAuth2:
		d.readOAuth2(auth, section)
	case AuthLogin:
		d.readLogin(auth, section)
	case AuthSign:
		d.readSign(auth, section)
	}
	return auth
}

// reportUselessCredentials reports keys that belong to other types of authentication.
func (d *decoder) reportUselessCredentials(authType AuthType, s settings) {
	for _, f := range authenticationFields {
		if f.Name == "type" || authType.has(f.Name) || !s.get(f.Name).given() {
			continue
		}
		var owners []string
		for _, other := range authTypes {
			if other.has(f.Name) {
				owners = append(owners, other.Name)
			}
		}
		d.diags.Report(d.unknown, diag.Key(s.get(f.Name).path()), "%s has no effect with type %s", f.Name, authType.Name).
			WithHint("remove it; it is for type " + strings.Join(owners, ", "))
	}
}

// credential reads a credential from the first section that has it. A secret under
// a key without # draws a warning, because other programs may print it. It reports false
// if the configuration does not have the credential.
func (d *decoder) credential(auth *Auth, s settings, sections []string, key string) bool {
	plain, hidden := strings.CutPrefix(key, "#")
	for _, section := range sections {
		for _, name := range []string{key, plain} {
			field := s.get(section + "." + name)
			if !field.given() {
				continue
			}
			f, _ := fieldNamed(authenticationFields, name)
			if c, ok := computed(field.path(), field.Value); ok && f.Kind != KindMap {
				if c.Secret = hidden; hidden {
					d.hideKeysIn(c.Source)
				}
				auth.Computed[plain] = c
				return true
			}
			if f.Kind != KindSecret && f.Kind != KindText {
				return true
			}
			if _, isText := field.Value.(string); isText && hidden && name == plain {
				d.diags.Warnf(diag.Key(field.path()), "a secret under a key without #").
					WithHint(fmt.Sprintf("write it as %q, or as {\"env\": \"NAME\"}", key))
			}
			if !field.Invalid {
				auth.Values[plain], _ = d.secret(field.path(), field.Value, hidden)
			}
			return true
		}
	}
	return false
}

// Places returns where requests have the credentials, without their values: "Authorization: Bearer ***".
func (a *Auth) Places() (places []string) {
	if ofType := findAuthType(a.Type).places; ofType != nil {
		return ofType(a)
	}
	for _, part := range a.parts {
		if part.Role == RoleHeader {
			places = append(places, part.Name+": ***")
		}
	}
	return places
}

// authorization begins a header with credentials.
const authorization = "Authorization: "

func bearerPlaces(*Auth) []string { return []string{authorization + "Bearer ***"} }

func awsPlaces(a *Auth) []string {
	headers := []string{authorization + "AWS4-HMAC-SHA256 ***", "X-Amz-Date: ***"}
	if a.Values["service"] == "s3" {
		headers = append(headers, "X-Amz-Content-Sha256: ***")
	}
	if _, computed := a.Computed["sessionToken"]; computed || a.Values["sessionToken"] != "" {
		headers = append(headers, "X-Amz-Security-Token: ***")
	}
	return headers
}

// Empty returns the required keys if all of them are empty, and nil otherwise. Requests are then sent
// without credentials. The values must be bound.
func (a *Auth) Empty() []string {
	needs := slices.Clip(grantNeeds[a.Values["grant"]]) // which requests share
	for _, key := range findAuthType(a.Type).Required {
		if f, _ := fieldNamed(authenticationFields, key); f.Kind == KindSecret && key != "tokenUrl" {
			needs = append(needs, key)
		}
	}
	for _, key := range needs {
		if a.Values[strings.TrimPrefix(key, "#")] != "" {
			return nil
		}
	}
	if needs == nil { // those of a login are in its request
		return nil
	}
	return lists.Map(needs, authKey)
}

// Renews reports whether credentials, which may be nil, are renewed when the API refuses them.
func (a *Auth) Renews() bool { return a != nil && findAuthType(a.Type).request != nil }

func (a *Auth) renewed() string {
	renewal := ""
	if a.Type == AuthOAuth2 || a.expires != nil {
		renewal = fmt.Sprintf("%s before the end of the lifetime, if there is one, but not in the first half of it, and ",
			wording.Counted(int(a.RenewBefore.Seconds()), "second"))
	}
	return fmt.Sprintf("shared by all jobs of the run, not saved, and renewed %sif the API refuses the credentials (status 401), "+
		"at most once for each request", renewal)
}

// WithValues returns the credentials with values of expressions: the values of keys, and the parameters
// of the token request.
func (a *Auth) WithValues(values map[string]string, params Object) *Auth {
	complete := *a
	complete.Values = maps.Clone(a.Values)
	maps.Copy(complete.Values, values)
	complete.Params = constants(a.Params).Merge(params)
	return &complete
}
