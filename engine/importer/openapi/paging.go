package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// paging sets how the operation is paged: by an extension, by a header Link, or by names.
func (t *translation) paging() error {
	if done, err := t.described(); done || err != nil {
		return err
	}
	if !t.list.found && t.response.given() {
		t.note(importer.Check, "responses", "dataField", "The response has no list that can be seen, so the whole response is one item")
	}
	for _, name := range t.headers.names() {
		if strings.EqualFold(name, "Link") {
			t.out.Paging = &importer.Paging{Kind: importer.Link, Into: importer.Target{In: importer.InURL}, NoParam: true}
			t.size("")
			t.leaveOut()
			return nil
		}
	}
	t.guess()
	t.leaveOut()
	return nil
}

// leaveOut notes the parameters of the query that are about pages, so that they are not inputs.
func (t *translation) leaveOut() {
	for _, p := range t.parameters {
		name := p.get("name").text()
		aboutPages := apinames.IsPageNumber(name) || apinames.IsItemIndex(name) || apinames.IsPosition(name)
		if p.get("in").text() == "query" && aboutPages && t.out.Paging != nil {
			if _, set := t.options.Set[name]; !set {
				t.sent["query "+name] = true
			}
		}
	}
}

// A sign is a member of the response that says something about the next page.
type sign struct {
	keys   []string
	schema node
}

// signs are the members of the response by the meanings of their names.
type signs map[apinames.SignKind]sign

// signs finds the signs in the response, next to the list, and in the objects that may have them.
func (t *translation) signs() signs {
	out := signs{}
	t.signsIn(out, nil, t.response, 0)
	if n := len(t.list.keys); n > 1 {
		response := t.response
		for i, k := range t.list.keys[:n-1] {
			response = t.property(response, k)
			t.signsIn(out, t.list.keys[:i+1], response, 1)
		}
	}
	return out
}

func (t *translation) signsIn(out signs, keys []string, schema node, depth int) {
	for _, name := range t.properties(schema) {
		p := t.property(schema, name)
		path := append(slices.Clone(keys), name)
		kind := t.typeOf(p)
		if kind == "object" {
			switch {
			case apinames.Key(name).Is(apinames.SignNext) && t.property(p, "href").given(): // HAL
				out.add(apinames.SignNext, sign{append(path, "href"), t.property(p, "href")})
			case depth < 2 && (apinames.Key(name).HoldsSigns() || apinames.Key(name).Is(apinames.SignNext)):
				t.signsIn(out, path, p, depth+1)
			}
			continue
		}
		if slices.Contains(apinames.NextURLNames(), name) && kind == "string" {
			out.add(apinames.SignNext, sign{path, p})
		}
		for _, h := range apinames.Key(name).Signs() {
			if fits(h.Kind, kind) {
				out.add(h.Kind, sign{path, p})
			}
		}
	}
}

// add adds a sign, unless another sign of its kind is nearer to the root.
func (s signs) add(kind apinames.SignKind, found sign) {
	if _, has := s[kind]; !has {
		s[kind] = found
	}
}

// fits reports whether a member of a type can mean something.
func fits(kind apinames.SignKind, schemaType string) bool {
	switch kind {
	case apinames.SignNext:
		return schemaType == "string" || schemaType == "integer" || schemaType == ""
	case apinames.SignMore, apinames.SignLast:
		return schemaType == "boolean"
	case apinames.SignTotal, apinames.SignPages:
		return schemaType == "integer" || schemaType == "number"
	}
	return false
}

// guess sets the paging by the names of members of the response and of parameters.
func (t *translation) guess() {
	found := t.signs()
	p, names := t.guessed(found)
	if p == nil {
		if size := t.queryNamed(isPageSize); size != "" && t.list.found {
			t.note(importer.Partial, "parameters."+size, "pagination",
				"The parameter %s says that the list has pages, but the document does not say how the next one is requested, "+
					"so only the first one is read: add pagination, or let stopwhen detect find it", size)
		}
		return
	}
	if more, has := found[apinames.SignMore]; has && p.Kind != importer.NextURL {
		p.More = keypath.Join(more.keys...)
		names = append(names, "the flag "+p.More)
	}
	if last, has := found[apinames.SignLast]; has && p.More == "" && p.Kind != importer.NextURL {
		p.Stops = append(p.Stops, importer.Stop{When: "truthy(" + keypath.Format("body", last.keys) + ")"})
		names = append(names, "the flag "+keypath.Join(last.keys...))
	}
	t.out.Paging = p
	t.note(importer.Approximate, "", "pagination",
		"The document does not describe the paging; it is guessed from %s. "+
			"Compare it with the API's documentation, or let stopwhen detect find it",
		list(names))
}

func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// guessed returns the likeliest paging, and the names that it is guessed from.
func (t *translation) guessed(found signs) (*importer.Paging, []string) {
	if next, has := found[apinames.SignNext]; has {
		if p, names := t.byNext(next); p != nil {
			return p, names
		}
	}
	if name := t.queryNamed(apinames.IsPageNumber); name != "" {
		t.sent["query "+name] = true
		p := t.pages(importer.Target{In: importer.InParam, Name: name})
		names := []string{"the parameter " + name}
		if pages, has := found[apinames.SignPages]; has {
			p.Pages = keypath.Join(pages.keys...)
			names = append(names, "the number of pages "+p.Pages)
		}
		t.sizeOf(p, "")
		return p, names
	}
	if name := t.queryNamed(apinames.IsItemIndex); name != "" {
		t.sent["query "+name] = true
		p := &importer.Paging{Kind: importer.Offset, Into: importer.Target{In: importer.InParam, Name: name}, First: true}
		if start, ok := t.parameter("query", name).get("schema", "minimum").number(); ok && start == 1 {
			p.Start = 1
		}
		t.sizeOf(p, "")
		p.Short = p.Size != ""
		return p, []string{"the parameter " + name}
	}
	return t.byLastItem(found)
}

var urlName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(url|uri|link|href|path)$`) })

// byNext is paging by a link or a token.
func (t *translation) byNext(next sign) (*importer.Paging, []string) {
	path, name := keypath.Join(next.keys...), next.keys[len(next.keys)-1]
	format := t.keyword(next.schema, "format").text()
	isURL := format == "uri" || format == "url" || format == "uri-reference" || urlName().MatchString(name) ||
		slices.Contains(apinames.NextURLNames(), name)
	param := t.tokenParameter(next)
	if !isURL && param != "" {
		t.sent["query "+param] = true
		t.size("")
		return &importer.Paging{Kind: importer.Token, Into: importer.Target{In: importer.InParam, Name: param}, Path: path},
			[]string{"the member " + path, "the parameter " + param}
	}
	if t.typeOf(next.schema) == "integer" {
		return nil, nil
	}
	inLinks := len(next.keys) > 1 && strings.Contains(strings.ToLower(next.keys[len(next.keys)-2]), "link")
	if isURL || inLinks || param == "" && strings.EqualFold(name, "next") {
		t.size("")
		return nextURL(path), []string{"the member " + path}
	}
	return nil, nil
}

// tokenParameter returns the parameter of the query that takes a token of the response.
func (t *translation) tokenParameter(next sign) string {
	name := next.keys[len(next.keys)-1]
	wanted := []string{name, strings.TrimPrefix(importer.InputName(name), "next_")}
	if following, ok := apinames.Key(name).NextParam(); ok {
		wanted = append(wanted, following)
	}
	for _, p := range t.queryNames() {
		if apinames.AlikeAny(p, wanted) {
			return p
		}
	}
	if t.typeOf(next.schema) == "integer" || apinames.Key(name).IsNextPageNumber() {
		if p := t.queryNamed(apinames.IsPageNumber); p != "" && t.typeOf(next.schema) == "integer" {
			return p
		}
	}
	return t.queryNamed(apinames.IsPosition)
}

// byLastItem is paging by the identifier of the last item.
func (t *translation) byLastItem(found signs) (*importer.Paging, []string) {
	name := t.queryNamed(func(n string) bool { return apinames.AlikeAny(n, apinames.ItemKeyNames()) })
	if name == "" {
		return nil, nil
	}
	_, more := found[apinames.SignMore]
	for _, id := range apinames.IdentifierNames() {
		if t.property(t.list.item, id).given() && (more || !apinames.Alike(name, "after")) {
			t.sent["query "+name] = true
			t.size("")
			return &importer.Paging{Kind: importer.LastItem, Into: importer.Target{In: importer.InParam, Name: name}, Path: keypath.Join(id)},
				[]string{"the parameter " + name, "the member " + id + " of the items"}
		}
	}
	return nil, nil
}

// queryNames returns the names of the parameters of the query.
func (t *translation) queryNames() []string {
	var out []string
	for _, p := range t.parameters {
		if p.get("in").text() == "query" {
			out = append(out, p.get("name").text())
		}
	}
	return out
}

// queryNamed returns the first parameter of the query whose name is of a kind.
func (t *translation) queryNamed(is func(string) bool) string {
	for _, name := range t.queryNames() {
		if is(name) {
			return name
		}
	}
	return ""
}

func isPageSize(name string) bool { return apinames.AlikeAny(name, apinames.PageSizeNames()) }

// nextURL is paging by the address of the next page, which has all parameters.
func nextURL(path string) *importer.Paging {
	return &importer.Paging{Kind: importer.NextURL, Path: path, Into: importer.Target{In: importer.InURL}, NoParam: true}
}

// pages is paging by a page number.
func (t *translation) pages(into importer.Target) *importer.Paging {
	p := &importer.Paging{Kind: importer.Pages, Into: into, First: true, Start: 1}
	schema := t.parameter("query", into.Name).get("schema")
	for _, key := range []string{"default", "minimum"} {
		if n, ok := t.keyword(schema, key).number(); ok && n >= 0 && n <= 1 {
			p.Start = n
			break
		}
	}
	return p
}

// sizeOf sends the size of a page, and notes it in the paging.
func (t *translation) sizeOf(p *importer.Paging, name string) {
	if name, n := t.size(name); n > 0 {
		p.Size, p.SizeIn = fmt.Sprint(n), name
	} else if p.Kind == importer.Offset {
		p.SizeIn = name
	}
}

// The size of a page where the document has no limit for it.
const (
	usualSize  = 100
	largestMax = 1000
)

// size sends the size of a page if a parameter takes it, and returns both. The size is the largest that the
// document allows, but at most 1000. Without a limit, it is the default, or 100.
func (t *translation) size(name string) (string, int) {
	if name == "" {
		name = t.queryNamed(func(n string) bool { return isPageSize(n) && !t.sent["query "+n] })
	}
	if name == "" {
		return "", 0
	}
	in := "query"
	schema := t.parameter(in, name).get("schema")
	if !t.parameter(in, name).given() && t.method == "POST" {
		body, err := t.resolve(t.node.get("requestBody"))
		if err != nil {
			return "", 0
		}
		_, bodySchema := mediaOf(body.get("content"))
		in, schema = "body", t.property(bodySchema, name)
	}
	n := usualSize
	if given, ok := t.keyword(schema, "default").number(); ok && given > 0 {
		n = given
	}
	if limit, ok := t.keyword(schema, "maximum").number(); ok && limit > 0 {
		n = min(limit, largestMax)
	}
	if text, set := t.set.Get(name); set {
		if chosen, err := strconv.Atoi(text); err == nil {
			n = chosen
		}
	}
	t.sent[in+" "+name] = true
	t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Constant(n)})
	return name, n
}
