package stress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// maxRequests is how many requests a run may make until it counts as endless.
const maxRequests = 120

// A trial is one run of a job against the model. It is the transport and the clock of
// the run.
type trial struct {
	suite   *Suite
	job     *compile.Job
	binding map[string]any
	api     *api

	clock
	requests int
	stopped  bool  // by the model, after too many requests
	failed   error // of the model: it cannot answer

	obtained map[int]int // how often each row was obtained, by its number
	pages    []trace.Record
	result   runtime.Result
	err      error
}

// errEnough ends a run that makes too many requests.
var errEnough = &failure.Error{Class: failure.Internal, Message: "the model has answered enough requests"}

func (t *trial) run(ctx context.Context) {
	t.clock, t.obtained = newClock(), map[int]int{}
	loop := t.suite.Walk(Environment{Transport: t, Clock: &t.clock})
	partition := runtime.Partition{Job: t.job, Binding: t.binding}
	t.result, t.err = loop.RunPartition(ctx, partition, func(_ context.Context, page *runtime.Page) error {
		t.pages = append(t.pages, page.Record)
		for item := range page.Items.All() {
			t.obtained[t.api.rowOf(item)]++
		}
		return nil
	})
}

// RoundTrip answers with a page of the model.
func (t *trial) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.requests++; t.requests > maxRequests {
		t.stopped = true
		return nil, errEnough
	}
	response, err := t.api.respond(r, t.now)
	if err != nil {
		t.failed = err
	}
	return response, err
}

// rowOf returns the number of the row that an item was written from, or 0.
func (p *plan) rowOf(item []byte) int {
	if len(p.keyPaths) == 1 && len(p.keyPaths[0]) == 0 {
		var text any
		if json.Unmarshal(item, &text) != nil {
			return 0
		}
		spelled, _ := value.Text(text)
		if n, ok := p.keys.read(spelled); ok {
			return n + 1
		}
		return 0
	}
	return identityOf(item)
}

// identityOf returns the number in the member of an item that tells which row it is, or 0.
func identityOf(item []byte) int {
	var known struct {
		Row int `json:"row"`
	}
	if json.Unmarshal(item, &known) != nil {
		return 0
	}
	return known.Row
}

// tally counts the rows of a list that were not obtained, and how often rows of it were
// obtained again.
func tally(truth []row, obtained map[int]int) (missing, duplicated int) {
	for _, r := range truth {
		switch n := obtained[r.number]; {
		case n == 0:
			missing++
		case n > 1:
			duplicated += n - 1
		}
	}
	return missing, duplicated
}

// losses counts the rows that were there during all of the run and that were not obtained,
// and how often rows, also those that were inserted later, were obtained again.
func (t *trial) losses() (missing, duplicated int) {
	missing, duplicated = tally(t.api.truth, t.obtained)
	there := map[int]bool{}
	for _, r := range t.api.truth {
		there[r.number] = true
	}
	for number, n := range t.obtained {
		if !there[number] && n > 1 {
			duplicated += n - 1
		}
	}
	return missing, duplicated
}

// good reports whether the run obtained the list and says so.
func (t *trial) good() bool {
	missing, duplicated := t.losses()
	return t.err == nil && t.failed == nil && missing == 0 && duplicated == 0 && t.result.Outcome == rules.Complete
}

// guarded reports whether only a guard ended the run.
func (t *trial) guarded() bool {
	if t.stopped || t.result.Outcome == rules.Guarded {
		return true
	}
	return slices.ContainsFunc(t.job.Stops, func(c *compile.Condition) bool { return c.Rule.Guard && c.Rule.ID == t.result.Reason })
}

// why says in one sentence how the run ended.
func (t *trial) why() string {
	switch {
	case t.failed != nil:
		return message(t.failed)
	case t.stopped:
		return fmt.Sprintf("it made more than %d requests", maxRequests)
	case t.err != nil:
		return message(t.err)
	}
	return t.result.Message
}

// message returns what an error says, without its place.
func message(err error) string {
	if e, ok := errors.AsType[*failure.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// findings returns the findings about the run.
func (t *trial) findings() []trace.Finding {
	if t.api.chosen {
		return t.result.Findings
	}
	return withoutCeiling(t.result.Findings)
}

// withoutCeiling leaves out that the number of items is one at which APIs cut lists off. The model has
// no such number: its lists have round lengths where the pages have, and others would have none.
func withoutCeiling(all []trace.Finding) []trace.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f trace.Finding) bool { return f.ID == "audit.ceiling" })
}
