package stress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A meaning is the information that a value of a response gives about the list. The meaning of a
// place is found by trying: with the right meanings, the job obtains the list.
type meaning struct {
	name  string
	kind  string // one of pointer, flag, amount, measure and constant
	says  string // completes "meta.next is …"
	value func(a *api, r *reply, next int) any

	fits      func(reading) bool // reports whether recorded values may have the meaning; nil if the kind decides
	leads     func(v any) bool   // of a pointer: reports whether a recorded value may have its form
	unreached string             // of an amount: the condition that the list is longer than what was read; {} is the value
}

// Kinds of meanings.
const (
	pointer  = "pointer"  // leads to the next page
	flag     = "flag"     // says whether there is a next page
	amount   = "amount"   // says how long the list is
	measure  = "measure"  // says which part of the list the page is
	constant = "constant" // says nothing
)

// pointing returns a meaning that leads to the next page.
func pointing(name, says string, leads func(any) bool, write func(a *api, r *reply, next int) any) meaning {
	return meaning{name: name, kind: pointer, says: says, leads: leads, value: func(a *api, r *reply, next int) any {
		if next < 0 {
			return a.end
		}
		return write(a, r, next)
	}}
}

// meanings is the table of meanings, the most common ones first. As in the audit, the last one of a number of
// pages may be empty.
var meanings = []meaning{
	pointing("link", "the address of the next page", linkForm, func(a *api, _ *reply, next int) any { return a.linkTo(next) }),
	pointing("token", "a token of the next page", tokenForm, func(a *api, _ *reply, next int) any { return token(a.issue(next)) }),
	pointing("path", "the path of the next page", textWith("/?"), func(a *api, _ *reply, next int) any {
		return "?" + tokenName + "=" + token(a.issue(next))
	}),
	pointing("query", "the parameters of the next page", textWith("="), func(a *api, _ *reply, next int) any {
		return tokenName + "=" + token(a.issue(next))
	}),
	{name: "mark", kind: pointer, says: "a token of the page after, also on the last page", leads: tokenForm,
		value: func(a *api, _ *reply, next int) any {
			if next < 0 {
				next = len(a.rows)
			}
			return token(a.issue(next))
		}},
	pointing("number", "a number of the next page", numberForm, func(a *api, _ *reply, next int) any { return tokenNumber + a.issue(next) }),
	pointing("object", "parameters of the next page, as an object", objectForm, func(a *api, _ *reply, next int) any {
		return value.Object{{Name: tokenName, Value: token(a.issue(next))}}
	}),
	{name: "links", kind: pointer, says: "a list of links, one of them to the next page", leads: listForm,
		value: func(a *api, r *reply, next int) any {
			links := []any{linkObject("self", a.linkTo(r.start))}
			if next >= 0 {
				links = append(links, linkObject("next", a.linkTo(next)))
			}
			return links
		}},
	{name: "list", kind: amount, says: "a list with an element for each page", fits: reading.lists, unreached: "page < len({})",
		value: func(a *api, _ *reply, _ int) any { return make([]any, (len(a.rows)+a.size-1)/a.size) }},
	{name: "more", kind: flag, says: "true while there is another page",
		value: func(_ *api, _ *reply, next int) any { return next >= 0 }},
	{name: "last", kind: flag, says: "true on the last page",
		value: func(_ *api, _ *reply, next int) any { return next < 0 }},
	{name: "total", kind: amount, says: "the number of items in the list", fits: reading.total, unreached: "total.items < number({})",
		value: func(a *api, _ *reply, _ int) any { return len(a.rows) }},
	{name: "pages", kind: amount, says: "the number of pages", fits: reading.pageCount, unreached: "page < number({})",
		value: func(a *api, _ *reply, _ int) any { return (len(a.rows) + a.size - 1) / a.size }},
	{name: "page", kind: measure, says: "the number of the page", fits: numberedFrom(1),
		value: func(a *api, r *reply, _ int) any { return r.start/a.size + 1 }},
	{name: "page0", kind: measure, says: "the number of the page, from 0", fits: numberedFrom(0),
		value: func(a *api, r *reply, _ int) any { return r.start / a.size }},
	{name: "index", kind: measure, says: "the index of the first item of the page", fits: reading.index,
		value: func(_ *api, r *reply, _ int) any { return r.start }},
	{name: "size", kind: measure, says: "the page size", fits: reading.size,
		value: func(a *api, _ *reply, _ int) any { return a.size }},
	{name: "count", kind: measure, says: "the number of items on the page", fits: reading.counts,
		value: func(_ *api, r *reply, _ int) any { return len(r.rows) }},
	{name: "left", kind: amount, says: "the number of items after the page", fits: reading.left, unreached: "number({}) > 0",
		value: func(a *api, r *reply, _ int) any { return max(0, len(a.rows)-r.start-len(r.rows)) }},
	absence,
}

// linkObject returns a link, with its relation and its target under the names that they have
// in the formats of APIs.
func linkObject(rel, target string) value.Object {
	return value.Object{{Name: "rel", Value: rel}, {Name: "relation", Value: rel}, {Name: "href", Value: target}, {Name: "url", Value: target}}
}

// absence is the meaning of a place that no page has.
var absence = meaning{name: "absent", kind: constant, says: "absent", fits: func(r reading) bool { return len(r.values) == 0 },
	value: func(*api, *reply, int) any { return gone{} }}

// steady is the meaning of a place that always has the same value, whichever it is.
var steady = meaning{name: "steady", kind: constant, says: "the same on every page", fits: reading.constant,
	value: func(*api, *reply, int) any { return "sample" }}

// saying returns the meaning of a place that always has a certain value.
func saying(v any) meaning {
	return meaning{name: "constant", kind: constant, says: "always " + value.Preview(v),
		value: func(*api, *reply, int) any { return v }}
}

// spelling returns the two meanings of a flag that is a text, of which a rule names one: it is the text while
// there is another page, or on the last page. A recording may show the other text.
func spelling(v any, recorded reading) []meaning {
	text, isText := v.(string)
	if !isText || text == "" {
		return nil
	}
	other := "other"
	for _, pair := range flagPairs {
		for i, one := range pair {
			if strings.EqualFold(text, one) {
				other = pair[1-i]
			}
		}
	}
	for _, had := range recorded.values {
		if had, isText := had.(string); isText && had != text {
			other = had
		}
	}
	flagged := func(name, further, last string) meaning {
		says := fmt.Sprintf("%q while there is another page, and %q on the last one", further, last)
		return meaning{name: name, kind: flag, says: says, value: func(_ *api, _ *reply, next int) any {
			if next < 0 {
				return last
			}
			return further
		}}
	}
	return []meaning{flagged("more "+text, text, other), flagged("last "+text, other, text)}
}

// flagPairs are the texts that flags have in pairs.
var flagPairs = [][2]string{{"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"1", "0"}}

// likely returns the possible meanings of a place, judged by how rules use it, the most likely
// first. If rules only test the value, its name decides, by the tables of package apinames. Meanings
// that a recording contradicts are left out.
func likely(p compile.ResponseValue, surface compile.Surface, rec recording) []meaning {
	var list []meaning
	add := func(names ...string) {
		for _, name := range names {
			if name != "" && !slices.ContainsFunc(list, func(had meaning) bool { return had.name == name }) {
				list = append(list, named(name))
			}
		}
	}
	usual := usualMeaning(p)
	literals := lists.Map(surface.Literals, saying)
	if denies(p) && !p.Sent && !p.Address {
		list = append(list, saying(true))
	}
	switch {
	case p.Link != "" && p.Param != "":
		add("more", "last")
	case p.Link != "":
		add("link")
	case p.Address:
		add("link", "path", "query", "token", "number", "links", "absent")
	case p.Sent:
		if usual == "" && len(surface.Keys) > 0 { // the key of an item says which page is next
			list = append(list, steady)
		}
		add(byParameter(p)...)
		add("token", "mark", "number", "query", "object", "link", "page", "page0", "index", "size", "absent", "total")
		literals = nil
	case p.Waits && !p.Judged:
		add("absent", "size")
	case p.Fails:
		add(unreached(p), usual, "absent")
		list, literals = append(list, literals...), nil
		add("more", "last", "total", "pages", "left", "page", "page0", "count", "index", "size", "list", "token", "number")
	case p.Flag && usual == "last":
		add("last", "more", "token", "total", "absent")
	case p.Flag:
		add("more", "last", "token", "total", "absent")
	default:
		add(byParameter(p)...)
		add(usual, "more", "last", "total", "pages", "token", "number", "left", "page", "page0", "count", "index", "size",
			"list", "links", "absent")
		if polls := slices.ContainsFunc(surface.Values, func(v compile.ResponseValue) bool { return v.Waits }); !polls {
			for _, v := range surface.Literals {
				list = append(list, spelling(v, rec.reading(p))...)
			}
		}
	}
	list = append(list, literals...)
	if had := rec.reading(p); had.constant() && len(had.values) == len(rec.pages) {
		list = append(list, saying(had.first()))
	}
	return slices.DeleteFunc(list, func(m meaning) bool { return rec.contradicts(p, m) })
}

// denies reports whether the name of a place is one under which many APIs report an error by false,
// such as ok or success.
func denies(p compile.ResponseValue) bool {
	n := len(p.Path)
	return (n == 1 || n == 2 && apinames.Key(p.Path[0]).HoldsErrors()) &&
		slices.ContainsFunc(apinames.Key(p.Path[n-1]).ErrorSigns(), func(s apinames.ErrorSign) bool { return s.Kind == apinames.ErrorDenial })
}

// usualMeaning returns the name of the meaning that a place has in many APIs, or "".
func usualMeaning(p compile.ResponseValue) string {
	for _, h := range apinames.SignHeaders() {
		if strings.EqualFold(h.Name, p.Header) && !h.Range && !h.JSON {
			return signMeanings[h.Kind]
		}
	}
	if n := len(p.Path); n > 0 {
		if signs := apinames.Key(p.Path[n-1]).Signs(); len(signs) > 0 {
			return signMeanings[signs[0].Kind]
		}
	}
	return ""
}

// unreachedBy returns the condition that the list is longer than what was read, by an amount at a place.
func (m meaning) unreachedBy(p compile.ResponseValue) string {
	return strings.ReplaceAll(m.unreached, "{}", p.String())
}

// unreached returns the name of the amount that the rule that fails the run takes a value for, as rules of fixes do,
// or "".
func unreached(p compile.ResponseValue) string {
	for _, m := range meanings {
		if m.unreached != "" && strings.Contains(p.Failing, m.unreachedBy(p)) {
			return m.name
		}
	}
	return ""
}

// byParameter returns the names of the meanings of a number whose name is also the name of a parameter: the
// page that it belongs to, the index of its first item, or its size.
func byParameter(p compile.ResponseValue) []string {
	n := len(p.Path)
	switch {
	case n == 0 || usualMeaning(p) != "":
		return nil
	case apinames.AlikeAny(p.Path[n-1], apinames.PageNumberNames()) || p.Path[n-1] == "number":
		return []string{"page", "page0"}
	case apinames.AlikeAny(p.Path[n-1], apinames.ItemIndexNames()):
		return []string{"index"}
	case apinames.AlikeAny(p.Path[n-1], apinames.PageSizeNames()):
		return []string{"size"}
	}
	return nil
}

// unlikely reports whether the next request needs a value that, with the meaning, does not lead to the next
// page, and whose name does not say so.
func (s *signal) unlikely() bool {
	return (s.Sent || s.Address) && s.meaning.kind != pointer && s.meaning.name != steady.name &&
		!slices.Contains(byParameter(s.ResponseValue), s.meaning.name)
}

var signMeanings = map[apinames.SignKind]string{
	apinames.SignTotal: "total", apinames.SignPages: "pages", apinames.SignNext: "token", apinames.SignMore: "more", apinames.SignLast: "last",
}

// named returns a meaning of the table.
func named(name string) meaning {
	return meanings[slices.IndexFunc(meanings, func(m meaning) bool { return m.name == name })]
}
