package evidence

import (
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A placeSearch finds the items of a list that a page lacks at other places in it.
type placeSearch struct {
	*listView
	memory *placeMemory
}

// A placeMemory is what a [placeSearch] remembers of earlier pages.
type placeMemory struct {
	Elsewhere []place `json:"elsewhere,omitempty"` // for each list, where a page that lacks it may have its items
	Blank     bool    `json:"blank,omitempty"`     // whether a page has no items anywhere, and [placeSearch.mayBeEmpty] holds
}

// A place is where a response may have the items of a list, which it does not have at the path of the
// configuration. The zero value is not a place.
type place struct {
	Path    string `json:"path"`              // in the spelling of dataField
	Certain bool   `json:"certain,omitempty"` // whether the values there hardly mean anything else than the items
	Only    bool   `json:"only,omitempty"`    // whether the page has no other list of objects
}

// notice notices where a page has items of a list that it lacks at the path of the list.
func (s placeSearch) notice() {
	lists := s.subject.lists
	if s.reading.Bytes <= maxErrorBody && s.lacksItems() { // of most pages, the body is not decoded as a whole
		body, _ := s.lookup(nil)
		for i, list := range lists {
			if s.lacks(i) {
				s.memory.setPlace(i, len(lists), s.elsewhere(body, list.steps))
			}
		}
		if only := onlyList(body); lists == nil && only != "" {
			s.memory.setPlace(0, 1, place{Path: only, Certain: true})
		}
	}
	s.memory.Blank = s.memory.Blank || s.mayBeEmpty() && s.memory.suggested() == place{}
}

// mayBeEmpty reports whether the page may have an empty list, or none. An empty list of XML is not an element, so it looks as
// if it were misspelt, and one of reports, which was taken for the items, may be beside them. Only a list in another place tells.
func (s placeSearch) mayBeEmpty() bool {
	return s.reading.HasField && s.context.Count == 0 && (s.reading.Elements || s.reportsTaken() != "")
}

// reportsTaken returns the place of the list of the page if it was taken for the items without a dataField, although its name says
// that it is about errors, warnings or messages; otherwise "". A job whose endpoint has that name lists them on purpose.
func (p *listView) reportsTaken() string {
	name, job := p.rootList(), p.subject.job.Spec()
	if !apinames.Key(name).ListsReports() || p.subject.listsErrors || strings.Contains(strings.ToLower(job.Endpoint), strings.ToLower(name)) {
		return ""
	}
	return p.reading.Place
}

// lacksItems reports whether the page has no items where one of its lists should have some.
func (s placeSearch) lacksItems() bool {
	for i := range s.subject.lists {
		if s.lacks(i) {
			return true
		}
	}
	return s.subject.lists == nil && s.context.Count == 0 && (!s.reading.HasField || s.mayBeEmpty()) && s.memory.suggested() == place{}
}

// lacks reports whether the page lacks the list with the given index, and no place of its items is known yet.
func (s placeSearch) lacks(index int) bool {
	isEmpty := s.reading.Lists[index].Items.Len() == 0
	return (s.reading.Found[index] == "" || s.reading.Elements) && isEmpty && s.memory.placeOf(index) == place{}
}

// had reports whether the page has the list with the given index, even an empty one.
func (s placeSearch) had(index int) bool {
	isEmpty := s.reading.Lists[index].Items.Len() == 0
	return s.reading.Found[index] != "" && !(s.reading.Elements && isEmpty && s.memory.placeOf(index) != place{})
}

// placeOf returns the place of the items of the list with the given index.
func (m *placeMemory) placeOf(index int) place {
	if index < len(m.Elsewhere) {
		return m.Elsewhere[index]
	}
	return place{}
}

// setPlace sets the place of the items of one of n lists. Without any place, Elsewhere is nil.
func (m *placeMemory) setPlace(index, n int, p place) {
	if m.Elsewhere == nil && p != (place{}) {
		m.Elsewhere = make([]place, n)
	}
	if m.Elsewhere != nil {
		m.Elsewhere[index] = p
	}
}

// suggested returns the first place of items that was noticed.
func (m *placeMemory) suggested() place {
	if i := slices.IndexFunc(m.Elsewhere, func(p place) bool { return p.Path != "" }); i >= 0 {
		return m.Elsewhere[i]
	}
	return place{}
}

// suggestion returns the place as the end of a sentence about the path that the configuration has, which may be "". It
// returns "" if there is no place.
func (p place) suggestion(configured string) string {
	switch p.Path {
	case "":
		return ""
	case configured: // the configuration has other keys: it splits the path at another delimiter
		return "; " + p.Path + " is one key: set a delimiter that it does not have"
	}
	return "; did you mean " + p.Path + "?"
}

// elsewhere returns where a body may have the items of a list that it lacks: under a similar name, in XML under
// another one, under the same name in another object, or in the only list of objects.
func (p *listView) elsewhere(body any, steps []rules.PathStep) place {
	v, path := body, []string{}
	for i, step := range steps {
		if step.All {
			v, path = firstIn(v), append(path, "*")
			continue
		}
		object, _ := value.Members(v)
		next, has := object.Get(step.Key)
		if list, _ := next.([]any); has && !(p.reading.Elements && i == len(steps)-1 && len(list) == 0) {
			v, path = next, append(path, step.Key)
			continue
		}
		if slices.ContainsFunc(object, countsNone) {
			return place{}
		}
		if found := p.similar(object, path, steps[i:]); found.Path != "" {
			return found
		}
		if found := p.otherElements(object, path, step.Key); found.Path != "" {
			return found
		}
		if found := p.deeperElements(object, path, step.Key); found.Path != "" {
			return found
		}
		break
	}
	if slices.ContainsFunc(steps, func(s rules.PathStep) bool { return s.All }) {
		return place{}
	}
	if found := p.sameName(body, nil, steps[len(steps)-1].Key); found.Path != "" {
		return found
	}
	if p.reading.Elements && len(path) > 0 && len(path) >= len(steps)-1 { // an empty list of XML is not an element
		return place{}
	}
	only := onlyList(body)
	return place{Path: only, Only: only != ""}
}

// firstIn returns the first element of a list, or the first member of an object.
func firstIn(v any) any {
	if list, _ := v.([]any); len(list) > 0 {
		return list[0]
	}
	if object, _ := value.Members(v); len(object) > 0 {
		return object[0].Value
	}
	return nil
}

// similar returns the place of items under a name that is similar to the first of some steps, in an object at a path.
func (p *listView) similar(object rules.Object, path []string, steps []rules.PathStep) place {
	names := map[string]string{} // by their local names
	for _, m := range object {
		if m.Name != steps[0].Key && !p.subject.reads(append(slices.Clip(path), m.Name)) {
			names[localName(m.Name)] = m.Name
		}
	}
	local := localName(steps[0].Key)
	near, found := names[diag.Nearest(local, slices.Sorted(maps.Keys(names)))]
	if !found || len(local) < minSimilar {
		return place{}
	}
	v := object.Value(near)
	path = append(slices.Clip(path), near)
	for _, step := range steps[1:] {
		if step.All {
			v, path = firstIn(v), append(path, "*")
			continue
		}
		inner, _ := value.Members(v)
		v, path = inner.Value(step.Key), append(path, step.Key)
	}
	list, _ := v.([]any)
	if len(list) == 0 && !(isItem(v) && (p.reading.Elements || len(steps) > 1)) {
		return place{}
	}
	return place{Path: keypath.Join(path...), Certain: p.reading.Elements || isItem(firstOf(list, v))}
}

// minSimilar is the length of the shortest name to which another may be similar: all names of one letter are.
const minSimilar = 3

// otherElements returns the place of the elements of XML that may be the items under another name: the only ones in
// their parent that occur several times and are like items. They are the items if the parent has nothing else, except
// what describes a list. There, a single element may be an item.
func (p *listView) otherElements(parent rules.Object, path []string, name string) place {
	if !p.reading.Elements {
		return place{}
	}
	if len(path) == 0 && len(parent) == 1 { // another root element
		path = []string{parent[0].Name}
		parent, _ = value.Members(parent[0].Value)
	}
	others := slices.DeleteFunc(slices.Clone(parent), func(m rules.Member) bool { return m.Name == name || describesList(m.Name) })
	bare := len(others) == 1
	var found []place
	for _, m := range others {
		list, several := m.Value.([]any)
		if at := append(slices.Clip(path), m.Name); !p.subject.reads(at) && (several || bare) && isLikeItem(firstOf(list, m.Value)) {
			found = append(found, place{Path: keypath.Join(at...), Certain: several && bare})
		}
	}
	if len(found) != 1 {
		return place{}
	}
	return found[0]
}

// deeperElements returns the place of the elements of XML that have the name of the items, but are in elements of other names:
// after a star, which stands for the elements of the name before it, these need another star.
func (p *listView) deeperElements(parent rules.Object, path []string, name string) place {
	if !p.reading.Elements || !slices.Contains(path, "*") {
		return place{}
	}
	for _, m := range parent {
		if inner, _ := value.Members(m.Value); inner.Value(name) != nil {
			return place{Path: keypath.Join(append(slices.Clip(path), "*", name)...), Certain: true}
		}
	}
	return place{}
}

// firstOf returns the first element of a list that is not empty, and otherwise another value.
func firstOf(list []any, other any) any {
	if len(list) > 0 {
		return list[0]
	}
	return other
}

// isLikeItem reports whether an element of XML has an identifier, or several other elements.
func isLikeItem(v any) bool {
	object, _ := value.Members(v)
	elements := 0
	for _, m := range object {
		if apinames.IsIdentifier(strings.TrimPrefix(m.Name, "@")) {
			return true
		}
		if !strings.HasPrefix(m.Name, "@") && !describesList(m.Name) {
			elements++
		}
	}
	return elements > 1
}

// sameName returns the place of a list of objects that has the given name, in an object at a path or in the objects
// within it.
func (p *listView) sameName(v any, path []string, name string) place {
	object, _ := value.Members(v)
	if len(path) == maxNestedPlaces || p.subject.reads(append(slices.Clip(path), name)) && len(path) > 0 {
		return place{}
	}
	list, _ := object.Value(name).([]any)
	if len(list) > 0 && isItem(list[0]) {
		return place{Path: keypath.Join(append(slices.Clip(path), name)...), Certain: true}
	}
	for _, m := range object {
		if found := p.sameName(m.Value, append(slices.Clip(path), m.Name), name); found.Path != "" {
			return found
		}
	}
	return place{}
}

// onlyList returns the path of the only list of objects within the objects in a body, apart from errors, or "".
func onlyList(body any) string {
	var paths []string
	var search func(v any, path []string)
	search = func(v any, path []string) {
		object, _ := value.Members(v)
		for _, m := range object {
			at := append(slices.Clip(path), m.Name)
			switch list, _ := m.Value.([]any); {
			case apinames.Key(m.Name).ListKind() == apinames.UnlikelyList, describesList(m.Name) && !apinames.Key(m.Name).HoldsSigns():
			case len(list) > 0 && isItem(list[0]):
				paths = append(paths, keypath.Join(at...))
			case len(at) < maxNestedPlaces:
				search(m.Value, at)
			}
		}
	}
	if search(body, nil); len(paths) != 1 {
		return ""
	}
	return paths[0]
}

// maxNestedPlaces is the largest number of objects within each other that are searched for a list.
const maxNestedPlaces = 4

// isItem reports whether a value is an object that has members which do not just describe a list, and are not just
// attributes without an identifier.
func isItem(v any) bool {
	object, _ := value.Members(v)
	return slices.ContainsFunc(object, func(m rules.Member) bool {
		attribute, isAttribute := strings.CutPrefix(m.Name, "@")
		return isAttribute && apinames.IsIdentifier(attribute) || !isAttribute && !describesList(m.Name)
	})
}

// countsNone reports whether a member says that a list has no items: {"count": 0}.
func countsNone(m rules.Member) bool {
	n, _, ok := apinames.Total(m.Value)
	return ok && n == 0 && apinames.Key(m.Name).Is(apinames.SignTotal)
}

// describesList reports whether a member has a name that is usual beside a list: of a total or a status, say.
func describesList(name string) bool {
	name = strings.TrimPrefix(name, "@")
	return apinames.Key(name).Signs() != nil || apinames.Key(name).HoldsSigns() || apinames.Key(name).NamesErrors() ||
		apinames.Key(name).ListKind() == apinames.UnlikelyList ||
		apinames.AlikeAny(name, apinames.PageNumberNames()) || strings.HasPrefix(name, "xsi:")
}
