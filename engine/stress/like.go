package stress

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A response is the shape of a real response without its list. The zero response has no members.
type response struct {
	root value.Object // members without the list of items
	item value.Object // members of an item
}

// sampleOf parses a response of the API. It returns no sample unless the response is JSON.
func sampleOf(job *compile.Job, body []byte) (r response) {
	v, err := document.Decode(body)
	if len(body) == 0 || err != nil {
		return response{}
	}
	var keys []string
	if d := job.Spec().DataField; d != nil {
		keys = d.Keys
		if d.Lists != nil {
			keys = d.Lists[0].Fixed()
		}
	}
	if root, isObject := value.Members(v); isObject {
		r.root = root
		if len(keys) > 0 {
			r.root = without(root, keys)
		}
	}
	if list, _ := at(v, keys).([]any); len(list) > 0 {
		r.item, _ = value.Members(list[0])
	}
	return r
}

// at returns the value at a path of keys, or nil. A key of a list is an index.
func at(v any, path []string) any {
	for _, key := range path {
		if list, isList := v.([]any); isList {
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) {
				v = list[i]
				continue
			}
		}
		members, _ := value.Members(v)
		v, _ = members.Get(key)
	}
	return v
}

// without returns an object without the member at a path.
func without(o value.Object, path []string) value.Object {
	if len(path) == 1 {
		return o.Without(path[0])
	}
	inner, had := o.Get(path[0])
	members, isObject := value.Members(inner)
	if !had || !isObject {
		return o
	}
	return o.With(path[0], without(members, path[1:]))
}

// places returns the places of the response whose names describe the list and that only the
// audit reads.
func (r response) places(surface compile.Surface) []*meant { return placesIn(r.root, nil, surface) }

// placesIn returns these places of an object at a path.
func placesIn(v any, path []string, surface compile.Surface) (all []*meant) {
	object, _ := value.Members(v)
	var inner []*meant
	for _, m := range object {
		at := append(slices.Clone(path), m.Name)
		if len(path) == 0 && apinames.HoldsHints(m.Name) {
			inner = append(inner, placesIn(m.Value, at, surface)...)
		}
		if slices.ContainsFunc(surface.Places, func(p compile.Place) bool { return slices.Equal(p.Path, at) }) {
			continue
		}
		for _, hint := range apinames.HintsOf(m.Name) {
			if m, ok := meaningLike(hint.Kind, m.Value); ok {
				all = append(all, &meant{compile.Place{Path: at}, m})
			}
		}
	}
	return append(all, inner...)
}

// meaningLike returns the meaning of a value that is not read by rules.
func meaningLike(kind apinames.HintKind, v any) (meaning, bool) {
	name := hintedMeanings[kind]
	switch v := v.(type) {
	case string:
		if kind == apinames.HintNext && strings.Contains(v, "/") {
			name = "link"
		}
		return named(name), kind == apinames.HintNext && v != ""
	case int:
		return named(name), kind == apinames.HintTotal || kind == apinames.HintPages
	case bool:
		return named(name), kind == apinames.HintMore || kind == apinames.HintLast
	}
	return meaning{}, false
}

// named returns a meaning of the table.
func named(name string) meaning {
	return meanings[slices.IndexFunc(meanings, func(m meaning) bool { return m.name == name })]
}
