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
	"github.com/stopwhen/stopwhen/rules/value"
)

// lengths runs a job on lists of other lengths, with a plan with which it has obtained the ordinary
// list. It returns the doubts that follow, or how the job loses items of a list, since the plan is
// then wrong. A plan is doubtful if a run reports that such a list is incomplete, and if a rule that
// reads a value ends no list.
func (s *Suite) lengths(ctx context.Context, p *plan, ordinary *run, binding map[string]any) (doubt int, lost string) {
	ended := ordinary.end.StoppedBy
	job := ordinary.apis[0].job
	for i := range behaviours {
		b := combination{&behaviours[i]}
		if i == 0 || b[0].Group != lengthGroup || b.missing(p) != "" {
			continue
		}
		t := s.under(ctx, p, job, binding, b, 0)
		served, missing, duplicated := t.tally()
		switch {
		case t.failedByRule(): // as the user wants it
			doubt = max(doubt, 1)
			continue
		case missing+duplicated > 0:
			return 0, fmt.Sprintf("%d of %d items are obtained once in the row %s", served-missing-duplicated, served, b.name())
		case !t.good():
			doubt = 16
		}
		if t.requests > 1 {
			ended = append(ended, t.end.StoppedBy...)
		}
	}
	if p.idle(job, ended) {
		doubt++
	}
	return doubt, ""
}

// failedByRule reports whether a stopping rule of the configuration, and not of the method, failed the run.
func (r *run) failedByRule() bool {
	return r.end.Outcome == rules.Failed && slices.ContainsFunc(r.apis[0].job.Stops, func(c *compile.Trigger) bool {
		return c.Rule.ID == r.end.Reason && strings.Contains(c.Rule.Origin.Path, ".stopRules")
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

// idle reports whether a place has a meaning to which no rule responds: rules that end the list read
// it, and none of them has ended a list of several pages.
func (p *plan) idle(job *compile.Job, ended []string) bool {
	return slices.ContainsFunc(p.places, func(m *meant) bool {
		if !m.Judged || m.Fails || m.Sent || m.meaning.kind == constant {
			return false
		}
		return !slices.ContainsFunc(job.Stops, func(c *compile.Trigger) bool {
			return slices.Contains(ended, c.Rule.ID) && slices.ContainsFunc(c.Places(), m.isRead)
		})
	})
}

// isRead reports whether a rule reads the place.
func (m *meant) isRead(r language.Read) bool {
	switch {
	case m.Header != "":
		return r.Root == "header" && slices.Contains(r.Args, m.Header)
	case m.Link != "":
		return r.Root == "link" && slices.Contains(r.Args, m.Link)
	}
	return r.Root == "body" && slices.Equal(r.Path, m.Path)
}

// unclear names the places that a plan may misread: those whose names do not say what they mean, or say what
// a recording contradicts.
func unclear(surface compile.Surface, like response) []string {
	var names []string
	for _, p := range surface.Places {
		hint := hinted(p)
		if p.Link == "" && !p.Address && (hint == "" || like.contradicts(p, named(hint))) {
			names = append(names, p.String())
		}
	}
	return names
}

// noModel says why a job has no model: how the best plan loses items of a list of another length, or
// how its run ended, and which values may be the reason.
func noModel(best *run, misread string, unclear []string) error {
	text := "the model found no API from which the rules obtain a list"
	switch {
	case misread != "":
		text += " of any length; in the best attempt, " + misread
	case best != nil:
		text += "; in the best attempt, " + best.why()
	}
	if len(unclear) > 0 {
		text += "; it is not clear what " + value.OrList(unclear) +
			" means: record several pages, and let the model resemble the recording"
	}
	return errors.New(text)
}

// doubt scores the doubts about a plan with which a run has obtained the list. The worst is that
// only a guard ended it; then that it has findings, that the next request depends on a value that is
// probably another, or that the job goes on after the end; then that a job with paging made one request,
// and that its requests do not identify their page.
func (p *plan) doubt(t *run) (doubt int) {
	if t.guarded() {
		doubt += 8
	}
	if len(t.findings()) > 0 {
		doubt += 4
	}
	if slices.ContainsFunc(p.places, (*meant).unlikely) || t.apis[0].beyondEnd() > 2 {
		doubt += 4
	}
	marked := slices.ContainsFunc(p.places, func(m *meant) bool { return m.meaning.name == "mark" })
	switch {
	case !p.paged && t.apis[0].job.Paged() && !polls(t.apis[0].job), marked && (p.beyond != 0 || t.end.Reason == "samePage"):
		doubt += 2
	case p.paged && t.requests > 1 && !p.located():
		doubt++
	}
	return doubt
}

// located reports whether a request says which page it is for. A number that counts the pages from 1
// in responses and from 0 in requests is more likely a token that happens to be a number.
func (p *plan) located() bool {
	counts := slices.ContainsFunc(p.places, func(m *meant) bool { return m.Sent && m.meaning.name == "page" })
	return p.locator.kind != unknown && p.locator.kind != byOrder && (p.locator.kind != byZeroPage || !counts)
}
