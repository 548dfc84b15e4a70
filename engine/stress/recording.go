package stress

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// Recorded holds the pages that a recording has of the lists of jobs. A job that is in neither map was not
// recorded.
type Recorded struct {
	Name    string              // name of the recording in messages, such as that of its file; empty for "the recording"
	Pages   map[string][]Sample // first pages of a list in their order, by job; only JSON has an effect
	Missing map[string]string   // reason why there is no page, by job
}

// A Sample is a response of the API.
type Sample struct {
	Request string // method and address of the request, without secrets, for messages; may be empty
	Other   bool   // whether the rules request the page in another way, or not at all
	Header  http.Header
	Body    []byte
}

// A recording has the responses of the API that the user gave. The zero recording has no responses.
type recording struct {
	name    string         // name of the recording in messages
	missing string         // reason why there is no page; empty also without a recording
	root    value.Object   // members of the first response, without its list of items
	item    value.Object   // members of an item
	pages   []recordedPage // pages of one list in their order
}

// recordingOf parses the recorded pages of a job. It stops at the first response that is not JSON.
func recordingOf(job *compile.Job, like Recorded) (r recording) {
	samples := like.Pages[job.ID()]
	r.name, r.missing = cmp.Or(like.Name, "the recording"), like.Missing[job.ID()]
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
			if i == 0 {
				r.missing = "the response to " + cmp.Or(s.Request, "the first request") + " is not JSON"
			}
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
		if items, known := itemsIn(job, v, list); known {
			r.add(recordedPage{Sample: s, body: v, items: items, count: len(items)})
		}
	}
	return r
}

// itemsIn returns the items of a response, and whether they are known.
func itemsIn(job *compile.Job, v any, list []any) (items []any, known bool) {
	d := job.Spec().DataField
	root, isObject := value.Members(v)
	switch {
	case d != nil && d.Lists != nil:
		return nil, false
	case d == nil && isObject:
		lists := slices.DeleteFunc(root.Values(), func(v any) bool { _, isList := v.([]any); return !isList })
		if len(lists) != 1 {
			return nil, false
		}
		list, _ = lists[0].([]any)
	case d != nil && len(d.Keys) == 0 && isObject:
		return []any{v}, true
	}
	return list, true
}

// says describes the recording in a sentence, or returns "" if the user gave none.
func (r recording) says() string {
	switch {
	case r.missing != "":
		return fmt.Sprintf("The model does not resemble %s, which has no page of the job: %s.", r.name, r.missing)
	case r.root != nil || r.item != nil || r.pages != nil:
		return fmt.Sprintf("Its responses resemble those in %s.", r.name)
	}
	return ""
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
		if len(path) == 0 && apinames.Key(m.Name).HoldsSigns() {
			inner = append(inner, signalsIn(m.Value, memberPath, surface)...)
		}
		if slices.ContainsFunc(surface.Values, func(p compile.ResponseValue) bool { return slices.Equal(p.Path, memberPath) }) {
			continue
		}
		for _, sign := range apinames.Key(m.Name).Signs() {
			if m, ok := meaningLike(sign.Kind, m.Value); ok {
				signals = append(signals, &signal{compile.ResponseValue{Path: memberPath}, m})
			}
		}
	}
	return append(signals, inner...)
}

// meaningLike returns the meaning of a value that is not read by rules.
func meaningLike(kind apinames.SignKind, v any) (meaning, bool) {
	name := signMeanings[kind]
	switch v := v.(type) {
	case string:
		if kind == apinames.SignNext && strings.Contains(v, "/") {
			name = "link"
		}
		return named(name), kind == apinames.SignNext && v != ""
	case int:
		return named(name), kind == apinames.SignTotal || kind == apinames.SignPages
	case bool:
		return named(name), kind == apinames.SignMore || kind == apinames.SignLast
	}
	return meaning{}, false
}
