package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A heldAPI is an API that does not answer the second page of the users of team 1 until it is
// released.
type heldAPI struct {
	*api
	release func()
}

func holdTeam1(t *testing.T, teams int) *heldAPI {
	t.Helper()
	held := make(chan struct{})
	a := &heldAPI{api: serveAPI(t, teams), release: sync.OnceFunc(func() { close(held) })}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/teams/1/users" && r.URL.Query().Get("page") == "2" {
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		a.serve(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(a.release)
	a.URL = front.URL
	return a
}

// runUntilHeld submits a run of five teams and runs it until only team 1 has not ended, of
// which one page is stored. The users of team 3 are refused.
func runUntilHeld(t *testing.T, o cluster.Options) (*heldAPI, *cluster.Cluster, *cluster.Run) {
	t.Helper()
	a := holdTeam1(t, 5)
	a.answerTeam3(http.StatusForbidden)
	c := open(t, startServer(t), o)
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	require.Eventually(t, func() bool {
		s, err := run.Status(t.Context())
		require.NoError(t, err)
		return s.Total.Done == 4 && s.Total.Failed == 1 && s.Total.Pages == 15
	}, time.Minute, 10*time.Millisecond)
	return a, c, run
}

// The items that are stored then: the teams, all users of teams 0, 2 and 4, and the first two
// of team 1. In the order of one machine, those of team 1 are the last before the gap.
const (
	heldTeams       = 5
	heldUsers       = 3*5 + 2
	heldSortedUsers = 5 + 2
)

func TestACollectionOfAnIncompleteRunCountsWhatItHasPassed(t *testing.T) {
	_, _, run := runUntilHeld(t, cluster.Options{})
	all := &collector{run: run}
	result, err := all.collect(t, cluster.CollectOptions{NoWait: true})
	require.ErrorIs(t, err, engine.ErrTransient)
	require.EqualError(t, err, "run r1 is incomplete: the run goes on; 5 of 6 tasks ended (collect it again when it is complete)")
	require.Len(t, all.items, heldTeams+heldUsers)
	require.Equal(t, heldTeams, result.Jobs[0].Items)
	require.Equal(t, heldUsers, result.Jobs[1].Items)
	require.Equal(t, 3*4+1, result.Jobs[1].Pages)

	again, err := all.collect(t, cluster.CollectOptions{NoWait: true})
	require.ErrorIs(t, err, engine.ErrTransient)
	require.Equal(t, heldUsers, again.Jobs[1].Items, "a collection that goes on counts what the one before has passed, too")

	inOrder := &collector{run: run}
	result, err = inOrder.collect(t, cluster.CollectOptions{NoWait: true, Sorted: true})
	require.ErrorContains(t, err, "9 pages stored after the first gap are not written", "the last of teams, and those of teams 2 and 4")
	require.Len(t, inOrder.items, heldTeams+heldSortedUsers)
	require.Equal(t, heldTeams, result.Jobs[0].Items)
	require.Equal(t, "the collection ended before the end of the list", result.Jobs[0].Message)
	require.Equal(t, heldSortedUsers, result.Jobs[1].Items)
}

func TestASortedCollectionCountsAllPartitionsThatFailed(t *testing.T) {
	a := serveAPI(t, 5)
	a.answerTeam3(http.StatusForbidden)
	a.refuse["/teams/1/users"] = http.StatusForbidden
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	_, err := (&collector{run: run}).collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrAPI)

	var last cluster.Progress
	_, err = (&collector{run: run}).collect(t, cluster.CollectOptions{Sorted: true, Progress: func(p cluster.Progress) { last = p }})
	require.ErrorContains(t, err, "team.id=1")
	require.ErrorContains(t, err, "team.id=3")
	require.Equal(t, 2, last.Failed)
	require.Equal(t, 1+2*4, last.Waiting, "the last page of teams, and those of teams 2 and 4")
}

// The error of a sorted collection begins with the gap at which its output ends, also if another
// partition has failed before that.
func TestASortedCollectionNamesTheGapFirst(t *testing.T) {
	a, _, run := runUntilHeld(t, cluster.Options{})
	a.mu.Lock()
	a.refuse["/teams/1/users"] = http.StatusForbidden
	a.mu.Unlock()
	a.release()
	for sorted, first := range map[bool]string{true: "team.id=1", false: "team.id=3"} {
		result, err := (&collector{run: run}).collect(t, cluster.CollectOptions{Sorted: sorted})
		lines := strings.Split(err.Error(), "; the response")
		require.Len(t, lines, 3)
		require.Contains(t, lines[0], first)
		require.Contains(t, result.Jobs[1].Error.Message, first)
		require.Equal(t, first, result.Jobs[1].Partitions.Failures[0].Partition)
		require.Len(t, result.Jobs[1].Partitions.Failures, 2)
	}
}

// The error of a collection has ten of many failures and says how many more there are. The
// result lists them.
func TestACollectionListsThePartitionsThatFailed(t *testing.T) {
	a := serveAPI(t, 14)
	for team := range a.teams {
		a.refuse[fmt.Sprintf("/teams/%d/users", team)] = http.StatusForbidden
	}
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	for _, inOrder := range []bool{false, true} {
		result, err := (&collector{run: run}).collect(t, cluster.CollectOptions{Sorted: inOrder})
		require.ErrorIs(t, err, engine.ErrAPI)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, 11)
		require.Equal(t, "4 more partitions failed (Run.Partitions of r1 lists all)", lines[10])
		require.Equal(t, 14, result.Jobs[1].Partitions.Failed)
		var failed []string
		for _, one := range result.Jobs[1].Partitions.Failures {
			require.Contains(t, one.Error.Message, "status 403 Forbidden")
			failed = append(failed, one.Partition)
		}
		require.Len(t, failed, 14)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(failed))), 14)
	}
}

func TestACancelledRunIsCollectedToItsLastPage(t *testing.T) {
	_, _, run := runUntilHeld(t, cluster.Hasty(cluster.Options{}))
	require.NoError(t, run.Cancel(t.Context()))
	for _, test := range []struct {
		how  cluster.CollectOptions
		want int
	}{{cluster.CollectOptions{}, heldTeams + heldUsers}, {cluster.CollectOptions{Sorted: true}, heldTeams + heldSortedUsers}} {
		slow := &collector{run: run, passed: func(int) { time.Sleep(10 * time.Millisecond) }}
		_, err := slow.collect(t, test.how)
		require.ErrorContains(t, err, "run r1 is incomplete: it is cancelled; ")
		require.Len(t, slow.items, test.want)
	}
}

// begin collects in the background. It returns when a page has been passed on.
func (c *collector) begin(t *testing.T) {
	t.Helper()
	e, err := c.run.Engine()
	require.NoError(t, err)
	c.ended = make(chan error, 1)
	reads := make(chan struct{})
	begun := sync.OnceFunc(func() { close(reads) })
	go func() {
		_, err := c.run.Collect(t.Context(), e, func(_ context.Context, page *engine.Page) error {
			for item := range page.Items.All() {
				c.items = append(c.items, string(item))
			}
			begun()
			return nil
		}, cluster.CollectOptions{})
		c.ended <- err
	}()
	select {
	case <-reads:
	case err := <-c.ended:
		require.NoError(t, err, "the collection ended without a page")
	}
}

// A collection goes on if its run is cancelled and submitted again at once, and so does one
// that begins in between.
func TestACollectionGoesOnWhenACancelledRunIsSubmittedAgain(t *testing.T) {
	graces := make(chan func(), 2)
	a, c, run := runUntilHeld(t, cluster.Graceful(cluster.Options{}, graces))
	a.answerTeam3(0)
	before, between := &collector{run: run}, &collector{run: run}
	before.begin(t)
	other, err := c.Run(t.Context(), run.ID())
	require.NoError(t, err)
	require.NoError(t, other.Cancel(t.Context()))
	between.begin(t)
	ends := []func(){<-graces, <-graces} // both collections have seen that the run is cancelled
	again := submit(t, c, a.config())
	_, err = again.Retry(t.Context())
	require.NoError(t, err)
	for _, end := range ends { // a collection that takes the run for cancelled ends now
		end()
	}
	a.release()
	for _, one := range []*collector{before, between} {
		require.NoError(t, <-one.ended)
		require.Equal(t, sorted(a.want()), sorted(one.items))
	}
}

func TestACollectionOfARunThatIsDeletedSaysSo(t *testing.T) {
	for _, submitted := range []bool{false, true} {
		a, c, run := runUntilHeld(t, cluster.Options{})
		all := &collector{run: run}
		all.begin(t)
		other, err := c.Run(t.Context(), run.ID())
		require.NoError(t, err)
		require.NoError(t, other.Delete(t.Context()))
		if submitted {
			submit(t, c, a.config())
		}
		require.ErrorContains(t, <-all.ended, "run r1 is incomplete: it was deleted from the server")
	}
}

// A collection that can no longer follow its run would wait forever after the run is cancelled.
func TestACollectionEndsWhenItCannotFollowItsRun(t *testing.T) {
	graces := make(chan func(), 1)
	nc := startServer(t)
	c := open(t, nc, cluster.Graceful(cluster.Options{Patience: 100 * time.Millisecond}, graces))
	run := submit(t, c, serveAPI(t, 1).config())
	ended := make(chan error)
	collect := func() {
		_, err := (&collector{run: run}).collect(t, cluster.CollectOptions{})
		ended <- err
	}
	other, err := c.Run(t.Context(), run.ID())
	require.NoError(t, err)
	go collect()
	require.NoError(t, other.Cancel(t.Context()))
	end := <-graces
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	require.NoError(t, js.DeleteKeyValue(t.Context(), "STOPWHEN_RUNS"))
	end()
	require.ErrorContains(t, <-ended, "read the record of the run r1: ")

	go collect()
	require.ErrorContains(t, <-ended, "the NATS server no longer has the runs")
}

// Pages for whose items there are partitions cannot be released. If they fill what the run may
// have, its collection says so, and the advice that it gives lets it go on.
func TestACollectionSaysWhenPagesThatCannotBeReleasedFillTheRun(t *testing.T) {
	const parents = 10
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch page := r.URL.Query().Get("page"); {
		case r.URL.Path == "/parents" && len(page) == 1: // the first nine
			fmt.Fprintf(w, `[{"id":%s,"fill":%q}]`, page, strings.Repeat("x", 10<<10))
		case r.URL.Path != "/parents" && page == "1":
			fmt.Fprint(w, `[{"child":true}]`)
		default:
			fmt.Fprint(w, `[]`)
		}
	}))
	defer api.Close()
	var text fixtures.Buffer
	c := open(t, startServer(t), cluster.Hasty(cluster.Options{Log: slog.New(slog.NewTextHandler(&text, nil))}))
	s := cluster.Submission{Run: "full", Name: "full.json", MaxBytes: 50 << 10, Text: fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"id": "parents", "endpoint": "parents"},
		{"endpoint": "parents/{parent.id}/children", "for": {"parent": {"items": "parents"}}}]}}`, api.URL)}
	run, err := c.Submit(t.Context(), s)
	require.NoError(t, err)
	work(t, c, cluster.Worker{})
	ended, items := make(chan error, 1), 0
	go func() {
		e, err := run.Engine()
		if err == nil {
			_, err = run.Collect(t.Context(), e, func(_ context.Context, page *engine.Page) error {
				items += page.Items.Len()
				return nil
			}, cluster.CollectOptions{Release: true})
		}
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return strings.Contains(text.String(), "workers wait, since its pages take ") &&
			strings.Contains(text.String(), "those that are left cannot be released") &&
			strings.Contains(text.String(), "submit it again with a larger Submission.MaxBytes")
	}, time.Minute, 10*time.Millisecond, "%s", &text)

	s.MaxBytes = 10 << 20
	_, err = c.Submit(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, 2*(parents-1), items)
}
