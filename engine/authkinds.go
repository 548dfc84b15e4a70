package engine

import (
	"reflect"
	"time"

	"github.com/stopwhen/stopwhen/rules"
)

// OAuth2Options are the keys of authentication of type oauth2 in a configuration file. Zero
// values are left out.
type OAuth2Options struct {
	TokenURL string `config:"tokenUrl"` // of the token endpoint; a relative one is resolved against BaseURL

	// Grant is "client_credentials", "refresh_token" or "password". The default is
	// refresh_token with a RefreshToken, password with a Username, and otherwise
	// client_credentials.
	Grant string `config:"grant"`

	ClientID     string         `config:"clientId"`
	ClientSecret string         `config:"#clientSecret"`
	ClientAuth   string         `config:"clientAuth"`    // where the token request has both of them: "header" or "body"
	RefreshToken string         `config:"#refreshToken"` // the API may replace it, see [WithTokenStore]
	Username     string         `config:"username"`      // for grant password
	Password     string         `config:"#password"`     // for grant password
	Scopes       []string       `config:"scopes"`
	Params       map[string]any `config:"params"`      // further parameters of the token request
	RenewBefore  time.Duration  `config:"renewBefore"` // how long before its end a token is renewed; 0: a minute
	AllowHTTP    bool           `config:"allowHttp"`   // TokenURL may be an http address of another machine
}

// OAuth2 sends a token that an OAuth 2.0 token endpoint issues, and renews it. It is for
// Config.Auth.
func OAuth2(o OAuth2Options) *Auth { return &Auth{kind: rules.AuthOAuth2, options: o} }

// LoginOptions are the keys of authentication of type login in a configuration file.
type LoginOptions struct {
	Endpoint string            `config:"loginRequest.endpoint"` // of the request that logs in
	Method   string            `config:"loginRequest.method"`   // "GET" (default), "POST" or "FORM"
	Params   map[string]any    `config:"loginRequest.params"`   // a # before a name makes its value a secret
	Headers  map[string]string `config:"loginRequest.headers"`  // the same

	// APIHeaders and APIParams are headers of the other requests, and parameters of their
	// queries: expressions over login, such as login.body.token.
	APIHeaders map[string]string `config:"apiRequest.headers"`
	APIParams  map[string]string `config:"apiRequest.params"`

	// Expires is an expression over login, which gives when the login ends. Without it, the
	// login is repeated when the API refuses a request with status 401.
	Expires     string        `config:"expires"`
	RenewBefore time.Duration `config:"renewBefore"` // how long before its end it is repeated; 0: a minute
}

// Login sends what the response of a login gives. It is for Config.Auth.
func Login(o LoginOptions) *Auth { return &Auth{kind: rules.AuthLogin, options: o} }

// SignOptions are the keys of authentication of type sign in a configuration file. They are
// evaluated in the order of their names, the parameters first.
type SignOptions struct {
	Params  map[string]string `config:"params"`  // expressions over request, which give parameters of each request
	Headers map[string]string `config:"headers"` // the same for headers
}

// Sign signs each request with expressions. It is for Config.Auth.
func Sign(o SignOptions) *Auth { return &Auth{kind: rules.AuthSign, options: o} }

// AWS4Options are the keys of authentication of type aws4 in a configuration file.
type AWS4Options struct {
	Region          string `config:"region"`
	Service         string `config:"service"` // the name in the credential scope, such as execute-api
	AccessKeyID     string `config:"accessKeyId"`
	SecretAccessKey string `config:"#secretAccessKey"`
	SessionToken    string `config:"#sessionToken"` // of temporary credentials
}

// AWS4 signs each request with AWS Signature Version 4. It is for Config.Auth.
func AWS4(o AWS4Options) *Auth { return &Auth{kind: rules.AuthAWS4, options: o} }

// compiled reports whether the credentials are compiled with the configuration, because
// they have expressions or requests of their own.
func (a *Auth) compiled() bool { return a != nil && a.kind != "" }

// section returns the credentials as a configuration file has them.
func (a *Auth) section() (rules.Object, error) {
	keys, err := object(reflect.ValueOf(a.options), "api.authentication")
	return append(rules.Object{{Name: "type", Value: a.kind}}, keys...), err
}
