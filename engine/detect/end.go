package detect

import (
	"context"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/apinames"
)

// addTotal lets a total end a list that is counted, or whose token stays after the last
// item. The total must be the same on both pages, and more than the items before.
func (d *detection) addTotal(ctx context.Context, t *trial) *trial {
	pages := t.decoded()
	if len(pages) < 2 || t.statesEnd() || t.flag != nil {
		return t
	}
	f, total, ok := d.page.hint(apinames.HintTotal, above(len(t.pages[0].items)))
	if !ok {
		return t
	}
	_, again, _ := pages[1].hint(apinames.HintTotal, exactly(total))
	if again != total || t.ended && total != t.obtained() {
		return t
	}
	reached := total == t.obtained()
	if counts := t.kind == indexSign || t.kind == numberSign; !counts && (!reached || t.ended) {
		return t
	}
	if _, given := t.pagination.Get("limitStop"); given {
		return t
	}
	withTotal := func(c *candidate) { c.pagination = c.pagination.With("limitStop", object("field", f.String())) }
	with := d.vary(ctx, t, len(t.pages), withTotal)
	if len(with.pages) < len(t.pages) {
		return t
	}
	if t.kind != indexSign && t.kind != numberSign {
		with = d.vary(ctx, with, len(t.pages), func(c *candidate) {
			c.pagination = c.pagination.With("audit", object("ignore", []any{"audit.token"}))
		})
	}
	d.saw("%s is %d on both pages: the list ends when that many items were read.", f.String(), total)
	return with
}

// findEnd determines how the list ends. If the second page may be the last, but nothing says so, it
// obtains the third one.
func (d *detection) findEnd(ctx context.Context, t *trial) *trial {
	counts := t.kind == indexSign || t.kind == numberSign
	if counts {
		t = d.addTotal(ctx, t)
	}
	if !t.ended {
		t = d.lookFurther(ctx, t)
	}
	if !t.ended && !counts {
		t = d.addTotal(ctx, t)
	}
	if t.ended && d.endsShort(t) {
		return d.proveShort(ctx, t)
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

// endsShort reports whether nothing but a short page says that a list has ended.
func (d *detection) endsShort(t *trial) bool {
	inferred := func(id string) bool { return strings.HasSuffix(id, ".short") }
	if slices.ContainsFunc(t.rules(), func(id string) bool { return !inferred(id) }) || !slices.ContainsFunc(t.StoppedBy, inferred) {
		return false
	}
	_, _, stated := d.page.hint(apinames.HintTotal, exactly(t.obtained()))
	return !stated && t.kind == indexSign
}

// proveShort looks beyond a short page, since an API may leave out items of a page in the
// middle. If there are more, an empty page ends the list.
func (d *detection) proveShort(ctx context.Context, t *trial) *trial {
	longer := d.vary(ctx, t, len(t.pages)+1, func(c *candidate) {
		c.hypothesis = shortPages
		c.fill(shortPages.pagination)
		c.moved, c.sets = nil, nil // the job sends the first request as the address has it
	})
	beyond := len(longer.pages) > len(t.pages)
	switch {
	case beyond && len(longer.pages[len(t.pages)].items) == 0:
		d.saw("The end was seen: page %d is short, and the page after it has no other items.", len(t.pages))
		return t
	case beyond && overlap(longer.pages[len(t.pages)-1].items, longer.pages[len(t.pages)].items) == 0:
		d.saw("Page %d is short, and the page after it has other items: a short page does not end the list.", len(t.pages))
		d.doubt("The end of the list was not seen. It is assumed that a page without items is the last.")
		return longer
	}
	d.doubt("That a page with fewer than %d items is the last was not proved.", d.size.asked)
	return t
}

// rules returns the rules that ended a trial, without the rules of the run's options.
func (t *trial) rules() []string {
	return slices.DeleteFunc(slices.Clone(t.StoppedBy), func(id string) bool { return strings.HasPrefix(id, "option.") })
}

// lookFurther obtains a third page if the second one may be the last.
func (d *detection) lookFurther(ctx context.Context, t *trial) *trial {
	if d.recorded { // the further pages cost no request
		longer := d.vary(ctx, t, len(d.session.known)+1, nil)
		if longer.ended && !longer.pages[len(longer.pages)-1].again {
			return longer
		}
	}
	if t.err != nil || len(t.pages) > 2 || !d.nearEnd(t) {
		return t
	}
	if t.kind == keySign && d.size.asked != 0 && d.size.asked == len(t.pages[0].items) { // its method can end with a short page
		with := d.vary(ctx, t, len(t.pages), func(c *candidate) {
			c.values["shortEnds"], c.values["limit"] = true, d.size.asked
			c.fill(c.hypothesis.pagination)
		})
		if with.ended {
			d.doubt("That a page with fewer than %d items is the last was not proved. Without shortPageEnds an empty page is.", d.size.asked)
			return with
		}
	}
	longer := d.vary(ctx, t, 3, nil)
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
	case t.ends == nil:
		t.beyond = "the third page is empty or the second one again, and nothing says that it is the last"
		return t
	}
	with := d.vary(ctx, t, 3, func(c *candidate) { c.pagination = withRule(c.pagination, "count == 0") })
	d.saw("Page 3 is empty, but still has a value for the next page: an empty page ends the list.")
	return with
}

// nearEnd reports whether the next page is probably the last.
func (d *detection) nearEnd(t *trial) bool {
	first, last := len(t.pages[0].items), len(t.pages[len(t.pages)-1].items)
	if _, total, ok := d.page.hint(apinames.HintTotal, above(first)); ok && t.obtained()+first >= total {
		return true
	}
	x := t.pages[len(t.pages)-1].exchange
	next := x.link("next")
	return last < first || next != nil && next == x.link("last")
}

// endOf states how the list ends, as far as it is known.
func (d *detection) endOf(t *trial) string {
	switch {
	case t.flag != nil:
		return "It is assumed that " + t.flag.String() + " changes on the last page."
	case t.kind.ends:
		return "It is assumed that the last page has no next link or value."
	case t.kind == tokenSign, t.kind == headerSign:
		return "It is assumed that the last page has no value for a next one, as most APIs do it. " +
			"If it has one, the run ends with a warning or an error."
	}
	return "It is assumed that the API answers with an empty page or a short one after the last item."
}
