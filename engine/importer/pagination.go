package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// pagination returns the pagination of a stream: a named method if one pages as the source says, and
// otherwise expressions. It is nil for a single request.
func pagination(s *Stream) value.Object {
	_, _, next := split(s)
	var out value.Object
	if p := s.Paging; p != nil && p.Poll != "" {
		out = append(value.Given("method", "expression", "nextRequest", value.Given("after", p.Poll)), p.stopRules(nil)...)
	} else if p != nil {
		next = p.withoutToken(append(next, p.Next...))
		if out = p.named(s); out == nil {
			out, next = p.expression(next)
		}
		out = append(out, p.common(s, out)...)
	}
	out = append(out, value.Given("nextRequest", nextRequest(next, s))...)
	if len(s.Keep) > 0 {
		out = append(out, value.Member{Name: "keep", Value: fields(s.Keep)})
	}
	if len(s.Errors) > 0 {
		var list []any
		for _, e := range s.Errors {
			list = append(list, value.Given("on", e.On, "when", e.When, "do", e.Do, "message", e.Message))
		}
		out = append(out, value.Member{Name: "onError", Value: list})
	}
	if _, has := out.Get("method"); len(out) > 0 && !has { // a single request
		out = append(onePage(), out...)
	}
	return merged(out)
}

// onePage returns the pagination of a single request.
func onePage() value.Object { return value.ObjectOf("method", "single") }

// withoutToken leaves out the part that sends the token as it is, whose place is that of the token then.
func (p *Paging) withoutToken(next []Next) []Next {
	if p.Kind != Token {
		return next
	}
	sends := func(n Next) bool { return n.Source == p.token() && (p.Into.In == Nowhere || n.Target == p.Into) }
	if i := slices.IndexFunc(next, sends); i >= 0 {
		p.Into = next[i].Target
		next = slices.Delete(next, i, i+1)
	}
	return next
}

// merged puts the parts of the next request into one object.
func merged(o value.Object) value.Object {
	var out value.Object
	for _, m := range o {
		before, known := out.Get(m.Name)
		if !known {
			out = append(out, m)
			continue
		}
		a, _ := value.Members(before)
		b, _ := value.Members(m.Value)
		out = out.With(m.Name, merged(append(append(value.Object{}, a...), b...)))
	}
	return out
}

// named returns the settings of a named method, or nil if no method does the same.
func (p *Paging) named(s *Stream) value.Object {
	sent, sentToken := p.Into.In == InParam, p.Into.In == InParam || p.Into.In == InBody && s.sendsParamsAsBody() && p.isText()
	switch {
	case p.Keys != nil:
		return object(p.Keys)
	case p.Kind == Pages && sent && p.Pages != "":
		return value.Given("method", "pagecount", "pagesField", p.Pages).Merge(p.pageNumber())
	case p.Kind == Pages && sent:
		return value.Given("method", "pagenum").Merge(p.pageNumber())
	case p.isOffset():
		n, _ := p.number()
		return value.Given("method", "offset", "limit", n, "limitParam", value.Unless("limit", p.SizeIn),
			"offsetParam", value.Unless("offset", p.Into.Name)).Merge(p.notFirst())
	case p.connection(s) != "":
		return value.Given("method", "graphql.relay", "connection", p.connection(s),
			"variable", value.Unless("after", strings.TrimPrefix(p.Into.Name, "variables.")))
	case p.Kind == Token && sent && len(p.Together) > 0:
		return value.Given("method", "response.params", "responseParams", p.together())
	case p.Kind == Token && sentToken && p.Path != "":
		return value.Given("method", "response.param", "responseParam", p.Path, "queryParam", p.Into.Name,
			"includeParams", s.hasQuery())
	case p.Kind == Token && sent && p.Header != "":
		return value.Given("method", "header.param", "responseHeader", p.Header, "queryParam", p.Into.Name)
	case p.Kind == NextURL && p.Path != "":
		return value.Given("method", "response.url", "urlKey", value.Unless("next_page", p.Path), "includeParams", !p.NoParam && s.hasQuery())
	case p.Kind == Link:
		return value.Given("method", "header.link", "rel", value.Unless("next", p.Rel), "moreParam", p.MoreParam,
			"includeParams", !p.NoParam && s.hasQuery())
	case p.Kind == LastItem && sent:
		return value.Given("method", "keyset", "idKey", p.Path, "param", p.Into.Name)
	}
	return nil
}

// isOffset reports whether method offset pages as the source says.
func (p *Paging) isOffset() bool {
	_, sizeIsNumber := p.number()
	return p.Kind == Offset && p.Into.In == InParam && p.SizeIn != "" && sizeIsNumber && p.Short && p.Start == 0
}

// connection returns the path of the connection whose cursor is sent in a variable of a GraphQL query, or "". The query asks
// whether there is a next page, and only this ends the list.
func (p *Paging) connection(s *Stream) string {
	if p == nil {
		return ""
	}
	path, isCursor := strings.CutSuffix(p.Path, ".pageInfo.endCursor")
	name, isVariable := strings.CutPrefix(p.Into.Name, "variables.")
	query := text(object(append(slices.Clone(s.Params), s.Body...)))
	ends := p.More == path+".pageInfo.hasNextPage" || len(p.Stops) == 1 && !p.Stops[0].Failed &&
		p.Stops[0].When == keypath.Format("body", keypath.Split(path+".pageInfo.hasNextPage"))+" == false"
	if p.Kind == Token && p.Into.In == InBody && isCursor && isVariable && !strings.Contains(name, ".") && ends &&
		strings.Contains(query, "endCursor") && strings.Contains(query, "hasNextPage") {
		return path
	}
	return ""
}

// sendsSize reports whether the method sends the size of a page with every request.
func (p *Paging) sendsSize() bool {
	if p.Keys != nil || !p.First || p.SizeIn == "" {
		return false
	}
	_, sizeIsNumber := p.number()
	isPages := p.Kind == Pages && p.Into.In == InParam && p.Pages == "" && p.Short && sizeIsNumber
	return isPages || p.isOffset()
}

// ofBareLists reports whether a response that is paged in this way is a list if it is not an object with a list: nothing else
// of it says where the next page is.
func (p *Paging) ofBareLists() bool {
	return p != nil && p.Poll == "" && p.Keys == nil && p.More == "" && p.Last == "" && p.Pages == "" &&
		(p.Kind == Link || p.Kind == Offset || p.Kind == Pages || p.Kind == LastItem || p.Kind == Token && p.Header != "")
}

// sendsParamsAsBody reports whether the parameters are members of the body.
func (s *Stream) sendsParamsAsBody() bool { return s.Method == "POST" && s.Body == nil }

// isText reports whether the token is probably a text, by its name, and is a member of the body.
func (p *Paging) isText() bool {
	return !strings.Contains(p.Into.Name, ".") && textToken().MatchString(p.Path)
}

// textToken matches the paths of tokens that are texts.
var textToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|cursor|after|marker|continuation|bookmark)$`)
})

// hasQuery reports whether the first request has parameters, which later requests need as well.
func (s *Stream) hasQuery() bool {
	return len(s.Params) > 0 || s.Incremental.sends() && !strings.Contains(s.Incremental.Param, ":")
}

// together returns the paths of all tokens, by their parameters.
func (p *Paging) together() value.Object {
	out := value.ObjectOf(p.Into.Name, p.Path)
	for _, t := range p.Together {
		out = append(out, value.Member{Name: t.Name, Value: t.Path})
	}
	return out
}

// number returns the page size if it is a constant.
func (p *Paging) number() (int, bool) {
	n, err := strconv.Atoi(p.Size)
	return n, err == nil && n > 0
}

func (p *Paging) pageNumber() value.Object {
	out := value.Given("limitParam", p.limitParam(), "pageParam", value.Unless("page", p.Into.Name))
	if n, _ := p.number(); p.sendsSize() {
		out = value.Given("limit", n).Merge(out)
	}
	if p.Start != 1 {
		out = append(out, value.Member{Name: "firstPage", Value: p.Start})
	}
	return out.Merge(p.notFirst())
}

// limitParam names the parameter with the size, if a rule reads it.
func (p *Paging) limitParam() string {
	if _, isNumber := p.number(); isNumber && p.Short {
		return value.Unless("limit", p.SizeIn)
	}
	return ""
}

func (p *Paging) notFirst() value.Object {
	if p.First {
		return nil
	}
	return value.ObjectOf("firstPageParams", false)
}

// TokenSource returns the expression for the token, or for the number of the page or of the items
// before it.
func (p *Paging) TokenSource() string {
	switch p.Kind {
	case Pages:
		return "state.page"
	case Offset:
		return "state.offset"
	}
	return p.token()
}

// token returns the expression for the token.
func (p *Paging) token() string {
	switch {
	case p.Source != "":
		return p.Source
	case p.Header != "":
		return fmt.Sprintf("header(%s)", Quote(p.Header))
	case p.Kind == LastItem:
		return keypath.Format("items[-1]", keypath.Split(p.Path))
	}
	return keypath.Format("body", keypath.Split(p.Path))
}

// expression returns the settings of the method expression, and the parts of the next request.
func (p *Paging) expression(next []Next) (value.Object, []Next) {
	out := value.Given("method", "expression")
	part := Next{Target: p.Into, Source: p.token()}
	if p.Kind == Pages || p.Kind == Offset {
		name, step := "page", "1"
		if p.Kind == Offset {
			name, step = "offset", "count"
			if p.BySize {
				step = p.Size
			}
		}
		part.Source = "state." + name
		out = append(out, value.Member{Name: "state", Value: value.ObjectOf(
			name, value.ObjectOf("init", strconv.Itoa(p.Start), "next", part.Source+" + "+step))})
	}
	if p.Kind == Link {
		part.Source = fmt.Sprintf("link(%s)", Quote(cmp.Or(p.Rel, "next")))
	}
	if p.Into.In != Nowhere {
		next = append([]Next{part}, next...)
	}
	if p.First {
		out = append(out, value.Member{Name: "nextRequest", Value: value.ObjectOf("applyToFirst", true)})
	}
	return out, next
}

// common returns the settings that all methods have: the rules that end a list.
func (p *Paging) common(s *Stream, method value.Object) value.Object {
	more, list := p.More, []any{}
	if p.connection(s) != "" {
		return nil
	}
	if more != "" && s.isXML() {
		more, list = "", []any{keypath.Format("body", keypath.Split(more)) + ` != "true"`}
	}
	out := value.Given("hasMore", more)
	if p.Last != "" {
		out = append(out, value.Member{Name: "nextPageFlag", Value: value.ObjectOf("field", p.Last, "stopOn", true, "ifNotSet", false)})
	}
	name, _ := method.Get("method")
	counts := p.Kind == Pages || p.Kind == Offset
	if name == "expression" && counts {
		list = append(list, "count == 0")
	}
	if p.Short && counts && name != "offset" && p.Size != "" {
		size := p.Size
		if n, isNumber := p.number(); isNumber && name != "expression" && p.SizeIn != "" && (p.sendsSize() || s.has(p.SizeIn, n)) {
			size = "limit"
		}
		list = append(list, "count < "+size)
	}
	if name == "expression" && !counts && p.Keys == nil && p.Into.In != InURL && p.Into.In != InEndpoint {
		list = append(list, fmt.Sprintf("empty(%s)", p.token()))
	}
	return append(out, p.stopRules(list)...)
}

// stopRules returns the rules that end the list, after others.
func (p *Paging) stopRules(list []any) value.Object {
	for _, r := range p.Stops {
		if r.Name == "" && !r.Failed && r.Message == "" {
			list = append(list, r.When)
			continue
		}
		outcome := ""
		if r.Failed {
			outcome = "failed"
		}
		list = append(list, value.Given("name", r.Name, "when", r.When, "outcome", outcome, "message", r.Message))
	}
	return value.Given("stopRules", list)
}

// has reports whether a parameter of the stream has a number.
func (s *Stream) has(name string, n int) bool {
	for _, m := range s.Params {
		if m.Name == name {
			v, _ := value.Text(m.Value.Const)
			return v == strconv.Itoa(n)
		}
	}
	return false
}

// nextRequest returns the parts of the requests after the first.
func nextRequest(parts []Next, s *Stream) value.Object {
	groups := map[Place]value.Object{}
	out := value.Object{}
	for _, p := range parts {
		switch p.In {
		case InURL:
			out = out.With("url", p.Source)
			if s.Paging != nil && !s.Paging.NoParam && s.hasQuery() {
				out = out.With("includeParams", true)
			}
		case InEndpoint:
			out = out.With("endpoint", p.Source)
		case InBody, InHeader, InParam:
			groups[p.In] = groups[p.In].With(p.Name, p.Source)
		}
	}
	return append(out, value.Given("params", groups[InParam], "headers", groups[InHeader], "body", groups[InBody])...)
}

// pagers returns the paginations of the streams. A stream without parameters has that of another one that repeats its
// parameters, if nothing else differs.
func (g *group) pagers() []value.Object {
	pagers := lists.Map(g.streams, pagination)
	for i, p := range pagers {
		for _, q := range pagers {
			_, repeats := q.Get("includeParams")
			if repeats && !g.streams[i].hasQuery() && len(p) == len(q)-1 && text(q.Without("includeParams")) == text(p) {
				pagers[i] = q
			}
		}
	}
	return pagers
}

// A pager describes the paginations of a method.
type pager struct {
	name        string // what leads to the next page
	keepsParams bool   // whether requests after the first always have the parameters of the job
}

// methodPagers is the table of the methods that have one description: all but expression.
var methodPagers = map[any]pager{
	nil:               {"cursor", true}, // no pagination
	"single":          {"one_page", true},
	"offset":          {"offset", true},
	"pagenum":         {"pages", true},
	"pagecount":       {"pages", true},
	"keyset":          {"after_last", true},
	"response.url":    {name: "link"},
	"header.link":     {name: "link"},
	"cursor":          {name: "cursor"},
	"response.param":  {name: "cursor"},
	"response.params": {name: "cursor"},
	"header.param":    {name: "cursor"},
	"graphql.relay":   {name: "cursor"},
}

// pagerOf returns the description of a pagination.
func pagerOf(p value.Object) pager {
	method, _ := p.Get("method")
	if method != "expression" {
		return methodPagers[method]
	}
	_, counts := p.Get("state")
	_, isURL := value.At(p, []string{"nextRequest", "url"})
	switch {
	case counts:
		return pager{"pages", !isURL}
	case isURL:
		return pager{name: "link"}
	}
	return pager{"cursor", true}
}

// omitsParams reports whether requests after the first lack the parameters of the job.
func omitsParams(p value.Object) bool {
	includes, _ := p.Get("includeParams")
	return includes != true && !pagerOf(p).keepsParams
}
