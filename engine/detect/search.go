package detect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// search tries the candidates, the likeliest first, until a second page proves one. It
// returns nil if there is nothing to write about pagination.
func (d *detection) search(ctx context.Context) *trial {
	if len(d.items.items) == 0 {
		return nil
	}
	if d.flag = flagOf(d.page); d.flag != nil {
		d.saw("%s.", d.flag.says())
		d.more = append(d.more, d.flag.fact)
	}
	if f, _, ok := d.page.numberOf(apinames.SignTotal, above(len(d.items.items))); ok {
		d.more = append(d.more, f)
	}
	var fallback *trial
	var failed []*trial
	for queue := d.candidates(); len(queue) > 0 && ctx.Err() == nil; queue = queue[1:] {
		t := d.try(ctx, queue[0])
		switch t.proof {
		case proven:
			d.reportFailed(failed, t)
			d.saw("%s.", d.describe(t))
			return d.refine(ctx, t)
		case rejected:
			failed = append(failed, t)
			if v, ok := d.shifted(t); ok {
				d.saw("The page at index %d begins with the last item of the first page, so items are counted from 1.", len(d.items.items))
				queue = slices.Insert(queue, 1, v)
			} else if v, ok := d.asIndex(t); ok {
				d.saw("The page at %s begins with the second item of the first page, so it is the index of an item.", v.sent())
				queue = slices.Insert(queue, 1, v)
			} else if v, ok := d.withoutParams(t); ok {
				at := slices.IndexFunc(queue[1:], func(c candidate) bool { return c.score < v.score })
				queue = slices.Insert(queue, cmp.Or(at+1, len(queue)), v)
			}
		default:
			if fallback == nil || t.proof > fallback.proof {
				fallback = t
			}
			if t.transient { // more requests would not help
				d.reportFailed(failed, nil)
				d.advise("%s: %s.", wording.Capital(d.session.later()), t.why)
				return d.fallBack(ctx, t)
			}
		}
	}
	d.reportFailed(failed, fallback)
	return d.fallBack(ctx, fallback)
}

// try runs a candidate and judges its second page. If that page is empty, the third page
// decides whether the list goes on, unless its request is the same.
func (d *detection) try(ctx context.Context, c candidate) *trial {
	t := d.run(ctx, c, 2)
	d.judge(t)
	if t.proof == emptyPage && !t.ended && !t.stays() {
		longer := d.run(ctx, c, 3)
		if len(longer.pages) == 3 && len(longer.pages[2].items) > 0 && overlap(longer.pages[0].items, longer.pages[2].items) == 0 {
			longer.proof = proven
			return longer
		}
	}
	return t
}

// sentence describes a sign as a sentence. A name at its beginning keeps its spelling.
func (c candidate) sentence() string {
	text, _ := fillText(c.says, c.values).(string)
	if strings.HasPrefix(c.says, "${") {
		return text
	}
	return wording.Capital(text)
}

// describe describes the sign of a trial, and how the second page has proved it.
func (d *detection) describe(t *trial) string {
	text := t.sentence()
	if t.guess != "" {
		text += fmt.Sprintf("; sent as %s, which no response names", t.guess)
	}
	last := t.pages[len(t.pages)-1]
	return text + fmt.Sprintf(". Proved: page %d has %s that page 1 does not have",
		len(t.pages), wording.Counted(len(last.items), "item"))
}

// reportFailed states the signs that looked good and brought no second page, unless the
// same sign did so with another parameter, even if that page was empty.
func (d *detection) reportFailed(failed []*trial, proved *trial) {
	if proved != nil && proved.proof < emptyPage {
		proved = nil
	}
	for _, t := range failed {
		text := t.sentence()
		if t.guess != "" {
			text += " (sent as " + t.guess + ")"
		}
		settled := proved != nil && t.values["at"] == proved.values["at"] && proved.values["at"] != nil
		if t.score > blind+besideSize && !settled {
			d.doubt("%s, but %s.", text, d.hide(t.why))
		} else {
			d.saw("Tried without success: %s: %s.", text, d.hide(t.why))
		}
	}
}

// shifted returns a candidate that counts items from 1. It is tried after a candidate that counted
// them from 0 and obtained the last item of the first page again.
func (d *detection) shifted(t *trial) (candidate, bool) {
	if t.kind != indexSign || len(t.pages) < 2 || t.values["first"] != 0 || overlap(t.pages[0].items, t.pages[1].items) != 1 {
		return candidate{}, false
	}
	c := d.counted(t.hypothesis, echoed, textOf(t.values["param"]), 1)[0]
	c.hypothesis, c.guess = t.hypothesis, t.guess
	c = d.complete(c)
	return c, c.pagination != nil
}

// asIndex returns a candidate that takes a number for the index of an item. It is tried after a candidate
// that took it for the number of a page and obtained all items of the first page again, except for the first.
func (d *detection) asIndex(t *trial) (candidate, bool) {
	first, _ := t.values["first"].(int)
	const fewest = 3 // items of a page of which all but one are more than chance
	if t.kind != numberSign || t.post || first > 1 || len(t.pages) < 2 || len(t.pages[0].items) < fewest ||
		overlap(t.pages[0].items, t.pages[1].items) != len(t.pages[0].items)-1 {
		return candidate{}, false
	}
	for _, h := range hypotheses {
		if h.kind != indexSign || h.post {
			continue
		}
		c := d.counted(h, echoed, textOf(t.values["param"]), first)[0]
		c.hypothesis, c.guess = h, t.guess
		if c = d.complete(c); c.pagination != nil {
			return c, true
		}
	}
	return candidate{}, false
}

// sent returns the first value that a candidate sends after the first page: offset=1.
func (c candidate) sent() string {
	first, _ := c.values["first"].(int)
	return fmt.Sprintf("%s=%d", textOf(c.values["param"]), first+1)
}

// withoutParams returns a candidate that sends a token without the other parameters of the job,
// after an API has refused them together.
func (d *detection) withoutParams(t *trial) (candidate, bool) {
	failed, ok := errors.AsType[*engine.Error](t.err)
	refused := ok && failed.Status >= 400 && failed.Status < 500
	if !refused || t.withoutJobParams || t.kind != tokenSign || d.call.method != "GET" || len(d.call.params) == 0 {
		return candidate{}, false
	}
	c := t.candidate
	c.withoutJobParams, c.values, c.score = true, maps.Clone(c.values), echoed-1
	c.values["endpoint"] = d.call.endpoint
	params := value.Object{}
	if _, ok := d.call.params.Get(d.size.param); ok { // the job has the number
		params = params.With(d.size.param, object("expr", keypath.Format("job.params", path{d.size.param})))
	}
	c.values["params"] = params
	c.pagination, ok = fill(scroll, c.values).(value.Object)
	return c, ok
}

// fallBack reports that no candidate was proved. It returns the trial whose pagination is written
// nevertheless, or nil if no pagination is likely enough.
func (d *detection) fallBack(ctx context.Context, t *trial) *trial {
	if t != nil && (t.score > tokenGuess-nextGuess || t.proof == emptyPage && len(d.more) > 0) {
		d.saw("%s.", t.sentence())
		if t.proof == emptyPage && t.ends != nil && t.stays() {
			t = d.endEmpty(ctx, t)
		}
		if f, n, ok := d.page.numberOf(apinames.SignTotal, above(len(d.items.items))); ok && t.proof == emptyPage {
			d.doubt("The pagination is not proved: %s, although %s is %d. Another parameter may page.", t.why, f.String(), n)
			d.advise(lookUp)
			return t
		}
		d.doubt("The pagination is not proved: %s.", t.why)
		d.adviseUnproved(t)
		return t
	}
	if d.call.isGraphQL() && len(d.page.named("pageInfo")) > 0 {
		d.advise("Give the query a variable for the cursor, as in query($after: String) { users(first: 100, after: $after) … }, " +
			"and ask for pageInfo { hasNextPage endCursor }.")
	}
	switch {
	case len(d.more) > 0 && d.session.redirects():
		d.doubt("%s is %s, so the list has more items than this page, but the redirect took a request that was needed "+
			"to find the second page. The configuration reads the first page only.", d.more[0].String(), value.Preview(d.more[0].value))
		d.advise(atRedirect)
	case len(d.more) > 0:
		d.doubt("%s is %s, so the list has more items than this page, but nothing brought a second page. "+
			"The configuration reads the first page only.", d.more[0].String(), value.Preview(d.more[0].value))
		d.advise(lookUp)
	case d.isComplete() || d.nextIsNull():
		d.saw("The response says that the list ends with this page.")
		d.doubt("Only one page was seen, so it is not known how longer lists are paged.")
		d.adviseSeveralPages()
	case d.pointer() != "":
		d.doubt("%s has a value, so the list probably has more items than this page, but nothing brought a second page. "+
			"The configuration reads the first page only.", d.pointer())
		d.advise(lookUp)
	case d.hasTotalOfPage():
		f, n, _ := d.page.numberOf(apinames.SignTotal, exactly(len(d.items.items)))
		d.doubt("%s is %d, as many items as the page has. It may count the page, and not the list. The configuration reads one page.",
			f.String(), n)
		d.adviseSmallerPage()
	case d.lastLine() != "":
		d.doubt("The last line has %s, and no other line has a member of it, so the list probably has more items than this page. "+
			"The configuration reads the first page only, and takes that line for an item.", d.lastLine())
		d.advise(lookUp)
	default:
		d.doubt("Nothing in the response says whether the list is complete. The configuration reads one page.")
		if d.session.made > 1 { // the API has other parameters than those that were tried
			d.advise(lookUp)
		}
		d.adviseSmallerPage()
	}
	return nil
}

// lastLine returns the member of the last line of NDJSON whose name says that it leads to another page, if
// no other line has one of its members. It returns "" if there is none.
func (d *detection) lastLine() string {
	if d.page.format != rules.FormatNDJSON {
		return ""
	}
	for _, m := range apinames.Trailer(d.items.items, func(item any) value.Object { o, _ := item.(value.Object); return o }) {
		if text := textOf(m.Value); text != "" && pointsOn(path{m.Name}, text) {
			return m.Name
		}
	}
	return ""
}

// pointer describes the place of a value of the response whose name says that it leads to another
// page. It returns "" if there is no such value.
func (d *detection) pointer() string {
	for _, f := range d.page.facts {
		if object, isObject := f.value.(value.Object); isObject {
			f.value, _ = object.Get("href")
		}
		_, isFlag := f.value.(bool)
		if text := textOf(f.value); pointsOn(f.path, text) && !isFlag && !slices.Contains([]string{"", "0", "-1"}, text) {
			return f.String()
		}
	}
	for _, h := range d.page.factsOf(apinames.SignNext) {
		if h.header != "" {
			return h.header
		}
	}
	if d.page.link("next") != nil {
		return "The Link header"
	}
	return ""
}

// pointsOn reports whether the name of the value at a path says that it leads to another page. text is the
// value; some names do not say so of a number.
func pointsOn(place path, text string) bool {
	if _, names := apinames.Key(place.name()).NextParam(); names || apinames.Key(place.name()).Is(apinames.SignNext) {
		return true
	}
	kinds := []*kind{urlSign, tokenSign, tokensSign, objectSign}
	return slices.ContainsFunc(hypotheses, func(h hypothesis) bool {
		return slices.Contains(kinds, h.kind) && slices.ContainsFunc(h.names, place.isNamed) && !(h.textOnly && isNumber(text))
	})
}

func isNumber(text string) bool {
	_, ok := number(text)
	return ok
}

// hasTotalOfPage reports whether the response has a number that equals the number of items on the page, and that
// may be the length of the list.
func (d *detection) hasTotalOfPage() bool {
	_, _, ok := d.page.numberOf(apinames.SignTotal, exactly(len(d.items.items)))
	return ok
}

// adviseUnproved advises how a pagination can be proved.
func (d *detection) adviseUnproved(t *trial) {
	switch {
	case t.transient: // the advice is to try again later
	case t.refused && d.session.redirects():
		d.advise(atRedirect)
	case t.refused && !d.recorded:
		d.advise(lookUp)
	default:
		if t.proof == onlyPage || t.proof == emptyPage {
			d.adviseSeveralPages()
		} else {
			d.adviseSmallerPage()
		}
	}
}

// Advice that several endings of the search share.
const (
	lookUp     = "Look up in the documentation of the API which parameter asks for the next page, and add it to the address."
	atRedirect = "Run detect with the address that this one redirects to."
)

// nextIsNull reports whether the response has a key for the next page without a value.
func (d *detection) nextIsNull() bool {
	return slices.ContainsFunc(d.page.facts, func(f fact) bool { return apinames.Key(f.name()).Is(apinames.SignNext) && value.Empty(f.value) })
}

// adviseSeveralPages advises how to see a second page of a list that ended after its first page.
func (d *detection) adviseSeveralPages() {
	if len(d.items.items) < 2 && !d.recorded {
		d.advise("Give an address whose list has more items.")
		return
	}
	d.adviseSmallerPage()
}

// adviseSmallerPage advises to ask for fewer items than the page had or, for a recording, to record more.
func (d *detection) adviseSmallerPage() {
	if d.recorded {
		d.advise("Record more of the list: scroll or page through it until the end.")
		return
	}
	name := d.size.param
	if name == "" {
		name = apinames.PageSizeNames()[0]
	}
	d.advise("Ask for a smaller page, so that there is a second one: add %s=%d to the address.", name, max(len(d.items.items)/3, 1))
}
