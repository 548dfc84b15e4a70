package detect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// addTotal lets a total end a list that is counted, or whose token stays after the last
// item. The total must be the same on both pages, and more than the items before.
func (d *detection) addTotal(ctx context.Context, t *trial) *trial {
	pages := t.decoded()
	if len(pages) < 2 || t.statesEnd() || t.flag != nil {
		return t
	}
	f, total, ok := d.page.numberOf(apinames.SignTotal, above(len(t.pages[0].items)))
	if !ok {
		return t
	}
	_, again, _ := pages[1].numberOf(apinames.SignTotal, exactly(total))
	if again != total || t.ended && total != t.obtained() {
		return t
	}
	reached := total == t.obtained()
	if counts := t.isCounter(); !counts && (!reached || t.ended) {
		return t
	}
	if _, given := t.pagination.Get("limitStop"); given {
		return t
	}
	withTotal := func(c *candidate) {
		if f.header != "" {
			c.pagination = withRule(c.pagination, fmt.Sprintf("total.items >= number(%s)", f.expression()))
			return
		}
		c.pagination = c.pagination.With("limitStop", object("field", f.String()))
	}
	variant := d.vary(ctx, t, len(t.pages), withTotal)
	if variant.obtained() < t.obtained() {
		return t
	}
	if !t.isCounter() {
		variant = d.vary(ctx, variant, len(t.pages), func(c *candidate) {
			c.pagination = c.pagination.With("audit", object("ignore", []any{trace.FindingToken}))
		})
	}
	d.saw("%s is %d on both pages: the list ends when that many items were read.", f.String(), total)
	return variant
}

// isCounter reports whether the client counts the items or the pages.
func (c candidate) isCounter() bool {
	return slices.Contains([]*kind{indexSign, numberSign, rangeSign, boundsSign}, c.kind)
}

// findEnd determines how the list ends. If the second page may be the last, but nothing says so, it
// obtains the third page.
func (d *detection) findEnd(ctx context.Context, t *trial) *trial {
	counts := t.isCounter()
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
	case t.ended && (t.kind == rangeSign || t.kind == boundsSign) && t.values["honoured"] != nil && !d.allRead(t):
		d.doubt("That a page with fewer than %s items is the last was not proved.", t.values["size"])
	case t.ended && counts && !d.recorded && d.endsFull(t):
		return d.proveFull(ctx, t)
	case t.ended:
		d.saw("The end was seen: page %d is the last by %s.", len(t.pages), strings.Join(t.rules(), " and "))
	case t.beyond != "":
		d.doubt("The end of the list was not seen: %s.", d.hide(t.beyond))
	default:
		if unmoved := d.endUnmoved(ctx, t); unmoved != nil {
			d.doubt("The end of the list was not seen. It is assumed that the last page has no value for a next one, " +
				"or that an empty page with the same value follows it.")
			return unmoved
		}
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
	_, _, stated := d.page.numberOf(apinames.SignTotal, exactly(t.obtained()))
	return !stated && t.kind == indexSign
}

// endsFull reports whether the last page of a trial has as many items as the first.
func (d *detection) endsFull(t *trial) bool {
	last := len(t.pages) - 1
	return last > 0 && len(t.pages[last].items) >= len(t.pages[0].items)
}

// proveFull looks beyond a full page, since a total, a number of pages or a flag may be wrong. If more items
// follow, the pagination ends the list without the value that was wrong.
func (d *detection) proveFull(ctx context.Context, t *trial) *trial {
	n, by := len(t.pages), strings.Join(t.rules(), " and ")
	longer := d.vary(ctx, t, n+1, func(c *candidate) { d.endOtherwise(c) })
	failed, _ := errors.AsType[*engine.Error](longer.err)
	switch {
	case len(longer.pages) > n && (longer.pages[n].again ||
		overlap(longer.pages[n-1].items, longer.pages[n].items) == len(longer.pages[n].items)):
		d.saw("The end was seen: page %d is the last by %s, and the page after it has no other items.", n, by)
	case len(longer.pages) > n:
		longer.flag = nil
		d.doubt("Page %d is the last by %s, but the page after it has other items, so the list does not end by that. "+
			"The end of the list was not seen. %s", n, by, d.endOf(longer))
		return longer
	case failed != nil && failed.Status >= 400 && failed.Status < 500 && failed.Status != http.StatusTooManyRequests:
		d.saw("The end was seen: page %d is the last by %s, and the request for the page after it failed with status %d.", n, by, failed.Status)
	default:
		d.doubt("Page %d is the last by %s, but it is full, and the page after it was not seen.", n, by)
	}
	return t
}

// endOtherwise removes the total, the number of pages and the flag that end the list of a candidate.
func (d *detection) endOtherwise(c *candidate) {
	if c.pagesKnown {
		c.hypothesis = hypotheses[slices.IndexFunc(hypotheses, func(h hypothesis) bool { return h.id == "page-number" })]
		c.fill(c.hypothesis.pagination)
	}
	c.pagination = c.pagination.Without("limitStop").Without("hasMore").Without("nextPageFlag")
	given, _ := c.pagination.Get("stopRules")
	list, _ := given.([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(rule any) bool { return rule != "count == 0" })
	if c.pagination = c.pagination.Without("stopRules"); len(list) > 0 {
		c.pagination = c.pagination.With("stopRules", list)
	}
}

// proveShort looks beyond a short page, since an API may leave out items of a page in the
// middle. If more items follow, the pagination ends the list at an empty page.
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

// lookFurther obtains a third page, unless the second one is known to be far from the end.
func (d *detection) lookFurther(ctx context.Context, t *trial) *trial {
	if d.recorded { // the further pages cost no request
		longer := d.vary(ctx, t, len(d.session.known)+1, nil)
		if longer.ended && !longer.pages[len(longer.pages)-1].again {
			return longer
		}
	}
	if t.err != nil || len(t.pages) > 2 || d.isFar(t) {
		return t
	}
	longer := d.vary(ctx, t, 3, nil)
	switch {
	case len(longer.pages) < 3 && !longer.ended:
		if short := d.endShort(ctx, t); short != nil {
			return short
		}
		if !longer.refused {
			t.beyond = failureOf("third", longer.err)
			d.adviseStop(t, longer.err)
		}
		return t
	case longer.pages[len(longer.pages)-1].again:
		t.beyond = "the third page is the second one again. A run stops there, but the API may have cut the list off"
		return t
	case longer.ended, len(longer.pages[2].items) > 0:
		return longer
	case t.ends == nil:
		t.beyond = "the third page is empty, and nothing says that it is the last"
		return t
	case !longer.stays():
		longer.beyond = "page 3 is empty, but it has another value for the next page, so a run goes on. " +
			"If an empty page ends the list, add the stopping rule count == 0"
		return longer
	}
	return d.endEmpty(ctx, longer)
}

// endEmpty ends the list of a trial at an empty page. Its last page is empty, and has the token of the page before.
func (d *detection) endEmpty(ctx context.Context, t *trial) *trial {
	d.saw("Page %d is empty, and has the same value for the next page as the page before: an empty page ends the list.", len(t.pages))
	with := d.vary(ctx, t, len(t.pages), func(c *candidate) { c.pagination = withRule(c.pagination, "count == 0") })
	with.why = t.why
	return with
}

// endUnmoved ends the list of a trial at an empty page that has the token of the page before. It returns nil unless the
// name of the token is that of a position, which an API may send after the last item, too.
func (d *detection) endUnmoved(ctx context.Context, t *trial) *trial {
	place := keypath.Split(textOf(t.values["at"]))
	if t.kind != tokenSign || t.ends == nil || t.flag != nil || len(place) == 0 || !apinames.IsPosition(path(place).name()) {
		return nil
	}
	token := textOf(t.values["body"])
	return d.vary(ctx, t, len(t.pages), func(c *candidate) {
		c.pagination = withRule(c.pagination, fmt.Sprintf("count == 0 and %[1]s == prev.%[1]s", token))
	})
}

// adviseStop advises what to do if the API answers with an error after its last page.
func (d *detection) adviseStop(t *trial, err error) {
	failed, ok := errors.AsType[*engine.Error](err)
	if ok && (t.isCounter() || t.kind == pathSign) &&
		failed.Status >= 400 && failed.Status < 500 && failed.Status != http.StatusTooManyRequests {
		d.advise(`If status %[1]d is the end of the list, add this to the pagination: `+
			`"onError": [{"when": "status == %[1]d and page > 1", "do": "stop"}].`, failed.Status)
	}
}

// endShort returns the trial with shortPageEnds if that ends its list, and nil otherwise.
func (d *detection) endShort(ctx context.Context, t *trial) *trial {
	if t.kind != keySign || d.size.asked == 0 || d.size.asked != len(t.pages[0].items) {
		return nil
	}
	variant := d.vary(ctx, t, len(t.pages), func(c *candidate) {
		c.values["shortEnds"], c.values["limit"] = true, d.size.asked
		c.fill(c.hypothesis.pagination)
	})
	if !variant.ended {
		return nil
	}
	d.doubt("That a page with fewer than %d items is the last was not proved. Without shortPageEnds an empty page is.", d.size.asked)
	return variant
}

// stays reports whether the last page has the same token as the page before it.
func (t *trial) stays() bool {
	pages, place := t.decoded(), textOf(t.values["at"])
	if len(pages) < 2 {
		return false
	}
	earlier, latest := pages[len(pages)-2].at(place), pages[len(pages)-1].at(place)
	return textOf(earlier) != "" && textOf(earlier) == textOf(latest)
}

// isFar reports whether the response says that the page after the second one is not the last.
func (d *detection) isFar(t *trial) bool {
	latest := t.decoded()
	if len(latest) == 0 {
		return false
	}
	same := func(kind apinames.SignKind, ok check) (n int, found bool) {
		_, n, found = d.page.numberOf(kind, ok)
		_, _, again := latest[len(latest)-1].numberOf(kind, exactly(n))
		return n, found && again
	}
	first := len(t.pages[0].items)
	if total, ok := same(apinames.SignTotal, above(first)); ok {
		return t.obtained()+first < total
	}
	if pages, ok := same(apinames.SignPages, above(1)); ok {
		return pages > len(t.pages)+1
	}
	x := latest[len(latest)-1]
	last := x.link("last")
	return last != nil && last != x.link("next")
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
	for _, key := range []string{"pagesField", "pagesHeader"} {
		if place, counted := t.pagination.Get(key); counted {
			return fmt.Sprintf("It is assumed that the last page is the one whose number %s says.", place)
		}
	}
	if _, short := t.pagination.Get("limit"); t.kind == indexSign && short {
		return "It is assumed that the last page has fewer items than the others, or none."
	}
	return "It is assumed that an empty page follows the last one."
}
