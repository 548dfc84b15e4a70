package stress

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// simulationVersion is the version of a [Simulation] as JSON.
const simulationVersion = 1

// A Simulation is one run of a job against its model, page by page.
type Simulation struct {
	Version int            `json:"version"` // version of the JSON; keys may be added to a version
	Job     string         `json:"job"`
	Spec    string         `json:"spec"`              // the simulated behaviour, as given
	Model   []string       `json:"model,omitempty"`   // sentences that describe the API
	Unknown string         `json:"unknown,omitempty"` // reason why nothing was simulated
	Pages   []trace.Record `json:"pages"`             // records of the pages, including the page on which the job failed
	Result  *Row           `json:"result,omitempty"`  // nil if nothing was simulated

	Guards []string `json:"-"` // IDs of the rules that are guards
}

// Simulate runs the job of an id. The error is that of the context, or says that there is no
// such job.
func (s *Suite) Simulate(ctx context.Context, id string, spec Spec) (*Simulation, error) {
	i := slices.IndexFunc(s.Jobs, func(job *compile.Job) bool { return job.ID() == id })
	if i < 0 {
		return nil, fmt.Errorf("the configuration has no job %q", id)
	}
	job := s.Jobs[i]
	sim := &Simulation{Version: simulationVersion, Job: id, Spec: spec.text, Pages: []trace.Record{}}
	for _, stop := range job.Stops {
		if stop.Rule.Guard {
			sim.Guards = append(sim.Guards, stop.Rule.ID)
		}
	}
	m, err := s.model(ctx, job, nil)
	if err != nil {
		sim.Unknown = err.Error()
		return sim, ctx.Err()
	}
	m.unlimited, m.job = false, plain(job) // the run has the limits of the configuration
	sim.Model = m.sentences()
	if sim.Unknown = spec.all.missing(m.plan); sim.Unknown != "" {
		sim.Unknown = spec.text + " cannot happen: " + sim.Unknown
		return sim, nil
	}
	result, r := m.row(ctx, spec.all)
	sim.Pages, sim.Result = append(sim.Pages, r.pages...), &result
	if failed := r.end.FailedPage; failed != nil {
		sim.Pages = append(sim.Pages, *failed)
	}
	return sim, ctx.Err()
}

// respond answers a request at a time. The error says that the request cannot be read, or that
// the model cannot answer with a page that has all that the rules read.
func (a *api) respond(r *http.Request, now time.Time) (*http.Response, error) {
	q, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if a.query == nil {
		a.query = r.URL.Query()
	}
	if a.base == "" {
		address := *r.URL
		address.RawQuery = ""
		a.base = address.String()
	}
	reply := a.answer(q)
	body, err := a.body(reply)
	if err != nil {
		return nil, &failure.Error{Class: failure.Internal, Message: err.Error()}
	}
	header := a.header(reply)
	if reply.gzipped {
		body = halfCompressed(body)
		header.Set("Content-Encoding", "gzip")
	}
	response := transport.NewResponse(r, reply.status, header, body)
	response.Header.Set("Date", now.Format(http.TimeFormat))
	if reply.cut && len(body) > 0 {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), failing{}))
	}
	return response, nil
}

// halfCompressed compresses a body, and returns the first half of the result.
func halfCompressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()[:b.Len()/2]
}

// failing is the rest of a body whose connection has ended.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
