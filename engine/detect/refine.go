package detect

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// refine completes a pagination that was proved: the numbers it begins with, flags, totals
// and the end.
func (d *detection) refine(ctx context.Context, t *trial) *trial {
	t = d.settleBase(ctx, t)
	t = d.addFlag(ctx, t)
	t = d.findEnd(ctx, t)
	d.doubtStart(ctx, t)
	d.doubtSize(t)
	d.doubtLink(t)
	for _, f := range t.Findings {
		d.doubt("A run of these pages warns: %s.", d.hide(f.Message))
	}
	return t
}

// settleBase finds out whether pages are counted from 0 or 1: page 1 is either another page or the first page
// again.
func (d *detection) settleBase(ctx context.Context, t *trial) *trial {
	if !t.baseUnknown || t.kind != numberSign {
		return t
	}
	fromZero := d.vary(ctx, t, 2, func(c *candidate) {
		c.values["first"], c.baseUnknown = 0, false
		c.fill(c.hypothesis.pagination)
	})
	d.judge(fromZero)
	switch {
	case fromZero.proof == proven:
		d.saw("Pages are counted from 0: page 1 has other items than the first page.")
		return fromZero
	case fromZero.repeats():
		d.saw("Pages are counted from 1: page 1 is the first page again.")
	default:
		d.doubt("It is not known whether pages are counted from 0 or 1. If the page numbered 0 is the first, set firstPage to 0; " +
			"otherwise the page numbered 1 would be missing.")
	}
	return t
}

// repeats reports whether the second page has the items of the first.
func (t *trial) repeats() bool {
	if len(t.pages) != 2 {
		return false
	}
	items := t.pages[1].items
	return t.pages[1].again || len(items) > 0 && overlap(t.pages[0].items, items) == len(items)
}

// addFlag adds the flag that says that there is more, unless the pagination has it or the number of
// pages already.
func (d *detection) addFlag(ctx context.Context, t *trial) *trial {
	if d.flag == nil || t.pagesKnown || t.kind == connectionSign || t.kind == linkFlagSign {
		return t
	}
	variant := d.vary(ctx, t, len(t.pages), func(c *candidate) { c.pagination = withFlag(c.pagination, d.flag) })
	if len(variant.pages) < len(t.pages) {
		d.doubt("%s on page 1, but a later page does not say so although there is more, so the flag is not used.", d.flag.says())
		return t
	}
	variant.flag = d.flag
	if variant.ended && !t.ended {
		d.saw("%s is %s on the last page: it ends the list.", d.flag.String(), d.factOf(variant, d.flag))
	}
	return variant
}

// factOf returns the value of a flag on the last page of a trial.
func (d *detection) factOf(t *trial, f *flag) string {
	pages := t.decoded()
	if len(pages) == 0 {
		return "another"
	}
	for _, other := range pages[len(pages)-1].facts {
		if slices.Equal(other.path, f.path) {
			return value.Preview(other.value)
		}
	}
	return "missing"
}

// doubtStart doubts that the address leads to the first page.
func (d *detection) doubtStart(ctx context.Context, t *trial) {
	if source := d.page.previous(); source != "" {
		d.doubt("%s points to a page before this one, so this may not be the first page: the items before it are not read.", source)
	}
	for _, name := range slices.Concat(apinames.PageNumberNames(), apinames.ItemIndexNames()) {
		isSize := slices.Contains(apinames.PageSizeNames(), name)
		source, n, ok := d.call.param(name)
		if ok && n > 1 && n < apinames.HighestCounter && !isSize && t.values["param"] != source.name() {
			d.doubt("The address has %s=%d, so this may not be the first page: the items before it are not read.", source.name(), n)
		}
	}
	n, counted := t.values["first"].(int)
	_, _, given := d.call.param(textOf(t.values["param"]))
	if given && counted && n == 1 && t.kind == numberSign && !d.recorded && !d.allRead(t) {
		d.settleStart(ctx, t)
	}
	if counted && n > 1 {
		d.doubt("The address begins at %s=%d: items before that are not read.", t.values["param"], n)
	}
}

// settleStart finds out whether a page numbered 0 precedes the page of the address, if a request is left.
func (d *detection) settleStart(ctx context.Context, t *trial) {
	param := textOf(t.values["param"])
	c := candidate{hypothesis: t.hypothesis}
	c.pagination = expression("count == 0", object(when(t.post, "body", "params"), object(param, "0")))
	before := d.run(ctx, c, 2)
	d.judge(before)
	failed, _ := errors.AsType[*engine.Error](before.err)
	switch {
	case before.proof == proven:
		d.doubt("The page numbered 0 has items, too, which the configuration does not read. To read them, begin at %s=0.", param)
	case before.repeats(), before.proof == emptyPage, failed != nil && failed.Status >= 400 && !before.transient:
		d.saw("Pages are counted from 1: the page numbered 0 has no other items.")
	default:
		d.doubt("The address begins at %s=1. If the API counts pages from 0, the page numbered 0 is missing.", param)
	}
}

// allRead reports whether a total, or a number of pages, says that all was read.
func (d *detection) allRead(t *trial) bool {
	_, _, items := d.page.numberOf(apinames.SignTotal, exactly(t.obtained()))
	_, _, pages := d.page.numberOf(apinames.SignPages, exactly(len(t.pages)))
	return t.ended && (items || pages && len(t.pages[len(t.pages)-1].items) > 0)
}

// doubtSize doubts a page size that the API does not honour.
func (d *detection) doubtSize(t *trial) {
	asked, got := d.size.asked, len(d.items.items)
	switch {
	case asked == 0 || asked == got:
	case got > asked:
		d.doubt("The address asks for %d items (%s), but the page has %d: the API seems to ignore it.", asked, d.size.param, got)
	case t.kind == indexSign:
		d.doubt("The address asks for %d items (%s), but the page has %d: the API seems to allow no more, "+
			"so the index advances by what is received. If pages are short for another reason, items may be read twice.", asked, d.size.param, got)
	}
}

// doubtLink doubts links that do not repeat the parameters of the address.
func (d *detection) doubtLink(t *trial) {
	u := t.second
	if !t.kind.isAddress || u == nil || d.call.method != "GET" {
		return
	}
	var missing []string
	for _, m := range d.call.params {
		name := strings.TrimPrefix(m.Name, "#")
		if !u.Query().Has(name) && !apinames.AlikeAny(name, apinames.PageSizeNames()) && u.Path == d.page.address.Path && !d.opaque(u) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		d.doubt("The link to the next page leaves out %s. Check that the items of later pages fit it, or set includeParams.",
			strings.Join(missing, ", "))
	}
}

// opaque reports whether a link has a token, in which the API may keep the parameters of
// the address.
func (d *detection) opaque(u *url.URL) bool {
	for name, values := range u.Query() {
		if _, given := d.call.params.Get(name); given {
			continue
		}
		for _, text := range values {
			_, isNumber := number(text)
			name = strings.ToLower(name)
			if len(text) >= 8 && !isNumber || strings.Contains(name, "token") || strings.Contains(name, "cursor") {
				return true
			}
		}
	}
	return false
}
