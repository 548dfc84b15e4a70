package importer

import (
	"context"
	"html"
	"net/url"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A testCase is a test of a job, made from the source's description of its pages.
type testCase struct {
	name     string // with %s for the list
	pages    []any
	items    int
	requests []string // nil if they are not known
}

// tests returns tests for the jobs of a configuration. Their expectations come from the intermediate form. A
// test that does not pass is left out, since its model of the API may be wrong. Testing takes most of the
// time of an import, so the streams are tested at the same time.
func (w *writer) tests(g *group, root value.Object) []any {
	tests := make([][]any, len(g.streams))
	var running sync.WaitGroup
	slots := make(chan struct{}, goruntime.GOMAXPROCS(0))
	for i, s := range g.streams {
		if s.Hidden || !g.emitted[s] {
			continue
		}
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			tests[i] = w.testsOf(g, root, s)
		})
	}
	running.Wait()
	return slices.Concat(tests...)
}

// testsOf returns tests for the job of a stream.
func (w *writer) testsOf(g *group, root value.Object, s *Stream) (out []any) {
	alone := g.alone(root, s)
	for _, c := range cases(s) {
		if t := firstThatPasses(alone, c.forms(g.inputs, alone, s, len(g.streams) > 1)); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// alone returns the configuration with the jobs of a stream and of its parents only, which is loaded
// sooner than the configuration of all streams.
func (g *group) alone(root value.Object, s *Stream) value.Object {
	needed := &group{}
	needed.add(s)
	all, _ := value.At(root, []string{"config", "jobs"})
	jobs := []any{}
	for i, job := range all.([]any) {
		if slices.Contains(needed.streams, g.streams[i]) {
			jobs = append(jobs, job)
		}
	}
	return root.With("config", value.ObjectOf("jobs", jobs))
}

// firstThatPasses returns the first test that a configuration passes. All are run at once.
func firstThatPasses(root value.Object, tests []value.Object) value.Object {
	var numbered []any
	for i, t := range tests {
		numbered = append(numbered, t.With("name", strconv.Itoa(i)))
	}
	e, err := load(append(slices.Clone(root), value.Member{Name: "tests", Value: numbered}))
	if err != nil {
		return nil
	}
	for i, r := range e.Test(context.Background()).Tests {
		if r.OK {
			return tests[i]
		}
	}
	return nil
}

// forms returns a test in several forms. The form with the most expectations comes first. several says
// whether the configuration has several jobs.
func (c testCase) forms(inputs []Input, root value.Object, s *Stream, several bool) []value.Object {
	expect := value.Given("outcome", string(rules.Complete), "pages", len(c.pages))
	full := expect
	if s.Filter == "" {
		full = append(slices.Clip(full), value.Member{Name: "items", Value: c.items})
	}
	form := full
	if c.requests != nil {
		form = value.Given("requests", lists.Map(c.requests, func(r string) any { return r })).Merge(full)
	}
	job, list := "", "the list"
	if several { // names must differ
		job, list = jobID(s), jobID(s)
	}
	name := strings.Replace(c.name, "%s", list, 1)
	pages := c.pages
	if s.isXML() {
		pages = lists.Map(pages, xmlPage)
	}
	values := samples(inputs, root)
	return lists.Map([]value.Object{form, full, expect}, func(e value.Object) value.Object {
		return value.Given("name", name, "job", job, "inputs", values, "partition", partition(s), "pages", pages, "expect", e)
	})
}

// samples returns values for the inputs that every run sets. A test sets all that the configuration
// declares.
func samples(inputs []Input, root value.Object) value.Object {
	var out value.Object
	declared, _ := root.Get("inputs")
	read, _ := value.Members(declared)
	for _, in := range inputs {
		if _, has := read.Get(in.Name); !has || in.Default != nil || in.Optional {
			continue
		}
		v := in.Sample
		switch name := strings.ToLower(in.Name); {
		case v != nil:
		case strings.Contains(name, "date") || strings.Contains(name, "since"):
			v = "2026-01-01T00:00:00Z"
		case strings.Contains(name, "url") || strings.Contains(name, "endpoint"):
			v = "https://api.example.com"
		case strings.Contains(name, "domain") || strings.Contains(name, "host"):
			v = "api.example.com"
		default:
			v = "example"
		}
		out = append(out, value.Member{Name: in.Name, Value: v})
	}
	return out
}

// partition returns values for the variables of a stream, with the members that it reads.
func partition(s *Stream) value.Object {
	var out value.Object
	for _, v := range allVariables(s) {
		switch {
		case v.From != "":
			out = out.With(v.Name, value.ObjectOf("from", "2026-01-01", "to", "2026-01-31"))
		case v.Parent == nil:
			element := any("a")
			if list := v.Values.List; len(list) > 0 {
				element = configured(list[0])
			}
			out = out.With(v.Name, element)
		default:
			element := value.Object{}
			for _, path := range membersRead(s, v.Name) {
				element = element.WithPath(path, sampleMember(s, keypath.Format(v.Name, path)))
			}
			out = out.With(v.Name, element)
		}
	}
	return out
}

// sampleMember returns a value for a member of an item of the parent: a number, or the path of an address if the endpoint
// has it without its slash.
func sampleMember(s *Stream, source string) any {
	if strings.Contains(s.Endpoint, "trimPrefix("+source) {
		return "/a"
	}
	return 7
}

// allVariables returns the variables of a stream and of its parents.
func allVariables(s *Stream) []Variable { return appendVariables(nil, s) }

func appendVariables(out []Variable, s *Stream) []Variable {
	for _, v := range s.For {
		if v.Parent != nil {
			out = appendVariables(out, v.Parent)
		}
		out = append(out, v)
	}
	return out
}

// membersRead returns the paths of the members of a variable that the job of a stream reads.
func membersRead(s *Stream, name string) [][]string {
	w := &writer{src: &Source{}}
	job := text(w.alone(s, pagination(s), true))
	var out [][]string
	for _, m := range regexp.MustCompile(`\b`+name+`((?:\.[A-Za-z_]\w*)+)`).FindAllStringSubmatch(job, -1) {
		out = append(out, strings.Split(m[1][1:], "."))
	}
	return out
}

// cases are the tests of a stream: its first page, the next one, and the end.
func cases(s *Stream) []testCase {
	if len(s.Response) > 0 && !s.isXML() {
		return nil // of another format
	}
	p := s.Paging
	if p != nil && (p.Poll != "" || p.Kind == Other) {
		return nil
	}
	if p == nil {
		return []testCase{{name: "one request reads %s", pages: []any{body(s, 2)}, items: 2, requests: s.requests("")}}
	}
	size, known := p.number()
	const fewest = 20
	switch p.Kind {
	case Pages, Offset:
		switch {
		case p.Pages != "":
			page := at(body(s, 2), p.Pages, 2)
			return []testCase{{name: "the number of pages ends %s", pages: []any{page, page}, items: 4}}
		case p.Short && (!known || size > fewest):
			return []testCase{{name: "a short page ends %s", pages: []any{p.last(body(s, 2))}, items: 2, requests: s.requests("")}}
		case p.Short:
			return []testCase{{name: "a short page ends %s", pages: []any{p.more(body(s, size)), p.last(body(s, 1))},
				items: size + 1}}
		}
		return []testCase{{name: "an empty page ends %s", pages: []any{p.more(body(s, 2)), p.last(body(s, 0))}, items: 2}}
	case LastItem:
		return []testCase{{name: "the last item leads through %s",
			pages: []any{p.more(numbered(s, p.Path, 1, 2)), p.last(numbered(s, p.Path))}, items: 2, requests: s.requests("2")}}
	case Link:
		link := value.ObjectOf("headers", value.ObjectOf("Link", `<?page=2>; rel="`+relation(p)+`"`), "body", body(s, 2))
		return []testCase{{name: "the Link header leads through %s", pages: []any{link, body(s, 1)}, items: 3}}
	case NextURL:
		if p.Path == "" {
			return tokenCases(s, p)
		}
		return []testCase{{name: p.Path + " leads through %s",
			pages: []any{p.more(at(body(s, 2), p.Path, "?page=2")), p.last(body(s, 1))}, items: 3}}
	}
	return tokenCases(s, p)
}

func relation(p *Paging) string {
	if p.Rel == "" {
		return "next"
	}
	return p.Rel
}

// tokenCases are the tests of a stream whose token is a value of the response.
func tokenCases(s *Stream, p *Paging) []testCase {
	switch {
	case p.Header != "":
		first := value.ObjectOf("headers", value.ObjectOf(p.Header, "t2"), "body", p.more(body(s, 2)))
		return []testCase{{name: p.Header + " leads through %s", pages: []any{first, p.last(body(s, 1))}, items: 3,
			requests: s.requests("t2")}}
	case p.Path != "":
		return []testCase{{name: p.Path + " leads through %s", pages: []any{p.more(at(body(s, 2), p.Path, "t2")), p.last(body(s, 1))},
			items: 3, requests: s.requests("t2")}}
	}
	return []testCase{{name: "a page without a token ends %s", pages: []any{p.last(body(s, 2))}, items: 2, requests: s.requests("")}}
}

// more sets the flag of a page to say that there is more, and last to say that there is not.
func (p *Paging) more(page any) any { return p.flag(page, true) }
func (p *Paging) last(page any) any { return p.flag(page, false) }

func (p *Paging) flag(page any, more bool) any {
	switch {
	case p.Last != "":
		return at(page, p.Last, !more)
	case p.More != "":
		return at(page, p.More, more)
	}
	return page
}

// at sets a value at a path of a page, which is an object then.
func at(page any, path string, v any) any {
	object, isObject := page.(value.Object)
	if !isObject {
		return page
	}
	return object.WithPath(keypath.Split(path), v)
}

// body returns a page with so many items.
func body(s *Stream, n int) any {
	var items []any
	for i := range n {
		items = append(items, value.ObjectOf("id", i+1))
	}
	return page(s, items)
}

// numbered returns a page with items that have values at a path.
func numbered(s *Stream, path string, values ...int) any {
	var items []any
	for _, v := range values {
		items = append(items, value.Object{}.WithPath(keypath.Split(path), v))
	}
	return page(s, items)
}

// page returns a page with items at the path of the list.
func page(s *Stream, items []any) any {
	if items == nil {
		items = []any{}
	}
	path := s.items()
	if s.AnyList {
		path = "data"
	}
	keys := keypath.Split(path)
	if i := slices.Index(keys, "*"); i >= 0 {
		var wrapped []any
		for _, e := range items {
			for _, k := range slices.Backward(keys[i+1:]) {
				e = value.ObjectOf(k, e)
			}
			wrapped = append(wrapped, e)
		}
		if items, keys = wrapped, keys[:i]; items == nil {
			items = []any{}
		}
	}
	out := any(items)
	for _, k := range slices.Backward(keys) {
		out = value.ObjectOf(k, out)
	}
	return out
}

// requests returns the requests of a test: the first request and, unless the token is "", the request with
// it. It returns nil if they depend on more than constants.
func (s *Stream) requests(token string) []string {
	address, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(s.BaseURL))
	if err != nil || strings.Contains(s.Endpoint, "{") || strings.Contains(s.BaseURL, "{") ||
		s.Method != "" || s.Body != nil || s.Incremental.sends() {
		return nil
	}
	first := "GET " + address.Path + s.Endpoint
	if strings.HasPrefix(s.Endpoint, "/") {
		first = "GET " + s.Endpoint
	}
	glue := "?"
	add := func(request, name, text string) string {
		request += glue + url.QueryEscape(name) + "=" + url.QueryEscape(text)
		return request
	}
	for _, m := range s.Params {
		text, scalar := value.Text(m.Value.Const)
		if !m.Value.IsConst() || !scalar {
			return nil
		}
		first = add(first, m.Name, text)
		glue = "&"
	}
	switch {
	case token == "":
		if s.Paging != nil && s.Paging.First {
			return nil
		}
		return []string{first}
	case s.Paging.Into.In == InParam:
		return []string{first, add(first, s.Paging.Into.Name, token)}
	}
	return nil
}

// xmlPage returns a page whose body is XML.
func xmlPage(page any) any {
	object, _ := page.(value.Object)
	if body, has := object.Get("body"); has {
		return object.With("body", xmlText(body))
	}
	return value.ObjectOf("body", xmlText(page))
}

// xmlText writes an object as elements. A list is several elements of one name.
func xmlText(v any) string {
	object, isObject := v.(value.Object)
	if !isObject {
		text, _ := value.Text(v)
		return html.EscapeString(text)
	}
	var b strings.Builder
	for _, m := range object {
		list, isList := m.Value.([]any)
		if !isList {
			list = []any{m.Value}
		}
		for _, e := range list {
			b.WriteString("<" + m.Name + ">" + xmlText(e) + "</" + m.Name + ">")
		}
	}
	return b.String()
}
