package stress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// The maximum number of requests of a run, until it counts as endless: of a run that looks for a
// model, and of a run that is judged.
const (
	maxRequests       = 120
	maxJudgedRequests = 1000
)

// endlessPages is the number of pages after which the guard that ends every list ends an endless one.
// It is far less than the guard's own number.
const endlessPages = 200

// A run is one run of a job, or of a tree of jobs, against the model. It is the transport and
// the clock of the run.
type run struct {
	transport.VirtualClock
	apis  []*api                       // models that have answered
	apiOf func(runtime.Partition) *api // returns the model that answers a partition
	rowOf func(item any) int           // returns the number of the row of an item, or 0
	most  int                          // maximum number of requests

	requests int
	stopped  bool  // whether the model stopped the run after too many requests
	failed   error // error of a model that cannot answer

	obtained map[int]int    // number of times each row was obtained, by its number
	rows     map[string]int // numbers of rows by their items
	pages    []trace.Record
	results  []runtime.Result // results of all jobs
	end      runtime.Result   // result that shows how the run ended
	err      error
}

// errEnough ends a run that makes too many requests.
var errEnough = &failure.Error{Class: failure.Internal, Message: "the model has answered enough requests"}

// newRun returns a run whose time is after all times in the lists of the model.
func newRun(most int) *run {
	clock := transport.VirtualClock{Time: keyStart.AddDate(1, 0, 0)}
	return &run{VirtualClock: clock, most: most, obtained: map[int]int{}, rows: map[string]int{}}
}

// RoundTrip answers with a page of the model.
func (r *run) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.requests++; r.requests > r.most {
		r.stopped = true
		return nil, errEnough
	}
	of, _ := runtime.PartitionOf(request.Context())
	response, err := r.apiOf(of).respond(request, r.Now())
	if err != nil {
		r.failed = err
	}
	return response, err
}

func (r *run) receive(_ context.Context, page *runtime.Page) error {
	r.pages = append(r.pages, page.Record)
	for text := range page.Items.All() {
		row, known := r.rows[string(text)]
		if !known {
			item, _ := document.Decode(text)
			row = r.rowOf(item)
			r.rows[string(text)] = row
		}
		r.obtained[row]++
	}
	return nil
}

// rowOf returns the number of the row that an item was written from, or 0.
func (p *plan) rowOf(item any) int {
	if !p.scalar() {
		return identityOf(item)
	}
	text, _ := value.Text(item)
	n, ok := p.keys.read(text)
	if !ok {
		return 0
	}
	return n + 1
}

// treeRowOf is rowOf for the lists of a tree of jobs, whose items may be values that other jobs
// read.
func treeRowOf(item any) int {
	if n := identityOf(item); n > 0 {
		return n
	}
	text, _ := value.Text(item)
	return max(0, leadingNumber(strings.TrimPrefix(text, "k")))
}

// identityOf returns the number in the member of an item that tells which row it is, or 0.
func identityOf(item any) int {
	n, _ := at(item, []string{identity}).(int)
	return n
}

// tally counts the rows that the list had during all of the run, how many of these were not obtained,
// and how often any row, including rows that were inserted later, was obtained again.
func (r *run) tally() (served, missing, duplicated int) {
	for _, a := range r.apis {
		served += len(a.truth)
		for _, row := range a.truth {
			if r.obtained[row.number] == 0 {
				missing++
			}
		}
	}
	for _, n := range r.obtained {
		duplicated += n - 1
	}
	return served, missing, duplicated
}

// good reports whether the run obtained the list and says so.
func (r *run) good() bool {
	_, missing, duplicated := r.tally()
	return r.err == nil && r.failed == nil && missing == 0 && duplicated == 0 && r.end.Outcome == rules.Complete
}

// guarded reports whether only a guard ended the run.
func (r *run) guarded() bool {
	guards := func(a *api) bool {
		return slices.ContainsFunc(a.job.Stops, func(c *compile.Trigger) bool { return c.Rule.Guard && c.Rule.ID == r.end.Reason })
	}
	return r.stopped || slices.ContainsFunc(r.apis, guards) ||
		slices.ContainsFunc(r.results, func(one runtime.Result) bool { return one.Outcome == rules.Guarded })
}

// why says in one sentence how the run ended.
func (r *run) why() string {
	switch {
	case r.failed != nil:
		return message(r.failed)
	case r.stopped:
		return fmt.Sprintf("it made more than %d requests, and only a guard would end it", r.most)
	case r.err != nil:
		return message(r.err)
	}
	return r.end.Message
}

// message returns the text of an error, without its place.
func message(err error) string {
	if e, ok := errors.AsType[*failure.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// findings returns the IDs of the findings about the run. It omits a suspiciously round number of
// items unless the user has chosen the number, because the model makes round lists of round pages.
func (r *run) findings() (ids []string) {
	for _, result := range r.results {
		for _, f := range result.Findings {
			if f.ID != trace.FindingCeiling || r.apis[0].chosen {
				ids = append(ids, f.ID)
			}
		}
	}
	return ids
}

// refused returns the error of a run that does not accept how a list ended, or nil.
func (r *run) refused() error {
	if !slices.ContainsFunc(r.results, func(one runtime.Result) bool { return one.Refused }) {
		return nil
	}
	return &failure.Error{Class: failure.Suspect}
}
