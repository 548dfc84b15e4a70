package engine

import (
	"fmt"

	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/credential"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// credentials are those of an option, which take the place of the configuration's.
type credentials struct {
	auth    *rules.Auth // nil: none, or token
	token   config.TokenFunc
	secrets []string
	problem error // why they cannot be used; nil if they can
}

// newCredentials decodes authentication as a part of a configuration.
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

// check reports credentials that cannot be used. They may be nil.
func (c *credentials) check() error {
	if c == nil {
		return nil
	}
	return c.problem
}

// hidden returns the secrets of credentials, which may be nil.
func (c *credentials) hidden() []string {
	if c == nil {
		return nil
	}
	return c.secrets
}

// credentials returns the credentials of a run: those of an option or, without it, those
// of the configuration.
func (e *Engine) credentials(options credential.Options) (transport.Auth, error) {
	override := e.settings.run.auth
	switch {
	case override == nil:
		return credential.New(e.cfg.Auth, options)
	case override.token != nil:
		return transport.Auth{Token: override.token}, nil
	}
	options.Expressions = nil
	return credential.New(override.auth, options)
}
