package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// lastPage returns the first and last page of a partition, with three items.
func lastPage(job string, values map[string]any) engine.Record {
	return engine.Record{
		Job: job, Page: 1, Partition: values, Request: trace.Request{Method: "GET", URL: "https://api.test/" + job},
		Status: 200, Count: 3, Bytes: 30,
		Verdicts: []engine.Verdict{{Rule: "last", Met: true, Because: "body.last(true) == true"}}, Decision: trace.Stop,
		StoppedBy: []string{"last"}, Outcome: rules.Complete, Attempts: 1, At: 1, Millis: 5,
	}
}

// failedPage returns a page of the job lines whose request failed.
func failedPage(values map[string]any) engine.Record {
	p := lastPage("lines", values)
	p.Status, p.Count, p.Bytes, p.Verdicts, p.StoppedBy, p.Outcome = 403, 0, 0, []engine.Verdict{}, []string{"error"}, rules.Failed
	p.Error = &trace.Fault{Class: "api", Message: "status 403 Forbidden", Hint: "check api.authentication"}
	return p
}

func traceOf(t *testing.T, pages ...engine.Record) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, p := range pages {
		require.NoError(t, enc.Encode(p))
	}
	return b.String()
}

type values = map[string]any

// unequal has a partition for each way to end; the job is that of [lastPage].
func unequal() []engine.Record {
	pages := []engine.Record{lastPage("lines", values{"team": "a"})}
	skipped := failedPage(values{"team": "b"})
	skipped.Skipped = true
	limited := lastPage("lines", values{"team": "c"})
	limited.Outcome = rules.Limited
	suspect := lastPage("lines", values{"team": "d"})
	suspect.Findings = []engine.Finding{{ID: "audit.total", Message: "total is 5, but the number of items read is 3"}}
	first := lastPage("lines", values{"team": "e"})
	first.Decision, first.StoppedBy, first.Outcome = trace.Continue, []string{}, ""
	last := lastPage("lines", values{"team": "e"})
	last.Page, last.At = 2, 10
	return append(pages, skipped, limited, suspect, first, last)
}

func TestPartitionsThatNeedAttentionComeFirst(t *testing.T) {
	run := read(t, traceOf(t, unequal()...))
	require.Len(t, run.Jobs, 1)
	job := run.Jobs[0]
	require.Equal(t, 5, job.Count())
	require.Equal(t, "partial", job.Outcome())
	require.Equal(t, 15, job.Items)
	var order []string
	for _, p := range job.Partitions {
		order = append(order, p.Label+" "+p.Status())
	}
	require.Equal(t, []string{"team=b skipped", "team=c limited", "team=d may be incomplete", "team=a complete", "team=e complete"}, order)

	shown := text(t, run)
	require.Contains(t, shown, `job lines: 5 partitions: 1 skipped, 1 limited, 1 may be incomplete, 2 complete
    5 pages, 6 requests, 15 items, 150 B in 39 ms

  partition  pages  items  ended              how
  team=b     0      0      skipped            failed on page 1, and was skipped: status 403 Forbidden
  team=c     1      3      limited            stopped on page 1 by last
  team=d     1      3      may be incomplete  stopped on page 1 by last; may be incomplete: total is 5, but the number of items read is 3 (audit.total)
  team=a     1      3      complete           stopped on page 1 by last
  team=e     2      6      complete           stopped on page 2 by last

job lines (team=b): failed on page 1, and was skipped
    error of class api: status 403 Forbidden (check api.authentication)
`)
	page := html(t, run)
	require.Contains(t, page, `<h2 id="job-1">Job lines <span class="outcome suspect">partial</span>`)
	require.Contains(t, page, `<td><a href="#job-1-1"><code>team=b</code></a></td><td><span class="ended failed">skipped</span></td>`)
	require.Equal(t, 3, strings.Count(page, "<details open>"), "those that need attention")
}

func TestAPartitionThatFailedIsTheOutcomeOfTheJob(t *testing.T) {
	run := read(t, traceOf(t, append(unequal(), failedPage(values{"team": "f"}))...))
	require.Equal(t, "failed", run.Jobs[0].Outcome())
	require.Contains(t, html(t, run), `<h2 id="job-1">Job lines <span class="outcome failed">failed</span></h2>`)
}

// TestPartitionsWithTheSameValuesAreTwo also has one of two pages, of which the first was
// requested twice: the run failed on it and was resumed.
func TestPartitionsWithTheSameValuesAreTwo(t *testing.T) {
	again := failedPage(values{"n": 7})
	run := read(t, traceOf(t, lastPage("lines", values{"n": 7}), again, lastPage("lines", values{"n": 7})))
	require.Equal(t, 2, run.Jobs[0].Count())
	require.Len(t, run.Jobs[0].Partitions[1].Pages, 2)
}

// TestAChildNamesThePartitionOfItsParentFirst interleaves pages as a tree does.
func TestAChildNamesThePartitionOfItsParentFirst(t *testing.T) {
	window := values{"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"}
	first := lastPage("orders", values{"month": window})
	first.Decision, first.StoppedBy, first.Outcome = trace.Continue, []string{}, ""
	second := lastPage("orders", values{"month": window})
	second.Page = 2
	run := read(t, traceOf(t, first,
		lastPage("lines", values{"month": window, "a": values{"id": json.Number("9007199254740993")}}),
		second,
		lastPage("lines", values{"month": window, "a": values{"id": 2}})))
	require.Equal(t, 1, run.Jobs[0].Count())
	require.Equal(t, "month=2026-01-01 to 2026-02-01", run.Jobs[0].Partitions[0].Label)
	require.Equal(t, 2, run.Jobs[0].Fetched)
	require.Equal(t, "month=2026-01-01 to 2026-02-01, a.id=9007199254740993", run.Jobs[1].Partitions[0].Label)
	require.Equal(t, "month=2026-01-01 to 2026-02-01, a.id=2", run.Jobs[1].Partitions[1].Label)
}

func TestItemsThatTheFilterLeftOutAreNotCounted(t *testing.T) {
	page := lastPage("lines", nil)
	page.Written = new(int)
	require.Zero(t, read(t, traceOf(t, page)).Jobs[0].Items)
}

// manyPartitions returns the trace of a run with n partitions of two pages each, of which
// the last failed. It is written while it is read.
func manyPartitions(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		enc := json.NewEncoder(w)
		for i := range n {
			page := lastPage("lines", values{"order": values{"id": i}})
			page.Decision, page.StoppedBy, page.Outcome = trace.Continue, []string{}, ""
			_ = enc.Encode(page)
			page = lastPage("lines", values{"order": values{"id": i}})
			if i == n-1 {
				page = failedPage(values{"order": values{"id": i}})
			}
			page.Page = 2
			_ = enc.Encode(page)
		}
		_ = w.Close()
	}()
	return r
}

// TestAReportIsBoundedWhateverTheNumberOfPartitions reads a trace of 20,000 partitions and
// one with twice as many: neither the memory nor the report grows.
func TestAReportIsBoundedWhateverTheNumberOfPartitions(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	sizes, heaps := [2]int{}, [2]int{}
	for i, n := range []int{20_000, 40_000} {
		run, err := report.Read("trace.json", manyPartitions(n))
		require.NoError(t, err)
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		heaps[i] = int(m.HeapAlloc)
		job := run.Jobs[0]
		require.Equal(t, n, job.Count())
		require.Len(t, job.Partitions, 500)
		require.Equal(t, fmt.Sprintf("order.id=%d", n-1), job.Partitions[0].Label, "the one that failed")
		page, shown := html(t, run), text(t, run)
		left := fmt.Sprintf("%d more partitions without a row here (%d complete); the trace (trace.json) has all pages", n-500, n-500)
		require.Contains(t, page, left)
		require.Contains(t, shown, left)
		require.Contains(t, shown, "Only the pages of 10 partitions are shown, incomplete ones first; the trace (trace.json) has all pages.")
		require.Equal(t, 10, strings.Count(page, "<svg "))
		sizes[i] = len(page)
		goruntime.KeepAlive(run)
	}
	require.Less(t, sizes[1], 512<<10)
	require.InDelta(t, sizes[0], sizes[1], 100, "in the digits of the numbers")
	require.InDelta(t, heaps[0], heaps[1], 2<<20)
}

// TestOnePartitionOfManyPagesIsShown has partitions with more pages than all of them may
// show.
func TestOnePartitionOfManyPagesIsShown(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, team := range []string{"a", "b", "c"} {
		for n := range 6000 {
			page := lastPage("lines", values{"team": team})
			page.Page = n + 1
			if n < 5999 {
				page.Decision, page.StoppedBy, page.Outcome = trace.Continue, []string{}, ""
			}
			require.NoError(t, enc.Encode(page))
		}
	}
	job := read(t, b.String()).Jobs[0]
	require.Len(t, job.Partitions[0].Pages, 6000)
	require.Nil(t, job.Partitions[1].Pages)
	require.Equal(t, 6000, job.Partitions[1].Fetched)
}
