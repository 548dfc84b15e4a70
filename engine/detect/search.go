package detect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// search tries the candidates, the likeliest first, until a second page proves one. It
// returns nil if there is nothing to write about pagination.
func (d *detection) search(ctx context.Context) *trial {
	if len(d.items.items) == 0 {
		return nil
	}
	s := &seeker{call: d.call, page: d.page, items: d.items, size: d.size, more: saysMore(d.page, len(d.items.items))}
	for _, f := range flags(d.page) {
		d.saw("%s.", f.says)
	}
	var fallback *trial
	var failed []*trial
	for queue := s.candidates(); len(queue) > 0 && ctx.Err() == nil; queue = queue[1:] {
		t := d.try(ctx, queue[0])
		switch t.verdict {
		case proven:
			d.reportFailed(failed, t)
			d.saw("%s.", d.describe(t))
			return d.refine(ctx, t)
		case rejected:
			failed = append(failed, t)
			if v, ok := s.shifted(t); ok {
				d.saw("The page at index %d begins with the last item of the first page, so items are counted from 1.", len(d.items.items))
				queue = slices.Insert(queue, 1, v)
			} else if v, ok := s.alone(t); ok {
				at := slices.IndexFunc(queue[1:], func(c candidate) bool { return c.score < v.score })
				queue = slices.Insert(queue, cmp.Or(at+1, len(queue)), v)
			}
		default:
			if fallback == nil || t.verdict > fallback.verdict {
				fallback = t
			}
		}
	}
	d.reportFailed(failed, nil)
	return d.settleFor(s, fallback)
}

// try runs a candidate and judges its second page. If that is empty, the third one
// decides whether the list goes on.
func (d *detection) try(ctx context.Context, c candidate) *trial {
	t := d.run(ctx, c, 2)
	d.judge(t)
	if t.verdict == emptyPage && !t.ended {
		longer := d.run(ctx, c, 3)
		if len(longer.pages) == 3 && len(longer.pages[2].items) > 0 && overlap(longer.pages[0].items, longer.pages[2].items) == 0 {
			longer.verdict = proven
			return longer
		}
	}
	return t
}

// says describes a sign as a sentence. A name at its beginning keeps its spelling.
func (c candidate) says() string {
	text, _ := fillText(c.sign.Says, c.values).(string)
	if text == "" || strings.HasPrefix(c.sign.Says, "${") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// describe says what a sign is, and what the second page has shown.
func (d *detection) describe(t *trial) string {
	text := t.says()
	if t.guess != "" {
		text += fmt.Sprintf("; sent as %s, which no response names", t.guess)
	}
	last := t.pages[len(t.pages)-1]
	return text + fmt.Sprintf(". Proved: page %d has %s that page 1 does not have",
		len(t.pages), value.Counted(len(last.items), "item"))
}

// reportFailed states the signs that looked good and brought no second page, unless the
// same sign did so with another parameter.
func (d *detection) reportFailed(failed []*trial, proved *trial) {
	for _, t := range failed {
		text := t.says()
		if t.guess != "" {
			text += " (sent as " + t.guess + ")"
		}
		settled := proved != nil && t.values["at"] == proved.values["at"] && proved.values["at"] != nil
		if t.score/len(rules.PagingSigns()) > blind && !settled {
			d.doubt("%s, but %s.", text, d.hide(t.why))
		} else {
			d.saw("Tried in vain: %s: %s.", text, d.hide(t.why))
		}
	}
}

// shifted returns a candidate that counts items from 1, after one that counted them from 0
// and got the last item of the first page again.
func (s *seeker) shifted(t *trial) (candidate, bool) {
	if t.sign.Kind != rules.PagingIndex || len(t.pages) < 2 || t.values["first"] != 0 || overlap(t.pages[0].items, t.pages[1].items) != 1 {
		return candidate{}, false
	}
	c := s.indexed(t.sign, echoed, asText(t.values["param"]), 1)
	c.sign, c.guess, c.score = t.sign, t.guess, echoed*len(rules.PagingSigns())
	s.complete(&c)
	return c, c.pagination != nil
}

// alone returns a candidate that sends a token without the other parameters of the job,
// after an API has refused them together.
func (s *seeker) alone(t *trial) (candidate, bool) {
	failed, ok := errors.AsType[*engine.Error](t.err)
	scroll := t.sign.Scroll()
	if !ok || failed.Status < 400 || failed.Status >= 500 || t.sign.Kind != rules.PagingToken || s.call.method != "GET" || len(s.call.params) == 0 || t.alone {
		return candidate{}, false
	}
	c := t.candidate
	c.alone, c.values, c.score = true, maps.Clone(c.values), (echoed-1)*len(rules.PagingSigns())
	c.values["endpoint"] = s.call.endpoint
	params := value.Object{}
	if v, ok := s.call.params.Get(s.size.param); ok {
		params = params.With(s.size.param, v)
	}
	c.values["params"] = params
	c.pagination, ok = fill(scroll, c.values).(value.Object)
	return c, ok
}

// refine completes a pagination that was proved: the numbers it begins with, flags, totals
// and the end.
func (d *detection) refine(ctx context.Context, t *trial) *trial {
	t = d.settleBase(ctx, t)
	t = d.addFlag(ctx, t)
	t = d.findEnd(ctx, t)
	d.doubtStart(t)
	d.doubtSize(t)
	d.doubtLink(t)
	for _, f := range t.findings {
		d.doubt("A run of these pages warns: %s.", d.hide(f.Message))
	}
	return t
}

// settleBase finds out whether pages are counted from 0 or 1: page 1 is then the first
// page again, or another one.
func (d *detection) settleBase(ctx context.Context, t *trial) *trial {
	if !t.base || t.sign.Kind != rules.PagingNumber {
		return t
	}
	c := t.candidate
	c.values = maps.Clone(c.values)
	c.values["first"], c.base = 0, false
	c.pagination = fill(c.sign.Pagination, c.values).(value.Object)
	fromZero := d.run(ctx, c, 2)
	d.judge(fromZero)
	switch {
	case fromZero.verdict == proven:
		d.saw("Pages are counted from 0: page 1 has other items than the first page.")
		return fromZero
	case len(fromZero.pages) == 2 && overlap(fromZero.pages[0].items, fromZero.pages[1].items) == len(fromZero.pages[1].items):
		d.saw("Pages are counted from 1: page 1 is the first page again.")
	default:
		d.doubt("It is not known whether pages are counted from 0 or 1. If the page numbered 0 is the first, set firstPage to 0; " +
			"otherwise the page numbered 1 would be missing.")
	}
	return t
}

// addFlag adds the flag that says that there is more, unless the end of the list is
// stated otherwise.
func (d *detection) addFlag(ctx context.Context, t *trial) *trial {
	if slices.Contains(authoritative, t.sign.Kind) || strings.HasPrefix(t.sign.Needs, "pages") {
		return t
	}
	for _, f := range flags(d.page) {
		c := t.candidate
		c.pagination = withFlag(c.pagination, f)
		with := d.run(ctx, c, len(t.pages))
		if len(with.pages) < len(t.pages) {
			d.doubt("%s on page 1, but a later page does not say so although there is more, so the flag is not used.", f.says)
			continue
		}
		with.verdict, with.flag = t.verdict, &f
		if with.ended && !t.ended {
			d.saw("%s is %s on the last page: it ends the list.", f.path(), d.factOf(with, f))
		}
		return with
	}
	return t
}

// factOf returns the value of a flag on the last page of a trial.
func (d *detection) factOf(t *trial, f flag) string {
	pages := t.decoded()
	if len(pages) == 0 {
		return "another"
	}
	for _, other := range pages[len(pages)-1].facts {
		if slices.Equal(other.keys, f.keys) {
			return value.Preview(other.value)
		}
	}
	return "missing"
}

// addTotal lets a total end a list that is counted, or whose token stays after the last
// item. The total must be the same on both pages, and more than the items before.
func (d *detection) addTotal(ctx context.Context, t *trial) *trial {
	pages := t.decoded()
	if len(pages) < 2 || slices.Contains(authoritative, t.sign.Kind) || t.flag != nil || strings.HasPrefix(t.sign.Needs, "pages") {
		return t
	}
	f, total, ok := d.page.hint(rules.HintTotal, func(n int) bool { return n > len(t.pages[0].items) })
	if !ok {
		return t
	}
	_, again, _ := pages[1].hint(rules.HintTotal, func(n int) bool { return n == total })
	if again != total || t.ended && total != t.obtained() {
		return t
	}
	reached := total == t.obtained()
	if counts := t.sign.Kind == rules.PagingIndex || t.sign.Kind == rules.PagingNumber; !counts && (!reached || t.ended) {
		return t
	}
	c := t.candidate
	if _, given := c.pagination.Get("limitStop"); given {
		return t
	}
	c.pagination = c.pagination.With("limitStop", value.Object{{Name: "field", Value: f.path()}})
	with := d.run(ctx, c, len(t.pages))
	if len(with.pages) < len(t.pages) {
		return t
	}
	if !slices.Contains([]rules.PagingKind{rules.PagingIndex, rules.PagingNumber}, t.sign.Kind) {
		c.pagination = c.pagination.With("audit", value.Object{{Name: "ignore", Value: []any{"audit.token"}}})
		with = d.run(ctx, c, len(t.pages))
	}
	with.verdict, with.flag = t.verdict, t.flag
	d.saw("%s is %d on both pages: the list ends when that many items were read.", f.path(), total)
	return with
}

// findEnd finds what ends the list. If the second page may be the last, but nothing says
// so, it looks at the third one.
func (d *detection) findEnd(ctx context.Context, t *trial) *trial {
	counts := t.sign.Kind == rules.PagingIndex || t.sign.Kind == rules.PagingNumber
	if counts {
		t = d.addTotal(ctx, t)
	}
	if !t.ended {
		t = d.lookFurther(ctx, t)
	}
	if !t.ended && !counts {
		t = d.addTotal(ctx, t)
	}
	switch {
	case t.ended:
		d.saw("The end was seen: page %d is the last by %s.", len(t.pages), strings.Join(t.rules(), " and "))
	case t.beyond != "":
		d.doubt("The end of the list was not seen: %s.", d.hide(t.beyond))
	default:
		d.doubt("The end of the list was not seen. %s", d.endOf(t))
	}
	return t
}

// rules returns the rules that ended a trial, without those of its options.
func (t *trial) rules() []string {
	return slices.DeleteFunc(slices.Clone(t.by), func(id string) bool { return strings.HasPrefix(id, "option.") })
}

// lookFurther obtains a third page if the second one may be the last.
func (d *detection) lookFurther(ctx context.Context, t *trial) *trial {
	if t.err != nil || len(t.pages) > 2 || !d.nearEnd(t) {
		return t
	}
	if c, ok := d.shortEnds(t); ok {
		if with := d.run(ctx, c, len(t.pages)); with.ended {
			with.verdict = t.verdict
			d.doubt("That a page with fewer than %d items is the last was not proved. Without shortPageEnds an empty page is.", d.size.asked)
			return with
		}
	}
	longer := d.run(ctx, t.candidate, 3)
	longer.verdict, longer.flag = t.verdict, t.flag
	switch {
	case longer.refused:
		return t
	case longer.ended && !longer.pages[len(longer.pages)-1].again:
		return longer
	case len(longer.pages) < 3:
		t.beyond = "the third page could not be obtained (" + failureOf(longer.err) + ")"
		return t
	case len(longer.pages[2].items) > 0:
		return longer
	case t.sign.Ends == nil:
		t.beyond = "the third page is empty or the second one again, and nothing says that it is the last"
		return t
	}
	c := t.candidate
	c.pagination = withRule(c.pagination, "count == 0")
	with := d.run(ctx, c, 3)
	with.verdict, with.flag = t.verdict, t.flag
	d.saw("Page 3 is empty, but still has a value for the next page: an empty page ends the list.")
	return with
}

// nearEnd reports whether the next page is probably the last.
func (d *detection) nearEnd(t *trial) bool {
	first, last := len(t.pages[0].items), len(t.pages[len(t.pages)-1].items)
	if _, total, ok := d.page.hint(rules.HintTotal, func(n int) bool { return n > first }); ok && t.obtained()+first >= total {
		return true
	}
	x := t.pages[len(t.pages)-1].exchange
	response := &transport.Response{Header: x.header, URL: x.address.String()}
	next := response.Link("next")
	return last < first || next != nil && next == response.Link("last")
}

// shortEnds returns the candidate whose short pages end the list, if its method can.
func (d *detection) shortEnds(t *trial) (candidate, bool) {
	c := t.candidate
	if c.sign.Kind != rules.PagingKey || d.size.asked == 0 || d.size.asked != len(t.pages[0].items) {
		return c, false
	}
	c.values = maps.Clone(c.values)
	c.values["shortEnds"], c.values["limit"] = true, d.size.asked
	filled, _ := fill(c.sign.Pagination, c.values).(value.Object)
	c.pagination = filled
	return c, true
}

// endOf says what ends the list, as far as it is known.
func (d *detection) endOf(t *trial) string {
	switch {
	case t.flag != nil:
		return "It is assumed that " + t.flag.path() + " changes on the last page."
	case slices.Contains(authoritative, t.sign.Kind):
		return "It is assumed that the last page has no next link or value."
	case t.sign.Kind == rules.PagingToken, t.sign.Kind == rules.PagingHeader:
		return "It is assumed that the last page has no value for a next one, as most APIs do it. " +
			"If it has one, the run ends with a warning or an error."
	}
	return "It is assumed that the API answers with an empty page or a short one after the last item."
}

// doubtStart doubts that the address is that of the first page.
func (d *detection) doubtStart(t *trial) {
	if n, ok := t.values["first"].(int); ok && n > 1 {
		d.doubt("The address begins at %s=%d: items before that are not read.", t.values["param"], n)
	}
}

// doubtSize doubts a page size that the API does not honour.
func (d *detection) doubtSize(t *trial) {
	asked, got := d.size.asked, len(d.items.items)
	switch {
	case asked == 0 || asked == got:
	case got > asked:
		d.doubt("The address asks for %d items (%s), but the page has %d: the API seems to ignore it.", asked, d.size.param, got)
	case t.sign.Kind == rules.PagingIndex:
		d.doubt("The address asks for %d items (%s), but the page has %d: the API seems to allow no more, so the index advances by what is received. "+
			"If pages are short for another reason, items may be read twice.", asked, d.size.param, got)
	}
}

// doubtLink doubts links that do not repeat the parameters of the address.
func (d *detection) doubtLink(t *trial) {
	if !slices.Contains([]rules.PagingKind{rules.PagingURL, rules.PagingLink, rules.PagingRelation}, t.sign.Kind) || t.sent == "" {
		return
	}
	_, address, _ := strings.Cut(t.sent, " ")
	u, err := url.Parse(address)
	if err != nil || d.call.method != "GET" {
		return
	}
	var missing []string
	for _, m := range d.call.params {
		name := strings.TrimPrefix(m.Name, "#")
		if !u.Query().Has(name) && !slices.Contains(rules.PageSizeNames(), name) && u.Path == d.page.address.Path && !opaque(u) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		d.doubt("The link to the next page leaves out %s. Check that the items of later pages fit it, or set includeParams.", strings.Join(missing, ", "))
	}
}

// opaque reports whether an address has a token, in which the API may keep the other
// parameters.
func opaque(u *url.URL) bool {
	for name, values := range u.Query() {
		for _, text := range values {
			if _, isNumber := number(text); len(text) >= 8 && !isNumber || strings.Contains(strings.ToLower(name), "token") || strings.Contains(name, "cursor") {
				return true
			}
		}
	}
	return false
}

// settleFor returns what remains if nothing was proved, and says so.
func (d *detection) settleFor(s *seeker, t *trial) *trial {
	if t != nil && (t.score/len(rules.PagingSigns()) > keyGuess || t.verdict == emptyPage && len(s.more) > 0) {
		d.saw("%s.", t.says())
		d.doubt("The pagination is not proved: %s.", t.why)
		d.smaller(t.verdict == onlyPage || t.verdict == emptyPage)
		return t
	}
	switch {
	case len(s.more) > 0 && d.session.redirects():
		d.doubt("%s is %s, so the list has more items than this page, but the redirect took a request that was needed to find the second page. "+
			"The configuration reads the first page only.", s.more[0].path(), value.Preview(s.more[0].value))
		d.advise("Run detect with the address that this one redirects to.")
	case len(s.more) > 0:
		d.doubt("%s is %s, so the list has more items than this page, but nothing brought a second page. The configuration reads the first page only.",
			s.more[0].path(), value.Preview(s.more[0].value))
		d.advise("Look up in the documentation of the API which parameter asks for the next page, and add it to the address.")
	case s.isComplete() || d.nextIsNull():
		d.saw("The response says that the list ends with this page.")
		d.doubt("Only one page was seen, so it is not known how longer lists are paged.")
		d.smaller(true)
	default:
		d.doubt("Nothing in the response says whether the list is complete. The configuration reads one page.")
		d.smaller(false)
	}
	return nil
}

// nextIsNull reports whether the response has a key for the next page without a value.
func (d *detection) nextIsNull() bool {
	return slices.ContainsFunc(d.page.facts, func(f fact) bool { return rules.IsNextName(f.name()) && value.Empty(f.value) })
}

// smaller advises to ask for less than a complete list.
func (d *detection) smaller(onePage bool) {
	if len(d.items.items) < 2 && onePage {
		d.advise("Give an address whose list has more items.")
		return
	}
	name := d.size.param
	if name == "" {
		name = rules.PageSizeNames()[0]
	}
	d.advise("Ask for a smaller page, so that there is a second one: add %s=%d to the address.", name, max(len(d.items.items)/3, 1))
}
