package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
)

// reading is what is taken from one response.
type reading struct {
	items   Items
	decoded []any                        // the items, where rules read them
	body    any                          // what rules read of it
	bytes   int                          // its volume
	content digest                       // of its content, volatile fields left out
	digest  digest                       // of its items
	spelled spelling                     // of its content, until the response after the next is read
	names   func(path []string) []string // names at a path, to propose one; nil: no content

	// look gives the values of further paths, as body has those of the rules;
	// nil: no content. It may be called until the next response is read.
	look func(paths [][]string) (any, error)
}

// pageReader takes from responses what pages need. It takes over their bodies:
// items leave straight from there.
type pageReader struct {
	job      *compile.Job
	switches rules.Switches
	warn     func(code, message string)
	doc      Document
	needs    *pathTree // what rules read
}

func newPageReader(job *compile.Job, switches rules.Switches, l Loop, warn func(code, message string)) *pageReader {
	w := &pageReader{job: job, switches: switches, warn: warn, needs: newPathTree(job.Needs.Body)}
	paths := append(slices.Clone(job.Needs.Body), job.Set.Ignore...)
	field := w.dataField()
	if field != nil {
		paths = append(paths, field.Keys)
	}
	w.doc = Document{limit: DocumentLimits{Depth: l.MaxDepth}.depth(), facts: &scanner{most: or(l.MaxItems, defaultItems), compact: true, detect: field == nil, keys: make([]foretold, 64)}, tree: newPathTree(paths)}
	if field != nil {
		w.doc.tree.at(field.Keys).items = true
	}
	return w
}

func (w *pageReader) read(r *Response) (reading, error) {
	if r.Status == http.StatusNoContent {
		return reading{}, nil
	}
	doc, field := &w.doc, w.dataField()
	if err := w.parse(r); err != nil {
		return reading{}, err
	}
	if doc.InvalidUTF8() {
		w.warn("invalid_utf8", "the response holds bytes that are not UTF-8; they are passed on as they are")
	}
	out := reading{bytes: doc.Minified()}
	out.names = func(path []string) (names []string) {
		doc.whole(func() { names = doc.Names(path) })
		return names
	}
	out.look = func(paths [][]string) (body any, err error) {
		doc.whole(func() { body, err = Project(doc, paths) })
		return body, err
	}
	if w.switches.PHPVolume {
		out.bytes = php.EncodedLen(doc.Raw())
	}
	var err error
	if out.body, err = project(doc, w.needs); err != nil {
		return reading{}, err
	}
	list, one, err := w.find(doc, field, r.Status)
	if err != nil {
		return reading{}, err
	}
	out.content, out.digest = doc.digests(list, w.ignored(doc))
	switch {
	case one != nil:
		out.items = One(one)
		out.digest = digestOf(one, none)
	case list.present():
		out.items = doc.elements(list)
	}
	out.spelled = doc.spelling()
	if w.job.Needs.Items {
		out.decoded, err = DecodeItems(out.items)
	}
	return out, err
}

// parse reads the body. An error response that counts as a page need not be JSON.
func (w *pageReader) parse(r *Response) error {
	if r.Status < 400 {
		w.doc.facts.window = r.window
		return w.doc.parse(r.Body)
	}
	w.doc.facts.window = nil
	if w.doc.parse(bytes.Clone(r.Body)) == nil {
		return nil
	}
	text, _ := json.Marshal(string(r.Body))
	return w.doc.parse([]byte(`{"errorData":` + string(text) + `}`))
}

// ignored is where the values stand that the same-page check passes over.
func (w *pageReader) ignored(doc *Document) []span {
	if len(w.job.Set.Ignore) == 0 {
		return nil
	}
	var places []span
	for _, path := range w.job.Set.Ignore {
		if at := doc.place(path); at.present() {
			places = append(places, at)
		}
	}
	slices.SortFunc(places, func(a, b span) int { return a.start - b.start })
	return places
}

func (w *pageReader) dataField() *rules.DataField {
	field := w.job.Set.Job.DataField
	if field != nil && w.switches.EmptyIsAbsent && field.Text == "0" {
		return nil
	}
	return field
}

// find finds the items of a response: a list, or a value that is taken as one
// item, or neither.
func (w *pageReader) find(doc *Document, field *rules.DataField, status int) (list span, one []byte, err error) {
	if field == nil {
		list, err = w.detect(doc, status)
		return list, nil, err
	}
	at := doc.place(field.Keys)
	if !at.present() {
		if root := doc.RootKind(); root != KindObject && root != KindList && !w.switches.EmptyIsAbsent {
			return span{}, nil, fmt.Errorf("the response is %s; items are looked for at %s", root, field.Text)
		}
		w.warn("data_missing", fmt.Sprintf("the response has no %s (dataField): an empty page%s", field.Text, nearest(doc.Names, field.Keys)))
		return span{}, nil, nil
	}
	raw := at.of(doc.raw)
	switch kind := KindOf(raw); {
	case kind == KindNull:
		w.warn("data_null", fmt.Sprintf("%s (dataField) is null: an empty page", field.Text))
		return span{}, nil, nil
	case kind == KindList:
		return at, nil, nil
	case kind == KindObject:
		w.warn("data_object", fmt.Sprintf("%s (dataField) holds an object: it is taken as one item", field.Text))
		return span{}, raw, nil
	case !w.switches.EmptyIsAbsent:
		return span{}, nil, fmt.Errorf("%s (dataField) holds %s, want a list or an object", field.Text, kind)
	}
	v, err := Decode(raw)
	if err != nil || php.Empty(v) {
		w.warn("data_empty", fmt.Sprintf("%s (dataField) contains no data: an empty page", field.Text))
		return span{}, nil, err
	}
	return span{}, raw, nil
}

// detect finds the items where no dataField is configured: the root list, or
// the only list in the root object.
func (w *pageReader) detect(doc *Document, status int) (span, error) {
	switch doc.RootKind() {
	case KindList:
		return doc.facts.root, nil
	case KindObject:
	default:
		return span{}, fmt.Errorf("the response is %s, want a list or an object", doc.RootKind())
	}
	lists := doc.facts.lists.present()
	switch len(lists) {
	case 0:
		if status < 400 {
			w.warn("no_list", "the response has no list of items in its root: an empty page; name the list in dataField")
		}
		return span{}, nil
	case 1:
		return lists[0].span, nil
	}
	var names []string
	for _, l := range lists {
		names = append(names, l.name)
	}
	return span{}, fmt.Errorf("the response has more than one list in its root (%s); name the list of items in dataField", strings.Join(names, ", "))
}

// nearest proposes the name nearest to the first key of a path that is absent.
func nearest(names func([]string) []string, path []string) string {
	for i := range path {
		known := names(path[:i])
		if slices.Contains(known, path[i]) {
			continue
		}
		if name := diag.Nearest(path[i], known); name != "" {
			keys := append(append(slices.Clone(path[:i]), name), path[i+1:]...)
			return "; did you mean " + compile.Read{Root: "body", Path: keys}.String() + "?"
		}
		return ""
	}
	return ""
}
