package runtime

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules"
)

// Page is one page of a job, and what was decided about it.
type Page struct {
	Record
	Items Items // in order, as the API sent them; none when the page was dropped

	checkpoint func() (json.RawMessage, error)
}

// Checkpoint is the position behind this page: kept together with its items, it
// lets another run go on there ([engine.WithResume]). It is JSON, holds no
// credentials, and is there until the sink returns; nil behind a page on which
// the run fails, since that page is to be asked for again.
func (p *Page) Checkpoint() (json.RawMessage, error) {
	if p.checkpoint == nil {
		return nil, &Error{Class: ClassInternal, Job: p.Job, Page: p.Page, Op: "checkpoint", Message: "the position behind a page is there until the sink returns"}
	}
	return p.checkpoint()
}

// Record is what the trace keeps of a page: one JSON object a page.
type Record struct {
	Job       string        `json:"job"`
	Page      int           `json:"page"` // from 1
	Request   Sent          `json:"request"`
	Status    int           `json:"status"`
	Count     int           `json:"count"` // items that the API sent
	Bytes     int           `json:"bytes"` // size as minified JSON
	Verdicts  []Verdict     `json:"verdicts"`
	Decision  string        `json:"decision"` // "continue" or "stop"
	StoppedBy []string      `json:"stoppedBy"`
	Outcome   rules.Outcome `json:"outcome,omitempty"` // when the decision is to stop
	Dropped   bool          `json:"dropped,omitempty"` // the items were not emitted
	Attempts  int           `json:"attempts,omitempty"`
	At        int64         `json:"at"`                 // when the request was made, in milliseconds after the job began
	Millis    int64         `json:"ms"`                 // from the request to the decoded page
	Findings  []Finding     `json:"findings,omitempty"` // of the audit, on the last page of a job
}

// Met lists the verdicts of the rules that were met.
func (r *Record) Met() []Verdict {
	var out []Verdict
	for _, v := range r.Verdicts {
		if v.Met {
			out = append(out, v)
		}
	}
	return out
}

// Sent is a request as it may be shown: without credentials.
type Sent struct {
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Body   json.RawMessage `json:"body,omitempty"` // a form's as a JSON string
}

// Verdict is what one rule says of one page.
type Verdict struct {
	Rule    string   `json:"rule"`
	Met     bool     `json:"met"`
	Because string   `json:"because,omitempty"` // the rule with the values that decided it
	Missing []string `json:"missing,omitempty"` // what it reads of the response that is not there
}

// Finding is a sign that a list which ended by rule may not be whole.
type Finding struct {
	ID      string `json:"id"`                // "audit.token"
	Message string `json:"message"`           // one sentence
	Because string `json:"because,omitempty"` // the sign, with the values that were read
}

// Stop and Continue are the decisions of a [Record].
const (
	Stop     = "stop"
	Continue = "continue"
)

// Result is how one job ended.
type Result struct {
	Job       string        `json:"job"`
	Outcome   rules.Outcome `json:"outcome"`
	Reason    string        `json:"reason"`    // id of the first rule that was met; "end" for a job that is not paged, "nextRequest" where the rules give no address to go to, "error"
	StoppedBy []string      `json:"stoppedBy"` // ids of all rules that were met
	Message   string        `json:"message"`   // one sentence
	Pages     int           `json:"pages"`     // pages obtained
	Items     int           `json:"items"`     // items emitted
	Bytes     int           `json:"bytes"`     // minified JSON obtained
	Seconds   float64       `json:"seconds"`

	// Kept is for the next run: what keep in the configuration gives after the
	// last page of a complete list, else what was kept before.
	Kept map[string]any `json:"kept,omitempty"`

	Findings []Finding `json:"findings,omitempty"` // of the audit at the end: signs that the list may not be whole
}
