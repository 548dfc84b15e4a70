package stress

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A world is the API of all jobs of a tree, while it runs. It is the transport and the
// clock of the run.
type world struct {
	suite *Suite
	plans map[string]*plan // by job
	apis  map[string]*api  // by partition
	count map[string]int   // partitions, by job
	order []*api
	build func(*world, *api, int)

	overflown *span
	scope     string // of the window that overflows: the values of the other variables
	dense     []row  // of the window that overflows

	clock
	requests int
	stopped  bool
	enough   bool // the model ends the run after some partitions, not the configuration
	obtained map[int]int
	results  []runtime.Result
	err      error
}

// A span is a window.
type span struct{ from, to float64 }

// The limits of the run of a tree. One that has more partitions is ended, and judged by
// those that have begun.
const (
	maxTreeRequests = 1500
	maxPartitions   = 40
)

// treeRows is the number of items in a list whose items are variables of other jobs, and
// maxTreePage the size of a page up to which a list of a tree has several.
const (
	treeRows    = 3
	maxTreePage = 100
)

// apiOf returns the API of a partition.
func (w *world) apiOf(p runtime.Partition) *api {
	id := p.Job.Set.Job.ID
	key := id + "\n" + p.Label()
	if a := w.apis[key]; a != nil {
		return a
	}
	n := w.plans[id].ofPartition()
	a := w.plans[id].api(n)
	a.job, a.offset = p.Job, 10_000*(len(w.order)+1)
	for i := range a.rows {
		a.rows[i].number += a.offset
	}
	a.truth = slices.Clone(a.rows)
	a.window, a.scope = windowOf(p), scopeOf(p)
	if p.Job.Splits() != nil {
		a.rows = a.rows[:min(n, a.capacity()-1)]
		a.truth = slices.Clone(a.rows)
	}
	w.count[id]++
	if w.build != nil {
		w.build(w, a, w.count[id])
	}
	if !a.paged {
		a.size = max(1, len(a.rows))
	}
	if p.Job.Set.Job.Silent {
		a.truth = nil
	}
	w.apis[key] = a
	w.order = append(w.order, a)
	return a
}

// ofPartition is the number of rows of a list that is one of several.
func (p *plan) ofPartition() int {
	switch {
	case p.parent:
		return treeRows
	case p.single && !p.paged:
		return 1
	case p.paged:
		return min(p.pageSize, maxTreePage) + 1
	}
	return 2
}

// windowOf returns the last window among the variables of a partition, or nil.
func windowOf(p runtime.Partition) *span {
	for _, s := range slices.Backward(p.Job.Sources) {
		if s.Window == nil {
			continue
		}
		members, _ := value.Members(p.Binding[s.Name])
		from, _ := members.Get("from")
		to, _ := members.Get("to")
		a, ok := numberOf(from)
		b, also := numberOf(to)
		if ok && also {
			return &span{a, b}
		}
	}
	return nil
}

// scopeOf writes the values of the variables that are no windows.
func scopeOf(p runtime.Partition) string {
	others := maps.Clone(p.Binding)
	for _, s := range p.Job.Sources {
		if s.Window != nil {
			delete(others, s.Name)
		}
	}
	return p.Job.Set.Job.ID + "\n" + runtime.Partition{Job: p.Job, Binding: others}.Label()
}

func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case time.Time:
		return float64(v.UnixMilli()), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// RoundTrip answers for the partition that a request is for.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := runtime.PartitionOf(r.Context())
	if w.requests++; w.requests > maxTreeRequests || !ok {
		w.stopped = true
		return nil, errEnough
	}
	return w.apiOf(p).respond(r, w.now)
}

func (w *world) run(ctx context.Context, root *compile.Job) {
	walk := w.suite.Walk(Environment{Transport: w, Clock: &w.clock})
	walk.Jobs = nil
	if walk.Limit == nil {
		walk.Limit, w.enough = partition.NewQuota(maxPartitions), true
	}
	w.results, w.err = walk.Run(ctx, root, func(_ context.Context, page *runtime.Page) error {
		for item := range page.Items.All() {
			w.obtained[treeRowOf(item)]++
		}
		return nil
	})
}

// treeRowOf returns the number of the row that an item was written from, or 0.
func treeRowOf(item []byte) int {
	if n := identityOf(item); n > 0 {
		return n
	}
	var n int
	var text string
	if json.Unmarshal(item, &n) == nil {
		return n
	}
	if json.Unmarshal(item, &text) == nil {
		return max(0, leadingNumber(strings.TrimPrefix(text, "k")))
	}
	return 0
}
