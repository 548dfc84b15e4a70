package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// numbers serves pages of the numbers from 1 to 5, two per page; beyond the end it
// serves empty pages.
func numbers(t *testing.T) *httptest.Server {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("from"), &from)
		var page []string
		for n := from + 1; n <= min(from+2, 5); n++ {
			page = append(page, fmt.Sprintf(`{"n":%d}`, n))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(page, ","))
	}))
	t.Cleanup(api.Close)
	return api
}

// from pages by the number of items read so far.
func from() rules.Method {
	return rules.Method{
		Name:   "from",
		Doc:    "The API expects the number of items that were read.",
		Fields: []rules.Field{{Name: "param", Kind: rules.KindText, Default: "from", Doc: "parameter that carries it"}},
		State:  []rules.StateVariable{{Name: "read", Init: `0`, Next: `state.read + count`}},
		Next:   rules.Overlay{Params: []rules.Part{{Name: "${param}", Value: `state.read`}}, ApplyToFirst: rules.Always()},
		Stops:  []rules.StopRule{{ID: "from.empty", When: `count == 0`, Clause: "a page is empty", Message: "page {page} is empty"}},
	}
}

func numbersConfig(api string, settings map[string]any) config.Config {
	return config.Config{
		BaseURL: api, Pagination: config.Pagination{Method: config.CustomMethod{Name: "from", Settings: settings}},
		Jobs: []config.Job{{Endpoint: "numbers", DataField: "data"}},
	}
}

// TestAnAddedMethodGuardAndFunctionWorkLikeBuiltIn shows, end to end, what an
// addition is: one row of data.
func TestAnAddedMethodGuardAndFunctionWorkLikeBuiltIn(t *testing.T) {
	api := numbers(t)
	guard := rules.Guard{
		StopRule: rules.StopRule{ID: "manyPages", When: `total.pages >= ${guards.manyPages}`, Outcome: "guarded",
			Clause: "there are ${guards.manyPages} pages", Message: "{total.pages} pages are too many"},
		Policy: "fail", Doc: "pages that are too many", Hint: "raise guards.manyPages",
		Threshold: &rules.Field{Kind: rules.KindCount, Default: 100},
	}
	options := []engine.Option{
		engine.WithMethod(from()), engine.WithGuard(guard), engine.WithFunction("isLast", func(n, last int) bool { return n == last }),
	}
	for _, c := range []struct {
		name     string
		settings map[string]any
		by       string
		outcome  string
		pages    int
		err      error
	}{
		{"the method's own stop", nil, "from.empty", "complete", 4, nil},
		{"the function in a rule", map[string]any{"stopRules": []string{"isLast(items[-1].n, 4)"}}, "stopRules[0]", "complete", 2, nil},
		{"the guard's threshold", map[string]any{"guards": map[string]any{"manyPages": 1}}, "manyPages", "failed", 1, engine.ErrPolicy},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.New(numbersConfig(api.URL, c.settings), options...)
			require.NoError(t, err)
			result, err := e.Run(t.Context(), discard)
			require.ErrorIs(t, err, c.err)
			job := result.Jobs[0]
			require.Equal(t, []string{c.by}, job.StoppedBy)
			require.EqualValues(t, c.outcome, job.Outcome)
			require.Equal(t, c.pages, job.Pages)
		})
	}
	e, err := engine.New(numbersConfig(api.URL, map[string]any{"stopRules": []string{"isLast(items[-1].n, 4)"}}), options...)
	require.NoError(t, err)
	explained := e.Explain().String()
	for _, part := range []string{"method from", "params.from", "state.read + count", "from.empty", "manyPages", "isLast("} {
		require.Contains(t, explained, part)
	}
}

func TestAMethodMayHaveSettingsOfEveryKind(t *testing.T) {
	for kind := rules.KindAny; kind <= rules.KindNested; kind++ {
		for _, required := range []bool{true, false} {
			m := from()
			f := rules.Field{Name: "opt", Kind: kind, Required: required, Doc: "d"}
			if kind == rules.KindBlock || kind == rules.KindBlocks {
				f.Fields = []rules.Field{{Name: "inner", Kind: rules.KindLength, Required: true, Doc: "d"}}
			}
			m.Fields = append(m.Fields, f)
			_, err := engine.New(numbersConfig("http://api.test", nil), engine.WithMethod(m))
			if err != nil { // the configuration lacks the setting, but the method is taken
				require.True(t, required, "kind %d: %v", kind, err)
				require.ErrorContains(t, err, "opt is missing", "kind %d", kind)
			}
		}
	}
}

func TestAnInconsistentAdditionIsRefused(t *testing.T) {
	changed := func(change func(*rules.Method)) engine.Option {
		m := from()
		change(&m)
		return engine.WithMethod(m)
	}
	for _, c := range []struct {
		name   string
		option engine.Option
		says   string
	}{
		{"a taken name", changed(func(m *rules.Method) { m.Name = "offset" }), "offset"},
		{"an unknown setting", changed(func(m *rules.Method) { m.Next.Params[0].Name = "${parm}" }), "parm"},
		{"an unknown field of the context", changed(func(m *rules.Method) { m.Stops[0].When = "cuont == 0" }), "unknown name cuont"},
		{"an unknown variable", changed(func(m *rules.Method) { m.Next.Params[0].Value = "state.raed" }), "unknown name state.raed"},
		{"an unknown name that an optional setting brings", changed(func(m *rules.Method) {
			m.Fields = append(m.Fields, rules.Field{Name: "opt", Kind: rules.KindText, Doc: "d"})
			m.Next.Params = append(m.Next.Params, rules.Part{Name: "o", Value: "nosuch + ${opt}", Only: rules.Conditions{rules.IsSet("opt")}})
		}), "unknown name nosuch"},
		{"a condition that is not boolean", changed(func(m *rules.Method) { m.Stops[0].When = "count" }), "want true or false"},
		{"a taken function", engine.WithFunction("at", func(any) any { return nil }), "at: the name is taken"},
		{"a function of other types", engine.WithFunction("f", func(chan int) {}), "function f"},
		{"a nil function", engine.WithFunction("f", (func(int) int)(nil)), "function f"},
		{"a nil format", engine.WithFormat(".yaml", nil), "WithFormat"},
		{"a format without a dot", engine.WithFormat("yaml", func(*diag.Source) (any, error) { return nil, nil }), `WithFormat: the extension "yaml" does not begin with a dot`},
		{"not a function", engine.WithFunction("f", 1), "function f"},
		{"a guard without an id", engine.WithGuard(rules.Guard{StopRule: rules.StopRule{When: "true"}}), "ID must not be empty"},
		{"a guard with an unknown field", engine.WithGuard(rules.Guard{
			StopRule: rules.StopRule{ID: "g", When: "pgae > 3", Outcome: "guarded", Clause: "c", Message: "m"}, Policy: "fail", Doc: "d",
		}), "guard g: api.pagination.guards.g: unknown name pgae"},
		{"a guard that is ignored by default", engine.WithGuard(rules.Guard{
			StopRule: rules.StopRule{ID: "g", When: "pgae > 3", Outcome: "guarded", Clause: "c", Message: "m"}, Policy: "ignore", Doc: "d",
		}), "unknown name pgae"},
		{"a guard with a threshold without a default", engine.WithGuard(rules.Guard{
			StopRule: rules.StopRule{ID: "g", When: "pgae > ${guards.g}", Outcome: "guarded", Clause: "c", Message: "m"},
			Policy:   "fail", Doc: "d", Threshold: &rules.Field{Kind: rules.KindCount},
		}), "unknown name pgae"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engine.New(config.Config{
				BaseURL: "https://api.test/", Pagination: config.Pagination{Method: config.Offset{}, Limit: 1}, Jobs: []config.Job{{Endpoint: "users"}},
			}, c.option)
			var found engine.Diagnostics
			require.ErrorAs(t, err, &found)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// events records events, one line each.
type events struct {
	mu    sync.Mutex
	lines []string
	runs  map[string]bool
}

func (o *events) Observe(_ context.Context, e engine.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := fmt.Sprintf("%s %s %d", e.Kind, e.Job, e.Page)
	switch {
	case e.Exchange != nil:
		line += fmt.Sprintf(" %d attempt %d", e.Exchange.Status, e.Exchange.Attempt)
	case e.Verdict != nil:
		line += fmt.Sprintf(" %s %t", e.Verdict.Rule, e.Verdict.Met)
	case e.Finding != nil:
		line += " " + e.Finding.ID
	case e.Result != nil:
		line += " " + e.Result.Reason
	}
	o.lines = append(o.lines, line)
	if o.runs == nil {
		o.runs = map[string]bool{}
	}
	o.runs[e.Run] = true
}

func TestAnObserverSeesEveryEvent(t *testing.T) {
	attempts := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts++; attempts == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"data":[1],"total":9}`)
	}))
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL,
		Pagination: config.Pagination{Method: config.Offset{}, Limit: 2, Guards: config.Guards{
			SamePage: "ignore", RepeatedExchange: "ignore", SameItems: "ignore", RepeatedItems: "ignore",
		}},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	})
	require.NoError(t, err)
	observer := &events{}
	_, err = e.With(engine.WithObserver(observer, []engine.EventKind{}...), engine.WithClock(instant{}),
		engine.WithAccept(engine.JobResult.Ended)).Run(t.Context(), discard)
	require.NoError(t, err)
	ofGuard := func(line string) bool {
		return slices.ContainsFunc(rules.Builtin().Guards(), func(g rules.Guard) bool { return line == "verdict users 1 "+g.ID+" false" })
	}
	lines := slices.DeleteFunc(slices.Clone(observer.lines), ofGuard)
	require.NotEqual(t, lines, observer.lines, "maxPages has a verdict")
	require.Equal(t, []string{
		"request users 1 503 attempt 1", "retry users 1 503 attempt 1", "request users 1 200 attempt 2",
		"finding users 1 audit.capped", "finding users 1 audit.total", "page users 1",
		"verdict users 1 offset.empty false", "verdict users 1 offset.short true", "end users 1 offset.short",
	}, lines)
	require.Len(t, observer.runs, 1)

	for _, c := range []struct {
		kinds []engine.EventKind
		want  []string
	}{
		{[]engine.EventKind{engine.EventEnd}, []string{"end users 1 offset.short"}},
		{[]engine.EventKind{engine.EventPage, engine.EventRetry}, []string{"retry users 1 503 attempt 1", "page users 1"}},
		{[]engine.EventKind{engine.EventVerdict}, []string{
			"verdict users 1 offset.empty false", "verdict users 1 offset.short true",
		}},
	} {
		attempts = 0
		some := &events{}
		_, err = e.With(engine.WithObserver(some, c.kinds...), engine.WithClock(instant{}),
			engine.WithAccept(engine.JobResult.Ended)).Run(t.Context(), discard)
		require.NoError(t, err)
		require.Equal(t, c.want, slices.DeleteFunc(some.lines, ofGuard), "an observer of %v", c.kinds)
	}
}

// The conditions of the members are joined, and one may contain "or".
func TestAnAddedStopForEveryMemberOfASetting(t *testing.T) {
	api := numbers(t)
	method := from()
	method.Fields = append(method.Fields, rules.Field{Name: "done", Kind: rules.KindPaths, Doc: "paths that are empty at the end"})
	method.Stops = []rules.StopRule{{
		ID: "from.done", Each: "done", When: `empty(at(${each})) or page > 3`, Clause: "all are empty", Message: "all are empty", Only: rules.Conditions{rules.IsSet("done")},
	}}
	for _, c := range []struct {
		name  string
		done  map[string]string
		pages int
	}{
		{"both are missing", map[string]string{"a": "next", "b": "more"}, 1},
		{"one is on every page", map[string]string{"a": "next", "b": "data"}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.New(numbersConfig(api.URL, map[string]any{"done": c.done}), engine.WithMethod(method))
			require.NoError(t, err)
			result, err := e.Run(t.Context(), discard)
			require.NoError(t, err)
			require.Equal(t, "from.done", result.Jobs[0].Reason)
			require.Equal(t, c.pages, result.Jobs[0].Pages)
		})
	}
}

func TestNoEventFollowsTheEnd(t *testing.T) {
	api := newListAPI(t, 3, "", nil)
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.PageNumber{}}, Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	}, engine.WithPrefetch(4))
	require.NoError(t, err)
	for range 20 {
		observer := &events{}
		_, err = e.With(engine.WithObserver(observer)).Run(t.Context(), discard)
		require.NoError(t, err)
		observer.mu.Lock()
		require.Equal(t, "end users 4 pagenum.empty", observer.lines[len(observer.lines)-1])
		observer.mu.Unlock()
	}
}

func TestCredentialsAreSent(t *testing.T) {
	for _, c := range []struct {
		name        string
		auth        config.Auth
		header, url string
	}{
		{"bearer token", config.AuthBearer{Token: "SECRET"}, "Authorization: Bearer SECRET", "https://api.test/users"},
		{"source of tokens", config.TokenFunc(func(context.Context) (string, error) { return "SECRET", nil }),
			"Authorization: Bearer SECRET", "https://api.test/users"},
		{"password", config.AuthBasic{Username: "ann", Password: "SECRET"}, "Authorization: Basic YW5uOlNFQ1JFVA==", "https://api.test/users"},
		{"key in a header", config.AuthHeader{Name: "X-Key", Value: "SECRET"}, "X-Key: SECRET", "https://api.test/users"},
		{"key in the query", config.AuthQuery{Name: "key", Value: "SECRET"}, "", "https://api.test/users?key=SECRET"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var requests []*http.Request
			e, err := engine.New(config.Config{BaseURL: "https://api.test/", Authentication: c.auth, Jobs: []config.Job{{Endpoint: "users"}}},
				engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
					requests = append(requests, r)
					return respond(r, "[]")
				})))
			require.NoError(t, err)
			_, err = e.Run(t.Context(), discard)
			require.NoError(t, err)
			require.Len(t, requests, 1)
			require.Equal(t, c.url, requests[0].URL.String())
			var sent strings.Builder
			require.NoError(t, requests[0].Header.Write(&sent))
			require.Contains(t, sent.String(), c.header)
		})
	}
}

func TestATimeoutIsTheReasonOfEveryJobThatItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := transportFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		e, err := engine.New(config.Config{
			BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}, {Endpoint: "groups"}},
		}, engine.WithTimeout(30*time.Second), engine.WithTransport(transport), engine.WithParallelJobs(2))
		require.NoError(t, err)
		result, err := e.Run(t.Context(), discard)
		require.ErrorIs(t, err, engine.ErrPolicy)
		require.Len(t, result.Jobs, 2)
		for _, job := range result.Jobs {
			require.Contains(t, job.Message, "job "+job.Job)
			require.Contains(t, job.Message, "the run took longer than 30s")
		}
	})
}

func TestTokenSourcesThatHaveNoToken(t *testing.T) {
	for _, c := range []struct {
		name   string
		source config.TokenFunc
		says   string
	}{
		{"an empty token", func(context.Context) (string, error) { return "", nil }, "the token is empty"},
		{"an error", func(context.Context) (string, error) { return "", errors.New("out of tokens") }, "out of tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.New(config.Config{
				BaseURL: "https://api.test/", Authentication: c.source, Jobs: []config.Job{{Endpoint: "users"}},
			}, engine.WithClock(instant{}), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
				t.Errorf("a request was made: %s", r.URL)
				return nil, http.ErrNotSupported
			})))
			require.NoError(t, err)
			_, err = e.Run(t.Context(), discard)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestATokenSourceThatHangsDoesNotKeepTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		source := config.TokenFunc(func(context.Context) (string, error) { <-release; return "", nil })
		e, err := engine.New(config.Config{BaseURL: "https://api.test/", Authentication: source, Jobs: []config.Job{{Endpoint: "users"}}},
			engine.WithTimeout(30*time.Second))
		require.NoError(t, err)
		began := time.Now()
		_, err = e.Run(t.Context(), discard)
		require.ErrorIs(t, err, engine.ErrPolicy)
		require.ErrorContains(t, err, "the run took longer than 30s")
		require.Equal(t, 30*time.Second, time.Since(began))
	})
}

func TestAnObserverSeesNoSecret(t *testing.T) {
	e, err := engine.New(config.Config{
		BaseURL: "https://api.test/", Authentication: config.AuthQuery{Name: "key", Value: "SECRET-7f3a"}, Jobs: []config.Job{{Endpoint: "users"}},
	}, engine.WithClock(instant{}), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("dial %s: refused", r.URL)
	})))
	require.NoError(t, err)
	var seen []string
	_, err = e.With(engine.WithObserver(observerFunc(func(event engine.Event) {
		if event.Exchange != nil && event.Exchange.Err != nil {
			seen = append(seen, event.Exchange.Err.Error())
		}
	}))).Run(t.Context(), discard)
	require.Error(t, err)
	require.NotEmpty(t, seen)
	for _, text := range append(seen, err.Error()) {
		require.Contains(t, text, "refused")
		require.NotContains(t, text, "SECRET-7f3a")
	}
}

// observerFunc receives the events of a run.
type observerFunc func(engine.Event)

func (f observerFunc) Observe(_ context.Context, e engine.Event) { f(e) }

func TestATimeoutEndsARunAfterCompletePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("page") != "1" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return respond(r, `{"data":[1]}`)
		})
		e, err := engine.New(config.Config{
			BaseURL: "https://api.test/", Pagination: config.Pagination{Method: config.PageNumber{}}, Jobs: []config.Job{{Endpoint: "users"}},
		}, engine.WithTimeout(30*time.Second), engine.WithTransport(transport))
		require.NoError(t, err)
		began := time.Now()
		result, err := e.Run(t.Context(), discard)
		require.Equal(t, 30*time.Second, time.Since(began))
		require.ErrorIs(t, err, engine.ErrPolicy)
		require.ErrorContains(t, err, "the run took longer than 30s")
		require.Equal(t, 1, result.Jobs[0].Items)
	})
}
