package detect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// number finds the number of a page: in the request, in the response, or not at all.
func (s *seeker) number(sign apinames.PagingSign) []candidate {
	if sign.POST != s.call.isJSON() {
		return nil
	}
	if name, first, ok := s.counter(sign); ok {
		return []candidate{s.counted(sign, typed, name, first)}
	}
	if sign.POST {
		return nil
	}
	for _, f := range s.page.named(sign.Names...) {
		if n, ok := number(f.value); ok && (n == 0 || n == 1) {
			c := s.counted(sign, echoed, f.name(), n)
			if !slices.Contains([]string{"page", "p", "pageNumber", "page_number", "pageIndex", "page_index"}, f.name()) {
				c.values["param"] = sign.Params[0]
			}
			c.guess = asText(c.values["param"])
			return []candidate{c.later()}
		}
	}
	if s.isComplete() {
		return nil
	}
	c := s.counted(sign, blind, sign.Params[0], 1)
	c.guess, c.base = sign.Params[0], true
	return []candidate{c.later()}
}

// later lets the first request be the one of the address: the number of the page is only
// sent from the second one on.
func (c candidate) later() candidate {
	c.values["sendFirst"], c.moved, c.extra = false, nil, nil
	return c
}

// highestCounter is above every number of a page or an item; larger ones are times.
const highestCounter = 10_000_000

// counter finds an integer parameter of the request under one of the names of a sign.
func (s *seeker) counter(sign apinames.PagingSign) (name string, n int, ok bool) {
	for _, name := range sign.Names {
		if keys, n, ok := s.call.param(name); ok && n < highestCounter && !slices.Equal(keys, s.size.keys) {
			return rules.PathOf(keys...), n, true
		}
	}
	return "", 0, false
}

// counted is a candidate that counts from the value of the first request.
func (s *seeker) counted(sign apinames.PagingSign, score int, param string, first int) candidate {
	c := candidate{score: score, values: map[string]any{"param": param, "first": first}, moved: []string{param}, extra: []string{param}}
	switch {
	case sign.POST: // the job keeps its body, in which the next value replaces the first
		c.moved, c.extra = nil, nil
	case s.size.param != "":
		c.moved, c.extra = append(c.moved, s.size.param), append(c.extra, s.size.param)
	}
	if f, _, ok := s.page.hint(apinames.HintPages, func(n int) bool { return n > 0 }); ok {
		c.values["pagesAt"] = f.path()
	} else if name, _, ok := s.page.headerHint(apinames.HintPages, func(n int) bool { return n > 0 }); ok {
		c.values["pagesHeader"] = name
	}
	return c
}

// index finds the index of an item: in the request, in the response, or not at all.
func (s *seeker) index(sign apinames.PagingSign) []candidate {
	if sign.POST != s.call.isJSON() || s.size.items == 0 {
		return nil
	}
	if name, first, ok := s.counter(sign); ok {
		return []candidate{s.indexed(sign, typed, name, first)}
	}
	if sign.POST {
		return nil
	}
	for _, f := range s.page.named(sign.Names...) {
		if n, ok := number(f.value); ok && (n == 0 || n == 1) {
			c := s.indexed(sign, echoed, f.name(), n)
			c.guess = f.name()
			return []candidate{c}
		}
	}
	if s.isComplete() {
		return nil
	}
	c := s.indexed(sign, blind-2, sign.Params[0], 0)
	c.guess, c.base = sign.Params[0], true
	return []candidate{c}
}

func (s *seeker) indexed(sign apinames.PagingSign, score int, param string, first int) candidate {
	c := s.counted(sign, score, param, first)
	if s.size.asked != s.size.items || s.size.param == "" { // the sign with Needs "counted", whose job keeps its parameters
		return c.withJobParams(s.hasParam(param), first)
	}
	if first != 0 && !sign.POST {
		c.values["fromJob"] = true
		c.sets = value.Object{{Name: param, Value: first}}
	}
	return c
}

// withJobParams lets the job send its own parameters, and the index from the second
// request on.
func (c candidate) withJobParams(sent bool, first int) candidate {
	c.moved, c.extra = nil, nil
	if !sent && first != 0 {
		c.base = false
	}
	return c
}

// isComplete reports whether the response says that there is nothing more.
func (s *seeker) isComplete() bool {
	all := func(n int) bool { return n == len(s.items.items) }
	if f, _, ok := s.page.hint(apinames.HintTotal, all); ok && !strings.HasSuffix(f.name(), "ount") { // a count may be the page's
		return true
	}
	for _, f := range s.page.named(apinames.OfHint(apinames.HintMore)...) {
		if f.value == false {
			return true
		}
	}
	for _, f := range s.page.named(apinames.OfHint(apinames.HintLast)...) {
		if f.value == true {
			return true
		}
	}
	return false
}

// path finds a number in the path of the address.
func (s *seeker) path(sign apinames.PagingSign) []candidate {
	segments := strings.Split(s.call.endpoint, "/")
	path := strings.TrimPrefix(s.call.base, s.call.address.Scheme+"://"+s.call.address.Host)
	all := append(strings.Split(strings.Trim(path, "/"), "/"), segments...)
	for i := 1; i < len(all); i++ {
		n, err := strconv.Atoi(all[i])
		if err != nil || n > 1 || n < 0 || !slices.Contains(sign.Names, all[i-1]) {
			continue
		}
		before := "/" + strings.TrimPrefix(strings.Join(all[:i], "/")+"/", "/")
		after := strings.Join(append([]string{""}, all[i+1:]...), "/")
		return one(typed, map[string]any{"before": before, "after": after, "first": n})
	}
	return nil
}
