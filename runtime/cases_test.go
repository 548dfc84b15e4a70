package runtime

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// outside are words of configurations whose cases need more than the loop: credentials, settings
// of the connection, and partitions.
var outside = []string{"authentication", "secret", "\"for\"", "\"inputs\"", "\"keboola\"", "requestsPerSecond", "parallel"}

// listCase returns the server of a case that one list of the loop plays, and the list.
func listCase(t *testing.T, c *fixtures.Case) (*fixtures.Server, *rules.Config, *compile.Job) {
	if c.Trace == nil || c.Items == nil || c.Exit == 2 || c.Kept != nil || !strings.HasSuffix(c.ConfigName, ".json") {
		return nil, nil, nil
	}
	for _, word := range outside {
		if bytes.Contains(c.Config, []byte(word)) {
			return nil, nil, nil
		}
	}
	server, err := fixtures.Serve(c)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	cfg, jobs := compiletest.Config(t, string(server.ConfigText()), nil)
	if len(jobs) != 1 || len(jobs[0].For) > 0 {
		return nil, nil, nil
	}
	return server, cfg, jobs[0]
}

// TestTheLoopPlaysTheCasesOfLists plays the cases that need no more than the loop and a client,
// one page at a time.
func TestTheLoopPlaysTheCasesOfLists(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one request at a time, and the test below requests ahead")
	played, _ := playLists(t, ahead.Policy{}, func(*fixtures.Case) bool { return true })
	require.Greater(t, played, 300)
}

// TestTheLoopPlaysTheCasesOfListsAhead plays them with pages that are requested ahead of their turn,
// except for cases with times of their own, and cases in which a request is answered twice.
func TestTheLoopPlaysTheCasesOfListsAhead(t *testing.T) {
	for name, policy := range map[string]ahead.Policy{"the next page": {Large: 1}, "a window": {Window: 3, Large: 1}} {
		t.Run(name, func(t *testing.T) {
			played, beyond := playLists(t, policy, func(c *fixtures.Case) bool {
				c.AnyOrder = true
				answered := map[string]bool{}
				return !slices.ContainsFunc(c.Exchanges, func(e fixtures.Exchange) bool {
					again := answered[e.Request.String()]
					answered[e.Request.String()] = e.Response.Status < http.StatusBadRequest
					return again || e.Response.After > 0
				})
			})
			require.Greater(t, played, 250)
			require.Positive(t, beyond, "requests for pages beyond the last")
		})
	}
}

// playLists plays the cases that may be played. It returns their number, and the number of requests
// for pages beyond the last.
func playLists(t *testing.T, policy ahead.Policy, may func(*fixtures.Case) bool) (played, beyond int) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	for _, c := range cases {
		one := *c
		if !may(&one) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			server, cfg, job := listCase(t, &one)
			if job == nil {
				t.Skip("it needs more than the loop")
			}
			played++
			playList(t, &one, server, cfg, job, policy)
			beyond += len(server.Problems())
		})
	}
	return played, beyond
}

// playList runs the list of a case, and compares its items, its trace and its events.
func playList(t *testing.T, c *fixtures.Case, server *fixtures.Server, cfg *rules.Config, job *compile.Job, policy ahead.Policy) {
	origin, err := url.Parse(server.URL())
	require.NoError(t, err)
	var seen events
	client := transport.New(transport.Options{
		Clock: server.Clock(), UserAgent: "stopwhen", Origin: origin, AllowedOrigins: cfg.AllowedOrigins, MaxBody: int64(cfg.HTTP.MaxBodyBytes),
		Retry: transport.RetryPolicy{
			MaxAttempts: cfg.HTTP.MaxRetries + 1, Statuses: cfg.HTTP.RetryCodes, Limited: cfg.HTTP.LimitCodes, Header: cfg.HTTP.RetryHeader,
		},
		RateLimit: transport.RateLimit{Remaining: cfg.HTTP.RateRemaining, Reset: cfg.HTTP.RateReset},
		Observe:   Observers{Observer: &seen}.OfTransport(),
	})
	defer client.Close()
	var items, lines strings.Builder
	loop := Loop{
		Client: client, Clock: server.Clock(), Ahead: policy, Observers: Observers{Observer: &seen},
		Limits: Limits{
			MaxDepth: cfg.HTTP.MaxDepth, MaxItems: cfg.HTTP.MaxItems,
			MaxBody: int64(cfg.HTTP.MaxBodyBytes), MaxValueBytes: cfg.HTTP.MaxValueBytes,
		},
	}
	ended := false
	result, err := loop.Run(t.Context(), job, func(_ context.Context, page *Page) error {
		require.False(t, ended, "page %d follows the final page", page.Page)
		ended = page.Final
		require.Equal(t, job.ID(), page.Root)
		items.Write(page.Items.Bytes())
		lines.WriteString(traceLine(page))
		checkpoint, err := page.Checkpoint()
		require.NoError(t, err)
		if page.Outcome != rules.Failed {
			require.NoError(t, Checkpoint(checkpoint).CheckVersion())
		}
		return nil
	})
	require.Equal(t, c.Exit != 0 && c.Exit != 9, err != nil, "%v", err)
	for _, problem := range server.Problems() {
		require.True(t, policy.Large > 0 && strings.Contains(problem, "unexpected"), "%s", problem) // a page beyond the last
	}
	require.True(t, ended || err != nil, "no page is final")
	require.NotEmpty(t, result.Outcome)
	require.Equal(t, *c.Items, server.Neutral(items.String()))
	require.Equal(t, *c.Trace, server.Neutral(lines.String()))
	require.Equal(t, strings.Count(lines.String(), "\n"), seen.count(EventPage))
	require.Equal(t, len(result.Findings), seen.count(EventFinding))
	require.Equal(t, 1, seen.count(EventEnd))
	require.GreaterOrEqual(t, seen.count(EventRequest), seen.count(EventPage))
}

// events observes a run and notes the kinds of its events.
type events struct {
	mu    sync.Mutex
	kinds []EventKind
}

func (e *events) Observe(_ context.Context, event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kinds = append(e.kinds, event.Kind)
}

func (e *events) count(kind EventKind) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// traceLine is the record of a page in short, as cases have it.
func traceLine(page *Page) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d %s %s", page.Page, page.Request.Method, page.Request.URL)
	if page.Request.Body != nil {
		fmt.Fprintf(b, " %s", page.Request.Body)
	}
	fmt.Fprintf(b, " -> %d items", page.Count)
	if page.Dropped {
		b.WriteString(" dropped")
	}
	if page.Written != nil {
		fmt.Fprintf(b, ", %d written", *page.Written)
	}
	if page.Decision == trace.Continue {
		b.WriteString(", continue\n")
		return b.String()
	}
	fmt.Fprintf(b, ", stop by %s (%s)", strings.Join(page.StoppedBy, ", "), page.Outcome)
	for _, v := range page.Met() {
		fmt.Fprintf(b, "; %s", v.Because)
	}
	for i, f := range page.Findings {
		fmt.Fprintf(b, "%s%s", map[bool]string{true: "; suspect: ", false: ", "}[i == 0], f.ID)
	}
	return b.String() + "\n"
}
