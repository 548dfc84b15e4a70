package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// TestTheTasksOfARunAreTheRun plays every case as tasks, those of a step before the next
// step. Requests, items, trace and result must be those of the run on one machine.
func TestTheTasksOfARunAreTheRun(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) { playTasks(t, c, false) })
	}
}

// TestATaskGoesOnInAnotherSession gives every task away after each of its steps.
func TestATaskGoesOnInAnotherSession(t *testing.T) {
	for i, c := range allCases(t) {
		if !bytes.Contains(c.Config, []byte(`"for"`)) || asksAgain(c) || fixtures.Race && i%8 > 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { playTasks(t, c, true) })
	}
}

func playTasks(t *testing.T, c *fixtures.Case, handOver bool) {
	t.Helper()
	server := fixtures.Play(c)
	var log strings.Builder
	out := outcome{}
	e, err := loadCase(c, server, &log)
	if err == nil {
		e = e.With(engine.WithTransport(transport.Negotiated(server)))
		if handOver { // or a page would be requested while the task is given away, and again afterwards
			e = e.With(engine.WithPrefetch(0))
		}
		r := &taskRunner{t: t, engine: e, tallies: e.Distribution().Tallies(), handOver: handOver, facts: engine.RunFacts{ID: "r1", Started: server.Clock().Now()}}
		err = r.run(t.Context())
		var keeps strings.Builder
		var all, want []engine.JobResult
		if err == nil && !handOver {
			want = resultsOf(t, c)
		}
		for _, root := range e.Info().Roots {
			results := r.tallies[root].Conclude(err)
			requireResults(t, e, root, want, results)
			all = append(all, results...)
			for _, job := range results {
				for _, name := range slices.Sorted(maps.Keys(job.Kept)) {
					if job.Kept[name] != nil {
						fmt.Fprintf(&keeps, "%s %s = %v\n", job.Job, name, job.Kept[name])
					}
				}
			}
		}
		out = outcome{items: server.Neutral(r.items.String()), trace: server.Neutral(r.trace.String()), keeps: server.Neutral(keeps.String())}
		if refused := engine.NewResult(all).Err(); err == nil && refused != nil {
			out.err, out.exit = refused.Error(), exitStatus(refused)
		}
	}
	if err != nil {
		out.err, out.exit = server.Neutral(err.Error()), exitStatus(err)
		requireBeginning(t, c.Items, out.items) // without the page that failed, which is requested again
		requireBeginning(t, c.Trace, out.trace)
		withoutItems := *c
		withoutItems.Items, withoutItems.Trace, withoutItems.Log = nil, nil, nil
		requireGolden(t, &withoutItems, out, false)
		return
	}
	require.Empty(t, server.Problems())
	withoutLog := *c
	withoutLog.Log = nil
	requireGolden(t, &withoutLog, out, false)
}

func requireBeginning(t *testing.T, want *string, got string) {
	t.Helper()
	if want != nil {
		require.Equal(t, (*want)[:min(len(got), len(*want))], got)
	}
}

// resultsOf returns the results of the jobs of a case on one machine.
func resultsOf(t *testing.T, c *fixtures.Case) []engine.JobResult {
	t.Helper()
	server := fixtures.Play(c)
	var log strings.Builder
	e, err := loadCase(c, server, &log)
	require.NoError(t, err)
	result, err := e.With(engine.WithTransport(transport.Negotiated(server))).Run(t.Context(), discard)
	if !errors.Is(err, engine.ErrSuspect) {
		require.NoError(t, err)
	}
	return result.Jobs
}

// requireResults requires the results of the jobs below a root to be those of a run on one
// machine.
func requireResults(t *testing.T, e *engine.Engine, root string, all, got []engine.JobResult) {
	t.Helper()
	for _, want := range all {
		if e.Job(want.Job).Root != root {
			continue
		}
		i := slices.IndexFunc(got, func(r engine.JobResult) bool { return r.Job == want.Job })
		require.GreaterOrEqual(t, i, 0)
		one := got[i]
		one.Seconds, want.Seconds = 0, 0
		require.Equal(t, asJSON(t, want), asJSON(t, one))
	}
}

var localHost = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return localHost.ReplaceAllString(string(text), "{host}")
}

// A taskRunner runs the tasks of a run in the order of one machine.
type taskRunner struct {
	t        *testing.T
	engine   *engine.Engine
	session  *engine.Session
	facts    engine.RunFacts
	tallies  map[string]*partition.Tally
	handOver bool

	items, trace strings.Builder
}

func (r *taskRunner) run(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	for _, task := range r.engine.Distribution().RootTasks() {
		if err := r.task(ctx, task, nil); err != nil {
			return err
		}
	}
	r.session.Close()
	return nil
}

func (r *taskRunner) open(ctx context.Context) (err error) {
	r.session, err = r.engine.Distribution().Open(ctx, r.facts)
	return err
}

var errHandedOver = errors.New("handed over")

// task runs a task, as it is read from a queue.
func (r *taskRunner) task(ctx context.Context, task partition.Task, position json.RawMessage) error {
	text, err := json.Marshal(task)
	require.NoError(r.t, err)
	require.NotContains(r.t, string(text), "secret-of-")
	var read partition.Task
	require.NoError(r.t, json.Unmarshal(text, &read))
	ending, err := r.session.Run(ctx, read, position, func(ctx context.Context, step *partition.Step) error {
		position = bytes.Clone(step.Position)
		require.NotContains(r.t, string(position), "secret-of-")
		if err := r.step(ctx, step); err != nil {
			return err
		}
		if r.handOver && step.Ending == nil {
			return errHandedOver
		}
		return nil
	})
	if errors.Is(err, errHandedOver) {
		r.session.Close()
		if err := r.open(ctx); err != nil {
			return err
		}
		return r.task(ctx, task, position)
	}
	if err != nil && ending != nil {
		skipped := !slices.ContainsFunc(ending.Results, func(one partition.EndedResult) bool { return !one.Skipped })
		if err := r.step(ctx, &partition.Step{Ending: ending}); err != nil || skipped {
			return err
		}
	}
	return err
}

func (r *taskRunner) step(ctx context.Context, step *partition.Step) error {
	if page := step.Page; page != nil {
		r.items.Write(page.Items.Bytes())
		r.trace.WriteString(traceLine(page))
	}
	text, err := json.Marshal(step.Ending)
	require.NoError(r.t, err)
	saved := partition.Step{Missing: step.Missing}
	require.NoError(r.t, value.Unmarshal(text, &saved.Ending)) // as the workers of a cluster do
	for root, tally := range r.tallies {
		tally.Add(&saved)
		state, err := tally.Save()
		require.NoError(r.t, err)
		again := r.engine.Distribution().Tallies()[root]
		require.NoError(r.t, again.Restore(state))
		r.tallies[root] = again
	}
	for _, child := range step.Children {
		if err := r.task(ctx, child, nil); err != nil {
			return err
		}
	}
	return nil
}

// A countingPace is a shared pace that lets every request go, and counts.
type countingPace struct {
	mu     sync.Mutex
	times  []transport.Pace         // that were reserved
	begun  map[string]time.Duration // holds, by their names
	firsts int                      // requests that left a hold
}

func (p *countingPace) Reserve(pace transport.Pace) transport.Reservation {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times = append(p.times, pace)
	return atOnce{}
}

func (p *countingPace) Hold(name string) transport.Hold { return &countingHold{atOnce{}, p, name} }

// atOnce is a time that is now, and a hold that keeps no request.
type atOnce struct{}

func (atOnce) Wait(context.Context) (time.Duration, error)       { return 0, nil }
func (atOnce) Cancel()                                           {}
func (atOnce) State() (time.Duration, <-chan struct{})           { return 0, nil }
func (atOnce) Enter(context.Context) (first, ok bool, err error) { return true, true, nil }

type countingHold struct {
	atOnce
	pace *countingPace
	name string
}

func (h *countingHold) Begin(wait time.Duration) {
	h.pace.mu.Lock()
	defer h.pace.mu.Unlock()
	h.pace.begun[h.name] = wait
}

func (h *countingHold) Leave() {
	h.pace.mu.Lock()
	defer h.pace.mu.Unlock()
	h.pace.firsts++
}

func TestASharedPaceHasTheRequestsOfARunAndItsTokens(t *testing.T) {
	requests := 0
	serve := transportFunc(func(r *http.Request) (*http.Response, error) {
		if requests++; requests == 1 {
			return respond(r, `{"access_token": "abc", "token_type": "Bearer", "expires_in": 3600}`)
		}
		answer, err := respond(r, `[{"id": 1}]`)
		if requests == 2 {
			answer.StatusCode = http.StatusTooManyRequests
			answer.Header.Set("Retry-After", "7")
		}
		return answer, err
	})
	pace := &countingPace{begun: map[string]time.Duration{}}
	e := load(t, []byte(`{"api": {"baseUrl": "https://api.test/", "http": {"requestsPerSecond": 5, "burst": 3},
		"authentication": {"type": "oauth2", "grant": "client_credentials", "tokenUrl": "https://api.test/token", "clientId": "me", "#clientSecret": "s3cret"}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "."}]}}`),
		engine.WithTransport(serve), engine.WithClock(instant{}), engine.WithSharedPace(pace))
	_, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	want := transport.Pace{PerSecond: 5, Burst: 3}
	require.Equal(t, []transport.Pace{want, want, want}, pace.times, "a token, a request that was refused, and the page")
	require.Equal(t, map[string]time.Duration{"https://api.test": 7 * time.Second}, pace.begun)
	require.Equal(t, 3, pace.firsts, "every request that goes first leaves")
}

// TestTheNextPageIsRequestedWhileOneIsStored stores a page only after the next request has arrived. With
// a limit of requests in flight, there is never more than one.
func TestTheNextPageIsRequestedWhileOneIsStored(t *testing.T) {
	for _, test := range []struct {
		name, http string
		prefetch   int
		inTurn     bool
		want       string // requests that have been made before each step is stored
	}{
		{"by default", `{}`, 1, false, "2 3 3"},
		{"with a limit of requests in flight", `{"parallel": 1}`, 1, false, "2 3 3"},
		{"with no page ahead", `{}`, 0, false, "1 2 3"},
		{"in turn", `{}`, 1, true, "1 2 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests := make(chan string, 10)
			flying := atomic.Int64{}
			serve := transportFunc(func(r *http.Request) (*http.Response, error) {
				require.EqualValues(t, 1, flying.Add(1))
				defer flying.Add(-1)
				requests <- r.URL.RawQuery
				if r.URL.Query().Get("page") == "3" {
					return respond(r, `[]`)
				}
				return respond(r, fmt.Sprintf(`[{"id": %q}]`, r.URL.RawQuery))
			})
			e := load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.test/", "http": %s, "pagination": {"method": "pagenum"}},
				"config": {"jobs": [{"endpoint": "users", "dataField": "."}]}}`, test.http),
				engine.WithTransport(serve), engine.WithPrefetch(test.prefetch))
			s, err := e.Distribution().Open(t.Context(), engine.RunFacts{ID: "r"})
			require.NoError(t, err)
			defer s.Close()
			if test.inTurn {
				s = s.InTurn()
			}
			var before []string
			arrived := 0
			wanted := strings.Fields(test.want)
			_, err = s.Run(t.Context(), e.Distribution().RootTasks()[0], nil, func(context.Context, *partition.Step) error {
				for want := wanted[len(before)]; fmt.Sprint(arrived) < want; arrived++ {
					<-requests
				}
				before = append(before, fmt.Sprint(arrived+len(requests)))
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, wanted, before)
		})
	}
}
