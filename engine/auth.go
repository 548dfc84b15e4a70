package engine

import (
	"fmt"

	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/credential"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// credentials are set by an option and override the credentials of the configuration.
type credentials struct {
	auth    *rules.Auth // nil if there are no credentials, or only a token
	token   config.TokenFunc
	secrets []string
	problem error // reason why they cannot be used, or nil
}

// newCredentials decodes authentication like the same part of a configuration.
func newCredentials(a config.Auth) *credentials {
	if a == nil {
		return &credentials{}
	}
	if token, ok := a.(config.TokenFunc); ok && token != nil {
		return &credentials{token: token}
	} else if ok {
		return &credentials{problem: authProblem("the TokenFunc is nil")}
	}
	alone := config.Config{BaseURL: "https://api.invalid/", Authentication: a, Jobs: []config.Job{{Endpoint: "none"}}}
	root, err := alone.Values()
	if err != nil {
		return &credentials{problem: err}
	}
	cfg, found := rules.Decode(nil, root, rules.Options{Catalog: rules.Builtin()})
	switch cfg.Auth.Type {
	case rules.AuthBasic, rules.AuthBearer, rules.AuthHeader, rules.AuthQuery:
		if found.Err() != nil {
			return &credentials{problem: found.Errors()}
		}
		return &credentials{auth: cfg.Auth, secrets: cfg.Secrets}
	}
	return &credentials{problem: authProblem(fmt.Sprintf(
		"credentials of type %s are for the configuration, since they are compiled with it", cfg.Auth.Type))}
}

func authProblem(message string) error {
	return Diagnostics{{Path: "api.authentication", Message: message}}
}

// check returns an error if the credentials cannot be used. c may be nil.
func (c *credentials) check() error {
	if c == nil {
		return nil
	}
	return c.problem
}

// hidden returns the secrets of the credentials. c may be nil.
func (c *credentials) hidden() []string {
	if c == nil {
		return nil
	}
	return c.secrets
}

// credentials returns the credentials of a run. The credentials of an option override the credentials
// of the configuration.
func (e *Engine) credentials(options credential.Options) (transport.Credentials, error) {
	override := e.options.run.auth
	switch {
	case override == nil:
		return credential.New(e.cfg.Auth, options)
	case override.token != nil:
		return transport.Credentials{Token: override.token}, nil
	}
	options.Expressions = nil
	return credential.New(override.auth, options)
}
