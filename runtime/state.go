package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A state is everything that a list remembers from page to page; as JSON it is the checkpoint of
// the list, and there is no second copy. The checkpoint of a tree of jobs is in package partition.
// The next request is saved as the values of its parts, without credentials. A [saved.Concealer]
// removes secrets from the values.
type state struct {
	Version int           `json:"version"`
	Done    bool          `json:"done,omitempty"` // whether the page was the last
	Result  Result        `json:"result"`
	Elapsed time.Duration `json:"elapsed"` // running time up to the checkpoint, in nanoseconds in JSON

	// Context is the context of rules. A checkpoint has the fields that survive a resume; see
	// [rules.Context].
	Context saved.Value[rules.Context]      `json:"context,omitzero"`
	Last    saved.Value[*rules.Past]        `json:"last,omitzero"`  // the last page, for prev of the next page
	Parts   saved.Value[compile.PartValues] `json:"parts,omitzero"` // parts of the next request

	Computed saved.Value[compile.ComputedValues] `json:"computed,omitzero"` // values of the job's own request
	Base     string                              `json:"base,omitempty"`    // URL of the last response, after redirects
	Due      time.Time                           `json:"due,omitzero"`      // time of the next request, if it has to wait
	Signs    saved.Value[*rules.Signs]           `json:"signs,omitzero"`    // of the last response, if an error response may end the list

	// KeptSoFar holds the values for the next run that are about the items of all pages, up to this page.
	KeptSoFar saved.Value[map[string]any] `json:"kept,omitzero"`

	Restarts int `json:"restarts,omitempty"`
	evidence.Memory
}

// checkpoint returns the checkpoint after the page that is being delivered, or nil for a page on
// which the run fails, since that page must be requested again.
func (r *listRun) checkpoint() (json.RawMessage, error) {
	page := r.current.delivery.Page
	if page.Outcome == rules.Failed {
		return nil, nil
	}
	r.state.Spelling.SumUp()
	s := r.state
	s.Version, s.Done = CheckpointVersion, page.Decision == trace.Stop
	s.Elapsed = r.Clock.Now().Sub(r.started)
	s.Result = r.resultWithPage()
	s.Result.Seconds = r.seconds()
	s.Base = withoutQuery(s.Base)
	if s.Done {
		s.Context, s.Last = saved.Value[rules.Context]{}, saved.Value[*rules.Past]{}
		s.Parts, s.Exchanges = saved.Value[compile.PartValues]{}, evidence.Recall{}
		s.KeptSoFar = saved.Value[map[string]any]{}
	} else if len(r.job.OnErrors) > 0 {
		s.Signs.Value = r.watcher.Signs()
	}
	checkpoint, err := json.Marshal(s)
	if err != nil {
		if e, ok := errors.AsType[*saved.Error](err); ok {
			err = e
		}
		return nil, r.pageError(failure.Config, err)
	}
	if checkpoint, err = saved.NewConcealer(r.Secrets, r.Redactor, nil).ConcealJSON(checkpoint); err != nil {
		return nil, r.pageError(failure.Config, err)
	}
	return checkpoint, nil
}

// resume continues a list after the page of a checkpoint. It reports false if the list had already
// ended.
func (r *listRun) resume(ctx context.Context, checkpoint json.RawMessage) (request requests.Request, more bool, err error) {
	from, err := Checkpoint(checkpoint).state(r.Concealer(ctx), r.job.ID())
	if err != nil {
		return request, false, UnusableCheckpoint(r.job.ID(), err)
	}
	if from.Done {
		r.state = from
		return request, false, nil
	}
	r.state.Computed = from.Computed
	if err := r.bind(); err != nil {
		return request, false, UnusableCheckpoint(r.job.ID(), err)
	}
	fresh := r.state.Context.Value // the values that come from the configuration
	r.state = from
	r.watcher.Resume(from.Signs.Value)
	c := r.pageContext()
	saved.RestoreUnsaved(c, fresh)
	c.Header, c.Link = fresh.Header, fresh.Link
	r.started = r.Clock.Now().Add(-from.Elapsed)
	if request, err = r.builder.Apply(from.Parts.Value, from.Base); err != nil {
		return request, false, UnusableCheckpoint(r.job.ID(), err)
	}
	return request, true, nil
}

// withoutQuery removes the user, the query and the fragment from an address. It is needed only to
// resolve relative addresses, and these parts may hold a credential.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// past returns the current page as the rules of later pages see it. It includes the body and the items only
// if a rule reads the page.
func (r *listRun) past(isRead bool) *rules.Past {
	c := r.pageContext()
	p := &rules.Past{Page: c.Page, Count: c.Count, Bytes: c.Bytes, Status: c.Status, Total: c.Total}
	if isRead {
		p.Body, p.Items, p.Sent = c.Body, c.Items, c.Sent
	}
	return p
}

// check returns an error for a state that no run of the job can have saved.
func (s *state) check(job string) error {
	if s.Result.Job != job {
		return fmt.Errorf("it belongs to job %q", s.Result.Job)
	}
	if s.Done && !s.Result.Outcome.IsFinal() {
		return fmt.Errorf("the outcome of job %q is %q", job, s.Result.Outcome)
	}
	if s.Result.Partitions != nil {
		return fmt.Errorf("the checkpoint of a single list of job %q holds a result for all partitions", job)
	}
	if err := s.Result.checkSums(); err != nil {
		return err
	}
	if s.Elapsed < 0 {
		return fmt.Errorf("the running time is %v", s.Elapsed)
	}
	c := s.Context.Value
	c.Prev = s.Last.Value
	if err := checkNumbers("", reflect.ValueOf(c), rules.ContextFields()); err != nil {
		return err
	}
	return checkCounts(count{"restarts", s.Restarts}, count{"items of a page", s.LargestPage})
}

// checkNumbers returns an error if a number in an object of the page context is out of range. Those that no checkpoint
// has are zero. The prefix comes before the names of the fields.
func checkNumbers(prefix string, object reflect.Value, fields []rules.ContextField) error {
	for _, f := range fields {
		switch v := reflect.Indirect(object.FieldByIndex(f.Index)); {
		case v.CanInt() && (v.Int() < 0 || v.Int() > maxCount), v.CanFloat() && (v.Float() < 0 || v.Float() > maxCount):
			return fmt.Errorf("%s%s is %v", prefix, f.Name, v)
		case v.Kind() == reflect.Struct:
			if err := checkNumbers(prefix+f.Name+".", v, f.Fields); err != nil {
				return err
			}
		}
	}
	return nil
}
