package workbench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Response is the exchange that gave a page. Secrets have been replaced.
type Response struct {
	Method         string   `json:"method"`
	URL            string   `json:"url"`
	RequestHeaders []Header `json:"requestHeaders"`
	RequestBody    string   `json:"requestBody,omitempty"`

	Status  int          `json:"status"` // 0 without a response
	Headers []Header     `json:"headers"`
	Read    []ReadHeader `json:"read"`            // the headers that rules read, also absent ones
	Body    string       `json:"body"`            // JSON is indented
	Bytes   int          `json:"bytes"`           // of the body as it was received
	Clipped bool         `json:"clipped"`         // whether Body is only the beginning
	Spans   []Span       `json:"spans"`           // the parts of Body that rules read, in their order
	Paths   []ReadPath   `json:"paths"`           // the paths of a body in JSON
	Error   string       `json:"error,omitempty"` // why there is no response, or only a part of one

	exchange *exchange
	redactor *redact.Redactor
	readers  Readers
	once     sync.Once
}

// A Header is a header of a request or a response.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Span is a part of a body that rules read, or the list of items.
type Span struct {
	Start  int      `json:"start"` // UTF-16 code units from the beginning of the body
	End    int      `json:"end"`
	Path   string   `json:"path"` // as an expression reads it
	ReadBy []string `json:"readBy"`
	Items  bool     `json:"items,omitempty"`
}

// maxShown is the number of bytes of a body that a response shows, and maxSpans the number of its spans.
const (
	maxShown = 2 << 20
	maxSpans = 5000
)

// shownOnce fills in the response when it is first asked for, and returns it.
func (r *Response) shownOnce() *Response {
	r.once.Do(r.read)
	return r
}

// read fills in the response from its exchange.
func (r *Response) read() {
	x := r.exchange
	r.Method, r.URL, r.Status, r.Bytes = x.method, r.redactor.Shown(x.address), x.status, len(x.answer)
	r.RequestHeaders, r.Headers = r.headers(x.header), r.headers(x.answered)
	r.RequestBody, _ = r.shown(x.body)
	r.Read = r.readers.Headers(x.answered)
	for i := range r.Read {
		r.Read[i].Value = r.redactor.Header(r.Read[i].Name, r.Read[i].Value)
	}
	if x.err != nil {
		r.Error = r.redactor.Text(x.err.Error())
	}
	r.Spans, r.Paths = []Span{}, []ReadPath{}
	body, isJSON := r.shown(x.answer)
	r.Body = body
	r.Clipped = x.cut
	if len(r.Body) > maxShown {
		r.Body, r.Clipped = r.Body[:runeStart(r.Body, maxShown)], true
	}
	if !isJSON {
		return
	}
	var s shape.Shape
	if s.Add([]byte(body)) == nil {
		r.Paths = r.readers.Paths(&s, false)
		r.readers.items = r.readers.itemsPath(&s)
	}
	if !r.Clipped {
		r.Spans = r.readers.spans(body)
	}
}

// itemsPath returns the path of the list of items.
func (r Readers) itemsPath(body *shape.Shape) string {
	if r.items != "" {
		return r.items
	}
	return onlyList(body)
}

// shown returns a body as it is shown, and whether it is JSON.
func (r *Response) shown(body []byte) (text string, isJSON bool) {
	if !json.Valid(body) {
		if !utf8.Valid(body) && len(body) > 0 {
			return fmt.Sprintf("(%d bytes that are not text)", len(body)), false
		}
		return secret.ReplaceIssued(r.redactor.Text(string(body)), hiddenSample), false
	}
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimSpace([]byte(r.redactor.JSON(string(body)))), "", "  ") != nil {
		return "", false // the redactor returns JSON
	}
	return hiddenIn(b.String()), true
}

func (r *Response) headers(header http.Header) []Header {
	list := []Header{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, v := range header[name] {
			v = r.redactor.Header(name, v)
			if secret.IsHeader(name, v) {
				v = hiddenSample
			}
			list = append(list, Header{name, v})
		}
	}
	return list
}

// runeStart returns the beginning of the character at an offset.
func runeStart(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// spans returns the parts of a JSON text that rules read.
func (r Readers) spans(text string) []Span {
	spans := []Span{}
	walkJSON(text, func(v *jsonValue) {
		if len(spans) == maxSpans {
			return
		}
		s := Span{Start: v.start, End: v.end, Items: v.star == r.items && r.items != ""}
		for _, spelled := range v.spellings(r.items) {
			if ids := r.by[spelled]; len(ids) > 0 {
				s.Path = spelled
				s.ReadBy = append(s.ReadBy, ids...)
			}
		}
		if s.ReadBy == nil && !s.Items {
			return
		}
		if s.Path == "" || s.Items {
			s.Path = v.path
		}
		s.ReadBy = append([]string{}, s.ReadBy...)
		spans = append(spans, s)
	})
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	inUTF16(text, spans)
	return spans
}

// inUTF16 converts the offsets of spans, which are in order of their beginnings.
func inUTF16(text string, spans []Span) {
	var offsets []*int
	for i := range spans {
		offsets = append(offsets, &spans[i].Start, &spans[i].End)
	}
	slices.SortStableFunc(offsets, func(a, b *int) int { return *a - *b })
	units, next := 0, 0
	for i, c := range text {
		for next < len(offsets) && *offsets[next] <= i {
			*offsets[next], next = units, next+1
		}
		units += utf16Length(c)
	}
	for ; next < len(offsets); next++ {
		*offsets[next] = units
	}
}

// hiddenIn returns a JSON text without the values that are probably credentials by their names or their form.
// Stars take the place of a value, as many as it has bytes.
func hiddenIn(text string) string {
	var hidden [][2]int
	walkJSON(text, func(v *jsonValue) {
		if v.kind == '{' || v.kind == '[' || v.end-v.start < 2 {
			return
		}
		raw := strings.Trim(text[v.start:v.end], `"`)
		if secret.IsValue(v.name, raw) || secret.ReplaceIssued(raw, "") != raw {
			hidden = append(hidden, [2]int{v.start, v.end})
		}
	})
	if hidden == nil {
		return text
	}
	out := []byte(text)
	for _, h := range hidden {
		out[h[0]], out[h[1]-1] = '"', '"'
		for i := h[0] + 1; i < h[1]-1; i++ {
			out[i] = '*'
		}
	}
	return string(out)
}
