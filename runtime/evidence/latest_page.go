package evidence

import (
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A listView is a list with the facts about it, the page that was read last, and its end once it has ended.
type listView struct {
	subject  *Subject
	facts    *rules.ListFacts // the facts of the list, which the searches record
	largest  *int             // number of items on the largest page
	context  *rules.Context   // context of the page
	redactor *redact.Redactor
	warn     func(code, message string)
	unsent   *compile.UnsentKept // how the list began without kept values; nil if it did not
	end      End                 // how the list ended, once it has

	latestPage
}

// A latestPage is the page of a list that was read last.
type latestPage struct {
	reading   document.Reading
	header    http.Header
	trailers  http.Header     // the headers after its body
	request   document.Digest // the request for the page
	before    document.Digest // the request for the previous page
	sent      trace.Request   // the request for the page, without its secrets
	errorItem []byte          // its first item that has no identifier, and only members of errors
	repeats   bool            // whether an earlier page has the same items
}

// decisive returns the digest of the values that determine how the list continues.
func (p *listView) decisive() document.Digest {
	var d document.Digest
	for _, read := range p.subject.decisives {
		switch {
		case read.Root == rules.ContextItems:
			d = d.With(p.reading.ItemsDigest)
		case read.Root == rules.ContextBody && len(read.Path) == 0:
			d = d.With(p.reading.Content)
		default:
			v, _ := read.Lookup(p.context)
			d = document.DigestOf(fmt.Appendf(nil, "%s=%v", read, v), d)
		}
	}
	return d
}

// misspelt reports whether the last response has a value at a similar path.
func (p *listView) misspelt(path []string) bool {
	near := document.Nearest(p.reading.Names, path)
	if near == nil {
		return false
	}
	v, present := p.lookup(near)
	return present && !value.Empty(v)
}

// lookup returns the value at a path of the last response, and whether there is one.
func (p *listView) lookup(path []string) (any, bool) {
	body, err := p.reading.Lookup(document.NewPaths([][]string{path}))
	if err != nil {
		return nil, false
	}
	return language.Read{Root: rules.ContextBody, Path: path}.Lookup(&rules.Context{Body: body})
}

// placesOfItems returns the paths of the values in the root of a page, and next to its items.
func (p *listView) placesOfItems() (places [][]string) {
	if !p.reading.HasContent() {
		return nil
	}
	for _, name := range p.reading.Names(nil) {
		places = append(places, []string{name})
	}
	if field := p.subject.job.Spec().DataField; field != nil && len(field.Keys) > 1 {
		parent := field.Keys[:len(field.Keys)-1]
		for _, name := range p.reading.Names(parent) {
			places = append(places, append(slices.Clone(parent), name))
		}
	}
	return places
}

// listsObjects reports whether a page has a list of objects at a path. A list of errors does not count.
func (p *listView) listsObjects(path []string) bool {
	if slices.ContainsFunc(p.subject.beside, func(sign apinames.ErrorSign) bool { return slices.Equal(path, sign.Keys) }) {
		return false
	}
	found, _ := p.lookup(path)
	list, _ := found.([]any)
	if len(list) == 0 {
		return false
	}
	_, ok := value.Members(list[0])
	return ok
}

// outline returns the paths of a page at which items may be, or nil if there are too many.
func (p *listView) outline() (outline []string) {
	places := p.placesOfItems()
	switch {
	case len(places) > maxFirstPaths:
		return nil
	case p.reading.Place == rules.ContextBody:
		return []string{p.reading.Place}
	}
	for _, path := range places {
		outline = append(outline, keypath.Format(rules.ContextBody, path))
	}
	return outline
}

// maxFirstPaths is the largest number of paths remembered from the first page.
const maxFirstPaths = 256

// namesOfItem returns the names of the members of a usual item of a list of the page, given the index of the list; see
// [usualNames].
func (p *listView) namesOfItem(index int) []string {
	if p.reading.Found[index] == scan.Object {
		return nil
	}
	return usualNames(p.reading.Lists[index].Items.All())
}

// usualNames returns the names of the members of the first of some items that is an object, and does not report an error, or
// of the first one that is not null, if none of the first items is. They are nil if there is no such item.
func usualNames[B ~[]byte](items iter.Seq[B]) (names []string) {
	searched := 0
	for raw := range items {
		if raw[0] == 'n' {
			continue
		}
		isUsual := isObject(raw) && !document.IsErrorObject(raw)
		if names == nil || isUsual {
			members, _ := membersOf(raw)
			names = namesOf(members)
		}
		if searched++; isUsual || searched == maxSearched {
			break
		}
	}
	return names
}

// membersOf returns the members of an item, and whether it is an object that is not very large.
func membersOf(raw []byte) (members rules.Object, ok bool) {
	var item any
	if len(raw) > maxErrorBody || value.Unmarshal(raw, &item) != nil {
		return nil, false
	}
	return value.Members(item)
}

func namesOf(object rules.Object) []string {
	return lists.Map(object, func(m rules.Member) string { return m.Name })
}

// hasOneNull reports whether a list of the page has nothing but a single null, given its index.
func (p *listView) hasOneNull(index int) bool {
	for item := range p.reading.Lists[index].Items.All() {
		return item[0] == 'n' && p.reading.Lists[index].Items.Len() == 1
	}
	return false
}

// rootList returns the name of the only list in the root, from which the items were taken for want of a dataField, or "".
func (p *latestPage) rootList() string {
	if p.reading.Place == "" || p.reading.Place == rules.ContextBody {
		return ""
	}
	for _, name := range p.reading.Names(nil) {
		if keypath.Format(rules.ContextBody, []string{name}) == p.reading.Place {
			return name
		}
	}
	return ""
}

// isEmptyObject reports whether the page is {}.
func (p *listView) isEmptyObject() bool {
	if p.reading.Bytes > maxErrorBody || len(p.reading.Names(nil)) > 0 {
		return false
	}
	root, _ := p.lookup(nil)
	_, ok := value.Members(root)
	return ok
}

// nameOfList returns the path of a list, given its index.
func (p *listView) nameOfList(index int) string {
	if lists := p.subject.lists; lists != nil {
		return lists[index].text
	}
	return p.reading.Place
}

// listIsNull reports whether the page has null in the place of the list.
func (p *listView) listIsNull() bool {
	return len(p.reading.Found) == 1 && p.reading.Found[0] == scan.Null
}

// isBareList reports whether the last response has nothing but a list whose name is usual for lists of items, and
// members that describe a list.
func (p *listView) isBareList() bool {
	return !slices.ContainsFunc(p.reading.Names(nil), func(name string) bool {
		return apinames.Key(name).ListKind() != apinames.LikelyList && apinames.Key(name).Signs() == nil && !apinames.Key(name).HoldsSigns()
	})
}

// endedBy reports whether a rule that ended the job has such a read.
func (p *listView) endedBy(reads func(language.Read) bool) bool {
	return slices.ContainsFunc(p.subject.job.Stops, func(stop *compile.Trigger) bool {
		return slices.Contains(p.end.StoppedBy, stop.Rule.ID) && stop.ReadsFunc(reads)
	})
}

// An errorMember is a member of a page, in its root or next to its items, whose name is usual for an error or its message.
type errorMember struct {
	at, name string
	value    any
}

// errorMembers returns these members of the last page. They are nil if it has none.
func (p *listView) errorMembers() (members []errorMember) {
	paths := slices.DeleteFunc(p.placesOfItems(), func(path []string) bool {
		isItems := func(list itemList) bool { return slices.Equal(list.keys, path) }
		return !apinames.Key(path[len(path)-1]).MayNameErrors() || slices.ContainsFunc(p.subject.lists, isItems)
	})
	if len(paths) == 0 {
		return nil
	}
	body, _ := p.reading.Lookup(document.NewPaths(paths))
	for _, path := range paths {
		if v, present := (language.Read{Root: rules.ContextBody, Path: path}).Lookup(&rules.Context{Body: body}); present {
			members = append(members, errorMember{keypath.Format(rules.ContextBody, path), path[len(path)-1], v})
		}
	}
	return members
}

// contains reports whether text occurs as a value in the request.
func contains(sent any, text string) bool {
	if object, ok := value.Members(sent); ok {
		return slices.ContainsFunc(object, func(m rules.Member) bool { return contains(m.Value, text) })
	}
	t, ok := value.Text(sent)
	return ok && t == text
}
