package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// signsInBody returns the signs in the body of the last response, nearest to the root first.
// The list is not nil.
func (p *listView) signsInBody() []foundSign {
	s := bodySearch{listView: p, found: []foundSign{}}
	if !p.reading.HasContent() || p.isItem() {
		return s.found
	}
	s.trailer, s.rough = p.trailer()
	if err := p.reading.Visit(s.wants, s.visit); err != nil {
		return s.found[:0]
	}
	visitMembers(s.trailer, nil, s.wants, s.visit)
	s.addRecords()
	if total, ok := p.totalRow(); ok {
		s.found = append(s.found, foundSign{
			kind: apinames.SignTotal, path: []string{"total"}, at: "the total in the last line, which might not be an item,",
			value: total, inBody: true, rough: true,
		})
	}
	slices.SortStableFunc(s.found, func(a, b foundSign) int {
		return cmp.Or(len(a.path)-len(b.path), slices.Compare(a.path[:len(a.path)-1], b.path[:len(b.path)-1]), a.rank-b.rank)
	})
	return s.found
}

// isItem reports whether the body describes no list, since it is the only item of a job that is not paged: it has an identifier,
// or no list of objects. Its members are those of the item, such as "done": false.
func (p *listView) isItem() bool {
	if !p.readsRoot() || p.subject.job.Paged() {
		return false
	}
	names := p.reading.Names(nil)
	holdsList := func(path ...string) bool {
		within := func(name string) bool { return p.listsObjects(append(slices.Clip(path), name)) }
		return slices.ContainsFunc(p.reading.Names(path), within)
	}
	return slices.ContainsFunc(names, apinames.IsIdentifier) ||
		!holdsList() && !slices.ContainsFunc(names, func(name string) bool { return holdsList(name) })
}

// A bodySearch collects the signs in the body of a response.
type bodySearch struct {
	*listView
	trailer rules.Object // last line of the page, if it describes the list
	rough   bool         // whether that line has other members, so that it may be an item
	found   []foundSign
	records []foundSign // values of [apinames.JQGridRecords], which may be totals
}

// wants reports whether the value at a path may be a sign, and whether the members of an object there may be. A list of
// items is not decoded.
func (s *bodySearch) wants(path []string) (value, members bool) {
	if slices.ContainsFunc(s.subject.lists, func(l itemList) bool { return slices.Equal(l.keys, path) }) {
		return false, false
	}
	name := s.subject.nameOfSign(path)
	members = s.subject.holdsSigns(path) && !isLinks(name)
	return apinames.Key(name).MayBeSign() || name == apinames.JQGridRecords || isLinks(name) || name == listCount, members
}

// visit adds the signs of the value at a path.
func (s *bodySearch) visit(path []string, v any) {
	name := s.subject.nameOfSign(path)
	sign := foundSign{
		path: path, at: language.Read{Root: rules.ContextBody, Path: path}.String(), value: apinames.Unwrap(v), inBody: true, by: s.readsTo(path),
	}
	if s.trailer != nil {
		sign.at, sign.by, sign.least = strings.TrimPrefix(sign.at, "body.")+" in the last line", nil, true
	}
	links, _ := value.Members(v)
	_, isFlag := v.(bool)
	if isLinks(name) && s.context.Page == 1 { // see noticeTotal
		if back := apinames.LinkTo(v, "prev", "previous"); back != nil {
			before := sign
			before.value = back
			s.add(before, apinames.SignBack, 0, false)
		}
	}
	switch {
	case isLinks(name) && apinames.LinkTo(v, "next") != nil:
		sign.value = apinames.LinkTo(v, "next")
		s.add(sign, apinames.SignNext, 0, false)
	case isLinks(name), links != nil && apinames.Key(name).Is(apinames.SignPages): // as in Intercom: {"pages": {"next": …}}
		for _, m := range links {
			s.visit(append(slices.Clip(path), m.Name), m.Value)
		}
	case name == listCount:
		s.add(sign, apinames.SignTotal, len(apinames.SignNames(apinames.SignTotal)), true)
	case name == apinames.JQGridRecords:
		sign.kind = apinames.SignTotal
		s.records = append(s.records, sign)
	case apinames.Key(name).Signs() != nil:
		isMoney, mayBeMoney := false, false
		if apinames.Alike(name, "total") {
			isMoney, mayBeMoney = apinames.IsMoney(s.reading.Names(path[:len(path)-1]))
		}
		for _, h := range apinames.Key(name).Signs() {
			if h.Kind != apinames.SignTotal || !isMoney {
				s.add(sign, h.Kind, h.Rank, h.Kind == apinames.SignTotal && mayBeMoney)
			}
		}
	case apinames.Key(name).IsRoughNext(v):
		s.add(sign, apinames.SignNext, 0, true)
	case isFlag && apinames.Key(name).FlagKind() != "":
		s.add(sign, apinames.Key(name).FlagKind(), 0, true)
	case apinames.Key(name).PlaceKind() != "":
		s.add(sign, apinames.Key(name).PlaceKind(), 0, false)
	}
}

// add adds a sign of a kind, unless the object that has it holds no signs of that kind.
func (s *bodySearch) add(sign foundSign, kind apinames.SignKind, rank int, rough bool) {
	parent := sign.path[:len(sign.path)-1]
	above, _ := s.subject.holder(parent)
	if n := len(parent); n > above && parent[n-1] != "0" && !apinames.Key(parent[n-1]).MayHold(sign.path[n], kind) {
		return
	}
	if s.rough && !slices.Contains([]apinames.SignKind{apinames.SignTotal, apinames.SignNext, apinames.SignMore, apinames.SignLast}, kind) {
		return
	}
	sign.kind, sign.rank, sign.rough = kind, rank, rough || s.rough
	s.found = append(s.found, sign)
}

// addRecords adds each number of records that is next to a total which counts pages.
func (s *bodySearch) addRecords() {
	for _, record := range s.records {
		parent := record.path[:len(record.path)-1]
		for i, sign := range s.found {
			if sign.kind == apinames.SignTotal && slices.Equal(sign.path[:len(sign.path)-1], parent) &&
				apinames.IsJQGridTotal(sign.name(), sign.value, record.value, max(*s.largest, s.context.Count)) {
				s.found[i].kind = apinames.SignPages
				s.found = append(s.found, record)
				break
			}
		}
	}
}

// trailer returns the last line of a page in NDJSON if it describes the list, as {"truncated": true} does, and whether it
// has other members, too: {"type": "summary", "total": 250}. No other line that is compared has one of its members, except
// the name of a kind, and it has no identifier. It is nil for any other page.
func (p *listView) trailer() (last rules.Object, rough bool) {
	lines := p.reading.Compared
	if !p.reading.Lines {
		return nil, false
	}
	last = apinames.Trailer(lines, lineMembers)
	describes := func(m rules.Member) bool {
		return apinames.Key(m.Name).MayBeSign() || apinames.Key(m.Name).HoldsSigns()
	}
	identifies := func(m rules.Member) bool { return apinames.IsIdentifier(m.Name) }
	if !slices.ContainsFunc(last, describes) || slices.ContainsFunc(last, identifies) || haveKinds(lines[:len(lines)-1], "") {
		return nil, false
	}
	return last, slices.ContainsFunc(last, func(m rules.Member) bool { return !describes(m) })
}

// visitMembers is [document.Reading.Visit] for a decoded object at a path.
func visitMembers(object rules.Object, path []string, want func(path []string) (value, members bool), f func(path []string, v any)) {
	for _, m := range object {
		at := append(slices.Clip(path), m.Name)
		isWanted, enters := want(at)
		switch inner, isObject := value.Members(m.Value); {
		case enters && isObject:
			visitMembers(inner, at, want, f)
		case isWanted:
			f(at, m.Value)
		}
	}
}
