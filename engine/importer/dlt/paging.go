package dlt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
)

// paginators are the keys of each paginator, apart from type.
var paginators = map[string][]string{
	"auto":          nil,
	"single_page":   nil,
	"json_link":     {"next_url_path"},
	"json_response": {"next_url_path"}, // its name before
	"header_link":   {"links_next_key"},
	"header_cursor": {"cursor_key", "cursor_param"},
	"cursor":        {"cursor_path", "cursor_param", "cursor_body_path"},
	"offset": {"limit", "offset", "offset_param", "limit_param", "offset_body_path", "limit_body_path", "total_path", "maximum_offset",
		"stop_after_empty_page", "has_more_path"},
	"page_number": {"base_page", "page", "initial_page", "page_param", "page_body_path", "total_path", "maximum_page",
		"stop_after_empty_page", "has_more_path"},
}

// paginator reads how the next page is requested.
func (t *translation) paginator(n node) error {
	if !n.given() {
		n.path = t.node.get("endpoint").path
	}
	kind := n.text()
	if n.isObject() {
		kind = n.get("type").text()
	}
	keys, known := paginators[kind]
	switch {
	case !n.given() || kind == "auto":
		t.note(importer.Partial, n, "pagination",
			"the paginator is found by the first response there, and one page is read here: stopwhen detect finds it from the address")
		return nil
	case !known:
		return fmt.Errorf("%s: the paginator %q is a class of Python, which is not translated", n.path, kind)
	}
	for _, m := range n.members() {
		if m.name != "type" && !slices.Contains(keys, m.name) {
			t.note(importer.Left, m.node, "", "%s is not known here", m.name)
		}
	}
	switch kind {
	case "single_page":
		return nil
	case "json_link", "json_response":
		return t.token(n, importer.NextURL, importer.Target{In: importer.InURL}, "next_url_path", "next")
	case "header_link":
		t.out.Paging = &importer.Paging{Kind: importer.Link, Into: importer.Target{In: importer.InURL}, NoParam: true,
			Rel: text(n, "links_next_key", "next")}
		return nil
	case "header_cursor":
		t.out.Paging = &importer.Paging{Kind: importer.Token, Header: text(n, "cursor_key", "next"),
			Into: importer.Target{In: importer.InParam, Name: text(n, "cursor_param", "cursor")}}
		t.placeToken()
		return nil
	case "cursor":
		return t.token(n, importer.Token, t.target(n, "cursor_param", "cursor", "cursor_body_path"), "cursor_path", "cursors.next")
	}
	return t.counted(n, kind)
}

func text(n node, key, otherwise string) string {
	if s := n.get(key).text(); s != "" {
		return s
	}
	return otherwise
}

// target returns where a number or a token goes: to a path of the body if that is given.
func (t *translation) target(n node, param, otherwise, bodyPath string) importer.Target {
	if p := n.get(bodyPath).text(); p != "" {
		return importer.Target{In: importer.InBody, Name: rules.PathOf(strings.Split(p, ".")...)}
	}
	return importer.Target{In: importer.InParam, Name: text(n, param, otherwise)}
}

// token sets a paging by a value of the response.
func (t *translation) token(n node, kind importer.PagingKind, into importer.Target, key, otherwise string) error {
	p, err := path(node{text(n, key, otherwise), join(n.path, key)})
	if err != nil {
		return err
	}
	t.out.Paging = &importer.Paging{Kind: kind, Path: p, Into: into, NoParam: kind == importer.NextURL}
	t.placeToken()
	return nil
}

// splitQuery makes the parameters of a POST, which are its body otherwise, its query.
func (t *translation) splitQuery() {
	if t.out.Method == "POST" && t.out.Body == nil {
		t.out.Params, t.out.Body = nil, append([]importer.Member{}, t.out.Params...)
	}
}

// placeToken keeps the query and the body apart if the number or the token of a page wants it.
func (t *translation) placeToken() {
	switch into := t.out.Paging.Into.In; {
	case into == importer.InParam:
		t.splitQuery()
	case into == importer.InBody && t.out.Method == "" && t.out.Body == nil:
		t.out.Body = []importer.Member{}
	}
}

// counted sets a paging by the number of a page or of items.
func (t *translation) counted(n node, kind string) error {
	p := &importer.Paging{Kind: importer.Offset, First: true}
	t.out.Paging = p
	if kind == "offset" {
		limit := n.get("limit").number(0)
		if limit <= 0 {
			return fmt.Errorf("%s: want a number of items above 0", n.get("limit").path)
		}
		p.Start, p.Size = n.get("offset").number(0), strconv.Itoa(limit)
		p.Into = t.target(n, "offset_param", "offset", "offset_body_path")
		t.placeToken()
		t.limit(t.target(n, "limit_param", "limit", "limit_body_path"), limit)
	} else {
		p.Kind = importer.Pages
		base := n.get("base_page").number(0)
		p.Start = first(n.get("page"), n.get("initial_page")).number(base)
		p.Into = t.target(n, "page_param", "page", "page_body_path")
		t.placeToken()
		if p.Start != base && t.totalPath(n) != "" {
			return fmt.Errorf("%s: a total beside a first page that differs from base_page is not translated", n.path)
		}
	}
	return t.ends(n, p)
}

// limit sets the size of the pages.
func (t *translation) limit(to importer.Target, limit int) {
	p := t.out.Paging
	member := importer.Member{Name: to.Name, Value: importer.Constant(limit)}
	switch {
	case to.In == importer.InParam:
		p.SizeIn = to.Name
		t.out.Params = append(t.out.Params, member)
	case t.out.Body != nil:
		t.out.Body = append(t.out.Body, nested(to.Name, member.Value))
	default:
		t.out.Params = append(t.out.Params, nested(to.Name, member.Value))
	}
}

// nested returns a value at a path of the body as a member.
func nested(path string, v importer.Value) importer.Member {
	keys := rules.SplitPath(path)
	for i := len(keys) - 1; i > 0; i-- {
		v = importer.Value{Object: []importer.Member{{Name: keys[i], Value: v}}}
	}
	return importer.Member{Name: keys[0], Value: v}
}

// totalPath returns the path of the total: total, unless the source says that there is none, or a flag
// decides, which goes before the total.
func (t *translation) totalPath(n node) string {
	none := slices.ContainsFunc(n.members(), func(m namedNode) bool { return m.name == "total_path" && m.v == nil })
	if none || n.get("has_more_path").given() {
		return ""
	}
	return text(n, "total_path", "total")
}

// ends sets the rules that end a counted list.
func (t *translation) ends(n node, p *importer.Paging) error {
	if total := t.totalPath(n); total != "" {
		keys, err := path(node{total, join(n.path, "total_path")})
		if err != nil {
			return err
		}
		if p.Kind == importer.Pages {
			p.Pages = keys
		} else {
			p.Stops = append(p.Stops, importer.Stop{
				When: "state.offset + count >= number(" + rules.FormatPath("body", rules.SplitPath(keys)) + ")"})
		}
	}
	if more := n.get("has_more_path"); more.given() {
		keys, err := path(more)
		if err != nil {
			return err
		}
		p.More = keys
	}
	if empty, isBool := n.get("stop_after_empty_page").v.(bool); isBool && !empty {
		t.note(importer.Approximate, n.get("stop_after_empty_page"), "pagination", "an empty page ends the list here, too")
	}
	maximum, pages := n.get("maximum_offset"), 0
	switch {
	case maximum.given():
		p.Stops = append(p.Stops, importer.Stop{When: fmt.Sprintf("state.offset + count >= %d", maximum.number(0))})
	case n.get("maximum_page").given():
		maximum = n.get("maximum_page")
		if pages = maximum.number(0) - p.Start; pages <= 0 {
			return fmt.Errorf("%s: want a number above the first page", maximum.path)
		}
		p.Stops = append(p.Stops, importer.Stop{When: fmt.Sprintf("page >= %d", pages)})
	default:
		return nil
	}
	t.note(importer.Check, maximum, "pagination", "the list ends there although there may be more: it is complete by the rule of the source")
	return nil
}
