package engine_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// hiddenKey is a secret that has other forms in addresses and in base64.
const hiddenKey = "S3cr+t/V alue=="

// treeConfig has two trees of jobs. Each page calls the function f.
const treeConfig = `{"api": {"baseUrl": "http://api.test/", "http": {"headers": {"#X-Key": "` + hiddenKey + `"}}, "pagination": {"method": "pagenum",
		"stopRules": [{"name": "f", "when": "f()"}, {"name": "end", "when": "page == 3"}]}},
	"config": {"jobs": [{"id": "orders", "endpoint": "orders"}, {"id": "lines", "endpoint": "lines/{order.id}", "for": {"order": {"items": "orders"}}},
		{"id": "users", "endpoint": "users"}]}}`

// renewingConfig has a token that a store renews, and partitions that are skipped.
const renewingConfig = `{"api": {"baseUrl": "http://api.test/", "http": {"headers": {"#X-Key": "` + hiddenKey + `"}}, "pagination": {"method": "pagenum", "stopRules": [{"name": "end", "when": "page == 3"}]},
		"authentication": {"type": "oauth2", "tokenUrl": "https://api.test/token", "clientId": "c", "#clientSecret": "s", "#refreshToken": "r"}},
	"config": {"jobs": [{"id": "orders", "endpoint": "orders"}, {"id": "users", "endpoint": "users"},
		{"id": "notes", "endpoint": "notes/{order.id}", "for": {"order": {"items": "orders"}}, "onPartitionError": "skip"}]}}`

const twoItems = `[{"id": 1}, {"id": 2}]`

// A panicking is a program of which one part panics, or ends its goroutine, on its third call.
type panicking struct {
	part  string
	do    func()
	calls atomic.Int64
}

func (p *panicking) call(part string) {
	if part != p.part {
		return
	}
	if p.calls.Add(1) >= 3 {
		p.do()
	}
}

func (p *panicking) Observe(context.Context, engine.Event)     { p.call("observer") }
func (p *panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (p *panicking) WithAttrs([]slog.Attr) slog.Handler        { return p }
func (p *panicking) WithGroup(string) slog.Handler             { return p }
func (p *panicking) Handle(context.Context, slog.Record) error { p.call("logger"); return nil }
func (p *panicking) Page(context.Context, *engine.Page) error  { p.call("sink"); return nil }
func (p *panicking) Commit(context.Context, engine.JobResult) error {
	p.calls.Add(2)
	p.call("commit")
	return nil
}

func (p *panicking) Now() time.Time { p.call("clock"); return time.Now() }
func (p *panicking) Sleep(ctx context.Context, d time.Duration) error {
	return transport.SystemClock.Sleep(ctx, d)
}
func (p *panicking) Update(_ context.Context, _ string, change func(string) (string, error)) error {
	p.calls.Add(2)
	p.call("store")
	_, err := change("")
	return err
}

// A panickingBody is the body of a response.
type panickingBody struct {
	io.ReadCloser
	of *panicking
}

func (b panickingBody) Read(p []byte) (int, error) { b.of.call("body"); return b.ReadCloser.Read(p) }

func TestAPanicOfTheProgramIsAnErrorInEveryMode(t *testing.T) {
	modes := map[string][]engine.RunOption{
		"one after another": nil,
		"parallel jobs":     {engine.WithParallelJobs(3)},
		"keep going":        {engine.WithParallelJobs(3), engine.WithKeepGoing()},
		"prefetch":          {engine.WithPrefetch(3)},
		"both":              {engine.WithParallelJobs(4), engine.WithPrefetch(3)},
	}
	parts := []string{
		"sink", "commit", "observer", "logger", "function", "transport", "body", "clock", "store", "token function", "accept", "skipped pages",
	}
	for mode, options := range modes {
		for _, part := range parts {
			synctest.Test(t, func(t *testing.T) {
				p := &panicking{part: part, do: func() { panic("oh no") }}
				_, err := p.engine(t, options).RunTo(t.Context(), p)
				require.ErrorContains(t, err, "oh no", "%s, %s", mode, part)
				var stack interface{ Stack() []byte }
				require.ErrorAs(t, err, &stack, "%s, %s", mode, part)
				require.Contains(t, string(stack.Stack()), "panic_test.go", "%s, %s", mode, part)
				require.ErrorIs(t, err, engine.ErrInternal, "%s, %s", mode, part)
			})
		}
	}
}

// engine returns an engine whose parts call p.
func (p *panicking) engine(t *testing.T, options []engine.RunOption) *engine.Engine {
	t.Helper()
	text := treeConfig
	if p.part == "store" || p.part == "token function" || p.part == "skipped pages" {
		text = renewingConfig
	}
	e, err := engine.Load("c.json", []byte(text), engine.WithFunction("f", func() bool { p.call("function"); return false }))
	require.NoError(t, err)
	e = e.With(options...).With(engine.WithLogger(slog.New(p)), engine.WithObserver(p), engine.WithClock(p), engine.WithTokenStore(p),
		engine.WithAccept(func(engine.JobResult) bool { p.calls.Add(2); p.call("accept"); return true }),
		engine.WithSkippedPages(func(*engine.Page) { p.calls.Add(2); p.call("skipped pages") }),
		engine.WithTransport(transportFunc(p.respond)))
	if p.part == "token function" {
		e = e.With(engine.WithAuth(config.TokenFunc(func(context.Context) (string, error) { p.call("token function"); return "token", nil })))
	}
	return e
}

func (p *panicking) respond(r *http.Request) (*http.Response, error) {
	p.call("transport")
	text := twoItems
	if r.URL.Path == "/token" {
		text = `{"access_token": "a", "token_type": "bearer", "refresh_token": "another"}`
	}
	response, err := respond(r, text)
	if strings.HasPrefix(r.URL.Path, "/notes/") {
		response.StatusCode = http.StatusNotFound
	}
	response.Body = panickingBody{response.Body, p}
	return response, err
}

// A partition that is skipped is one that the API refused. A bug of the program must not look like one,
// wherever an expression calls its function.
func TestAPanicOfAFunctionSkipsNoPartition(t *testing.T) {
	const config = `{"api": {"baseUrl": "http://api.test/", %s "pagination": {%s}},
		"config": {"jobs": [{"id": "orders", "endpoint": "orders", "pagination": {"method": "single"}},
			{"id": "lines", "endpoint": "lines/{order.id}", "onPartitionError": "skip", "for": {"order": {"items": "orders" %s}} %s}]}}`
	pagenum := `"method": "pagenum", "stopRules": ["page == 4"]`
	for place, c := range map[string]struct{ api, pagination, variable, job string }{
		"stopRules":        {pagination: `"method": "pagenum", "stopRules": ["page == 4", "f(page)"]`},
		"onError":          {pagination: pagenum + `, "onError": [{"when": "f(page)", "do": "stop"}]`},
		"onError, success": {pagination: pagenum + `, "onError": [{"on": "success", "when": "f(page)", "do": "stop"}]`},
		"nextRequest": {
			pagination: `"method": "expression", "stopRules": ["page == 4"], "nextRequest": {"params": {"page": "f(page) ? 0 : page + 1"}}`,
		},
		"state":            {pagination: pagenum + `, "state": {"s": {"init": "1", "next": "f(page)"}}`},
		"start of a state": {pagination: pagenum + `, "state": {"s": {"init": "f(3)"}}`},
		"keep":             {pagination: pagenum + `, "keep": {"k": "f(page - 1)"}`},
		"filter":           {pagination: pagenum, job: `, "filter": "not f(item.id + 1)"`},
		"fields":           {pagination: pagenum, job: `, "fields": {"x": "f(item.id + 1)"}`},
		"params":           {pagination: pagenum, job: `, "params": {"x": {"expr": "f(order.id + 1)"}}`},
		"when":             {pagination: pagenum, variable: `, "when": "not f(order.id + 1)"`},
		"a signed request": {pagination: pagenum, api: `"authentication": {"type": "sign", "headers": {"x": "f(3) ? 'a' : 'b'"}},`},
	} {
		for _, parallel := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s, %d", place, parallel), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := load(t, fmt.Appendf(nil, config, c.api, c.pagination, c.variable, c.job), engine.WithFunction("f", func(n int) bool {
						if n == 3 {
							panic("oh no")
						}
						return false
					}), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
						text, page := twoItems, r.FormValue("page")
						if r.URL.Path != "/orders" {
							text = fmt.Sprintf(`[{"id": %s}]`, cmp.Or(page, "1"))
						}
						response, err := respond(r, text)
						if page == "3" && place == "onError" {
							response.StatusCode = http.StatusNotFound
						}
						return response, err
					})))
					_, err := e.With(engine.WithParallelJobs(parallel)).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
					requirePanic(t, err, "oh no")
				})
			})
		}
	}
}

func requirePanic(t *testing.T, err error, text string) {
	t.Helper()
	require.ErrorContains(t, err, text)
	var failed *engine.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, engine.ErrInternal.(*engine.Error).Class, failed.Class, "%v", err) //nolint:errorlint // its own type
	var stack interface{ Stack() []byte }
	require.ErrorAs(t, err, &stack)
	require.Contains(t, string(stack.Stack()), "panic_test.go")
}

// The text of a panic, or of an error, often has the address or the header of a request.
func TestErrorsOfTheProgramHaveNoSecretsOfTheRun(t *testing.T) {
	fixtures.SkipUnderRace(t, "it checks texts; the tests of panics above run with it")
	forms := []string{hiddenKey, url.QueryEscape(hiddenKey), url.PathEscape(hiddenKey),
		base64.StdEncoding.EncodeToString([]byte("user:" + hiddenKey))}
	parts := []string{"sink", "commit", "observer", "logger", "function", "transport", "body", "clock", "store", "token function", "accept", "skipped pages"}
	for _, form := range forms {
		for _, part := range parts {
			for _, parallel := range []int{1, 3} {
				synctest.Test(t, func(t *testing.T) {
					p := &panicking{part: part, do: func() { panic(fmt.Errorf("cannot send %s: %w", form, io.ErrNoProgress)) }}
					seen := &errorsSeen{Observer: p, t: t}
					e := p.engine(t, []engine.RunOption{engine.WithParallelJobs(parallel), engine.WithKeepGoing()})
					_, err := e.With(engine.WithObserver(seen)).RunTo(t.Context(), p)
					require.ErrorIs(t, err, engine.ErrInternal, part)
					require.ErrorContains(t, err, "cannot send", part)
					requireHidden(t, err)
				})
			}
		}
	}
}

// errorsSeen checks the errors of events.
type errorsSeen struct {
	engine.Observer
	t *testing.T
}

func (s *errorsSeen) Observe(ctx context.Context, e engine.Event) {
	requireHidden(s.t, e.Err)
	s.Observer.Observe(ctx, e)
}

// requireHidden checks an error and all its causes, as a logger that prints them would show them.
func requireHidden(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		require.NotRegexp(t, "S3cr|UzNjc|M2Ny|zY3I", text) // the last three are its base64, by the text before it
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, cause := range several.Unwrap() {
			requireHidden(t, cause)
		}
	}
	requireHidden(t, errors.Unwrap(err))
}

// With runtime.Goexit the goroutine of Run itself may end. A list that was not read must not count
// as read, and nobody may wait for ever.
func TestGoexitEndsTheRun(t *testing.T) {
	parts := []string{"sink", "observer", "logger", "function", "transport", "body", "clock", "store", "token function", "accept", "skipped pages"}
	for _, part := range parts {
		for _, parallel := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				p := &panicking{part: part, do: runtime.Goexit}
				ended, err := make(chan struct{}), error(nil)
				e := p.engine(t, []engine.RunOption{engine.WithParallelJobs(parallel), engine.WithPrefetch(2)})
				returned := false
				go func() {
					defer close(ended)
					_, err = e.Run(t.Context(), p.Page)
					returned = true
				}()
				<-ended
				if returned {
					require.ErrorIs(t, err, engine.ErrInternal, "%s, %d", part, parallel)
					require.ErrorContains(t, err, "runtime.Goexit")
				}
			})
		}
	}
}

func TestAPanicInTheBodyOfALoopBelongsToItsCaller(t *testing.T) {
	p := &panicking{}
	require.PanicsWithValue(t, "mine", func() {
		for _, err := range p.engine(t, nil).Pages(t.Context()) {
			require.NoError(t, err)
			panic("mine")
		}
	})
	p = &panicking{part: "transport", do: func() { panic("oh no") }}
	var last error
	for _, err := range p.engine(t, nil).Pages(t.Context()) {
		last = err
	}
	require.ErrorIs(t, last, engine.ErrInternal)
}

// A job is cancelled in the middle of a rule because another one was refused.
func TestAJobThatIsCancelledInARuleIsNotTheCause(t *testing.T) {
	const config = `{"api": {"baseUrl": "http://api.test/", "pagination": {"method": "pagenum",
			"stopRules": [{"name": "slow", "when": "wait() and count(1..100000, # < 0) > 0"}]}},
		"config": {"jobs": [{"id": "orders", "endpoint": "orders"}, {"id": "users", "endpoint": "users"}]}}`
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.Load("c.json", []byte(config), engine.WithFunction("wait", func() bool { time.Sleep(time.Minute); return true }))
		require.NoError(t, err)
		_, err = e.With(engine.WithParallelJobs(2), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			response, err := respond(r, twoItems)
			if r.URL.Path == "/users" {
				time.Sleep(time.Second) // orders evaluates its rule
				response.StatusCode = http.StatusForbidden
			}
			return response, err
		}))).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
		require.ErrorIs(t, err, engine.ErrAPI)
		require.NotErrorIs(t, err, engine.ErrCancelled)
		var failed *engine.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "users", failed.Job)
	})
}

// A rule that a signal cancels has not failed, whether it is one of a list or of a variable.
func TestARuleThatIsCancelledIsNotToBlame(t *testing.T) {
	const slow = `wait() and count(1..100000, # < 0) > 0`
	for name, jobs := range map[string]string{
		"of a list":            `{"endpoint": "orders", "filter": "` + slow + `"}`,
		"of values":            `{"endpoint": "{v}", "for": {"v": {"values": "` + slow + ` ? [1] : [2]"}}}`,
		"of windows":           `{"endpoint": "x", "params": {"a": {"expr": "w.from"}}, "for": {"w": {"from": "` + slow + ` ? 1 : 2", "to": 9, "step": 1}}}`,
		"of items of a parent": `{"endpoint": "orders"}, {"endpoint": "lines/{o.id}", "for": {"o": {"items": "orders", "when": "` + slow + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "http://api.test/"}, "config": {"jobs": [`+jobs+`]}}`),
					engine.WithFunction("wait", func() bool { time.Sleep(500 * time.Millisecond); return true }),
					engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) { return respond(r, twoItems) })))
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				_, err = e.Run(ctx, func(context.Context, *engine.Page) error { return nil })
				require.ErrorIs(t, err, engine.ErrCancelled)
			})
		})
	}
}
