// Package config is a configuration as Go values, for [engine.New]. Each struct is an object of a
// configuration file, with its keys, meanings and defaults: forceStop.pages of a file is
// [Pagination].ForceStop.Pages. docs/reference/config.md documents the keys.
//
// A zero value is left out, like a key that a file does not have. A field is a pointer if
// its zero value differs from its default, so that HTTP{MaxRetries: new(0)} means no
// retries. [engine.New] checks a configuration as it checks a file.
//
// [engine.New]: https://pkg.go.dev/github.com/stopwhen/stopwhen/engine#New
package config

import (
	"context"
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules"
)

// Config is a configuration. Without Pagination, each job makes one request.
type Config struct {
	BaseURL        string           `config:"api.baseUrl,required"` // endpoints are resolved against it, so it should end in a slash
	Dialect        rules.Dialect    `config:"api.dialect"`          // "spec" (default) or "keboola"
	Authentication Auth             `config:"api.authentication"`   // may be nil
	Pagination     Pagination       `config:"api.pagination"`
	HTTP           HTTP             `config:"api.http"`
	Response       Response         `config:"api.response"`       // the format of the responses of all jobs
	AllowedOrigins []string         `config:"api.allowedOrigins"` // other origins that links and redirects may point to, without credentials
	Jobs           []Job            `config:"config.jobs,required"`
	Limits         Limits           `config:"config.limits"`
	Inputs         map[string]Input `config:"inputs"` // values that each run sets, by name
}

// Method is a method of paging with its own settings: [Offset], [Cursor] and so on, or a
// [CustomMethod].
type Method interface{ method() string }

// CustomMethod is a method that a program has added with engine.WithMethod. Settings may
// have the method's settings and any key that all methods have. A time.Duration in them is a
// number of seconds.
type CustomMethod struct {
	Name     string
	Settings map[string]any `config:",inline"`
}

func (m CustomMethod) method() string { return m.Name }

// Auth is a type of authentication with its keys: [AuthBasic], [AuthOAuth2] and so on, or a
// [TokenFunc]. Credentials are sent only to the origin of the base address, and never
// printed.
type Auth interface{ auth() string }

// TokenFunc is authentication by bearer tokens (RFC 6750) that a function returns. It is
// called before every request, possibly from several goroutines, so it should cache the
// token. Its error ends the run with class "api", unless it is an *engine.Error itself.
type TokenFunc func(ctx context.Context) (string, error)

func (TokenFunc) auth() string { return "" }

// Expr is an expression in the place of a value of Params: it is evaluated once, before
// the first request of each partition of the job. In a file it is {"expr": "…"}.
type Expr string

// MarshalJSON returns the value as a file has it.
func (e Expr) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"expr": string(e)})
}
