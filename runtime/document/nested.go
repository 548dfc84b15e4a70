package document

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A NestedList is an object within an item that has a list and says whether the list is complete,
// such as {"nodes": […], "pageInfo": {"hasNextPage": true}}.
type NestedList struct {
	Path  []string // path of the object in the item, or of the list if the object is the item or has several lists
	Sign  []string // path of the value that says that there is more; nil if there is no more
	Value string   // the value as JSON
	Outer []string // path of a list whose element has the object; nil if it is in no other list
}

// Truncated counts the lists below a star of the path of items that say that they have more items.
type Truncated struct {
	Count int
	Path  []string // path, in the response, of the value that says so, of the first list
	Value string   // the value as JSON
}

// maxNested is the largest number of objects and elements of lists within each other that are searched for nested lists.
const maxNested = 6

// NestedLists calls f with the nested lists of an item, which is a valid JSON value without
// insignificant whitespace. The root of the item, and its node in GraphQL, are not nested lists: the
// numbers in them belong to the item itself, and so do links. Only flags that have no other meaning than a page
// of a list count there, and values that name a list beside them, such as files_truncated and files_total. In an element of a
// list within the item, and in its node, only the latter count.
func NestedLists(item []byte, f func(NestedList)) {
	nestedSearch{found: f}.search(item, nil, wholeItem)
}

// A nestedSearch is the search of an item, or of the elements of a list within it.
type nestedSearch struct {
	outer []string // path of the list; nil for the item
	found func(NestedList)
}

// A searched says which object is searched.
type searched string

const (
	wholeItem  searched = "item"   // the item or an element, or its node in GraphQL
	partOfItem searched = "member" // an object within it
)

// search searches the object at a path.
func (s nestedSearch) search(object []byte, path []string, which searched) {
	if len(object) == 0 || object[0] != '{' || len(path) >= maxNested || bytes.IndexByte(object, '[') < 0 {
		return
	}
	signs := signsIn(object, scan.Span{}, func(name string, raw []byte) {
		inner := partOfItem
		if name == "node" {
			inner = which
		}
		s.search(raw, append(slices.Clip(path), name), inner)
	})
	if which == partOfItem && signs.lists == 1 {
		signs.numbers = slices.DeleteFunc(signs.numbers, func(sign nestedSign) bool { return apinames.Key(sign.path[0]).Is(apinames.SignTotal) })
	}
	s.findNamed(object, path, signs)
	if signs.lists == 0 {
		return
	}
	s.findPartial(path, signs)
	s.findPaged(path, signs, which)
	if s.outer == nil {
		s.searchLists(object, path)
	}
}

// report reports a list that is found.
func (s nestedSearch) report(list NestedList) {
	list.Outer = s.outer
	s.found(list)
}

// findNamed finds the lists in an object that signs name.
func (s nestedSearch) findNamed(object []byte, path []string, signs nestedSigns) {
	if len(signs.named) == 0 && len(signs.numbers) == 0 {
		return
	}
	for key, span := range scan.Members(object) {
		if raw := span.Of(object); raw[0] == '[' {
			if nested, ok := signs.nestedIn(path, string(scan.Unquote(key.Of(object))), raw); ok {
				s.report(nested)
			}
		}
	}
}

// findPartial finds the first list of an object that says whether it lacks data.
func (s nestedSearch) findPartial(path []string, signs nestedSigns) {
	partial := signs.partial
	if partial.path == nil {
		return
	}
	list := NestedList{Path: append(slices.Clip(path), string(signs.name))}
	if partial.kind == apinames.SignMore {
		list.Sign, list.Value = append(slices.Clip(path), partial.path...), string(partial.raw)
	}
	s.report(list)
}

// findPaged finds the first list of an object, if the other signs are about it.
func (s nestedSearch) findPaged(path []string, signs nestedSigns, which searched) {
	inItem := which == wholeItem || signs.lists > 1
	if inItem {
		signs.found = slices.DeleteFunc(signs.found, func(sign nestedSign) bool {
			isFlag := sign.kind == apinames.SignMore || sign.kind == apinames.SignLast
			return which == wholeItem && s.outer != nil || !isFlag || !apinames.Key(sign.path[len(sign.path)-1]).IsPagingOnly()
		})
	}
	if !inItem && apinames.Key(signs.name).ListKind() == apinames.LikelyList {
		signs.paged = signs.paged || slices.ContainsFunc(signs.found, func(sign nestedSign) bool {
			return sign.kind == apinames.SignTotal && len(sign.path) == 1 && signs.countsElements(sign.path[0])
		})
	}
	if nested, ok := signs.nested(path); ok {
		if inItem {
			nested.Path = append(slices.Clip(path), string(signs.name))
		}
		s.report(nested)
	}
}

// searchLists searches the elements of the lists in the object at a path.
func (s nestedSearch) searchLists(object []byte, path []string) {
	for key, span := range scan.Members(object) {
		list := span.Of(object)
		if list[0] != '[' || bytes.IndexByte(list[1:], '[') < 0 {
			continue
		}
		at := append(slices.Clip(path), string(scan.Unquote(key.Of(object))))
		i := 0
		for _, element := range scan.Members(list) {
			nestedSearch{at, s.found}.search(element.Of(list), append(slices.Clip(at), strconv.Itoa(i)), wholeItem)
			i++
		}
	}
}

// IsEnvelope reports whether an item may be a whole response in JSON: an object without an identifier that has one list, of
// objects, and a sign of a list beside it. Unless the sign has no other meaning, the object has nothing else but its success,
// which bare reports.
func IsEnvelope(item []byte) (ok, bare bool) {
	if item[0] != '{' || Identity(item) != nil {
		return false, false
	}
	signs := signsIn(item, scan.Span{}, func(string, []byte) {})
	if signs.lists != 1 || !bytes.HasPrefix(signs.list, []byte("[{")) || signs.found == nil {
		return false, false
	}
	for key, span := range scan.Members(item) {
		name, raw := apinames.Key(scan.Unquote(key.Of(item))), span.Of(item)
		if kind := scan.KindOf(raw); kind == scan.List || name.MayBeSign() || kind == scan.Object && name.HoldsSigns() {
			continue
		}
		var v any
		if value.Unmarshal(raw, &v) != nil || !name.IsSuccess(v) {
			return signs.paged, false
		}
	}
	return true, true
}

// signsIn returns the signs that an object has, and calls f with the objects in it. known is a member whose end
// is known, if present.
func signsIn(object []byte, known scan.Span, f func(name string, raw []byte)) (signs nestedSigns) {
	for key, span := range (scan.Walk{Data: object, Measured: known}).Members(0) {
		raw := span.Of(object)
		switch raw[0] {
		case '[':
			if signs.lists++; signs.list == nil {
				signs.name, signs.list = scan.Unquote(key.Of(object)), raw
			}
		case '{':
			name := string(scan.Unquote(key.Of(object)))
			if apinames.Key(name).HoldsSigns() {
				for inner, at := range scan.Members(raw) {
					signs.add(scan.Unquote(inner.Of(raw)), at.Of(raw), name)
				}
			}
			f(name, raw)
		default:
			signs.add(scan.Unquote(key.Of(object)), raw, "")
		}
	}
	return signs
}

// nestedSigns are the signs of a nested list that an object has.
type nestedSigns struct {
	lists int
	name  []byte // the name of the first list
	list  []byte // the first list
	found []nestedSign
	named []nestedSign // signs that name the list that they are about

	numbers []nestedSign // numbers, of which each may be that of the elements of a list whose name it has

	partial nestedSign // says whether the object lacks data; see [apinames.Key.IsPartial]

	paged bool // whether a sign means nothing but a page of a list
	bare  bool // whether the object is nothing but a page of a list, so that any text that may be a token is one
}

// A nestedSign is a value that says something about a list.
type nestedSign struct {
	path []string
	kind apinames.SignKind
	raw  []byte
	list string // the list that the name of the value names, or ""
}

// add adds a member of the object, or of an object with signs in it.
func (s *nestedSigns) add(name, raw []byte, parent string) {
	if apinames.Key(name).IsPagingOnly() {
		s.paged = true
	}
	if partial, ok := apinames.Key(name).IsPartial(raw); ok && parent == "" {
		s.partial = nestedSign{path: []string{string(name)}, kind: apinames.SignLast, raw: raw}
		if partial {
			s.partial.kind = apinames.SignMore
		}
	}
	for _, sign := range apinames.Key(name).Signs() {
		path := []string{string(name)}
		if parent != "" {
			path = []string{parent, string(name)}
		}
		if parent == "" || apinames.Key(parent).MayHold(string(name), sign.Kind) {
			s.found = append(s.found, nestedSign{path: path, kind: sign.Kind, raw: raw})
		}
	}
	if parent == "" && scan.KindOf(raw) == scan.Number {
		s.numbers = append(s.numbers, nestedSign{path: []string{string(name)}, kind: apinames.SignTotal, raw: raw})
	}
	if isFlag := string(raw) == "true" || string(raw) == "false"; parent == "" && (isFlag || bytes.IndexByte(name, '@') > 0) {
		if list, sign, ok := apinames.Key(name).SplitList(); ok {
			kind := apinames.Key(sign).Signs()[0].Kind
			s.named = append(s.named, nestedSign{[]string{string(name)}, kind, raw, list})
		}
	}
}

// nestedIn returns the list with a name in the object at a path, if signs name it.
func (s *nestedSigns) nestedIn(path []string, name string, raw []byte) (nested NestedList, ok bool) {
	about := nestedSigns{name: []byte(name), list: raw, paged: true, bare: true}
	for _, sign := range s.named {
		if apinames.Alike(sign.list, name) {
			about.found = append(about.found, sign)
		}
	}
	for _, sign := range s.numbers {
		if apinames.Key(sign.path[0]).CountsList(name) && about.countsElements(sign.path[0]) {
			about.found = append(about.found, sign)
		}
	}
	if about.found == nil {
		return nested, false
	}
	nested, ok = about.nested(path)
	nested.Path = append(slices.Clip(path), name)
	return nested, ok
}

// nested returns the nested list at a path. It reports false if the signs may have another meaning.
func (s *nestedSigns) nested(path []string) (nested NestedList, ok bool) {
	nested.Path = path
	complete, next := false, nestedSign{}
	for _, sign := range s.found {
		promisesMore := false
		switch value := string(sign.raw); sign.kind {
		case apinames.SignMore:
			promisesMore = value == "true"
			complete = complete || value == "false"
		case apinames.SignLast:
			promisesMore = value == "false"
			complete = complete || value == "true"
		case apinames.SignTotal:
			total, err := strconv.Atoi(value)
			promisesMore = err == nil && total > s.length(total)
			complete = complete || err == nil && !promisesMore
		case apinames.SignNext:
			if next.path == nil && sign.leadsOn(s.bare) {
				next = sign
			}
		}
		if promisesMore && nested.Sign == nil {
			nested.Sign, nested.Value = append(slices.Clip(path), sign.path...), string(sign.raw)
		}
	}
	if !complete && nested.Sign == nil && next.path != nil {
		nested.Sign, nested.Value, s.paged = append(slices.Clip(path), next.path...), string(next.raw), true
	}
	return nested, s.paged && (complete || nested.Sign != nil)
}

// countsElements reports whether a total under a name is a number of elements of the list, which is not empty. It may be
// an amount if its name is just total or the elements are lines of an order, a sum of numbers, and a count of anything.
func (s *nestedSigns) countsElements(name string) bool {
	for _, element := range scan.Members(s.list) {
		switch first := element.Of(s.list); scan.KindOf(first) {
		case scan.Object:
			for key := range scan.Members(first) {
				if apinames.Key(string(scan.Unquote(key.Of(first)))).IsSummand() {
					return false
				}
			}
			return !apinames.Alike(name, "total")
		case scan.Number:
			return !strings.HasSuffix(strings.ToLower(name), "total") && !apinames.Alike(name, "count")
		default:
			return !apinames.Alike(name, "total") && !apinames.Alike(name, "count")
		}
	}
	return false
}

// leadsOn reports whether the value is a link to the next page, or a token under a name that has no other
// meaning, as all names have in an object that is bare.
func (s nestedSign) leadsOn(bare bool) bool {
	if len(s.path) > 1 && s.raw[0] == '{' { // HubSpot: {"paging": {"next": {"after": "a", "link": "https://…"}}}
		for key, span := range scan.Members(s.raw) {
			name, value := string(scan.Unquote(key.Of(s.raw))), span.Of(s.raw)
			if slices.Contains([]string{"after", "cursor", "href", "link", "url"}, name) && value[0] == '"' && len(value) > len(`""`) {
				return true
			}
		}
		return false
	}
	text := string(s.raw)
	if bare || apinames.Key(s.path[len(s.path)-1]).IsPagingOnly() {
		return len(text) > len(`""`) && text[0] == '"'
	}
	return strings.HasPrefix(text, `"http://`) || strings.HasPrefix(text, `"https://`)
}

// length returns the number of elements of the list, but at most limit.
func (s *nestedSigns) length(limit int) (n int) {
	for range scan.Members(s.list) {
		if n++; n >= limit {
			break
		}
	}
	return n
}
