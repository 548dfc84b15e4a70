package runtime

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// outside are words of configurations whose cases need more than the loop: credentials, settings
// of the connection, and partitions.
var outside = []string{"authentication", "secret", "\"for\"", "\"inputs\"", "\"keboola\"", "requestsPerSecond", "parallel"}

// listCase returns the server of a case that one list of the loop plays, and the list.
func listCase(t *testing.T, c *fixtures.Case) (*fixtures.Server, *rules.Config, *compile.Job) {
	if c.Trace == nil || c.Items == nil || c.Exit == 2 || c.Kept != nil || len(c.Args) > 0 || !strings.HasSuffix(c.ConfigName, ".json") {
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
	source := diag.NewSource(c.ConfigName, string(server.ConfigText()))
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, diagnostics := rules.Decode(source, root, rules.Options{})
	require.NoError(t, diagnostics.Err())
	lowered, diagnostics := cfg.Lower()
	require.NoError(t, diagnostics.Err())
	jobs, diagnostics := compile.Rulesets(cfg, lowered, nil)
	require.NoError(t, diagnostics.Err())
	if len(jobs) != 1 || len(jobs[0].For) > 0 {
		return nil, nil, nil
	}
	return server, cfg, jobs[0]
}

// TestTheLoopPlaysTheCasesOfLists plays the cases that need no more than the loop and a client,
// one page at a time and ahead.
func TestTheLoopPlaysTheCasesOfLists(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	played := 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			server, cfg, job := listCase(t, c)
			if job == nil {
				t.Skip("it needs more than the loop")
			}
			played++
			origin, err := url.Parse(server.URL())
			require.NoError(t, err)
			client := transport.New(transport.Options{
				Clock: server.Clock(), UserAgent: "stopwhen", Origin: origin, AllowedOrigins: cfg.AllowedOrigins, MaxBody: int64(cfg.HTTP.MaxBodyBytes),
				Retry: transport.RetryPolicy{
					MaxAttempts: cfg.HTTP.MaxRetries + 1, Statuses: cfg.HTTP.RetryCodes, Limited: cfg.HTTP.LimitCodes, Header: cfg.HTTP.RetryHeader,
				},
				RateLimit: transport.RateLimit{Remaining: cfg.HTTP.RateRemaining, Reset: cfg.HTTP.RateReset},
			})
			defer client.Close()
			var items, lines strings.Builder
			loop := Loop{
				Client: client, Clock: server.Clock(), MaxDepth: cfg.HTTP.MaxDepth, MaxItems: cfg.HTTP.MaxItems,
				MaxBody: int64(cfg.HTTP.MaxBodyBytes), MaxValueBytes: cfg.HTTP.MaxValueBytes,
			}
			result, err := loop.Run(t.Context(), job, func(_ context.Context, page *Page) error {
				items.Write(page.Items.Bytes())
				lines.WriteString(traceLine(page))
				token, err := page.Checkpoint()
				require.NoError(t, err)
				if page.Outcome != rules.Failed {
					require.NoError(t, Checkpoint(token).CheckVersion())
				}
				return nil
			})
			require.Equal(t, c.Exit != 0 && c.Exit != 9, err != nil, "%v", err)
			require.Empty(t, server.Problems())
			require.NotEmpty(t, result.Outcome)
			require.Equal(t, *c.Items, server.Neutral(items.String()))
			require.Equal(t, *c.Trace, server.Neutral(lines.String()))
		})
	}
	require.Greater(t, played, 300)
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
