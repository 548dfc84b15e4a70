package stress

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// A treeBehaviour is one thing that an API may do to a job that runs more than once, or to
// the jobs for its items. It is a row of a table, like a [Behaviour].
type treeBehaviour struct {
	name, says string
	windows    bool                            // it needs windows
	children   bool                            // it needs jobs for the items of others
	paged      bool                            // it needs a parent with several pages
	build      func(w *world, a *api, nth int) // changes the API of a partition, which is the nth of its job, from 1
}

// treeBehaviours is the table of what an API may do to partitions.
var treeBehaviours = []treeBehaviour{
	{name: "partitions", says: "Every partition has a list of several items."},
	{name: "noPartitions", children: true, says: "The list of the parent is empty.", build: func(w *world, a *api, _ int) {
		if a.parent {
			a.rows, a.truth = nil, nil
		}
	}},
	{name: "emptyPartition", says: "The list of the second partition is empty.", build: second(func(a *api) { a.rows, a.truth = nil, nil })},
	{name: "partitionNotFound", says: "The requests of the second partition are answered with 404 Not Found.",
		build: second(func(a *api) { a.answers = append(a.answers, status(http.StatusNotFound, errorBody)) })},
	{name: "partitionForbidden", says: "The requests of the second partition are answered with 403 Forbidden.",
		build: second(func(a *api) { a.answers = append(a.answers, status(http.StatusForbidden, errorBody)) })},
	{name: "partitionFailsOnce", says: "The first request of the second partition is answered with 500 Internal Server Error.",
		build: second(func(a *api) {
			failed := false
			a.answers = append(a.answers, func(a *api, r *reply) {
				if !failed {
					failed = true
					status(http.StatusInternalServerError, errorBody)(a, r)
				}
			})
		})},
	{name: "parentTwice", children: true, paged: true, says: "The last item in the list of the parent is the first one again.",
		build: func(_ *world, a *api, _ int) {
			if a.canRepeat() {
				again := a.rows[0]
				a.rows = a.rowsOf(a.pageSize + 1)
				for i := range a.rows {
					a.rows[i].number += a.offset
				}
				a.truth = a.rows[:a.pageSize]
				again.at, again.key = a.rows[a.pageSize].at, a.rows[a.pageSize].key
				a.rows[a.pageSize] = again
			}
		}},
	{name: "parentWithoutPath", children: true, says: "An item of the parent lacks what the requests for it read.",
		build: func(_ *world, a *api, _ int) {
			if a.parent && len(a.rows) > 1 {
				a.bare = a.rows[1].number
			}
		}},
	{name: "windowOverflows", windows: true, says: "A window has more items than the API returns for one.", build: overflow},
}

// canRepeat reports whether the list is for other jobs and can have an item on two pages.
func (p *plan) canRepeat() bool {
	return p.parent && p.paged && p.pageSize > 1 && p.pageSize <= maxTreePage
}

// second changes the second partition of each job that has several.
func second(change func(*api)) func(*world, *api, int) {
	return func(_ *world, a *api, nth int) {
		if nth == 2 {
			change(a)
		}
	}
}

// overflow gives the second window three times as many items as the API returns for a
// window, wherever it is split.
func overflow(w *world, a *api, nth int) {
	if a.window == nil {
		return
	}
	if nth == 2 && w.overflown == nil {
		w.overflown, w.scope = a.window, a.scope
		n := 3 * a.capacity()
		a.rows = a.rowsOf(n)
		for i := range a.rows {
			a.rows[i].number += a.offset
			a.rows[i].at = a.window.from + (float64(i)+0.5)/float64(n)*(a.window.to-a.window.from)
		}
		w.dense = a.rows
		a.truth = a.rows
	} else if in := w.overflown; in != nil && w.scope == a.scope && a.window.from >= in.from && a.window.to <= in.to {
		a.rows = slices.DeleteFunc(slices.Clone(w.dense), func(r row) bool { return r.at < a.window.from || r.at >= a.window.to })
		a.truth = nil // it has been counted
	}
	a.total = len(a.rows)
	a.rows = a.rows[:min(len(a.rows), a.capacity())]
}

// capacity is how many items the API returns for a window.
func (a *api) capacity() int {
	most := a.pageSize
	if a.paged {
		most *= 2
	}
	for _, c := range a.job.Stops {
		if c.Rule.Outcome != rules.Split {
			continue
		}
		for _, v := range a.literals {
			if n, ok := v.(int); ok && n > 1 && n <= maxPageSize && strings.Contains(c.Rule.Source, fmt.Sprint(n)) {
				most = n
			}
		}
	}
	return most
}
