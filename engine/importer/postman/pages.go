package postman

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// saved returns the saved responses of success.
func (t *translation) saved() []response {
	return slices.DeleteFunc(slices.Clone(t.Responses), func(r response) bool {
		return r.Code != 0 && (r.Code < 200 || r.Code > 299) || strings.TrimSpace(r.Body) == ""
	})
}

// pages sets where the list is in a response, and how it goes on: as detect recognizes it in the saved
// responses, or by the names of parameters.
func (t *translation) pages(method string) error {
	saved := t.saved()
	if len(saved) == 0 {
		t.byNames()
		return nil
	}
	var r recording.Recording
	for _, s := range saved {
		exchange, err := t.exchange(method, s)
		if err != nil {
			t.note(importer.Check, "response", "", "A saved response has an address that cannot be read: %v", err)
			continue
		}
		r.Exchanges = append(r.Exchanges, exchange)
	}
	found, err := detect.FromRecording(context.Background(), &r, "")
	if found == nil || found.JSON == nil {
		if err != nil {
			t.note(importer.Partial, "response", "dataField", "No list was recognized in the saved responses: %v", err)
		}
		t.byNames()
		return nil
	}
	config, err := rules.ParseJSON(diag.NewSource("", string(found.JSON)))
	if err != nil {
		return err
	}
	t.list = true
	t.recognized(config.(value.Object), found)
	return nil
}

// exchange returns a saved response as a recording has it.
func (t *translation) exchange(method string, s response) (recording.Exchange, error) {
	request := t.Request
	if s.Request != nil && (s.Request.URL.Raw != "" || len(s.Request.URL.Host) > 0) {
		request = s.Request
	}
	a := request.URL.split()
	host := t.resolved(strings.Join(a.Host, "."))
	if host == "" || host == "x" {
		host = "api.example.com"
	}
	if a.Port != "" {
		host += ":" + a.Port
	}
	if _, rest, has := strings.Cut(host, "://"); has {
		host = rest
	}
	parts := []string{"https://" + strings.TrimRight(host, "/")}
	for _, segment := range a.Path {
		if strings.HasPrefix(segment, ":") {
			segment = "x"
		}
		parts = append(parts, url.PathEscape(unescaped(t.resolved(segment))))
	}
	address := strings.Join(parts, "/")
	query := url.Values{}
	for _, p := range a.Query {
		if !p.Disabled && p.Key != "" {
			query.Add(unescaped(p.Key), t.resolved(unescaped(p.text())))
		}
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	_, err := url.Parse(address)
	out := recording.Exchange{Method: method, URL: address, Header: http.Header{}, Status: http.StatusOK,
		ResponseHeader: http.Header{}, ResponseBody: []byte(s.Body)}
	for _, h := range s.Header {
		out.ResponseHeader.Add(h.Key, h.text())
	}
	for _, h := range []string{"Content-Encoding", "Transfer-Encoding", "Content-Length"} { // the body is saved without them
		out.ResponseHeader.Del(h)
	}
	if b := request.Body; b != nil && !b.Disabled {
		if text := b.json(); text != "" {
			out.Body = []byte(t.resolved(text))
			out.Header.Set("Content-Type", "application/json")
		}
	}
	return out, err
}

// recognized takes over what detect has found: the path of the list and the pagination. The parameters
// of the pagination are not parameters of the job.
func (t *translation) recognized(config value.Object, found *detect.Result) {
	job := objectAt(config, "config", "jobs", "0")
	pagination := objectAt(config, "api", "pagination")
	switch path, _ := get(job, "dataField").(string); path {
	case "", ".":
	default:
		t.out.Items = path
	}
	if response := objectAt(job, "response"); response != nil {
		t.out.Response = constants(response)
	}
	t.ids = identifiers(config)
	params := objectAt(job, "params")
	t.out.Params = slices.DeleteFunc(t.out.Params, func(m importer.Member) bool {
		name := strings.TrimPrefix(m.Name, "#")
		_, kept := params.Get(name)
		return !kept && isOfPages(pagination, name)
	})
	for _, m := range params { // those that detect adds, such as a size
		if !slices.ContainsFunc(t.out.Params, func(own importer.Member) bool { return strings.TrimPrefix(own.Name, "#") == m.Name }) {
			t.out.Params = append(t.out.Params, importer.Named(m.Name, importer.Constant(m.Value)))
		}
	}
	pagination = t.fromStart(pagination)
	t.out.Paging = paging(pagination, t.size(pagination))
	grade := importer.Approximate
	if t.out.Paging == nil {
		grade = importer.Partial
	}
	for _, doubt := range found.Findings.Doubts {
		if t.isSettled(doubt) {
			continue
		}
		t.note(grade, "response", "pagination", "Recognized in the saved responses, with a doubt: %s", strings.TrimSuffix(doubt, "."))
	}
	if !found.Paged && len(found.Findings.Doubts) == 0 {
		t.note(importer.Check, "response", "pagination", "The saved responses have one page, so that the next one was not seen")
	}
}

// size returns the number of items of a page that the request asks for, which may be another one than
// that of a saved response; 0 if it is not known.
func (t *translation) size(pagination value.Object) int {
	name, _ := get(pagination, "limitParam").(string)
	if name == "" {
		name = "limit"
	}
	for _, p := range t.Request.URL.split().Query {
		if p.Key == name && !p.Disabled {
			n, err := strconv.Atoi(t.resolved(p.text()))
			if err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}

// isOfPages reports whether a parameter belongs to a pagination.
func isOfPages(pagination value.Object, name string) bool {
	for _, key := range []string{"pageParam", "offsetParam", "limitParam", "queryParam", "param"} {
		if get(pagination, key) == name {
			return true
		}
	}
	method := get(pagination, "method")
	return method == "offset" && (name == "limit" && get(pagination, "limitParam") == nil ||
		name == "offset" && get(pagination, "offsetParam") == nil) ||
		(method == "pagenum" || method == "pagecount") && name == "page" && get(pagination, "pageParam") == nil ||
		apinames.IsPageNumber(name) || apinames.IsItemIndex(name)
}

// kinds are the methods that detect writes and whose pages the tests of importer know.
var kinds = map[any]importer.PagingKind{"pagenum": importer.Pages, "pagecount": importer.Pages, "offset": importer.Offset,
	"response.param": importer.Token, "header.param": importer.Token, "response.url": importer.NextURL, "header.link": importer.Link,
	"keyset": importer.LastItem}

// paging returns a pagination that detect has written.
func paging(pagination value.Object, size int) *importer.Paging {
	if pagination == nil || get(pagination, "method") == "single" {
		return nil
	}
	if _, has := pagination.Get("limit"); has && size > 0 {
		pagination = pagination.With("limit", size)
	}
	text := func(key string) string {
		s, _ := value.Text(get(pagination, key))
		return s
	}
	p := &importer.Paging{Kind: importer.Other, Keys: constants(pagination)}
	kind, known := kinds[get(pagination, "method")]
	for _, key := range []string{"hasMore", "stopRules", "nextRequest", "lastPage"} {
		if _, has := pagination.Get(key); has {
			return p // the tests would have to know it
		}
	}
	if known {
		p.Kind = kind
		p.Path = strings.TrimSpace(text("responseParam") + text("idKey"))
		if kind == importer.NextURL {
			p.Path = text("urlKey")
			if p.Path == "" {
				p.Path = "next_page"
			}
		}
		p.Header, p.Rel, p.Pages = text("responseHeader"), text("rel"), text("pagesField")
		p.Into = importer.Target{In: importer.InParam, Name: text("queryParam") + text("param")}
		if kind == importer.NextURL || kind == importer.Link {
			p.Into.In = importer.InURL
		}
		if kind == importer.Pages || kind == importer.Offset {
			p.First, p.Size = true, text("limit")
			p.Short = p.Size != "" && p.Pages == ""
		}
	}
	return p
}

// byNames sets the pagination by the names of the parameters, for a request without a saved response.
func (t *translation) byNames() {
	t.out.AnyList = true
	const cure = "save a response in Postman and import again, or let stopwhen detect find it"
	fromZero := false
	named := func(is func(string) bool) string {
		for i, m := range t.out.Params {
			if is(m.Name) {
				fromZero = m.Value.Const == 0
				t.out.Params = slices.Delete(t.out.Params, i, i+1)
				return m.Name
			}
		}
		return ""
	}
	if len(t.Responses) == 0 {
		t.note(importer.Check, "response", "dataField", "Without a saved response, the list is taken to be the only one in the response")
	}
	p := &importer.Paging{First: true, Into: importer.Target{In: importer.InParam}}
	defer t.fromStart(nil)
	if p.Into.Name = named(apinames.IsPageNumber); p.Into.Name != "" {
		p.Kind, p.Start = importer.Pages, 1
		if fromZero {
			p.Start = 0
		}
	} else if p.Into.Name = named(apinames.IsItemIndex); p.Into.Name != "" {
		p.Kind = importer.Offset
	} else {
		t.note(importer.Partial, "request", "pagination", "Without a saved response it is not known whether the list has more pages, "+
			"so only the first one is read: %s", cure)
		return
	}
	for _, m := range t.out.Params {
		if n, isNumber := m.Value.Const.(int); isNumber && apinames.AlikeAny(m.Name, apinames.PageSizeNames()) {
			p.Size, p.SizeIn = strconv.Itoa(n), m.Name
			p.Short = p.Kind == importer.Offset
		}
	}
	t.out.Paging = p
	t.note(importer.Approximate, "request.url", "pagination", "The pagination is guessed from the parameter %s: %s", p.Into.Name, cure)
}

// parents finds the lists whose items the variables in the paths of others stand for: GET /customers is
// the parent of GET /customers/:id/orders, if its items have an identifier.
func (r *reader) parents(streams []*entry) {
	byPath := map[string]*entry{}
	for _, e := range streams {
		if e.list && e.stream.Refused == "" && byPath[e.path] == nil && len(e.ids) > 0 {
			byPath[e.path] = e
		}
	}
	byDepth := slices.Clone(streams) // parents before their children
	slices.SortStableFunc(byDepth, func(a, b *entry) int { return strings.Count(a.path, "/") - strings.Count(b.path, "/") })
	for _, e := range byDepth {
		e.childOf(byPath)
	}
}

// childOf makes a stream the child of the list that is nearest to it, if there is one.
func (e *entry) childOf(byPath map[string]*entry) {
	base := e.stream.BaseURL
	segments := strings.Split(strings.TrimPrefix(e.path, base), "/")
	parts := strings.Split(e.stream.Endpoint, "/")
	for i := len(segments) - 1; i > 0; i-- {
		parent := byPath[base+strings.Join(segments[:i], "/")]
		if parent == nil || parent == e || len(segments) != len(parts) || !strings.HasPrefix(parts[i], "{input.") {
			continue
		}
		name := parent.stream.ItemVariable(importer.Singular(importer.InputName(segments[i-1])))
		for _, id := range parent.ids {
			if id != strings.Trim(segments[i], ":{} ") && !apinames.IsIdentifier(id) {
				continue
			}
			e.stream.Endpoint = strings.Join(append([]string{parent.stream.Endpoint, "{" + keypath.Format(name, keypath.Split(id)) + "}"},
				parts[i+1:]...), "/")
			e.stream.For = []importer.Variable{{Name: name, Parent: parent.stream}}
			e.stream.Note(importer.Note{Grade: importer.Check, Source: e.place + ".request.url", Target: "for",
				Text: fmt.Sprintf("The list is read for each item of %s: %s is taken to be its %s", parent.name, segments[i], id)})
			return
		}
	}
}

// identifiers returns the members of the first item of the first page of a test that detect has written
// that may identify it.
func identifiers(config value.Object) []string {
	page, _ := value.At(config, []string{"tests", "0", "pages", "0"})
	path, _ := get(objectAt(config, "config", "jobs", "0"), "dataField").(string)
	if path != "" && path != "." {
		page, _ = value.At(page, keypath.Split(path))
	}
	list, _ := page.([]any)
	if len(list) == 0 {
		return nil
	}
	item, _ := value.Members(list[0])
	var out []string
	for _, m := range item {
		if _, isScalar := value.Text(m.Value); isScalar {
			out = append(out, m.Name)
		}
	}
	return out
}

func get(o value.Object, key string) any {
	v, _ := o.Get(key)
	return v
}

// objectAt returns the object at a path, or nil.
func objectAt(o value.Object, keys ...string) value.Object {
	v, _ := value.At(o, keys)
	out, _ := value.Members(v)
	return out
}

// constants returns the members of an object as they are.
func constants(o value.Object) []importer.Member {
	return lists.Map(o, func(m value.Member) importer.Member { return importer.Named(m.Name, importer.Constant(m.Value)) })
}
