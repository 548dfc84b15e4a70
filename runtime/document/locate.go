package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// parse reads the body. An error response that counts as a page need not be JSON.
func (r *Reader) parse(response Response) error {
	if response.Scan != nil {
		return r.take(response)
	}
	if response.Status < http.StatusBadRequest {
		if response.Mapping != nil {
			return r.parseFile(response)
		}
		return r.doc.parse(response.Body)
	}
	if err := checkErrorSize(response.Body); err != nil {
		return err
	}
	if r.doc.parse(bytes.Clone(response.Body)) == nil {
		return nil
	}
	text, _ := json.Marshal(string(response.Body)) // a string always has an encoding
	return r.doc.parse([]byte(`{"errorData":` + string(text) + `}`))
}

// take makes the document of a response that was scanned the document of the reader.
func (r *Reader) take(response Response) error {
	s := response.Scan
	err := s.err
	r.doc, s.doc, s.err = s.doc, r.doc, nil
	s.doc.forget()
	r.scans.Put(s)
	if err == nil && response.Mapping != nil {
		r.doc.open(response.Body, response.Mapping)
	}
	return err
}

// parseFile reads a body in a file, which is complete, in the same way as a body that is arriving.
func (r *Reader) parseFile(response Response) error {
	r.copies[0], r.copies[1] = r.copies[1], r.copies[0] // the previous document may still be compared with this one
	err := r.parseCopy(response, response.Body)
	if err == nil || !r.options.Switches.DropInvalid || !isNotUTF8(err) {
		return err
	}
	err = r.parseCopy(response, dropInvalid(response.Body, response.Mapping))
	r.doc.dropped = true
	return err
}

// parseCopy reads a copy of a body in a file.
func (r *Reader) parseCopy(response Response, body []byte) (err error) {
	to := &r.copies[0]
	to.ReadBy(r)
	to.Reset(int64(len(body)))
	for part := range partsOf(body, 0, response.Mapping) {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	if response.Body, response.Mapping, err = to.Body(); err != nil {
		return err
	}
	result, _ := to.Consumed()
	if s, ok := result.(*Scan); ok {
		response.Scan = s
		return r.take(response)
	}
	return r.doc.parse(response.Body) // it is small
}

// ignored returns the locations of the values at the ignored paths, in order.
func (r *Reader) ignored() []scan.Span {
	var spans []scan.Span
	for _, path := range r.options.Ignore {
		if at := r.doc.find(path); at.Present() {
			spans = append(spans, at)
		}
	}
	slices.SortFunc(spans, func(a, b scan.Span) int { return a.Start - b.Start })
	return spans
}

// locateItems finds the items: a list, a value that counts as one item, or neither.
func (r *Reader) locateItems(out *Reading, status int) (list scan.Span, single []byte, err error) {
	field, doc := r.field, &r.doc
	if field == nil {
		list, out.Place, err = r.detect(status)
		return list, nil, err
	}
	span := doc.find(field.Keys)
	if span.Start != doc.scanner.Begins {
		doc.undivide() // another list was divided, or the list is absent
	}
	if !span.Present() {
		if root := doc.rootKind(); root != scan.Object && root != scan.List && !r.options.Switches.EmptyIsAbsent {
			return scan.Span{}, nil, fmt.Errorf("the response is %s and has no %s (dataField)", root, field.Text)
		}
		r.options.Warn("data_missing",
			fmt.Sprintf("the response has no %s (dataField), so the page is empty%s", field.Text, SuggestField(doc.names, field.Keys)))
		return scan.Span{}, nil, nil
	}
	raw := span.Of(doc.raw)
	switch kind := scan.KindOf(raw); {
	case kind == scan.Null:
		r.options.Warn("data_null", fmt.Sprintf("%s (dataField) is null, so the page is empty", field.Text))
		return scan.Span{}, nil, nil
	case kind == scan.List:
		return span, nil, nil
	case isEmptyObject(raw) && len(field.Keys) > 0 && !r.options.Switches.EmptyIsAbsent:
		return scan.Span{}, nil, nil
	case kind == scan.Object:
		if len(field.Keys) > 0 { // a user who asks for the whole response knows that it is an object
			r.options.Warn("data_object", fmt.Sprintf("%s (dataField) is an object; it is taken as one item", field.Text))
		}
		return scan.Span{}, raw, nil
	case !r.options.Switches.EmptyIsAbsent:
		return scan.Span{}, nil, fmt.Errorf("%s (dataField) is %s, want a list or an object", field.Text, kind)
	}
	v, err := Decode(raw)
	if err != nil || php.Empty(v) {
		r.options.Warn("data_empty", fmt.Sprintf("%s (dataField) contains no data, so the page is empty", field.Text))
		return scan.Span{}, nil, err
	}
	return scan.Span{}, raw, nil
}

// isEmptyObject reports whether a value is {}. In the place of a list it is an empty list, as Lua and PHP write it.
func isEmptyObject(raw []byte) bool { return raw[0] == '{' && raw[scan.Next(raw, 1)] == '}' }

// detect finds the items if no dataField is configured: the root list, or the only list in the root
// object. It returns the place of the list for messages.
func (r *Reader) detect(status int) (list scan.Span, place string, err error) {
	switch r.doc.rootKind() {
	case scan.List:
		return r.doc.scanner.Root, rules.ContextBody, nil
	case scan.Object:
	default:
		return scan.Span{}, "", fmt.Errorf("the response is %s, want a list or an object", r.doc.rootKind())
	}
	lists := r.doc.rootLists()
	switch {
	case len(lists) == 1:
		return lists[0].at, keypath.Format(rules.ContextBody, []string{lists[0].name}), nil
	case len(lists) > 1:
		return scan.Span{}, "", fmt.Errorf(
			"the response has several lists in its root (%s); set dataField to the one with the items", namesOf(lists))
	case status < http.StatusBadRequest:
		r.options.Warn("no_list", "the response has no list in its root, so the page is empty; set dataField to the path of the items")
	}
	return scan.Span{}, "", nil
}

// A rootList is a member of the root object that is a list.
type rootList struct {
	name string
	at   scan.Span
}

// maxLists is the largest number of lists that are remembered. Two are already an error.
const maxLists = 100

// rootLists returns the members of the root object that are lists. The last of duplicate names
// counts.
func (d *document) rootLists() (lists []rootList) {
	for key, span := range d.newWalk(d.separated()).Members(d.scanner.Root.Start) {
		name := scan.Unquote(key.Of(d.raw))
		if same := func(l rootList) bool { return l.name == string(name) }; slices.ContainsFunc(lists, same) {
			lists = slices.DeleteFunc(lists, same)
			d.duplicate = cmp.Or(d.duplicate, keypath.Format(rules.ContextBody, []string{string(name)}))
		}
		if d.raw[span.Start] == '[' && len(lists) < maxLists {
			lists = append(lists, rootList{string(name), span})
		}
	}
	return lists
}
