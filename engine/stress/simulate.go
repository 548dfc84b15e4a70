package stress

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/trace"
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

	watch func(ctx context.Context, transport func(http.RoundTripper) http.RoundTripper, page func(*runtime.Page))
}

// Watch runs the job once more. It passes the transport of the run to transport, whose result makes the
// requests, and each page with its items to page. It does nothing if nothing was simulated. A page on which
// the run fails is not passed: it is the last of Pages.
func (s *Simulation) Watch(ctx context.Context, transport func(http.RoundTripper) http.RoundTripper, page func(*runtime.Page)) {
	if s.watch != nil {
		s.watch(ctx, transport, page)
	}
}

// Simulate runs the job of an id. The error is the error of the context, or says that there is no such job.
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
	m, err := s.model(ctx, job, recording{})
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
	sim.watch = func(ctx context.Context, transport func(http.RoundTripper) http.RoundTripper, page func(*runtime.Page)) {
		copied, suite := *m, *m.suite
		suite.Walk = func(env Environment) partition.Walk {
			env.Transport = transport(env.Transport)
			return m.suite.Walk(env)
		}
		copied.suite, copied.watch = &suite, page
		copied.runWith(ctx, spec.all)
	}
	return sim, ctx.Err()
}

// A Spec describes the API of a [Simulation]: it serves pages of certain sizes, or has
// one or two behaviours.
type Spec struct {
	text string
	all  combination
}

// Limits of a list of page sizes.
const (
	maxSizes     = 50
	maxSimulated = 10_000
)

// ParseSpec reads the sizes of pages, as in "10,10,3", the name of a behaviour, or two names
// joined by "+". The error quotes the unknown name and suggests the nearest one.
func ParseSpec(text string) (Spec, error) {
	spec := Spec{text: text}
	if first := strings.TrimSpace(text); first == "" || strings.ContainsAny(first[:1], "0123456789-,") {
		sizes, err := parseSizes(text)
		if err != nil {
			return Spec{}, err
		}
		spec.all = combination{ofSizes(text, sizes)}
		return spec, nil
	}
	names := strings.Split(text, "+")
	if len(names) > 2 {
		return Spec{}, fmt.Errorf("want at most two behaviours, got %d", len(names))
	}
	for _, name := range names {
		b, err := find(strings.TrimSpace(name))
		if err != nil {
			return Spec{}, err
		}
		spec.all = append(spec.all, b)
	}
	if len(spec.all) == 2 && spec.all.contradicts() {
		return Spec{}, fmt.Errorf("%s and %s cannot happen at the same time", spec.all[0].Name, spec.all[1].Name)
	}
	return spec, nil
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	total := 0
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("want the sizes of pages, such as 10,10,3, or the name of a behaviour, got %q", text)
		}
		sizes, total = append(sizes, n), total+n
		if total > maxSimulated || len(sizes) > maxSizes {
			return nil, fmt.Errorf("want at most %d pages with %d items", maxSizes, maxSimulated)
		}
	}
	return sizes, nil
}

// ofSizes is the behaviour of an API that ignores the parameters of requests and answers with pages
// of these sizes, one after the other, and then with empty pages. A page that is smaller than
// the largest one was filtered by the API, unless it is the last.
func ofSizes(name string, sizes []int) *Behaviour {
	largest := max(1, slices.Max(sizes))
	last := len(sizes) - 1
	n := largest*last + sizes[last]
	begin := func(a *api) {
		a.size, a.chosen = largest, true
		a.hide(func(i int) bool { return i/largest < last && i%largest >= sizes[i/largest] })
	}
	words := lists.Map(sizes, strconv.Itoa)
	text := "The API answers with one page of " + wording.Counted(sizes[0], "item") + "."
	if last > 0 {
		text = fmt.Sprintf("The API answers with pages of %s and %s items.", strings.Join(words[:last], ", "), words[last])
	}
	return &Behaviour{
		Name: name, Says: text, items: exactly(n), begin: begin,
		reply: func(a *api, r *reply) {
			r.page(a, min((r.nth-1)*largest, len(a.rows)))
			if r.nth <= last {
				r.next = r.start + largest
			}
			if r.nth <= len(sizes) {
				r.status = http.StatusOK
			}
		},
	}
}
