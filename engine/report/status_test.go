package report_test

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/engine/report"
)

// underway is a run with everything that a status may have.
func underway() *status.Run {
	at := time.Date(2026, 11, 22, 7, 30, 0, 0, time.UTC)
	last, left := at.Add(-3*time.Second), 4000.0
	total := status.Counts{Partitions: 402, Done: 320, Failed: 1, Running: 8, Waiting: 73, Skipped: 4, Suspect: 3, Findings: 3}
	total.Pages, total.Items = 648, 6840
	return &status.Run{
		Version: status.Version, At: at,
		Summary: status.Summary{Run: "orders-7", Phase: status.Running, Growing: true, Config: "orders.json",
			Started: at.Add(-time.Hour), Last: &last,
			Total: total, Stored: status.Stored{Bytes: 2_900_000, Limit: 3_000_000}},
		Warnings: []status.Warning{{ID: "failed", Message: "1 partition failed", Hint: "fix the cause, then: stopwhen retry orders-7"}},
		Rates: status.Rates{Recent: &status.Rate{Seconds: 60, Pages: 0.419, Items: 572, Partitions: 4.26},
			Overall: &status.Rate{Seconds: 3600, Pages: 0.18}, SecondsLeft: &left},
		Jobs: []status.Job{
			{Job: "orders", Counts: status.Counts{Partitions: 2, Done: 1, Failed: 1, Pages: 9, Items: 400},
				Ends: []status.End{{Outcome: "complete", Reason: "pagenum.empty", Partitions: 1}}},
			{Job: "lines", Growing: true, Counts: status.Counts{Partitions: 400, Done: 319, Running: 8, Waiting: 73, Pages: 639, Items: 6440},
				Ends: []status.End{{Outcome: "complete", Reason: "short", Partitions: 315, Suspect: 3},
					{Outcome: "skipped", Reason: "api", Partitions: 4}}},
		},
		Failed: []status.Partition{{Job: "orders", Task: "0-v1", Partition: "shop=<b>", Pages: 4, State: status.StateFailed,
			Error: &status.Error{Class: "api", Message: "status 403 Forbidden", Hint: "check api.authentication"}}},
		Findings: []status.Finding{{Job: "lines", ID: "audit.total", Partitions: 3, Partition: "order.id=5", Message: "body.total is 999"}},
		Running:  []status.Partition{{Job: "lines", Task: "0-p1j0i3", Partition: "order.id=8", Pages: 2, Worker: "w-1"}},
		Workers: status.Workers{Count: 1, Slots: 8, Running: 8, List: []status.Worker{
			{Name: "w-2", Host: "b", Silent: true, Heard: at.Add(-20 * time.Second), Slots: 8, Problem: "run x: it lacks TOKEN"},
			{Name: "w-1", Host: "a", Slots: 8, Running: 8, Done: 267},
		}},
	}
}

const underwayText = `run orders-7: running
    402 partitions so far: 320 done (4 skipped), 1 failed, 8 running, 73
    waiting
    648 pages, 6840 items, 2.9 MB of 3.0 MB on the server
    lately: 0.42 pages/s, 572 items/s
    in all: 0.18 pages/s, 0 items/s
    left: about 67 minutes
    started 2026-11-22 06:30:00 UTC, last change 3s ago, configuration
    orders.json
! 1 partition failed (fix the cause, then: stopwhen retry orders-7)

job     partitions  done  failed  running  waiting  pages  items
orders  2           1     1       0        0        9      400
lines   400+        319   0       8        73       639    6440

where partitions ended
  1    orders  complete  pagenum.empty
  315  lines   complete  short (3 suspect)
  4    lines   skipped   api

failed; stopwhen retry continues all of them, or those that are named by
their ids
  job orders (shop=<b>), id 0-v1, 4 pages
    class api: status 403 Forbidden (check api.authentication)

may be incomplete
  job lines (order.id=5) and 2 other partitions: body.total is 999
  (audit.total)

running
  2 pages  w-1  job lines (order.id=8)
  … and 7 more

1 worker: 8 of 8 slots in use, by all runs
  w-2 on b: 0 of 8 slots in use, 0 tasks done; silent since 2026-11-22
  07:29:40 UTC
    run x: it lacks TOKEN
  w-1 on a: 8 of 8 slots in use, 267 tasks done
`

func TestTheStatusAsTextFitsTheTerminal(t *testing.T) {
	b := &strings.Builder{}
	require.NoError(t, report.StatusText(b, underway(), 72))
	require.Equal(t, underwayText, b.String())
	b.Reset()
	require.NoError(t, report.StatusText(b, underway(), 50))
	for line := range strings.Lines(b.String()) {
		require.LessOrEqual(t, len([]rune(line)), 51, line)
	}
	require.Contains(t, b.String(), "job     known  done  failed  items\n")
}

func TestTheStatusOfAllRunsIsATable(t *testing.T) {
	for width, want := range map[int]string{
		80: "run       phase    partitions  done             failed  items  stored  started\n" +
			"orders-7  running  402+        320 (4 skipped)  1       6840   2.9 MB  11-22 06:30\n",
		50: "run       phase    done                     failed\norders-7  running  320 (4 skipped) of 402+  1\n",
	} {
		b := &strings.Builder{}
		require.NoError(t, report.OverviewText(b, &status.Overview{Runs: []status.Summary{underway().Summary}}, width))
		require.Equal(t, want, b.String())
	}
	b := &strings.Builder{}
	require.NoError(t, report.OverviewText(b, &status.Overview{}, 80))
	require.Equal(t, "There are no runs. stopwhen submit CONFIG adds one.\n", b.String())
}

func statusHTML(t *testing.T, s *status.Run) string {
	t.Helper()
	b := &strings.Builder{}
	require.NoError(t, report.StatusHTML(b, s))
	return b.String()
}

func TestTheStatusAsHTMLHasAllOfIt(t *testing.T) {
	page := statusHTML(t, underway())
	last := 0
	for _, part := range []string{
		`<h1>orders-7 <span class="outcome limited">running</span></h1>`, "1 partition failed", "<dd>402+</dd>", "<dd>320, 4 skipped</dd>",
		"2.9 MB of 3.0 MB", "about 67 minutes",
		"last 60 s", "400+", "A plus sign marks jobs", `<span class="ended suspect">complete, 3 may be incomplete</span>`,
		`<span class="ended failed">skipped</span>`, "shop=&lt;b&gt;", "0-v1", "status 403 Forbidden", "and 2 other partitions", "order.id=8",
		"… and others: 8 are running.", "silent since 2026-11-22 07:29:40 UTC", "it lacks TOKEN",
	} {
		at := strings.Index(page[last:], part)
		require.GreaterOrEqual(t, at, 0, "%s is missing, or before what should precede it", part)
		last += at
	}
	require.NotContains(t, page, "<b>")
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "http:")
	requireClosed(t, page)
}

// voids are elements that HTML does not close.
var voids = regexp.MustCompile(`<(!doctype html|meta [^>]*|br)>`)

// requireClosed requires that each element is closed where it should be.
func requireClosed(t *testing.T, page string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(voids.ReplaceAllString(page, "")))
	for {
		if _, err := dec.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			return
		}
	}
}

func TestAStatusWithoutAnythingIsClosed(t *testing.T) {
	page := statusHTML(t, &status.Run{Summary: status.Summary{Run: "r", Phase: status.Complete}})
	requireClosed(t, page)
	require.Contains(t, page, `<span class="outcome complete">complete</span>`)
	require.Contains(t, page, "<p>None.</p>")
}

func TestALineOfAPartitionSaysHowItEnded(t *testing.T) {
	p := status.Partition{Job: "lines", Task: "0-v1", Partition: "order=1", State: status.StateDone,
		Outcome: "complete", Reason: "short", Pages: 1, Items: 2, Findings: 1}
	require.Equal(t, "job lines (order=1): done, complete by short, 1 page, 2 items, 1 finding [0-v1]", report.PartitionText(p))
	p = underway().Failed[0]
	require.Equal(t, "job orders (shop=<b>): failed, 4 pages, 0 items: status 403 Forbidden [0-v1]", report.PartitionText(p))
	p = status.Partition{Task: "all", State: status.StateRunning}
	require.Equal(t, "all jobs: running, 0 pages, 0 items [all]", report.PartitionText(p))
}
