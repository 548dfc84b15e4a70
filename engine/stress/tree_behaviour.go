package stress

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
)

// partitions is the group of behaviours that concern several partitions.
const partitions = "partitions"

// coarseWindows is the advice for an API that reads the bounds of windows with a coarser unit.
const coarseWindows = "No setting finds this, but granularity of the windows avoids it: the unit of the API, " +
	`such as "granularity": "1d" for days. Items that come twice have the same identifiers.`

// ordinaryTree is the behaviour of an API with which every tree of jobs must be complete.
var ordinaryTree = &Behaviour{Group: partitions, Name: "partitions", Says: "Every partition has a list of several items."}

// treeBehaviours is the table of behaviours that concern partitions.
var treeBehaviours = []*Behaviour{
	ordinaryTree,
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
				repeated := a.rows[0]
				a.rows = a.newRows(a.pageSize + 1)
				a.truth = a.rows[:a.pageSize]
				repeated.at, repeated.key = a.rows[a.pageSize].at, a.rows[a.pageSize].key
				a.rows[a.pageSize] = repeated
			}
		}},
	{Group: partitions, Name: "parentWithoutPath", trees: (*tree).branches, Says: "An item of the parent lacks what the requests for it read.",
		build: func(_ *treeRun, a *api, _ int) {
			if a.parent && len(a.rows) > 1 {
				a.bare = a.rows[1].number
			}
		}},
	{Group: partitions, Name: "windowOverflows", trees: (*tree).windowed, Says: "A window has more items than the API returns for one.",
		build: overflow, splits: true, advice: "Set splitWhen to a rule that is met when a window has as many items " +
			"as the API returns for one, or make the windows smaller."},
	{Group: partitions, Name: "windowEndIncluded", trees: (*tree).windowed,
		Says:  "A window includes its end, so an item exactly at the border of two windows comes twice.",
		build: meeting(bounds), advice: coarseWindows},
	{Group: partitions, Name: "windowDates", trees: (*tree).timed,
		Says:  "The API reads only the dates of the bounds, and returns both days: the items of a day that two requests name come twice.",
		build: meeting(dates), advice: coarseWindows},
	{Group: partitions, Name: "windowTwice", trees: (*tree).asksTwice,
		Says:  "Two windows have the same request, as in the hour that comes twice when the clocks are put back: both get the same items.",
		build: askedTwice, advice: "No setting finds this. Send the bounds in UTC or with their offset from it, " +
			"as RFC 3339 does: two windows never have the same times then."},
}

// asksTwice reports whether two windows of a job have the same first request.
func (t *tree) asksTwice() bool {
	seen := map[string]bool{}
	return t.windowed() && slices.ContainsFunc(t.runWith(context.Background(), ordinaryTree).apis, func(a *api) bool {
		if a.window == nil || len(a.exchanges) == 0 {
			return false
		}
		key := a.scope + a.exchanges[0].request.key()
		earlier := seen[key]
		seen[key] = true
		return earlier
	})
}

// askedTwice gives a window the list of an earlier window with the same first request.
func askedTwice(t *treeRun, a *api, _ int) {
	if a.window == nil {
		return
	}
	a.effects = append(a.effects, func(a *api, r *reply) {
		if len(a.exchanges) > 0 {
			return
		}
		key := a.scope + a.asked.key()
		earlier := t.latest[key]
		if earlier == nil {
			t.latest[key] = a
			return
		}
		a.rows, a.truth = earlier.rows, nil // already counted
		r.page(a, r.start)
	})
}

// meeting gives a window the last item of the window before it, if their requests have a bound in common.
func meeting(common func() *regexp.Regexp) func(*treeRun, *api, int) {
	return func(t *treeRun, a *api, _ int) {
		if a.window == nil {
			return
		}
		before := t.latest[a.scope]
		t.latest[a.scope] = a
		a.effects = append(a.effects, func(a *api, r *reply) {
			if before == nil || len(a.exchanges) > 0 || len(before.truth) == 0 || !meet(before.exchanges[0].request, a.asked, common()) {
				return
			}
			duplicate := before.truth[len(before.truth)-1]
			duplicate.at, duplicate.key = a.rows[0].at-0.5, a.rows[0].key
			a.rows = slices.Insert(slices.Clone(a.rows), 0, duplicate)
			if !a.paged {
				a.size++
			}
			r.page(a, r.start)
		})
	}
}

// The bounds of windows in requests, as times or numbers, and as dates.
var (
	bounds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d{4}-\d{2}-\d{2}[\dT:.+Z-]*|\d+`) })
	dates  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d{4}-\d{2}-\d{2}`) })
)

// meet reports whether the values that differ between two requests have a bound in common.
func meet(before, after request, bound *regexp.Regexp) bool {
	var earlier []string
	for name, text := range before.values {
		if after.values[name] != text && !strings.Contains(name, wordOf) {
			earlier = append(earlier, bound.FindAllString(text, -1)...)
		}
	}
	return slices.ContainsFunc(after.names, func(name string) bool {
		return after.values[name] != before.values[name] && !strings.Contains(name, wordOf) &&
			slices.ContainsFunc(bound.FindAllString(after.values[name], -1), func(b string) bool { return slices.Contains(earlier, b) })
	})
}

// canRepeat reports whether the list is for other jobs and can have an item on two pages.
func (p *plan) canRepeat() bool {
	return p.parent && p.paged && p.pageSize > 1 && p.pageSize <= maxTreePage
}

// answering adds an effect to the answers of an API.
func answering(e effect) func(*api) {
	return func(a *api) { a.effects = append(a.effects, e) }
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
	size := a.pageSize
	if a.paged {
		size *= 2
	}
	for _, c := range a.job.Stops {
		if c.Rule.Outcome != rules.Split {
			continue
		}
		for _, v := range c.Literals() {
			if n, ok := v.(int); ok && n > 1 && n <= maxPageSize {
				size = n
			}
		}
	}
	return size
}
