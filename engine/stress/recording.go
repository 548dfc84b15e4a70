package stress

import (
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A Sample is a response of the API.
type Sample struct {
	Header http.Header
	Body   []byte
}

// A recording has the responses of the API that the user gave. The zero recording has no responses.
type recording struct {
	root  value.Object   // members of the first response, without its list of items
	item  value.Object   // members of an item
	pages []recordedPage // pages of one list in their order
}

// recordingOf parses responses of the API, which are the pages of one list in their order. It stops at the
// first response that is not JSON.
func recordingOf(job *compile.Job, samples []Sample) (r recording) {
	var keys []string
	if d := job.Spec().DataField; d != nil {
		keys = d.Keys
		if d.Lists != nil {
			keys = d.Lists[0].Fixed()
		}
	}
	for i, s := range samples {
		v, err := document.Decode(s.Body)
		if len(s.Body) == 0 || err != nil {
			return r
		}
		list, _ := at(v, keys).([]any)
		if i == 0 {
			if root, isObject := value.Members(v); isObject {
				r.root = root
				if len(keys) > 0 {
					r.root, _ = without(root, keys).(value.Object)
				}
			}
			if len(list) > 0 {
				r.item, _ = value.Members(list[0])
			}
		}
		if n := countIn(job, v, list); n >= 0 {
			r.add(recordedPage{body: v, header: s.Header, count: n})
		}
	}
	return r
}

// countIn returns the number of items of a response, or -1 if it is not known.
func countIn(job *compile.Job, v any, list []any) int {
	d := job.Spec().DataField
	root, isObject := value.Members(v)
	switch {
	case d != nil && d.Lists != nil:
		return -1
	case d == nil && isObject:
		lists := slices.DeleteFunc(root.Values(), func(v any) bool { _, isList := v.([]any); return !isList })
		if len(lists) != 1 {
			return -1
		}
		list, _ = lists[0].([]any)
	case d != nil && len(d.Keys) == 0 && isObject:
		return 1
	}
	return len(list)
}

// withoutValues returns the recording without the values of signals, whose places may be absent in a
// response of the model.
func (r recording) withoutValues(signals []*signal) recording {
	for _, s := range signals {
		if len(s.Path) > 0 {
			r.root, _ = without(r.root, s.Path).(value.Object)
		}
	}
	return r
}

// signals returns the signals that only the audit reads: the values of the response whose names
// describe the list.
func (r recording) signals(surface compile.Surface) []*signal { return signalsIn(r.root, nil, surface) }

// signalsIn returns these signals of an object at a path.
func signalsIn(v any, path []string, surface compile.Surface) (signals []*signal) {
	object, _ := value.Members(v)
	var inner []*signal
	for _, m := range object {
		memberPath := append(slices.Clone(path), m.Name)
		if len(path) == 0 && apinames.HoldsHints(m.Name) {
			inner = append(inner, signalsIn(m.Value, memberPath, surface)...)
		}
		if slices.ContainsFunc(surface.Values, func(p compile.ResponseValue) bool { return slices.Equal(p.Path, memberPath) }) {
			continue
		}
		for _, hint := range apinames.HintsOf(m.Name) {
			if m, ok := meaningLike(hint.Kind, m.Value); ok {
				signals = append(signals, &signal{compile.ResponseValue{Path: memberPath}, m})
			}
		}
	}
	return append(signals, inner...)
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
