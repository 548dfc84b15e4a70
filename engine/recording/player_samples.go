package recording

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
)

// maxSample is the size, in bytes, of the largest body that is kept as a sample, and maxSamples the
// number of pages that are kept of a job.
const (
	maxSample  = 1 << 20
	maxSamples = 20
)

// jobSamples are the recorded pages of one partition of a job.
type jobSamples struct {
	partition string // label of the partition
	gap       bool   // whether the page after the last one is too large to be kept, or has no body in the recording
	missing   string // reason why the first page without a sample has none
	pages     []stress.Sample
	last      Exchange // exchange of the last page
}

// Samples runs a configuration against a recording and returns, by job, the first pages that the
// recording has of its first partition: 20 at most, up to the first page of more than 1 MiB. For a job
// without a recorded page it returns the reason. It does not matter how the run ends: if the recording
// has more pages of a list than the run requests, these follow.
func Samples(ctx context.Context, e *engine.Engine, r *Recording) stress.Recorded {
	player := r.NewPlayer(e.Redactor())
	player.samples = map[string]*jobSamples{}
	e = player.Play(e).With(engine.WithKeepGoing())
	_, err := e.Run(ctx, func(context.Context, *engine.Page) error { return nil })
	out := stress.Recorded{Pages: map[string][]stress.Sample{}, Missing: map[string]string{}}
	for _, job := range e.Jobs() {
		samples := player.samples[job]
		switch {
		case samples == nil && err != nil:
			out.Missing[job] = "its first request was not made: " + err.Error()
		case samples == nil:
			out.Missing[job] = "the pages of the other jobs lead to no request of it"
		case len(samples.pages) == 0:
			out.Missing[job] = samples.missing
		default:
			out.Pages[job] = append(samples.pages, player.following(samples)...)
		}
	}
	return out
}

// following returns the pages of a list without partitions that the recording has after the samples.
// Each request differs from the request before in one parameter.
func (p *Player) following(samples *jobSamples) (pages []stress.Sample) {
	last := samples.last
	for _, x := range p.exchanges {
		switch {
		case samples.gap || samples.partition != "" || len(samples.pages)+len(pages) >= maxSamples || len(x.ResponseBody) > maxSample:
			return pages
		case !x.Started.After(last.Started) || !x.differsInOneParam(last):
		case x.BodyMissing: // pages after a gap would be in the wrong place
			return pages
		case x.Error == "" && requests.IsPage(x.Status):
			pages, last = append(pages, p.sampleOf(x.Exchange, true)), x.Exchange
		}
	}
	return pages
}

// differsInOneParam reports whether a request without a body differs from another request only in the value of one
// parameter.
func (x Exchange) differsInOneParam(before Exchange) bool {
	earlier, err := url.Parse(before.URL)
	if err != nil {
		return false
	}
	later, err := url.Parse(x.URL)
	if err != nil || later.Host != earlier.Host || later.Path != earlier.Path || x.Method != before.Method ||
		len(x.Body)+len(before.Body) > 0 {
		return false
	}
	params, paramsBefore := later.Query(), earlier.Query()
	different := 0
	for name := range params {
		if params.Get(name) != paramsBefore.Get(name) {
			different++
		}
	}
	return different == 1 && len(params)-len(paramsBefore) <= 1 && len(paramsBefore) <= len(params)
}

// sampleOf returns an exchange as a sample. other says whether the rules do not make its request.
func (p *Player) sampleOf(x Exchange, other bool) stress.Sample {
	return stress.Sample{Request: p.show(x.Method, x.URL, x.Body), Other: other, Header: x.ResponseHeader, Body: x.ResponseBody}
}

// sample keeps the page that answers a request, or the reason why there is none. x is nil if the request
// was not recorded.
func (p *Player) sample(req *http.Request, shown string, x *Exchange) {
	partition, ok := runtime.PartitionOf(req.Context())
	if p.samples == nil || !ok {
		return
	}
	samples := p.samples[partition.Job.ID()]
	if samples == nil {
		samples = &jobSamples{partition: partition.Label()}
		p.samples[partition.Job.ID()] = samples
	}
	missing := ""
	switch {
	case samples.gap || samples.partition != partition.Label() || len(samples.pages) >= maxSamples:
		return
	case x == nil:
		missing = "it does not have the request " + shown
		if hint := p.nearest(req); hint != "" {
			missing += "; " + hint
		}
	case x.BodyMissing:
		samples.gap, missing = true, shown+": "+x.Error
	case x.Error != "":
		missing = shown + " failed: " + x.Error
	case !requests.IsPage(x.Status):
		missing = fmt.Sprintf("%s was answered with status %d", shown, x.Status)
	case len(x.ResponseBody) == 0:
		missing = shown + " was answered without a body"
	case len(x.ResponseBody) > maxSample: // pages after a gap would be in the wrong place
		samples.gap, missing = true, fmt.Sprintf("the response to %s is larger than %s", shown, wording.Size(maxSample))
	default:
		samples.pages, samples.last = append(samples.pages, p.sampleOf(*x, false)), *x
	}
	samples.missing = cmp.Or(samples.missing, missing)
}
