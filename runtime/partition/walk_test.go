package partition

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rootsOf compiles jobs, and returns those without a parent.
func rootsOf(t *testing.T, jobs string) (roots []*compile.Job) {
	t.Helper()
	all := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum",
		"nextPageFlag": {"field": "more", "stopOn": false, "ifNotSet": false}}}, "config": {"jobs": [`+jobs+`]}}`)
	for _, job := range all {
		if job.Parent == nil {
			roots = append(roots, job)
		}
	}
	return roots
}

// An api answers each request in a way that depends on its address only. A window has as many
// items as its numbers, any other list one to three pages.
type api struct {
	refused string // part of the addresses that are refused; "": none
	large   bool   // pages have more items than a backlog holds in memory
}

func (a api) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	page, _ := strconv.Atoi(q.Get("page"))
	h := fnv.New32a()
	h.Write([]byte(r.URL.Path + q.Get("from")))
	body, status := fmt.Sprintf(`{"data": [{"id": %d}, {"id": %d%s}], "more": %t}`, 10*page, 10*page+1, a.more(), page < 1+int(h.Sum32()%3)), http.StatusOK
	if q.Has("from") {
		from, _ := strconv.Atoi(q.Get("from"))
		to, _ := strconv.Atoi(q.Get("to"))
		body = fmt.Sprintf(`{"data": [{"id": %d}], "total": %d, "more": false}`, from, to-from)
	}
	if a.refused != "" && strings.Contains(r.URL.String(), a.refused) {
		body, status = `{"error": "no"}`, http.StatusForbidden
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// more returns a member that makes a page large.
func (a api) more() string {
	if a.large {
		return `, "text": "` + strings.Repeat("x", backlogMemory/2) + `"`
	}
	return ""
}

func walkOf(a api) Walk {
	return Walk{Loop: runtime.Loop{
		Client: transport.New(transport.Options{
			Origin: &url.URL{Scheme: "https", Host: "api.test"}, Transport: a, Retry: transport.RetryPolicy{MaxAttempts: 1},
		}),
		Redactor: redact.New(nil),
	}}
}

// received is what a sink has received.
type received struct {
	pages       []string
	checkpoints []map[string]json.RawMessage // after each page, by root
	fails       int                          // the sink fails after so many pages; 0: never
}

var errBroken = errors.New("the sink is broken")

func (r *received) sink(_ context.Context, page *runtime.Page) error {
	binding, err := json.Marshal(page.Partition)
	if err != nil {
		return err
	}
	items := page.Items.Bytes()
	r.pages = append(r.pages, fmt.Sprintf("%s %s %d %s %t %d %.99s", page.Job, binding, page.Page, page.Decision, page.Skipped, len(items), items))
	checkpoint, err := page.Checkpoint()
	if err != nil {
		return err
	}
	checkpoints := map[string]json.RawMessage{}
	if n := len(r.checkpoints); n > 0 {
		checkpoints[page.Root] = r.checkpoints[n-1][page.Root]
	}
	if checkpoint != nil {
		checkpoints[page.Root] = bytes.Clone(checkpoint)
	}
	if r.checkpoints = append(r.checkpoints, checkpoints); len(r.pages) == r.fails {
		return errBroken
	}
	return nil
}

// trees are jobs with every kind of variable.
var trees = []struct {
	name, jobs string
	refused    string
	fails      bool // the run fails
}{
	{"a list", `{"id": "a", "endpoint": "a", "dataField": "data"}`, "", false},
	{"values", `{"id": "a", "endpoint": "a/{v}", "dataField": "data", "for": {"v": {"values": [1, 2, 3]}}}`, "", false},
	{"children", `{"id": "a", "endpoint": "a", "dataField": "data"},
		{"id": "b", "endpoint": "a/{i.id}/b", "dataField": "data", "for": {"i": {"items": "a", "when": "i.id % 2 == 0"}}},
		{"id": "c", "endpoint": "c/{i.id}/{j.id}", "dataField": "data", "for": {"j": {"items": "b"}}}`, "", false},
	{"a parent that is not written", `{"id": "a", "endpoint": "a", "dataField": "data", "emit": false},
		{"id": "b", "endpoint": "a/{i.id}/b", "dataField": "data", "for": {"i": {"items": "a"}}}`, "", false},
	{"windows", `{"id": "a", "endpoint": "a", "dataField": "data", "for": {"w": {"from": 0, "to": 10, "step": 3}},
		"params": {"from": {"expr": "w.from"}, "to": {"expr": "w.to"}}}`, "", false},
	{"windows that are split", `{"id": "a", "endpoint": "a/{v}", "dataField": "data",
		"for": {"v": {"values": [1, 2]}, "w": {"from": 0, "to": 20, "step": 9, "splitWhen": "body.total > 3"}},
		"params": {"from": {"expr": "w.from"}, "to": {"expr": "w.to"}}},
		{"id": "b", "endpoint": "b/{v}/{i.id}", "dataField": "data", "for": {"i": {"items": "a"}}}`, "", false},
	{"partitions that are skipped", `{"id": "a", "endpoint": "a/{v}", "dataField": "data", "onPartitionError": "skip", "for": {"v": {"values": [1, 2, 3]}}}`, "a/2", false},
	{"a partition that fails", `{"id": "a", "endpoint": "a", "dataField": "data"},
		{"id": "b", "endpoint": "a/{i.id}/b", "dataField": "data", "for": {"i": {"items": "a"}}}`, "a/11/b", true},
	{"values that are not a list", `{"id": "a", "endpoint": "a/{v}", "dataField": "data", "for": {"v": {"values": "1 / 2"}}}`, "", true},
}

// eachTree runs a test for every tree.
func eachTree(t *testing.T, test func(t *testing.T, walk Walk, root *compile.Job, fails bool)) {
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) { test(t, walkOf(api{refused: tree.refused}), rootsOf(t, tree.jobs)[0], tree.fails) })
	}
}

// without returns results without their running times.
func without(results []runtime.Result) string {
	for i := range results {
		results[i].Seconds = 0
	}
	text, _ := json.MarshalIndent(results, "", " ")
	return string(text)
}

func TestPagesHaveTheSameOrderWithConcurrency(t *testing.T) {
	eachTree(t, func(t *testing.T, walk Walk, root *compile.Job, fails bool) {
		var want received
		wantResults, err := walk.Run(t.Context(), root, want.sink)
		require.Equal(t, fails, err != nil, "%v", err)
		for range 5 {
			var got received
			walk.Slots = NewSlots(3)
			results, err := walk.Run(t.Context(), root, got.sink)
			require.Equal(t, fails, err != nil, "%v", err)
			require.Equal(t, want.pages, got.pages)
			require.Equal(t, without(wantResults), without(results))
		}
	})
}

func TestAWalkContinuesAfterEveryPage(t *testing.T) {
	eachTree(t, func(t *testing.T, walk Walk, root *compile.Job, fails bool) {
		var want received
		wantResults, _ := walk.Run(t.Context(), root, want.sink)
		for n := 1; n <= len(want.pages); n++ {
			if fixtures.Race && n%10 != 1 {
				continue
			}
			broken := received{fails: n}
			_, err := walk.Run(t.Context(), root, broken.sink)
			require.ErrorIs(t, err, errBroken)
			require.Equal(t, want.pages[:n], broken.pages)
			resumed, rest := walk, received{}
			resumed.Resume = broken.checkpoints[n-1]
			results, err := resumed.Run(t.Context(), root, rest.sink)
			require.Equal(t, fails, err != nil, "%v", err)
			if n < len(want.pages) || !fails { // the page on which a job failed comes again
				require.Equal(t, strings.Join(want.pages[n:], "\n"), strings.Join(rest.pages, "\n"), "after page %d", n)
			}
			if !fails {
				require.Equal(t, without(wantResults), without(results), "after page %d", n)
			}
		}
	})
}

func TestTasksFindWhatAWalkFinds(t *testing.T) {
	eachTree(t, func(t *testing.T, walk Walk, root *compile.Job, fails bool) {
		var want received
		wantResults, _ := walk.Run(t.Context(), root, want.sink)
		tasks, err := walk.Tasks(t.Context(), []*compile.Job{root}, time.Now())
		require.NoError(t, err)
		tally, pages := walk.NewTally(root), []string(nil)
		for queue := RootTasks([]*compile.Job{root}, nil); len(queue) > 0; {
			task := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			index, ok := RootOf(task.ID)
			require.True(t, ok)
			require.Zero(t, index)
			var position json.RawMessage
			for steps := 0; ; steps++ { // each run of a task ends after one step, as if the machine had failed
				var ended *Ending
				ending, err := tasks.Run(t.Context(), task, position, func(ctx context.Context, step *Step) error {
					if position != nil && ended != nil {
						return errBroken
					}
					if ended = step.Ending; step.Page != nil {
						var one received
						position := func() (json.RawMessage, error) { return step.Position, nil }
						require.NoError(t, runtime.Sink(one.sink).Pass(ctx, step.Page, position))
						pages = append(pages, one.pages...)
					}
					queue, position = append(queue, step.Children...), step.Position
					require.Equal(t, tasks.Label(ctx, task), step.Label)
					tally.Add(step)
					if ended == nil {
						return errBroken
					}
					return nil
				})
				if err == nil {
					require.Equal(t, ended, ending)
					break
				}
				if ending != nil && ending.Results[0].Skipped {
					tally.Add(&Step{Ending: ending})
					break
				}
				if !errors.Is(err, errBroken) {
					require.True(t, fails, "%v", err)
					require.Error(t, ending.Failure())
					return
				}
			}
		}
		require.False(t, fails)
		require.ElementsMatch(t, withoutSkipped(want.pages), withoutSkipped(pages))
		state, err := tally.Save()
		require.NoError(t, err)
		again := walk.NewTally(root)
		require.NoError(t, again.Restore(state))
		results := again.Conclude(nil)
		for i := range results { // of partitions in another order, the lists are in another order, too
			require.Equal(t, wantResults[i].Outcome, results[i].Outcome)
			require.Equal(t, wantResults[i].Pages, results[i].Pages)
			require.Equal(t, wantResults[i].Items, results[i].Items)
			require.Equal(t, wantResults[i].Partitions, results[i].Partitions)
		}
	})
}

// withoutSkipped leaves out the pages on which partitions failed: a step has them only after
// their partition was found.
func withoutSkipped(pages []string) (rest []string) {
	for _, page := range pages {
		if !strings.Contains(page, " stop true ") {
			rest = append(rest, page)
		}
	}
	return rest
}

func TestOneTaskRunsAllJobsWithALimit(t *testing.T) {
	roots := rootsOf(t, `{"id": "a", "endpoint": "a/{v}", "dataField": "data", "for": {"v": {"values": [1, 2, 3]}}}, {"id": "b", "endpoint": "b", "dataField": "data"}`)
	walk := walkOf(api{})
	walk.Quota = NewQuota(2)
	tasks, err := walk.Tasks(t.Context(), roots, time.Now())
	require.NoError(t, err)
	queue := RootTasks(roots, walk.Quota)
	require.Len(t, queue, 1)
	_, ok := RootOf(queue[0].ID)
	require.False(t, ok)
	require.Empty(t, tasks.Label(t.Context(), queue[0]))
	var position json.RawMessage
	var whole, stepped []string
	run := func(pages *[]string, breaks bool) (*Ending, error) {
		return tasks.Run(t.Context(), queue[0], position, func(_ context.Context, step *Step) error {
			if step.Page != nil {
				*pages = append(*pages, fmt.Sprint(step.Page.Job, step.Page.Partition, step.Page.Page))
			}
			if breaks && step.Ending == nil {
				position = step.Position
				return errBroken
			}
			return nil
		})
	}
	want, err := run(&whole, false)
	require.NoError(t, err)
	for {
		got, err := run(&stepped, true)
		if err == nil {
			require.Len(t, got.Results, len(want.Results))
			break
		}
		require.ErrorIs(t, err, errBroken)
	}
	require.Equal(t, whole, stepped)
	require.Equal(t, 2, want.Results[0].Partitions.Count)
	require.Equal(t, runtime.ReasonPartitionLimit, want.Results[0].Reason)
}

func TestPagesThatWaitAreInAFile(t *testing.T) {
	walk, root := walkOf(api{large: true}), rootsOf(t, `{"id": "a", "endpoint": "a/{v}", "dataField": "data", "for": {"v": {"values": [1, 2, 3, 4, 5, 6]}}}`)[0]
	var want, got received
	_, err := walk.Run(t.Context(), root, want.sink)
	require.NoError(t, err)
	walk.Slots = NewSlots(6)
	_, err = walk.Run(t.Context(), root, got.sink)
	require.NoError(t, err)
	require.Equal(t, want.pages, got.pages)
}

// openFiles counts the temporary files of this process that are open.
func openFiles(t *testing.T) (n int) {
	const folder = "/proc/self/fd"
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Skip("the open files of a process are not listed: ", err)
	}
	for _, f := range files {
		if name, _ := os.Readlink(filepath.Join(folder, f.Name())); strings.Contains(name, "stopwhen-") {
			n++
		}
	}
	return n
}

func TestAWalkThatFailsKeepsNoFiles(t *testing.T) {
	walk, root := walkOf(api{large: true}), rootsOf(t, `{"id": "a", "endpoint": "a/{v}", "dataField": "data", "for": {"v": {"values": [1, 2, 3, 4, 5, 6]}}}`)[0]
	walk.Slots = NewSlots(6)
	require.Zero(t, openFiles(t))
	_, err := walk.Run(t.Context(), root, func(context.Context, *runtime.Page) error {
		for deadline := time.Now().Add(time.Minute); openFiles(t) == 0 && time.Now().Before(deadline); {
			goruntime.Gosched()
		}
		require.NotZero(t, openFiles(t), "no task has run ahead")
		return errBroken
	})
	require.ErrorIs(t, err, errBroken)
	require.Zero(t, openFiles(t))
}

func TestACheckpointThatNoWalkHasSavedIsRefused(t *testing.T) {
	root := rootsOf(t, trees[2].jobs)[0]
	for name, c := range map[string]struct{ checkpoint, problem string }{
		"another version":   {`{"version": 99}`, "version 99"},
		"no position":       {`{"version": 1, "tree": {}}`, `the position of job "a" is missing`},
		"another kind":      {`{"version": 1, "tree": {"search": {"job": "a"}}}`, "is missing or malformed"},
		"an unknown result": {`{"version": 1, "results": [{"job": "z", "outcome": "complete"}], "tree": {}}`, `a result of job "z"`},
		"two results": {`{"version": 1, "results": [{"job": "a", "outcome": "complete"}, {"job": "a", "outcome": "complete"}]}`,
			`two results of job "a"`},
		"unknown items": {`{"version": 1, "missing": {"a": []}}`, `items for job "a"`},
		"an unknown path": {`{"version": 1, "missing": {"b": [["nothing"]]}}`,
			`a path of items that job "b" does not read`},
		"no JSON": {`{"version": 1, `, "the checkpoint cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			walk := walkOf(api{})
			walk.Resume = map[string]json.RawMessage{"a": json.RawMessage(c.checkpoint)}
			_, err := walk.Run(t.Context(), root, nil)
			require.ErrorIs(t, err, failure.ErrState)
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestATaskOfAnotherConfigurationFails(t *testing.T) {
	roots := rootsOf(t, trees[1].jobs)
	tasks, err := walkOf(api{}).Tasks(t.Context(), roots, time.Now())
	require.NoError(t, err)
	for _, task := range []Task{{ID: "0-v1", Job: "z"}, {ID: "0-v1", Job: "a", Level: 1, Binding: json.RawMessage(`[`)}} {
		_, err = tasks.Run(t.Context(), task, nil, nil)
		require.ErrorIs(t, err, failure.ErrState)
		ending := tasks.FailedEnding(t.Context(), task, err)
		require.Equal(t, rules.Failed, ending.Results[0].Outcome)
		require.ErrorIs(t, ending.Failure(), failure.ErrState)
		require.Empty(t, tasks.Label(t.Context(), task))
	}
}

func TestRootJobsTakeSlotsInTheirOrder(t *testing.T) {
	require.Nil(t, NewSlots(0))
	for _, c := range []struct {
		slots *Slots
		quota *Quota
		most  int32
	}{{NewSlots(0), nil, 1}, {NewSlots(1), nil, 1}, {NewSlots(3), nil, 3}, {NewSlots(3), NewQuota(5), 1}} {
		walk, roots := Walk{Slots: c.slots, Quota: c.quota}, make([]*compile.Job, 9)
		var running, most, begun atomic.Int32
		full := make(chan struct{})
		walk.RunAll(roots, func() bool { return begun.Load() >= 6 }, func(int) {
			begun.Add(1)
			n := running.Add(1)
			defer running.Add(-1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); {
				seen = most.Load()
			}
			if n == c.most && begun.Load() == c.most {
				close(full)
			}
			<-full // nobody ends before as many run as there are slots
		})
		require.Equal(t, c.most, most.Load())
		require.GreaterOrEqual(t, begun.Load(), int32(6))
		require.Less(t, begun.Load(), int32(9))
		require.Zero(t, running.Load())
		if c.slots != nil {
			require.Empty(t, c.slots.taken)
		}
	}
}

func TestAQuotaIsSpentAndGivenBack(t *testing.T) {
	var unlimited *Quota
	require.True(t, unlimited.take())
	require.Nil(t, NewQuota(0))
	q := NewQuota(3)
	q.spend(1)
	require.True(t, q.take())
	require.True(t, q.take())
	require.False(t, q.take())
	q.giveBack()
	require.True(t, q.take())
	q.spend(5)
	require.False(t, q.take())
}
