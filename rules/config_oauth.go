package rules

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The grants of OAuth 2.0 (RFC 6749, sections 4.3, 4.4 and 6).
const (
	GrantClient   = "client_credentials"
	GrantRefresh  = "refresh_token"
	GrantPassword = "password"
)

var oauthGrants = []string{GrantClient, GrantRefresh, GrantPassword}

// Where a token request has the id and the secret of the client (RFC 6749, section 2.3.1).
const (
	ClientInHeader = "header"
	ClientInBody   = "body"
)

// grantNeeds are the keys that each grant needs, besides tokenUrl.
var grantNeeds = map[string][]string{
	GrantClient:   {"clientId", "clientSecret"},
	GrantRefresh:  {"refreshToken"},
	GrantPassword: {"username", "password"},
}

// readOAuth2 completes authentication of type oauth2, and checks it.
func (d *decoder) readOAuth2(auth *Auth, s settings) {
	values := auth.Values
	d.chooseGrant(auth)
	for _, key := range grantNeeds[values["grant"]] {
		if !auth.has(key) {
			d.diags.Errorf(diag.Value(auth.Path), "grant %s needs %s", values["grant"], authKey(key))
		}
	}
	for grant, keys := range grantNeeds {
		for _, key := range keys {
			if entry := s.firstGiven(authKey(key), key); grant != GrantClient && grant != values["grant"] && entry.given() {
				d.diags.Report(d.unknown, diag.Key(entry.path()), "%s has no effect with grant %s", authKey(key), values["grant"]).
					WithHint("remove it; it is for grant " + grant)
			}
		}
	}
	if auth.has("clientSecret") && !auth.has("clientId") {
		d.diags.Errorf(diag.Value(auth.Path), "#clientSecret needs clientId")
	}
	if _, computed := auth.Computed["scopes"]; !computed {
		values["scopes"] = d.scopes(s.get("scopes"))
	}
	auth.Params = d.params(s.get("params"))
	d.checkTokenParams(auth, s.get("params"))
	auth.AllowHTTP = s.get("allowHttp").flag()
	if source, computed, err := addressSource(values["tokenUrl"]); err == nil && computed {
		delete(values, "tokenUrl")
		auth.Computed["tokenUrl"] = Computed{Source: source, Path: s.get("tokenUrl").path()}
	}
	if address := values["tokenUrl"]; address != "" {
		if err := auth.CheckTokenURL(address); err != nil {
			d.diags.Errorf(diag.Value(s.get("tokenUrl").path()), "%s", err).WithHint(tokenURLHint(err))
		}
	}
}

// A TokenParam is a parameter of the token request with the value of a key. Only the given grant has it; an
// empty Grant stands for all.
type TokenParam struct{ Name, Key, Grant string }

var (
	grantParams = []TokenParam{
		{"grant_type", "grant", ""}, {"refresh_token", "refreshToken", GrantRefresh},
		{"username", "username", GrantPassword}, {"password", "password", GrantPassword}, {"scope", "scopes", ""},
	}
	clientParams = []TokenParam{{"client_id", "clientId", ""}, {"client_secret", "clientSecret", ""}}
)

// GrantParams returns the parameters that the grant asks for. Those of [Auth.Params] follow them.
func (a *Auth) GrantParams() []TokenParam {
	return slices.DeleteFunc(slices.Clone(grantParams), func(p TokenParam) bool { return p.Grant != "" && p.Grant != a.Values["grant"] })
}

// ClientParams returns the parameters with the id and the secret of the client, or nil if the header has them.
func (a *Auth) ClientParams() []TokenParam {
	if a.ClientPlace() == ClientInHeader {
		return nil
	}
	return clientParams
}

// sends reports whether the token request has the value of a key. A value that is not computed yet counts.
func (a *Auth) sends(key string) bool {
	if text, bound := a.Values[key]; bound {
		return text != ""
	}
	_, computed := a.Computed[key]
	return computed
}

// ClientPlace returns where the token request has the id and the secret of the client:
// [ClientInHeader] or [ClientInBody]. As long as the values are not bound, a computed secret counts as one.
func (a *Auth) ClientPlace() string {
	switch place := a.Values["clientAuth"]; {
	case place != "":
		return place
	case a.sends("clientSecret"):
		return ClientInHeader
	}
	return ClientInBody
}

// has reports whether the configuration has a value, as it is or computed.
func (a *Auth) has(key string) bool {
	_, given := a.Values[key]
	_, computed := a.Computed[key]
	return given || computed
}

// authKey returns a key as the table has it: with # if it is a secret.
func authKey(key string) string {
	if _, hidden := fieldNamed(authenticationFields, "#"+key); hidden {
		return "#" + key
	}
	return key
}

// chooseGrant sets the grant that the other keys call for if the configuration does not name a grant.
func (d *decoder) chooseGrant(auth *Auth) {
	values := auth.Values
	switch {
	case values["grant"] != "":
	case auth.has("refreshToken"):
		values["grant"] = GrantRefresh
	case auth.has("username"):
		values["grant"] = GrantPassword
	default:
		values["grant"] = GrantClient
	}
}

// scopes returns the scopes, separated by spaces.
func (d *decoder) scopes(s setting) string {
	if text, ok := s.Value.(string); ok || s.Value == nil {
		return text
	}
	var scopes []string
	list, isList := s.Value.([]any)
	for _, v := range list {
		text, _ := v.(string)
		isList = isList && text != "" && !strings.Contains(text, " ")
		scopes = append(scopes, text)
	}
	if !isList {
		d.diags.Errorf(diag.Value(s.path()), "want a list of scopes, or a text with spaces between them, got %s", describe(s.Value))
	}
	return strings.Join(scopes, " ")
}

// checkTokenParams refuses parameters of the token request that other keys set, and
// values that are not scalars.
func (d *decoder) checkTokenParams(auth *Auth, s setting) {
	settings := map[string]string{
		"grant_type": "grant", "client_id": "clientId", "client_secret": "#clientSecret", "refresh_token": "#refreshToken",
		"username": "username", "password": "#password", "scope": "scopes",
	}
	for _, m := range auth.Params {
		memberPath := diag.Join(s.path(), m.Name)
		if key, taken := settings[m.Name]; taken {
			d.diags.Errorf(diag.Key(memberPath), "the parameter %s is set by the key %s", m.Name, key)
		}
		if _, scalar := value.Text(m.Value); !scalar && computedIn(m.Value) == nil {
			d.diags.Errorf(diag.Value(memberPath), "want text, a number or a boolean, got %s", describe(m.Value))
		}
	}
}

var errPlainHTTP = errors.New("the credentials would be sent unencrypted, to an http address of another machine")

// CheckTokenURL returns an error if credentials must not be sent to the address of a token
// endpoint or of a login, which may be relative: unless AllowHTTP is set, the address must be https or on this
// machine.
func (a *Auth) CheckTokenURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" || u.Scheme != "" && u.Host == "":
		return errors.New("not an http or https address")
	case u.User != nil:
		return errors.New("an address with a user name: write it under clientId and #clientSecret")
	case u.Scheme == "http" && !a.AllowHTTP && !isLoopback(u.Hostname()):
		return errPlainHTTP
	}
	return nil
}

func tokenURLHint(err error) string {
	if errors.Is(err, errPlainHTTP) {
		return `use an https address; "allowHttp": true allows it nevertheless`
	}
	return "write it like https://auth.example.com/oauth/token"
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
