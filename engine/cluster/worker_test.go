package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/fixtures"
)

// An api has teams with users: /teams has the teams, and /teams/3/users?page=2 two users of
// team 3, of which there are five.
type api struct {
	*httptest.Server
	teams int

	mu       sync.Mutex
	refuse   map[string]int // status by path
	requests int
	token    string
}

func serveAPI(t *testing.T, teams int) *api {
	t.Helper()
	a := &api{teams: teams, refuse: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests++
	status, token := a.refuse[r.URL.Path], a.token
	a.mu.Unlock()
	switch {
	case token != "" && r.Header.Get("X-Token") != token:
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	case status != 0:
		http.Error(w, "no", status)
		return
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	var items []string
	if r.URL.Path == "/teams" {
		for i := (page - 1) * 10; i < min(page*10, a.teams); i++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, i))
		}
	} else {
		for i := (page - 1) * 2; i < min(page*2, 5); i++ {
			items = append(items, fmt.Sprintf(`{"team":%q,"user":%d}`, strings.Split(r.URL.Path, "/")[2], i))
		}
	}
	fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
}

// answerTeam3 changes the status with which the API answers for the users of team 3; 0: it
// lists them.
func (a *api) answerTeam3(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse["/teams/3/users"] = status
}

// count returns how many requests the API has had.
func (a *api) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

func (a *api) config() []byte {
	return fmt.Appendf(nil, `{"api": {"baseUrl": "%s", "pagination": {"method": "pagenum"}, "http": {"maxRetries": 0}}, "config": {"jobs": [
		{"id": "teams", "endpoint": "teams", "dataField": "items"},
		{"id": "users", "endpoint": "teams/{team.id}/users", "dataField": "items", "for": {"team": {"items": "teams"}}}]}}`, a.URL)
}

// want returns the items that a run has, in the order of one machine.
func (a *api) want() []string {
	var all []string
	for i := range a.teams {
		all = append(all, fmt.Sprintf(`{"id":%d}`, i))
	}
	for i := range a.teams {
		for user := range 5 {
			all = append(all, fmt.Sprintf(`{"team":"%d","user":%d}`, i, user))
		}
	}
	return all
}

func submit(t *testing.T, c *cluster.Cluster, config []byte) *cluster.Run {
	t.Helper()
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: config})
	require.NoError(t, err)
	return run
}

// A collector collects a run and keeps the items and the position.
type collector struct {
	run         *cluster.Run
	items       []string
	checkpoints map[string]json.RawMessage
	stop        int // after so many pages; 0: never

	passed func(items int) // called after each page; may be nil
	ended  chan error      // of a collection in the background
}

var errStopped = errors.New("stopped")

func (c *collector) collect(t *testing.T, how cluster.CollectOptions) (*engine.Result, error) {
	t.Helper()
	e, err := c.run.Engine()
	require.NoError(t, err)
	if c.checkpoints == nil {
		c.checkpoints = map[string]json.RawMessage{}
	}
	pages := 0
	return c.run.Collect(t.Context(), e.With(engine.WithResume(c.checkpoints)), func(_ context.Context, page *engine.Page) error {
		for item := range page.Items.All() {
			c.items = append(c.items, string(item))
		}
		checkpoint, err := page.Checkpoint()
		require.NoError(t, err)
		c.checkpoints[page.Root] = checkpoint
		if c.passed != nil {
			c.passed(len(c.items))
		}
		if pages++; pages == c.stop {
			return errStopped
		}
		return nil
	}, how)
}

// sorted returns the items in an order that does not depend on the partitions'.
func sorted(items []string) []string { return slices.Sorted(slices.Values(items)) }

// requireAll collects a run and requires every item of the API.
func requireAll(t *testing.T, run *cluster.Run, a *api) {
	t.Helper()
	part := &collector{run: run}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Equal(t, sorted(a.want()), sorted(part.items))
}

func TestItemsAreCollectedOnce(t *testing.T) {
	a := serveAPI(t, 23)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{}, cluster.Worker{})
	for _, how := range []cluster.CollectOptions{{}, {Sorted: true}} {
		all := &collector{run: run}
		result, err := all.collect(t, how)
		require.NoError(t, err)
		require.Equal(t, sorted(a.want()), sorted(all.items))
		require.Equal(t, 23, result.Jobs[1].Partitions.Complete)
	}
	require.Equal(t, 4+23*4, a.requests, "no page is requested twice")
}

// A collection that is interrupted after any page continues after it.
func TestACollectionIsResumed(t *testing.T) {
	a := serveAPI(t, 4)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	for _, how := range []cluster.CollectOptions{{}, {Sorted: true}} {
		part := &collector{run: run, stop: 1}
		var result *engine.Result
		for rounds := 0; ; rounds++ {
			var err error
			if result, err = part.collect(t, how); err == nil {
				break
			}
			require.ErrorIs(t, err, errStopped)
			require.Less(t, rounds, 20)
		}
		require.Equal(t, sorted(a.want()), sorted(part.items))
		require.Equal(t, 4, result.Jobs[1].Partitions.Complete)
		require.Equal(t, 20, result.Jobs[1].Items)
		again, err := part.collect(t, how)
		require.NoError(t, err, "it is complete")
		require.Equal(t, result.Jobs, again.Jobs)
		require.Equal(t, sorted(a.want()), sorted(part.items))
	}
}

func TestACheckpointOfAnotherCollectionIsRefused(t *testing.T) {
	a := serveAPI(t, 1)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	part := &collector{run: run}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	_, err = part.collect(t, cluster.CollectOptions{Sorted: true})
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "it belongs to a collection in another order")
}

func TestAPartitionThatFailedGoesOnAfterARetry(t *testing.T) {
	a := serveAPI(t, 5)
	a.answerTeam3(http.StatusForbidden)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	part := &collector{run: run}
	result, err := part.collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrAPI)
	require.ErrorContains(t, err, "job users (team.id=3), page 1")
	require.Equal(t, 1, result.Jobs[1].Partitions.Failed)
	require.Equal(t, 4, result.Jobs[1].Partitions.Complete)
	require.Len(t, part.items, 5+4*5)

	again := &collector{run: run}
	for _, how := range []cluster.CollectOptions{{Sorted: true}, {Sorted: true}, {Sorted: true, NoWait: true}} {
		_, err = again.collect(t, how)
		require.ErrorIs(t, err, engine.ErrAPI, "nothing will come")
		require.Len(t, again.items, 5+3*5)
	}
	for _, how := range []cluster.CollectOptions{{}, {NoWait: true}} {
		_, err = part.collect(t, how)
		require.ErrorIs(t, err, engine.ErrAPI)
		require.Len(t, part.items, 5+4*5)
	}

	_, err = run.Retry(t.Context(), "no-such-task")
	require.ErrorIs(t, err, engine.ErrConfig)
	a.answerTeam3(0)
	n, err := run.Retry(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	result, err = part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err, "a partition that is to be tried again has not failed")
	require.Equal(t, sorted(a.want()), sorted(part.items))
	require.Equal(t, 5, result.Jobs[1].Partitions.Complete)
	require.Zero(t, result.Jobs[1].Partitions.Failed)
	_, err = again.collect(t, cluster.CollectOptions{Sorted: true})
	require.NoError(t, err)
	require.Equal(t, sorted(a.want()), sorted(again.items))
}

// A collection that finds out that what has failed goes on passes no page again.
func TestACollectionGoesOnWithARetry(t *testing.T) {
	a := serveAPI(t, 5)
	a.answerTeam3(http.StatusForbidden)
	c := open(t, startServer(t), cluster.Options{})
	config := strings.TrimSuffix(string(a.config()), "]}}") + `, {"id": "more", "endpoint": "teams/1/users", "dataField": "items"}]}}`
	run := submit(t, c, []byte(config))
	stop := work(t, c, cluster.Worker{})
	_, err := (&collector{run: run}).collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrAPI)
	stop()
	a.answerTeam3(0)
	_, err = run.Retry(t.Context())
	require.NoError(t, err)
	all := &collector{run: run}
	_, err = all.collect(t, cluster.CollectOptions{NoWait: true})
	require.ErrorIs(t, err, engine.ErrTransient)
	all.passed = func(items int) {
		if items == 5+4*5+5 {
			all.passed = nil
			work(t, c, cluster.Worker{})
		}
	}
	all.items, all.checkpoints = nil, nil
	_, err = all.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Len(t, all.items, 5+5*5+5)
}

func TestACancelledRunIsIncompleteUntilItIsSubmittedAgain(t *testing.T) {
	a := serveAPI(t, 3)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	require.NoError(t, run.Cancel(t.Context()))
	part := &collector{run: run}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrTransient)
	require.ErrorContains(t, err, "run r1 is incomplete: it is cancelled; 0 of 1 task ended")
	_, err = run.Retry(t.Context())
	require.ErrorContains(t, err, "the run r1 is cancelled")

	work(t, c, cluster.Worker{})
	run = submit(t, c, a.config())
	_, err = part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Equal(t, sorted(a.want()), sorted(part.items))
	require.NoError(t, run.Delete(t.Context()))
	_, err = c.Run(t.Context(), "r1")
	require.ErrorContains(t, err, `there is no run "r1" on the server`)
}

func TestPagesAreStoredOnceWhenAcknowledgementsAreLost(t *testing.T) {
	a := serveAPI(t, 12)
	var n, lost atomic.Int64
	nc := startServer(t)
	c := open(t, nc, cluster.LosingAcks(cluster.Options{}, func() bool {
		lose := n.Add(1)%3 == 0
		if lose {
			lost.Add(1)
		}
		return lose
	}))
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	requireAll(t, run, a)
	require.Greater(t, lost.Load(), int64(5))
}

// A worker that cannot run a run leaves its tasks to others.
func TestAWorkerWithoutTheSecretLeavesTheRunToOthers(t *testing.T) {
	a := serveAPI(t, 3)
	a.token = "s3cret-of-the-api"
	config := []byte(strings.Replace(string(a.config()), `"http": {`, `"http": {"headers": {"X-Token": {"env": "TOKEN"}}, `, 1))
	nc := startServer(t)
	var refusals atomic.Int64
	with := func(token string) *cluster.Cluster {
		return open(t, nc, cluster.Options{AckWait: time.Second, Engine: []engine.Option{
			engine.WithEnv(func(string) (string, bool) {
				if token == "" {
					refusals.Add(1)
				}
				return token, token != ""
			})}})
	}
	run := submit(t, with(""), config)
	_, text := run.Config()
	require.NotContains(t, string(text), a.token)
	stop := work(t, with(""), cluster.Worker{Name: "without"})
	require.Eventually(t, func() bool { return refusals.Load() > 20 }, 30*time.Second, 5*time.Millisecond)
	stop()
	before := a.count()
	stop = work(t, with("wrong"), cluster.Worker{Name: "wrong"})
	require.Eventually(t, func() bool { return a.count() > before+2 }, 30*time.Second, time.Millisecond)
	stop()
	work(t, with(a.token), cluster.Worker{Name: "right"})
	requireAll(t, run, a)
}

func TestWhatCannotBeDistributedIsRefused(t *testing.T) {
	a := serveAPI(t, 1)
	c := open(t, startServer(t), cluster.Options{})
	config := string(a.config())
	for name, s := range map[string]struct {
		submission cluster.Submission
		want       string
	}{
		"a bad id":        {cluster.Submission{Run: "a.b", Text: []byte(config)}, "a.b"},
		"a configuration": {cluster.Submission{Run: "a", Text: []byte(`{}`)}, "api"},
		"a secret in it":  {cluster.Submission{Run: "a", Text: []byte(strings.Replace(config, `"http": {`, `"http": {"headers": {"#X-Token": "s3cret-of-the-api"}, `, 1))}, "line 1 holds a secret"},
		"an escaped secret": {cluster.Submission{Run: "a", Text: []byte(strings.Replace(config, `"http": {`, `"http": {"headers": {"#X-Token": "s3cret\u002dof-the-api"}, `, 1))},
			"a secret is written in it"},
		"a secret in a default": {cluster.Submission{Run: "a",
			Text: []byte(strings.Replace(config, `{"api"`, `{"inputs": {"key": {"secret": true, "default": "1"}}, "api"`, 1))},
			"inputs.key.default: the default of a secret input is written in the configuration"},
		"an unknown input": {cluster.Submission{Run: "a", Text: []byte(config), Inputs: map[string]any{"x": 1}}, "x"},
		"an unknown job":   {cluster.Submission{Run: "a", Text: []byte(config), Jobs: []string{"x"}}, `no job "x"`},
		"a secret input": {cluster.Submission{Run: "a", Inputs: map[string]any{"key": "v"},
			Text: []byte(strings.Replace(config, `{"api"`, `{"inputs": {"key": {"secret": true}}, "api"`, 1))}, "input key is secret"},
	} {
		t.Run(name, func(t *testing.T) {
			s.submission.Name = "c.json"
			_, err := c.Submit(t.Context(), s.submission)
			require.ErrorContains(t, err, s.want)
			require.NotContains(t, err.Error(), "s3cret")
			require.Equal(t, name != "a secret in it", !strings.Contains(err.Error(), "holds a secret"), "%v", err)
		})
	}
	submit(t, c, a.config())
	_, err := c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: []byte(config), MaxPages: 3})
	require.ErrorContains(t, err, "run r1 already exists, but its limit of pages differs")
	_, err = c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: []byte(config), BaseURL: "https://other.invalid/"})
	require.ErrorContains(t, err, "run r1 already exists, but its base URL differs")
	_, err = c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: []byte(config + " ")})
	require.ErrorContains(t, err, "run r1 already exists, but its configuration differs")
}

func TestACollectionSaysWhyNothingArrives(t *testing.T) {
	a := serveAPI(t, 1)
	nc := startServer(t)
	run := submit(t, open(t, nc, cluster.Options{}), a.config())
	require.Contains(t, cluster.Idle(t.Context(), run), "no worker is running")
	c := open(t, nc, cluster.Options{})
	work(t, c, cluster.Worker{})
	part := &collector{run: run}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(cluster.Idle(t.Context(), run), "the queue was lost") }, 10*time.Second, 10*time.Millisecond)
}

// A worker that has the session of a run which was deleted and submitted again, with another
// configuration, opens a new one.
func TestARunThatIsSubmittedAnewHasNothingOfTheOldOne(t *testing.T) {
	old, a := serveAPI(t, 3), serveAPI(t, 5)
	c := open(t, startServer(t), cluster.Options{})
	work(t, c, cluster.Worker{})
	part := &collector{run: submit(t, c, old.config())}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.NoError(t, part.run.Delete(t.Context()))
	part.run = submit(t, c, a.config())
	_, err = part.collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "it belongs to an earlier run r1, which was deleted")
	all := &collector{run: part.run}
	_, err = all.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Equal(t, sorted(a.want()), sorted(all.items))
}

// With limits.partitions one task runs all jobs. A sorted collection continues in the job
// that it was in.
func TestASortedCollectionOfALimitedRunIsResumed(t *testing.T) {
	a := serveAPI(t, 3)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, fmt.Appendf(nil, `{"api": {"baseUrl": "%s", "pagination": {"method": "pagenum"}}, "config": {"limits": {"partitions": 100}, "jobs": [
		{"id": "a", "endpoint": "teams/{n}/users", "dataField": "items", "for": {"n": {"values": [1, 2]}}},
		{"id": "b", "endpoint": "teams/{n}/users", "dataField": "items", "for": {"n": {"values": [3, 4]}}}]}}`, a.URL))
	work(t, c, cluster.Worker{})
	for _, how := range []cluster.CollectOptions{{Sorted: true}, {}} {
		whole := &collector{run: run}
		_, err := whole.collect(t, how)
		require.NoError(t, err)
		require.Len(t, whole.items, 20)
		part := &collector{run: run, stop: 1}
		for err = errStopped; errors.Is(err, errStopped); {
			_, err = part.collect(t, how)
		}
		require.NoError(t, err)
		require.Equal(t, whole.items, part.items)
	}
}

func TestValuesThatNoMessageCanHoldAreTheFailureOfTheirParent(t *testing.T) {
	fixtures.SkipUnderRace(t, "its values are large, and smaller ones have the same goroutines")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `[{"id": 1, "note": "%s"}]`, strings.Repeat("x", 9<<20))
	}))
	defer api.Close()
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, fmt.Appendf(nil, `{"api": {"baseUrl": "%s"}, "config": {"jobs": [{"id": "a", "endpoint": "a"},
		{"id": "b", "endpoint": "b/{x.id}", "params": {"n": {"expr": "len(x.note)"}}, "for": {"x": {"items": "a"}}}]}}`, api.URL))
	work(t, c, cluster.Worker{})
	part := &collector{run: run}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrPolicy)
	require.ErrorContains(t, err, "a message of the NATS server at most")
}

// A session that takes long to open, as when the environment is asked over the network, holds
// up no other run, whatever the number of its tasks is.
func TestASessionThatOpensSlowlyHoldsUpNoOtherRun(t *testing.T) {
	slow, fast := serveAPI(t, 1), serveAPI(t, 2)
	release := make(chan bool)
	var looks atomic.Int64
	c := open(t, startServer(t), cluster.Options{AckWait: time.Second, Engine: []engine.Option{engine.WithEnv(func(string) (string, bool) {
		looks.Add(1)
		<-release
		return "token", true
	})}})
	config := strings.Replace(string(slow.config()), `"http": {`, `"http": {"headers": {"X-Token": {"env": "TOKEN"}}, `, 1)
	config = strings.TrimSuffix(config, "]}}") + `, {"id": "b", "endpoint": "teams/1/users"}, {"id": "c", "endpoint": "teams/2/users"}]}}`
	late, err := c.Submit(t.Context(), cluster.Submission{Run: "slow", Name: "c.json", Text: []byte(config)})
	require.NoError(t, err)
	work(t, c, cluster.Worker{Slots: 2})
	require.Eventually(t, func() bool { return looks.Load() > 0 }, 10*time.Second, time.Millisecond)
	other := &collector{run: submit(t, c, fast.config())}
	_, err = other.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Equal(t, sorted(fast.want()), sorted(other.items))
	require.Zero(t, slow.count())
	close(release)
	all := &collector{run: late}
	_, err = all.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Subset(t, all.items, slow.want())
}

func TestAWorkerSaysWhatItDoes(t *testing.T) {
	a := serveAPI(t, 3)
	asked, release := make(chan bool, 10), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(release)
	messages := make(chan string, 1000)
	c := open(t, startServer(t), cluster.ProgressAtOnce(cluster.Options{Log: recordsOf(messages)}))
	submit(t, c, []byte(strings.Replace(string(a.config()), a.URL, slow.URL, 1)))
	stop := work(t, c, cluster.Worker{Name: "w"})
	<-asked
	for m := range messages {
		if m == "worker w: 1 task running, 0 done" {
			break
		}
	}
	stop()
	var told []string
	for len(messages) > 0 {
		told = append(told, <-messages)
	}
	require.Contains(t, told, "worker w has handed back 1 task")
}

// An input that no run declares is not hidden, and is reported once.
func TestAnInputThatNoRunHasIsNotUsed(t *testing.T) {
	a := serveAPI(t, 1)
	a.token = "s3cret-of-the-api"
	config := strings.Replace(string(a.config()), `"http": {`, `"http": {"headers": {"#X-Token": {"expr": "input.key"}}, `, 1)
	config = strings.Replace(config, `{"api"`, `{"inputs": {"key": {"secret": true}}, "api"`, 1)
	messages, hidden := make(chan string, 1000), make(chan string, 10)
	c := open(t, startServer(t), cluster.ProgressAtOnce(cluster.Options{Log: recordsOf(messages)}))
	run := submit(t, c, []byte(config))
	work(t, c, cluster.Worker{Inputs: map[string]any{"key": a.token, "foo": "1"}, Hide: func(secret string) { hidden <- secret }})
	requireAll(t, run, a)
	require.Equal(t, a.token, <-hidden)
	require.Empty(t, hidden)
	var told []string
	for len(messages) > 0 {
		told = append(told, <-messages)
	}
	require.Contains(t, told, "run r1 has no secret input foo, and the value that this worker has for it is not used")
}

// A worker that was frozen while a run was deleted has queued a task of it. The run that was
// submitted under the same name goes on.
func TestATaskOfADeletedRunStopsNoOther(t *testing.T) {
	a := serveAPI(t, 1)
	asked, release := make(chan bool, 10), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-release
		a.serve(w, r)
	}))
	defer slow.Close()
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	run := submit(t, c, []byte(strings.Replace(string(a.config()), a.URL, slow.URL, 1)))
	work(t, c, cluster.Worker{})
	<-asked
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	queue, err := js.Stream(t.Context(), "STOPWHEN_WORK")
	require.NoError(t, err)
	last, err := queue.GetLastMsgForSubject(t.Context(), "stopwhen.work.>")
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), strings.Replace(last.Subject, cluster.SubmissionOf(run), "deleted", 1), last.Data)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, err := queue.Info(t.Context())
		require.NoError(t, err)
		return info.State.Msgs == 1
	}, 10*time.Second, time.Millisecond)
	close(release)
	requireAll(t, run, a)
}

// A partition that goes on after pages without items could leave out the items that the API should have sent.
func TestAPartitionThatFailedForStoredPagesIsNotRetried(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"items": [], "next": "%sx"}`, r.URL.Query().Get("at"))
	}))
	defer api.Close()
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, []byte(`{"api": {"baseUrl": "`+api.URL+`/", "pagination": {"method": "response.param", "responseParam": "next",
		"queryParam": "at", "guards": {"emptyPages": 3}}}, "config": {"jobs": [{"id": "a", "endpoint": "{v}", "dataField": "items",
		"for": {"v": {"values": ["one", "two"]}}}]}}`))
	work(t, c, cluster.Worker{})
	_, err := (&collector{run: run}).collect(t, cluster.CollectOptions{})
	require.ErrorContains(t, err, "rule emptyPages")
	n, err := run.Retry(t.Context())
	require.ErrorIs(t, err, engine.ErrPolicy)
	require.ErrorContains(t, err, "cannot go on: it failed for pages that are stored")
	require.Zero(t, n)
}
