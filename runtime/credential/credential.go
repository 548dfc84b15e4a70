package credential

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Options are the parts of a run that credentials depend on.
type Options struct {
	Expressions *compile.Credentials // expressions of the configuration, or nil
	Inputs      map[string]any
	Secrets     map[string]string // receives the secrets that are computed at the start of the run, by name; may be nil
	BaseURL     string            // resolves relative addresses
	Store       Store             // keeps refresh tokens; nil means that only the run keeps them
	Offline     bool              // whether requests have placeholders and nothing is obtained

	// Options are the options of the run's client, without its origins, credentials and limits. The
	// requests that obtain credentials share them.
	transport.Options
}

// A Store keeps refresh tokens between runs.
type Store interface {
	// Update calls change with the token stored under a key, or "" if no token is stored, and stores
	// the token that change returns. When Update returns, the token survives a crash. If change returns
	// "" or an error, Update stores nothing, and returns the error. No other call for the key, even
	// in another process, runs at the same time: a refresh token can often be used only once.
	Update(ctx context.Context, key string, change func(stored string) (string, error)) error
}

// New returns the credentials of a run. They are not used before the first request.
func New(auth *rules.Auth, options Options) (transport.Credentials, error) {
	if auth == nil {
		return transport.Credentials{}, nil
	}
	options.complete()
	auth, err := options.bind(auth)
	if err != nil {
		return transport.Credentials{}, err
	}
	if empty := auth.Empty(); empty != nil {
		subject := "requests are sent"
		if auth.Type == rules.AuthOAuth2 { // its params may have other credentials
			subject = "a token is requested"
		}
		if !options.Offline {
			options.Log.Warn(subject+" without credentials: api.authentication has an empty "+strings.Join(empty, " and "),
				"event", "warn", "code", "empty_credentials")
		}
		if auth.Type != rules.AuthOAuth2 {
			return transport.Credentials{}, nil
		}
	}
	v := auth.Values
	switch auth.Type {
	case rules.AuthBasic:
		return transport.BasicAuth(v["username"], v["password"]), nil
	case rules.AuthBearer:
		return transport.BearerAuth(v["token"]), nil
	case rules.AuthHeader:
		return transport.HeaderAuth(v["name"], v["value"]), nil
	case rules.AuthQuery:
		return transport.QueryAuth(v["name"], v["value"]), nil
	case rules.AuthOAuth2:
		return newOAuth(auth, options)
	case rules.AuthLogin:
		return newLogin(auth, options)
	case rules.AuthAWS4:
		return newAWS(auth, options), nil
	case rules.AuthSign:
		return newSigner(auth, options), nil
	}
	return transport.Credentials{}, nil // decoding has refused any other type
}

// complete sets defaults for the fields that may be nil.
func (o *Options) complete() {
	o.Clock = cmp.Or(o.Clock, transport.SystemClock)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Pacer = cmp.Or(o.Pacer, transport.NewPacer(transport.Pace{}))
	o.Redactor = cmp.Or(o.Redactor, redact.New(nil))
}

// bind returns the credentials with the values of their expressions.
func (o *Options) bind(auth *rules.Auth) (*rules.Auth, error) {
	if o.Expressions == nil {
		return auth, nil
	}
	values, params, err := o.Expressions.Values(&language.Machine{}, o.page())
	if err != nil {
		return nil, o.fault(failure.Config, "", err)
	}
	for key, c := range auth.Computed {
		if c.Secret {
			o.hide("authentication "+key, values[key])
		} else {
			o.Redactor.HideFragments(values[key])
		}
	}
	return auth.WithValues(values, params), nil
}

// hide hides a secret of the run, and records its name.
func (o *Options) hide(name, text string) {
	o.Redactor.HideAs(name, text)
	if o.Secrets != nil {
		o.Secrets[name] = text
	}
}

// page returns the context for expressions outside a list.
func (o *Options) page() *rules.Context {
	now := o.Clock.Now()
	return &rules.Context{Input: o.Inputs, Now: func() time.Time { return now }}
}

// fault returns the error of an expression, with its place. The message begins with the subject.
func (o *Options) fault(class failure.Class, subject string, err error) *failure.Error {
	e := &failure.Error{
		Class: failure.ClassFor(err, class), Op: failure.OpAuthenticate, Message: o.Redactor.Text(subject + err.Error()), Err: err,
	}
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		e.Message = o.Redactor.Text(subject + failed.Placed())
	}
	return e
}

// client returns a client for the requests that obtain credentials. Only the origin of the address
// receives these credentials.
func (o Options) client(address string) *transport.Client {
	client := o.Options
	client.Origin, client.Pacer, client.MaxBody = originOf(address), o.Pacer.WithinTurn(), maxResponse
	client.TooLargeHint = "a response with a token is small: check the address of the authentication, and that it is not a page for people"
	return transport.New(client)
}

// placeholder replaces a token if nothing is obtained.
const placeholder = "placeholder-for-token"

// maxResponse is the size of the largest response from which credentials are read.
const maxResponse = 1 << 20
