package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// read turns a response into a page and puts it into the context that the
// rules see. Nothing of the context changes when the response is unacceptable.
func (s *scroll) read(request rules.Request, r *Response, began time.Time) (*Page, error) {
	reading, err := s.parse(r)
	if err != nil {
		return nil, s.unacceptable(r, err)
	}
	s.remember()
	p := &s.page
	p.Page++
	p.Body, p.Items, p.Count, p.Bytes = reading.body, reading.decoded, reading.items.Len(), reading.bytes
	p.Status, p.Header, p.Link = r.Status, headerOf(r), linkOf(r)
	p.Now = func() time.Time { return began }
	p.Total.Pages++
	p.Total.Items += p.Count
	p.Total.Bytes += p.Bytes
	p.Total.Seconds = s.elapsed()
	sent := s.sent(request)
	p.Sent = s.sentFacts(request, sent)
	s.compare(reading, sent)
	if p.First == nil {
		p.First = past(p)
	}
	s.result.Pages, s.result.Bytes = s.result.Pages+1, s.result.Bytes+p.Bytes
	s.reportMissing(reading.doc)
	if limit, ok := p.Limit.(int); ok && limit > 0 && p.Count > limit {
		s.warn("limit_ignored", fmt.Sprintf("page %d has %d items, more than the limit of %d: does the API heed it?", p.Page, p.Count, limit))
	}
	return &Page{Items: reading.items, Record: Record{
		Job: s.result.Job, Page: p.Page, Request: sent, Status: r.Status, Count: p.Count, Bytes: p.Bytes,
		Decision: Continue, StoppedBy: []string{}, Attempts: r.Attempts, Millis: s.Clock.Now().Sub(began).Milliseconds(),
	}}, nil
}

// reading is what is taken from one response.
type reading struct {
	doc     *Document // nil for a response without content
	items   Items
	decoded []any // the items, where rules read them
	body    any   // what rules read of it
	bytes   int
}

func (s *scroll) parse(r *Response) (reading, error) {
	if r.Status == http.StatusNoContent {
		return reading{}, nil
	}
	paths := s.job.Needs.Body
	field := s.dataField()
	if field != nil {
		paths = append(slices.Clone(paths), field.Keys)
	}
	body := r.Body
	doc, err := ParseDocument(body, paths, DocumentLimits{Depth: s.MaxDepth})
	if err != nil && r.Status >= 400 { // an error that counts as a page need not be JSON
		text, _ := json.Marshal(string(body))
		doc, err = ParseDocument([]byte(`{"errorData":`+string(text)+`}`), paths, DocumentLimits{Depth: s.MaxDepth})
	}
	if err != nil {
		return reading{}, err
	}
	if doc.InvalidUTF8() {
		s.warn("invalid_utf8", "the response holds bytes that are not UTF-8; they are passed on as they are")
	}
	out := reading{doc: doc, bytes: doc.Minified()}
	if s.switches.PHPVolume {
		out.bytes = php.EncodedLen(doc.Raw())
	}
	if out.items, err = s.items(doc, field, r.Status); err != nil {
		return reading{}, err
	}
	if out.body, err = Project(doc, s.job.Needs.Body); err != nil {
		return reading{}, err
	}
	if s.job.Needs.Items {
		out.decoded, err = DecodeItems(out.items)
	}
	return out, err
}

func (s *scroll) dataField() *rules.DataField {
	field := s.job.Set.Job.DataField
	if field != nil && s.switches.EmptyIsAbsent && field.Text == "0" {
		return nil
	}
	return field
}

// items finds the items of a response.
func (s *scroll) items(doc *Document, field *rules.DataField, status int) (Items, error) {
	if field == nil {
		return s.detect(doc, status)
	}
	raw, present := doc.Lookup(field.Keys)
	if !present {
		if root := doc.RootKind(); root != KindObject && root != KindList && !s.switches.EmptyIsAbsent {
			return Items{}, fmt.Errorf("the response is %s; items are looked for at %s", root, field.Text)
		}
		s.warn("data_missing", fmt.Sprintf("the response has no %s (dataField): an empty page%s", field.Text, nearest(doc, field.Keys)))
		return Items{}, nil
	}
	switch kind := KindOf(raw); {
	case kind == KindNull:
		s.warn("data_null", fmt.Sprintf("%s (dataField) is null: an empty page", field.Text))
		return Items{}, nil
	case kind == KindList:
		return Split(raw), nil
	case kind == KindObject:
		s.warn("data_object", fmt.Sprintf("%s (dataField) holds an object: it is taken as one item", field.Text))
		return One(raw), nil
	case !s.switches.EmptyIsAbsent:
		return Items{}, fmt.Errorf("%s (dataField) holds %s, want a list or an object", field.Text, kind)
	}
	v, err := Decode(raw)
	if err != nil || php.Empty(v) {
		s.warn("data_empty", fmt.Sprintf("%s (dataField) contains no data: an empty page", field.Text))
		return Items{}, err
	}
	return One(raw), nil
}

// detect finds the items where no dataField is configured: the root list, or
// the only list in the root object.
func (s *scroll) detect(doc *Document, status int) (Items, error) {
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
			s.warn("no_list", "the response has no list of items in its root: an empty page; name the list in dataField")
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

// unacceptable is the error for a response that is no page.
func (s *scroll) unacceptable(r *Response, err error) error {
	e := &Error{Class: ClassResponse, Job: s.result.Job, Page: s.page.Page + 1, Op: "read", URL: s.Redactor.URL(r.URL), Status: r.Status, Err: err}
	if deep := (*DepthError)(nil); errors.As(err, &deep) {
		e.Class, e.Hint = ClassPolicy, "if the API really nests that deeply, raise api.http.maxDepth"
	}
	e.Message = fmt.Sprintf("%v; the response (%s) begins with %s", err, contentType(r), excerpt(s.Redactor, r.Body))
	return e
}

func contentType(r *Response) string {
	if t := r.Header.Get("Content-Type"); t != "" {
		return t
	}
	return "no content type"
}

// excerpt shows the first 80 characters of a body, as a quoted string.
func excerpt(redactor *Redactor, body []byte) string {
	if len(body) == 0 {
		return "nothing: it is empty"
	}
	head := body[:min(len(body), 1024)]
	for len(head) > 0 && len(head) < len(body) && !utf8.Valid(head) && len(head) > 1020 {
		head = head[:len(head)-1]
	}
	return fmt.Sprintf("%q", value.Clip(redactor.String(string(head)), 80))
}

// remember moves the page in the context to prev, and first.
func (s *scroll) remember() {
	if s.page.Page > 0 {
		s.page.Prev = past(&s.page)
	}
}

func past(p *rules.Context) *rules.Past {
	return &rules.Past{Page: p.Page, Body: p.Body, Items: p.Items, Count: p.Count, Bytes: p.Bytes, Status: p.Status, Total: p.Total, Sent: p.Sent}
}

// sent is the request as it may be shown.
func (s *scroll) sent(request rules.Request) Sent {
	call, err := s.call(request)
	if err != nil {
		return Sent{Method: request.Verb(), URL: request.Endpoint}
	}
	out := Sent{Method: call.Method, URL: s.Redactor.String(call.URL)}
	switch {
	case call.Body == nil:
	case request.Method == "FORM":
		out.Body, _ = json.Marshal(s.Redactor.String(string(call.Body)))
	default:
		out.Body = json.RawMessage(s.Redactor.String(string(call.Body)))
	}
	return out
}

// sentFacts is the request as expressions see it. What is secret in it is not
// there to be seen; tokens that the API itself gave are.
func (s *scroll) sentFacts(request rules.Request, sent Sent) rules.Sent {
	facts := rules.Sent{Method: sent.Method, URL: sent.URL, Params: s.public(request.Params), Headers: s.public(request.Headers)}
	if sent.Body != nil && request.Method != "FORM" {
		facts.Body, _ = Decode(sent.Body)
	}
	return facts
}

// public is a value without secrets, at any depth.
func (s *scroll) public(v any) any {
	switch v := v.(type) {
	case string:
		return s.Redactor.String(v)
	case rules.Object:
		out := make(rules.Object, len(v))
		for i, m := range v {
			out[i] = rules.Member{Name: m.Name, Value: s.public(m.Value)}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.public(e)
		}
		return out
	}
	return v
}

// compare finds out whether this response was there before.
func (s *scroll) compare(reading reading, sent Sent) {
	p := &s.page
	var content [sha256.Size]byte
	if reading.doc != nil {
		content = reading.doc.Hash(s.job.Set.Ignore)
	}
	p.SamePage = p.Prev != nil && content == s.lastPage
	exchange := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %x", sent.Method, sent.URL, sent.Body, content))
	p.RepeatedExchange = s.exchanges[exchange]
	s.exchanges[exchange] = true
	switch {
	case p.Count == 0:
		p.SameItems = 0
	case p.Prev != nil && bytes.Equal(reading.items.Bytes(), s.lastItems.Bytes()):
		p.SameItems++
		if !p.SamePage && !s.switches.EmptyIsAbsent {
			s.warn(fmt.Sprintf("same_items.%d", p.Page), fmt.Sprintf("page %d has the same items as the page before it", p.Page))
		}
	default:
		p.SameItems = 1
	}
	s.lastPage, s.lastItems = content, reading.items
}

// reportMissing names, after the first page, what the rules read of the
// response that it does not have: a misspelt path would go unnoticed else.
func (s *scroll) reportMissing(doc *Document) {
	if s.page.Page != 1 || doc == nil {
		return
	}
	var expressions []*compile.Expression
	for _, stop := range s.job.Stops {
		expressions = append(expressions, stop.Expression)
	}
	expressions = append(append(expressions, s.job.Next...), s.job.Parts...)
	for _, e := range expressions {
		for _, r := range e.Reads {
			if !r.OfBody() || len(r.Path) == 0 || r.Has {
				continue
			}
			if _, present := r.Lookup(&s.page); present {
				continue
			}
			hint := nearest(doc, r.Path)
			guarded := slices.ContainsFunc(e.Reads, func(other compile.Read) bool { return other.Has && slices.Equal(other.Path, r.Path) })
			if guarded && hint == "" {
				continue // the rule itself asks whether it is there
			}
			s.warn("missing "+r.String(), fmt.Sprintf("%s reads %s, which the response does not have%s", e.Rule.ID, r, hint))
		}
	}
}

// nearest proposes the name nearest to the first key of a path that is absent.
func nearest(doc *Document, path []string) string {
	for i := range path {
		names := doc.Names(path[:i])
		if slices.Contains(names, path[i]) {
			continue
		}
		if name := rules.Nearest(path[i], names); name != "" {
			keys := append(append(slices.Clone(path[:i]), name), path[i+1:]...)
			return "; did you mean " + compile.Read{Root: "body", Path: keys}.String() + "?"
		}
		return ""
	}
	return ""
}
