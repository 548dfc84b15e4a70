package stress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// respond answers a request at a time. The error says that the request cannot be read, or that the model
// cannot answer with a page that has all values that the rules read.
func (a *api) respond(r *http.Request, now time.Time) (*http.Response, error) {
	q, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if a.firstQuery == nil {
		a.firstQuery = r.URL.Query()
	}
	if a.base == "" {
		address := *r.URL
		address.RawQuery = ""
		a.base = address.String()
	}
	reply := a.answer(q)
	body, err := a.body(reply)
	if err != nil {
		return nil, &failure.Error{Class: failure.Internal, Message: err.Error()}
	}
	header := a.header(reply)
	if reply.gzipped {
		body = halfCompressed(body)
		header.Set("Content-Encoding", "gzip")
	}
	response := transport.NewResponse(r, reply.status, header, body)
	response.Header.Set("Date", now.Format(http.TimeFormat))
	if reply.cut && len(body) > 0 {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), failing{}))
	}
	return response, nil
}

// halfCompressed compresses a body, and returns the first half of the result.
func halfCompressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()[:b.Len()/2]
}

// failing is the rest of a body whose connection has ended.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// body writes the body of a page.
func (a *api) body(r *reply) ([]byte, error) {
	if r.text != "" || r.status == http.StatusNoContent {
		return []byte(r.text), nil
	}
	root := a.withList(r, a.items(r))
	for _, p := range a.signals {
		if len(p.Path) == 0 {
			continue
		}
		v := a.value(p, r)
		if v == (gone{}) {
			continue
		}
		if _, isList := root.([]any); isList {
			return nil, fmt.Errorf("the response is a list, and the rules read %s", p.ResponseValue)
		}
		root = place(root, p.Path, v)
	}
	for _, m := range r.extra {
		root = place(root, []string{m.Name}, m.Value)
	}
	return value.Marshal(root)
}

// items writes the rows of a page as items.
func (a *api) items(r *reply) []any {
	items := make([]any, len(r.rows))
	for i, row := range r.rows {
		items[i] = a.item(row)
		if row.number == a.bare && a.bare > 0 {
			items[i] = a.bareItem(row)
		}
		if object, isObject := items[i].(value.Object); isObject && r.retyped {
			id, _ := object.Get("id")
			text, _ := value.Text(id)
			items[i] = object.With("id", text)
		}
	}
	return items
}

// withList returns the root of a page with its list of items. If the response has several lists, the
// others are empty.
func (a *api) withList(r *reply, items []any) any {
	var root any = a.recording.root
	switch {
	case a.single && len(items) > 0:
		root = items[0]
	case a.single || r.noList:
	case len(a.list) == 0:
		root = items
	case r.null:
		root = place(root, a.list, nil)
	default:
		root = place(root, a.list, wrap(items, a.stars))
	}
	if !r.noList && len(a.list) > 0 {
		for _, other := range a.others {
			if fixed := other.Fixed(); len(fixed) > 0 {
				root = place(root, fixed, wrap([]any{}, other.Steps[len(fixed):]))
			}
		}
	}
	return root
}

// wrap puts items where the stars of a path of dataField find them.
func wrap(items []any, stars []rules.PathStep) any {
	var v any = items
	for _, s := range slices.Backward(stars) {
		if s.All {
			v = []any{v}
		} else {
			v = value.Object{{Name: s.Key, Value: v}}
		}
	}
	return v
}

// header writes the headers of a page.
func (a *api) header(r *reply) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	var relations []string // relations of the links, in the order of the rules
	targets, params := map[string]string{}, map[string]string{}
	for _, p := range a.signals {
		text, ok := value.Text(a.value(p, r))
		switch {
		case len(p.Path) > 0 || !ok:
			continue
		case p.Header != "":
			h.Set(p.Header, text)
			continue
		case p.Param == "":
			targets[p.Link] = text
		default:
			params[p.Link] += fmt.Sprintf("; %s=%q", p.Param, text)
		}
		relations = lists.AppendNew(relations, p.Link)
	}
	for _, relation := range relations {
		target, known := targets[relation]
		if !known { // rules read only its parameters
			target = a.linkTo(r.start)
		}
		h.Add("Link", fmt.Sprintf("<%s>%s; rel=%q", target, params[relation], relation))
	}
	maps.Copy(h, r.headers)
	return h
}

// value returns the value at a place of a response.
func (a *api) value(p *signal, r *reply) any {
	if v, ok := r.said[p.meaning.name]; ok {
		return v
	}
	return p.meaning.value(a, r, r.next)
}

// linkTo returns an address of the page that begins at an index. It has the parameters of the first
// request, unless the API loses them.
func (a *api) linkTo(start int) string {
	query := maps.Clone(a.firstQuery)
	if query == nil || a.losing {
		query = url.Values{}
	}
	query.Set(tokenName, token(a.issue(start)))
	return a.base + "?" + query.Encode()
}

const tokenName = "position"

func token(n int) string { return fmt.Sprintf("%s%d", tokenPrefix, n) }

// tokenPrefix begins each token, so that it is found in a request.
const tokenPrefix = "tok-"

// tokenNumber is added to a token that is a number.
const tokenNumber = 70_000_000
