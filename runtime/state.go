package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// checkpointVersion is the version of a [state] as JSON.
const checkpointVersion = 1

// A state is everything that a job remembers from page to page. It is the
// running state of a job and, as JSON, its checkpoint: there is no second copy.
// The next request is saved as the values of its parts, without credentials; a
// [concealer] keeps secrets out of the values.
type state struct {
	Version int           `json:"version"`
	Done    bool          `json:"done,omitempty"` // the page was the last
	Result  Result        `json:"result"`
	Elapsed time.Duration `json:"elapsed"` // running time up to the checkpoint, in nanoseconds

	// Context is what rules see. A checkpoint has the fields that survive a
	// resume, see [rules.Context].
	Context snapshot[rules.Context] `json:"context,omitzero"`
	Last    snapshot[*rules.Past]   `json:"last,omitzero"`  // the last page; prev of the next one
	Parts   snapshot[compile.Parts] `json:"parts,omitzero"` // of the next request

	Computed snapshot[compile.Parts] `json:"computed,omitzero"` // values of the job's own request
	Base     string                  `json:"base,omitempty"`    // URL of the last response, after redirects
	Due      time.Time               `json:"due,omitzero"`      // when the next request may be made, if it waits
	Hints    snapshot[*rules.Hints]  `json:"hints,omitzero"`    // of the last response, if an error response may end the list

	Restarts    int     `json:"restarts,omitempty"`
	Noticed     noticed `json:"noticed"`
	LargestPage int     `json:"largestPage,omitempty"` // items of the largest page

	Request      document.Digest   `json:"request"`      // the last one
	Content      document.Digest   `json:"content"`      // of the last response
	List         document.Digest   `json:"list"`         // of its items
	Spelling     document.Spelling `json:"spelling"`     // of its escapes
	FirstContent document.Digest   `json:"firstContent"` // of the first response
	Exchanges    exchanges         `json:"exchanges"`
}

// checkpoint returns the position after the page that is being delivered, or nil for
// a page on which the run fails, since that page has to be requested again.
func (r *run) checkpoint(page *Page) (json.RawMessage, error) {
	if page.Outcome == rules.Failed {
		return nil, nil
	}
	s := r.state
	s.Version, s.Done = checkpointVersion, page.Decision == Stop
	s.Elapsed = r.Clock.Now().Sub(r.started)
	s.Result.Items += page.obtained
	s.Result.Filtered += page.filtered
	s.Result.Seconds = r.seconds()
	s.Base = withoutQuery(s.Base)
	if s.Done {
		s.Context, s.Last, s.Parts, s.Exchanges = snapshot[rules.Context]{}, snapshot[*rules.Past]{}, snapshot[compile.Parts]{}, exchanges{}
	} else if len(r.job.OnErrors) > 0 {
		s.Hints.Value = r.hints(&r.Context.Value)
	}
	token, err := json.Marshal(s)
	if err != nil {
		if e := (*saveError)(nil); errors.As(err, &e) {
			err = e
		}
		return nil, r.fault(failure.Config, err)
	}
	if token, err = newConcealer(r.Secrets, r.Redactor).conceal(token); err != nil {
		return nil, r.fault(failure.Config, err)
	}
	return token, nil
}

// resume continues a job after the page of a checkpoint. It reports false if the job
// had ended.
func (r *run) resume(ctx context.Context, token json.RawMessage) (request rules.Request, more bool, err error) {
	saved, err := readState(r.concealer(ctx), r.Result.Job, token)
	if err != nil {
		return request, false, r.unusable(err)
	}
	if saved.Done {
		r.state = saved
		return request, false, nil
	}
	r.Computed = saved.Computed
	if err := r.bind(); err != nil {
		return request, false, r.unusable(err)
	}
	fresh := r.Context.Value // what comes from the configuration
	r.state = saved
	context := &r.Context.Value
	restoreUnsaved(context, fresh)
	context.Header = func(string) any { return nil }
	context.Link = func(string, ...string) any { return nil }
	r.started = r.Clock.Now().Add(-saved.Elapsed)
	if request, err = r.binding.Apply(saved.Parts.Value, saved.Base); err != nil {
		return request, false, r.unusable(err)
	}
	return request, true, nil
}

func (r *run) unusable(err error) error { return unusable(r.job.Set.Job.ID, err) }

func unusable(job string, err error) error {
	return &failure.Error{Class: failure.State, Job: job, Op: "resume", Err: err,
		Message: "the checkpoint cannot be used: " + err.Error(), Hint: "start from the beginning, without it"}
}

// Ended reports whether a checkpoint is that of the last page of a job.
func Ended(token json.RawMessage) bool {
	var s struct {
		Version int
		Done    bool
	}
	return json.Unmarshal(token, &s) == nil && s.Version == checkpointVersion && s.Done
}

// CheckVersion reports a checkpoint of a job that another version of the program
// wrote, or that is damaged.
func CheckVersion(job string, token json.RawMessage) error {
	if err := checkVersion(token); err != nil {
		return unusable(job, err)
	}
	return nil
}

func checkVersion(token json.RawMessage) error {
	var s struct{ Version int }
	err := json.Unmarshal(token, &s)
	if err == nil && s.Version != checkpointVersion {
		err = fmt.Errorf("it has version %d, this program reads version %d", s.Version, checkpointVersion)
	}
	return err
}

// withoutQuery drops the query and the user from an address: it is only needed
// to resolve relative addresses, and either may hold a credential.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// past returns the page in the context as the rules of later pages see it, under the
// name prev or first. It holds the body and the items only if a rule reads them.
func (r *run) past(name string) *rules.Past {
	c := &r.Context.Value
	p := &rules.Past{Page: c.Page, Count: c.Count, Bytes: c.Bytes, Status: c.Status, Total: c.Total}
	if r.job.Reads(name) {
		p.Body, p.Items, p.Sent = c.Body, c.Items, c.Sent
	}
	return p
}

// exchanges are the requests that were made, each hashed with its response.
type exchanges struct {
	latest []exchange
	pages  map[document.Digest]int // of all exchanges, once there are more than fewExchanges
}

// An exchange is a request with its response.
type exchange struct {
	digest document.Digest
	page   int // 0 if a checkpoint had it
}

const (
	// maxExchanges limits the exchanges in a checkpoint. A loop that is longer is found
	// one round after the resume.
	maxExchanges = 1024
	fewExchanges = 16 // that are found without a map: most lists have no more
)

// find returns the page of an exchange, and whether it was made.
func (e *exchanges) find(d document.Digest) (page int, known bool) {
	if e.pages != nil {
		page, known = e.pages[d]
		return page, known
	}
	for _, made := range e.latest {
		if made.digest == d {
			return made.page, true
		}
	}
	return 0, false
}

func (e *exchanges) add(d document.Digest, page int) {
	if _, known := e.find(d); known {
		return
	}
	if len(e.latest) >= 2*maxExchanges {
		e.latest = slices.Clone(e.latest[maxExchanges:])
	}
	e.latest = append(e.latest, exchange{d, page})
	switch {
	case e.pages != nil:
		e.pages[d] = page
	case len(e.latest) > fewExchanges:
		e.pages = map[document.Digest]int{}
		for _, made := range e.latest {
			e.pages[made.digest] = made.page
		}
	}
}

// MarshalJSON writes the latest exchanges in order, as one string.
func (e exchanges) MarshalJSON() ([]byte, error) {
	packed := make([]byte, 0, len(e.latest)*document.DigestBytes)
	for _, made := range e.latest {
		packed = made.digest.AppendBinary(packed)
	}
	return json.Marshal(packed)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *exchanges) UnmarshalJSON(text []byte) error {
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil {
		return err
	}
	if len(packed)%document.DigestBytes != 0 {
		return errors.New("the exchanges are not a list of digests")
	}
	*e = exchanges{}
	for one := range slices.Chunk(packed, document.DigestBytes) {
		e.add(document.DigestFromBytes([document.DigestBytes]byte(one)), 0)
	}
	return nil
}
