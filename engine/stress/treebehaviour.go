package stress

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
)

// partitions is the group of behaviours that concern several partitions.
const partitions = "partitions"

// windowOverflows is the behaviour that splitting windows can fix.
const windowOverflows = "windowOverflows"

// treeBehaviours is the table of behaviours that concern partitions.
var treeBehaviours = []Behaviour{
	{Group: partitions, Name: "partitions", Says: "Every partition has a list of several items."},
	{Group: partitions, Name: "noPartitions", trees: (*tree).branches, Says: "The list of the parent is empty.",
		build: func(_ *treeRun, a *api, _ int) {
			if a.parent {
				a.rows, a.truth = nil, nil
			}
		}},
	{Group: partitions, Name: "emptyPartition", Says: "The list of the second partition is empty.",
		build: second(func(a *api) { a.rows, a.truth = nil, nil })},
	{Group: partitions, Name: "partitionNotFound", Says: "The requests of the second partition are answered with 404 Not Found.",
		build: second(answering(status(http.StatusNotFound, errorBody)))},
	{Group: partitions, Name: "partitionForbidden", Says: "The requests of the second partition are answered with 403 Forbidden.",
		build: second(answering(status(http.StatusForbidden, errorBody)))},
	{Group: partitions, Name: "partitionFailsOnce",
		Says: "The first request of the second partition is answered with 500 Internal Server Error.",
		build: second(answering(func(a *api, r *reply) {
			if len(a.exchanges) == 0 {
				status(http.StatusInternalServerError, errorBody)(a, r)
			}
		}))},
	{Group: partitions, Name: "parentTwice", trees: (*tree).repeats, Says: "The last item in the list of the parent is the first one again.",
		build: func(_ *treeRun, a *api, _ int) {
			if a.canRepeat() {
				again := a.rows[0]
				a.rows = a.newRows(a.pageSize + 1)
				a.truth = a.rows[:a.pageSize]
				again.at, again.key = a.rows[a.pageSize].at, a.rows[a.pageSize].key
				a.rows[a.pageSize] = again
			}
		}},
	{Group: partitions, Name: "parentWithoutPath", trees: (*tree).branches, Says: "An item of the parent lacks what the requests for it read.",
		build: func(_ *treeRun, a *api, _ int) {
			if a.parent && len(a.rows) > 1 {
				a.bare = a.rows[1].number
			}
		}},
	{Group: partitions, Name: windowOverflows, trees: (*tree).windowed, Says: "A window has more items than the API returns for one.",
		build: overflow},
}

// canRepeat reports whether the list is for other jobs and can have an item on two pages.
func (p *plan) canRepeat() bool {
	return p.parent && p.paged && p.pageSize > 1 && p.pageSize <= maxTreePage
}

// answering adds an effect to the answers of an API.
func answering(e effect) func(*api) {
	return func(a *api) { a.answers = append(a.answers, e) }
}

// second changes the second partition of each job that has several.
func second(change func(*api)) func(*treeRun, *api, int) {
	return func(_ *treeRun, a *api, nth int) {
		if nth == 2 {
			change(a)
		}
	}
}

// overflow gives the second window, and the windows that it is split into, three times as many items
// as the API returns for a window.
func overflow(t *treeRun, a *api, nth int) {
	if a.window == nil {
		return
	}
	if nth == 2 && t.overflown == nil {
		t.overflown, t.scope = a.window, a.scope
		n := 3 * a.capacity()
		a.rows = a.newRows(n)
		for i := range a.rows {
			a.rows[i].at = a.window.from + (float64(i)+0.5)/float64(n)*(a.window.to-a.window.from)
		}
		t.dense = a.rows
		a.truth = a.rows
	} else if in := t.overflown; in != nil && t.scope == a.scope && a.window.from >= in.from && a.window.to <= in.to {
		a.rows = slices.DeleteFunc(slices.Clone(t.dense), func(r row) bool { return r.at < a.window.from || r.at >= a.window.to })
		a.truth = nil // already counted
	}
	a.total = len(a.rows)
	a.rows = a.rows[:min(len(a.rows), a.capacity())]
}

// capacity returns the number of items that the API returns for a window.
func (a *api) capacity() int {
	most := a.pageSize
	if a.paged {
		most *= 2
	}
	for _, c := range a.job.Stops {
		if c.Rule.Outcome != rules.Split {
			continue
		}
		for _, v := range c.Literals() {
			if n, ok := v.(int); ok && n > 1 && n <= maxPageSize {
				most = n
			}
		}
	}
	return most
}
