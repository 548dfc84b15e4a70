package runtime

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/php"
)

// pageReader takes from a response what a page needs. The one here holds the
// whole response in memory; another may read it as it comes.
type pageReader interface {
	// read validates a response and takes what rules read of it and its items.
	// An error says why it is no page.
	read(r *Response) (reading, error)
}

// reading is what is taken from one response.
type reading struct {
	items   Items
	decoded []any                        // the items, where rules read them
	body    any                          // what rules read of it
	bytes   int                          // its volume
	content [sha256.Size]byte            // hash of its content, volatile fields left out
	names   func(path []string) []string // names at a path, to propose one; nil: no content

	// look gives the values of further paths, as body has those of the rules;
	// nil: no content. It may be called until the next response is read.
	look func(paths [][]string) (any, error)
}

// wholeReader reads responses that are held in memory.
type wholeReader struct {
	job      *compile.Job
	switches rules.Switches
	depth    int // of nesting; 0: the default
	warn     func(code, message string)
}

func (w wholeReader) read(r *Response) (reading, error) {
	if r.Status == http.StatusNoContent {
		return reading{}, nil
	}
	paths := w.job.Needs.Body
	field := w.dataField()
	if field != nil {
		paths = append(slices.Clone(paths), field.Keys)
	}
	body := r.Body
	doc, err := ParseDocument(body, paths, DocumentLimits{Depth: w.depth})
	if err != nil && r.Status >= 400 { // an error that counts as a page need not be JSON
		text, _ := json.Marshal(string(body))
		doc, err = ParseDocument([]byte(`{"errorData":`+string(text)+`}`), paths, DocumentLimits{Depth: w.depth})
	}
	if err != nil {
		return reading{}, err
	}
	if doc.InvalidUTF8() {
		w.warn("invalid_utf8", "the response holds bytes that are not UTF-8; they are passed on as they are")
	}
	out := reading{bytes: doc.Minified(), content: doc.Hash(w.job.Set.Ignore), names: doc.Names}
	out.look = func(paths [][]string) (any, error) { return Project(doc, paths) }
	if w.switches.PHPVolume {
		out.bytes = php.EncodedLen(doc.Raw())
	}
	if out.items, err = w.items(doc, field, r.Status); err != nil {
		return reading{}, err
	}
	if out.body, err = Project(doc, w.job.Needs.Body); err != nil {
		return reading{}, err
	}
	if w.job.Needs.Items {
		out.decoded, err = DecodeItems(out.items)
	}
	return out, err
}

func (w wholeReader) dataField() *rules.DataField {
	field := w.job.Set.Job.DataField
	if field != nil && w.switches.EmptyIsAbsent && field.Text == "0" {
		return nil
	}
	return field
}

// items finds the items of a response.
func (w wholeReader) items(doc *Document, field *rules.DataField, status int) (Items, error) {
	if field == nil {
		return w.detect(doc, status)
	}
	raw, present := doc.Lookup(field.Keys)
	if !present {
		if root := doc.RootKind(); root != KindObject && root != KindList && !w.switches.EmptyIsAbsent {
			return Items{}, fmt.Errorf("the response is %s; items are looked for at %s", root, field.Text)
		}
		w.warn("data_missing", fmt.Sprintf("the response has no %s (dataField): an empty page%s", field.Text, nearest(doc.Names, field.Keys)))
		return Items{}, nil
	}
	switch kind := KindOf(raw); {
	case kind == KindNull:
		w.warn("data_null", fmt.Sprintf("%s (dataField) is null: an empty page", field.Text))
		return Items{}, nil
	case kind == KindList:
		return Split(raw), nil
	case kind == KindObject:
		w.warn("data_object", fmt.Sprintf("%s (dataField) holds an object: it is taken as one item", field.Text))
		return One(raw), nil
	case !w.switches.EmptyIsAbsent:
		return Items{}, fmt.Errorf("%s (dataField) holds %s, want a list or an object", field.Text, kind)
	}
	v, err := Decode(raw)
	if err != nil || php.Empty(v) {
		w.warn("data_empty", fmt.Sprintf("%s (dataField) contains no data: an empty page", field.Text))
		return Items{}, err
	}
	return One(raw), nil
}

// detect finds the items where no dataField is configured: the root list, or
// the only list in the root object.
func (w wholeReader) detect(doc *Document, status int) (Items, error) {
	switch doc.RootKind() {
	case KindList:
		return Split(doc.Raw()), nil
	case KindObject:
	default:
		return Items{}, fmt.Errorf("the response is %s, want a list or an object", doc.RootKind())
	}
	lists := doc.RootArrays()
	switch len(lists) {
	case 0:
		if status < 400 {
			w.warn("no_list", "the response has no list of items in its root: an empty page; name the list in dataField")
		}
		return Items{}, nil
	case 1:
		return Split(lists[0].Raw), nil
	}
	var found []string
	for _, l := range lists {
		found = append(found, l.Name)
	}
	return Items{}, fmt.Errorf("the response has more than one list in its root (%s); name the list of items in dataField", strings.Join(found, ", "))
}

// nearest proposes the name nearest to the first key of a path that is absent.
func nearest(names func([]string) []string, path []string) string {
	for i := range path {
		known := names(path[:i])
		if slices.Contains(known, path[i]) {
			continue
		}
		if name := rules.Nearest(path[i], known); name != "" {
			keys := append(append(slices.Clone(path[:i]), name), path[i+1:]...)
			return "; did you mean " + compile.Read{Root: "body", Path: keys}.String() + "?"
		}
		return ""
	}
	return ""
}
