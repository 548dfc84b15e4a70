package stress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// What speaks against a plan, with its weight. A plan without doubts is the best.
const (
	doubtIncomplete = 16 // a run reports that a list of another length is incomplete
	doubtGuarded    = 8  // only a guard ended the run
	doubtFindings   = 4  // the run has findings
	doubtUnlikely   = 4  // the next request depends on a value with the name of another meaning, or several were beyond the end
	doubtOnePage    = 2  // a job with paging made one request
	doubtMarked     = 2  // the last page has a token, too, although an error status or a repeated page ends the list
	doubtUnlocated  = 1  // requests do not say which page they are for
	doubtFailed     = 1  // a rule of the configuration fails a list of another length
	doubtIdle       = 1  // a rule that reads a value ends no list
)

// lengths tests a plan on lists of other lengths. first is the run that has obtained the ordinary list with
// the plan. If the job loses items of a list, the plan is wrong, and lost says how. Otherwise lengths returns
// a number of doubts: there is a doubt if a run reports that its list is incomplete, and if a rule that reads
// a value ends no list.
func (s *subject) lengths(ctx context.Context, p *plan, first *run) (doubt int, lost string) {
	stoppedBy, m := first.end.StoppedBy, &modelledJob{subject: *s, plan: p}
	for _, b := range behaviours {
		alone := combination{b}
		if b == ordinary || b.Group != lengthGroup || alone.missing(p) != "" {
			continue
		}
		r := m.runWith(ctx, alone)
		served, missing, duplicated := r.tally()
		switch {
		case r.failedByRule(): // as the user wants it
			doubt = max(doubt, doubtFailed)
			continue
		case missing+duplicated > 0:
			return 0, fmt.Sprintf("%d of %d items are obtained once in the row %s", served-missing-duplicated, served, b.Name)
		case !r.good():
			doubt = doubtIncomplete
		}
		if r.requests > 1 {
			stoppedBy = append(stoppedBy, r.end.StoppedBy...)
		}
	}
	if p.idle(s.job, stoppedBy) {
		doubt += doubtIdle
	}
	return doubt, ""
}

// failedByRule reports whether a stopping rule of the configuration, and not of the method, failed the run.
func (r *run) failedByRule() bool {
	return r.end.Outcome == rules.Failed && slices.ContainsFunc(r.apis[0].job.Stops, func(c *compile.Trigger) bool {
		return c.Rule.ID == r.end.Reason && c.Rule.Origin.IsConfig()
	})
}

// beyondEnd counts the requests for pages after the end of the list.
func (a *api) beyondEnd() (n int) {
	for _, e := range a.exchanges {
		if e.start >= len(a.rows) {
			n++
		}
	}
	return n
}

// idle reports whether a place has a meaning to which no rule responds: rules that end the list read it, but
// they have ended no list of several pages.
func (p *plan) idle(job *compile.Job, ended []string) bool {
	return slices.ContainsFunc(p.signals, func(signal *signal) bool {
		if !signal.Judged || signal.Fails || signal.Sent || signal.meaning.kind == constant {
			return false
		}
		return !slices.ContainsFunc(job.Stops, func(c *compile.Trigger) bool {
			return slices.Contains(ended, c.Rule.ID) && slices.ContainsFunc(c.ShownReads(), signal.isRead)
		})
	})
}

// isRead reports whether a rule reads the place.
func (s *signal) isRead(r language.Read) bool {
	switch {
	case s.Header != "":
		return r.Root == rules.ContextHeader && slices.Contains(r.Args, s.Header)
	case s.Link != "":
		return r.Root == rules.ContextLink && slices.Contains(r.Args, s.Link)
	}
	return r.Root == rules.ContextBody && slices.Equal(r.Path, s.Path)
}

// unclear names the places that a plan may misread: their names do not say what the values mean, or a
// recording contradicts the names.
func unclear(surface compile.Surface, rec recording) (places []compile.ResponseValue) {
	for _, p := range surface.Values {
		usual := usualMeaning(p)
		if p.Link == "" && !p.Address && (usual == "" || rec.contradicts(p, named(usual))) {
			places = append(places, p)
		}
	}
	return places
}

// noModel says why a job has no model: how the best plan loses items of a list of another length, or
// how its run ended, which values may be the reason, and what the recording shows of them.
func noModel(best *run, misread string, unclear []compile.ResponseValue, rec recording) error {
	text := "the model found no API from which the rules obtain a list"
	switch {
	case misread != "":
		text += " of any length; in the best attempt, " + misread
	case best != nil:
		text += "; in the best attempt, " + best.why()
	}
	if len(unclear) > 0 {
		text += "; it is not clear what " + wording.OrList(lists.Map(unclear, compile.ResponseValue.String)) + " means: "
		if len(rec.pages) < 2 {
			return errors.New(text + "record several pages, and let the model resemble the recording")
		}
		text += "in " + rec.name + ", " + strings.Join(lists.Map(unclear, rec.shows), "; ")
	}
	return errors.New(text)
}

// doubt sums up what speaks against a plan with which a run has obtained the list.
func (p *plan) doubt(r *run) (doubt int) {
	if r.guarded() {
		doubt += doubtGuarded
	}
	if len(r.findings()) > 0 {
		doubt += doubtFindings
	}
	if slices.ContainsFunc(p.signals, (*signal).unlikely) || r.apis[0].beyondEnd() > 2 {
		doubt += doubtUnlikely
	}
	marked := slices.ContainsFunc(p.signals, func(s *signal) bool { return s.meaning.name == "mark" })
	switch {
	case !p.paged && r.apis[0].job.Paged() && !polls(r.apis[0].job):
		doubt += doubtOnePage
	case marked && (p.beyond != 0 || r.end.Reason == "samePage"):
		doubt += doubtMarked
	case p.paged && r.requests > 1 && !p.located():
		doubt += doubtUnlocated
	}
	return doubt
}

// located reports whether a request says which page it is for. A number that counts the pages from 1
// in responses and from 0 in requests is more likely a token that happens to be a number.
func (p *plan) located() bool {
	counts := slices.ContainsFunc(p.signals, func(s *signal) bool { return s.Sent && s.meaning.name == "page" })
	return p.locator.kind != unknown && p.locator.kind != byOrder && (p.locator.kind != byZeroPage || !counts)
}
