package stress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
)

// maxPlans is the maximum number of plans that are tried. Once a doubtful plan is found, fewer are
// tried: at most maxDoubtfulPlans, whose models serve at most maxDoubtfulRows rows.
const (
	maxPlans         = 3000
	maxDoubtfulPlans = 300
	maxDoubtfulRows  = 500_000
)

// A search looks for the plan of a job.
type search struct {
	*subject
	rec    recording
	tried  int
	served int // number of rows of the lists that were tried

	doubtful *plan // the best plan that obtains the list, although something speaks against it; may be nil
	doubt    int   // what speaks against it; see [plan.doubt]

	best    *run   // the run that obtained the most rows without obtaining the list
	misread string // how the first plan that obtains the list loses items of another list
	stuck   *plan  // the first plan in which requests do not say which page they are for although the recording shows that they must
}

// planOf returns the first conceivable plan with which the job obtains a list of several pages,
// and exactly this list.
func (s *subject) planOf(ctx context.Context, rec recording) (*plan, error) {
	surface, f := s.job.Analysis().Surface(), search{subject: s, rec: rec}
	for p := range conceivable(s.job, surface, rec) {
		if !p.paged && (f.misread != "" || f.best.cutShort() || len(rec.pages) > 1) || !f.goesOn(ctx, p) {
			break
		}
		p.signals = append(p.signals, rec.signals(surface)...)
		p.recording = rec.withoutValues(p.signals)
		p.positional = slices.ContainsFunc(p.signals, func(s *signal) bool {
			return s.meaning.kind == pointer && rec.positional(s.ResponseValue)
		})
		r := s.run(ctx, p.api(p.ordinaryLength()), maxRequests)
		if r.end.Outcome == rules.Limited { // another plan does not raise the limit
			return nil, noModel(r, "", nil, rec)
		}
		if f.certain(ctx, p, r) {
			return p, nil
		}
	}
	if f.doubtful != nil {
		return f.doubtful, nil
	}
	for _, place := range surface.Values {
		if len(likely(place, surface, rec)) == 0 {
			return nil, fmt.Errorf("%s contradicts every meaning that %s could have: %s. Check the rules that read it",
				rec.name, place, rec.shows(place))
		}
	}
	if f.stuck != nil {
		return nil, rec.refuses(f.stuck)
	}
	return nil, noModel(f.best, f.misread, unclear(surface, rec), rec)
}

// refuses returns the error of a plan in which requests do not say which page they are for.
func (r recording) refuses(p *plan) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s contradicts the model: %s, but no part of the requests says which page they are for", r.name, r.standsStill())
	for _, s := range p.signals {
		if s.Sent || s.Address {
			fmt.Fprintf(&text, "; %s is %s", s.ResponseValue, s.meaning.says)
		}
	}
	text.WriteString(". Let the next request read a value that differs from page to page")
	return errors.New(text.String())
}

// goesOn reports whether a plan is tried.
func (f *search) goesOn(ctx context.Context, p *plan) bool {
	f.tried++
	f.served += p.ordinaryLength()
	enough := f.doubtful != nil && (f.tried > maxDoubtfulPlans || f.served > maxDoubtfulRows)
	return f.tried <= maxPlans && ctx.Err() == nil && !enough
}

// certain reports whether the job obtains the list with a plan, as a run shows, and nothing speaks
// against the plan. Otherwise it remembers the plan if it is better than the plans before it.
func (f *search) certain(ctx context.Context, p *plan, r *run) bool {
	if !r.good() {
		if f.best == nil || len(r.obtained) > len(f.best.obtained) {
			f.best = r
		}
		return false
	}
	p.base = r.apis[0].base
	if p.paged && r.requests > 1 {
		f.findLocator(ctx, p, r)
	}
	if p.paged && p.locator.kind == unknown && f.rec.standsStill() != "" {
		f.stuck = cmp.Or(f.stuck, p)
		return false
	}
	doubt := p.doubt(r)
	if f.doubtful != nil && doubt >= f.doubt {
		return false
	}
	lengths, lost := f.lengths(ctx, p, r)
	if lost != "" {
		f.misread = cmp.Or(f.misread, lost)
		return false
	}
	doubt += lengths
	if f.doubtful == nil || doubt < f.doubt {
		f.doubtful, f.doubt = p, doubt
	}
	return doubt == 0
}

// cutShort reports whether a rule ended the list too early, and not the lack of a next request.
func (r *run) cutShort() bool {
	return r != nil && r.apis[0].job.Paged() && !polls(r.apis[0].job) && r.err == nil &&
		!slices.Contains([]string{runtime.ReasonNextRequest, runtime.ReasonEnd}, r.end.Reason)
}

// findLocator finds how a request says which page it is for, given a run in which the pages were
// answered in their order. If no locator obtains the list, the plan has no locator.
func (s *subject) findLocator(ctx context.Context, p *plan, r *run) {
	for _, l := range r.apis[0].locators() {
		p.locator = l
		if s.run(ctx, p.api(p.ordinaryLength()), maxRequests).good() {
			return
		}
	}
	p.locator = memoryLocator
}
