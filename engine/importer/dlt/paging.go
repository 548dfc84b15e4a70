package dlt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// pagingKeys are the keys of each type of paginator.
var pagingKeys = map[string][]string{
	"json_link": {"next_url_path"}, "json_response": {"next_url_path"},
	"header_link": {"links_next_key"}, "header_cursor": {"cursor_key", "cursor_param"},
	"cursor": {"cursor_path", "cursor_param", "cursor_body_path"},
	"offset": {
		"limit", "offset", "offset_param", "limit_param", "total_path", "maximum_offset", "stop_after_empty_page", "has_more_path",
		"offset_body_path", "limit_body_path",
	},
	"page_number": {
		"base_page", "page", "page_param", "total_path", "maximum_page", "stop_after_empty_page", "has_more_path", "page_body_path",
	},
	"single_page": nil, "auto": nil,
}

// pages reads the paginator: of the endpoint, or of the client. The response to a path that ends with
// a placeholder is one item.
func (t *translation) pages() error {
	n := t.in(t.res, "paginator")
	if !n.given() && t.isSingle() {
		return nil
	}
	if !n.given() {
		n = t.client.get("paginator")
	}
	kind := cmp.Or(n.text(), n.get("type").text(), "auto")
	keys, known := pagingKeys[kind]
	if !known {
		return fmt.Errorf("%s: the paginator %s is Python: stopwhen detect finds how the API pages", cmp.Or(n.path, "client.paginator"), kind)
	}
	for _, m := range n.members() {
		if m.name != "type" && !slices.Contains(keys, m.name) {
			t.out.Note(unknownKey(m))
		}
	}
	var err error
	switch kind {
	case "json_link", "json_response":
		t.out.Paging = &importer.Paging{Kind: importer.NextURL, Into: importer.Target{In: importer.InURL}, NoParam: true}
		t.out.Paging.Path, err = pathOf(n.get("next_url_path"), "next")
	case "header_link":
		t.out.Paging = &importer.Paging{Kind: importer.Link, Into: importer.Target{In: importer.InURL}, NoParam: true,
			Rel: n.get("links_next_key").text()}
	case "header_cursor":
		t.out.Paging = &importer.Paging{Kind: importer.Token, Header: cmp.Or(n.get("cursor_key").text(), "next"),
			Into: importer.Target{In: importer.InParam, Name: cmp.Or(n.get("cursor_param").text(), "cursor")}}
	case "cursor":
		t.out.Paging = &importer.Paging{Kind: importer.Token}
		if t.out.Paging.Into, err = t.target(n, "cursor_param", "cursor_body_path", "cursor"); err == nil {
			t.out.Paging.Path, err = pathOf(n.get("cursor_path"), "cursors.next")
		}
	case "offset":
		err = t.offset(n)
	case "page_number":
		err = t.pageNumber(n)
	case "auto":
		t.auto(n)
	}
	return err
}

// auto is the paginator that dlt chooses by the first response.
func (t *translation) auto(n node) {
	t.out.Paging = &importer.Paging{Kind: importer.NextURL, Into: importer.Target{In: importer.InURL}, NoParam: true,
		Source: `link("next") ?? body.next ?? body.links.next`}
	place := n
	if !place.given() {
		place = t.res.endpoint
	}
	t.note(importer.Approximate, place, "pagination",
		"dlt finds the paging in the first response (auto): here, the address of the next page is followed, in "+
			"the header Link, next or links.next; run stopwhen detect with the address of the list, and copy the pagination that it finds")
}

// pathOf returns the path in the response that a JSONPath is.
func pathOf(n node, usual string) (string, error) {
	text := cmp.Or(n.text(), usual)
	keys, err := pathKeys(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.path, err)
	}
	if len(keys) == 0 || slices.Contains(keys, "*") {
		return "", fmt.Errorf("%s: want the path of one value instead of %q", n.path, text)
	}
	return keypath.Join(keys...), nil
}

// target returns the parameter, or the path in the body, that two keys name.
func (t *translation) target(n node, param, body, usual string) (importer.Target, error) {
	inBody := n.get(body)
	switch {
	case inBody.given() && n.get(param).given():
		return importer.Target{}, fmt.Errorf("%s: want %s or %s, and not both", n.path, param, body)
	case !inBody.given():
		return importer.Target{In: importer.InParam, Name: cmp.Or(n.get(param).text(), usual)}, nil
	}
	path, err := pathOf(inBody, "")
	if t.out.Body == nil {
		t.out.Body = []importer.Member{}
	}
	return importer.Target{In: importer.InBody, Name: path}, err
}

// number returns a number that a key has.
func number(n node, usual int) (int, error) {
	if !n.given() {
		return usual, nil
	}
	text, _ := n.scalar()
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s: want a whole number, got %v", n.path, n.v)
	}
	return v, nil
}

// offset reads the paginator that counts items.
func (t *translation) offset(n node) error {
	limit, err := number(n.get("limit"), 0)
	if err != nil {
		return err
	}
	if limit == 0 {
		return fmt.Errorf("%s: the paginator offset needs a limit", n.get("limit").path)
	}
	start, err := number(n.get("offset"), 0)
	if err != nil {
		return err
	}
	p := &importer.Paging{Kind: importer.Offset, Start: start, First: true, Size: strconv.Itoa(limit), BySize: true}
	if p.Into, err = t.target(n, "offset_param", "offset_body_path", "offset"); err != nil {
		return err
	}
	size, err := t.target(n, "limit_param", "limit_body_path", "limit")
	if err != nil {
		return err
	}
	if size.In == importer.InBody {
		t.out.Body = withMember(t.out.Body, keypath.Split(size.Name), importer.Constant(limit))
	} else {
		p.SizeIn = size.Name
		t.out.Params = withMember(t.out.Params, []string{size.Name}, importer.Constant(limit))
	}
	t.out.Paging = p
	total, err := t.ends(n)
	if err != nil {
		return err
	}
	if total != "" {
		p.Stops = append(p.Stops, importer.Stop{Name: "total", When: fmt.Sprintf("state.offset + %d >= number(%s)", limit, total)})
	}
	if most := n.get("maximum_offset"); most.given() {
		maximum, err := number(most, 0)
		if err != nil {
			return err
		}
		p.Stops = append(p.Stops, importer.Stop{Name: "maximum", When: fmt.Sprintf("state.offset + %d >= %d", limit, maximum)})
	}
	return nil
}

// pageNumber reads the paginator that counts pages.
func (t *translation) pageNumber(n node) error {
	base, err := number(n.get("base_page"), 0)
	if err != nil {
		return err
	}
	start, err := number(n.get("page"), base)
	if err != nil {
		return err
	}
	p := &importer.Paging{Kind: importer.Pages, Start: start, First: true}
	if p.Into, err = t.target(n, "page_param", "page_body_path", "page"); err != nil {
		return err
	}
	t.out.Paging = p
	total, err := t.ends(n)
	if err != nil {
		return err
	}
	switch {
	case total != "" && start == base && p.Into.In == importer.InParam:
		p.Pages, err = pathOf(n.get("total_path"), "total")
	case total != "":
		p.Stops = append(p.Stops, importer.Stop{Name: "total", When: fmt.Sprintf("page + %d >= number(%s)", start-base, total)})
	}
	if most := n.get("maximum_page"); most.given() && err == nil {
		var maximum int
		if maximum, err = number(most, 0); err == nil {
			p.Stops = append(p.Stops, importer.Stop{Name: "maximum", When: fmt.Sprintf("page >= %d", maximum-start)})
		}
	}
	return err
}

// ends reads the keys that end a counted list. It returns the expression for the total, or "" if a flag ends
// the list, which then decides alone.
func (t *translation) ends(n node) (string, error) {
	if stop := n.get("stop_after_empty_page"); stop.v == false {
		t.note(importer.Approximate, stop, "pagination", "an empty page ends the list here in any case")
	}
	if more := n.get("has_more_path"); more.given() {
		path, err := pathOf(more, "")
		t.out.Paging.More = path
		if total := n.get("total_path"); total.given() {
			t.note(importer.Left, total, "", "has_more_path decides when the list ends")
		}
		return "", err
	}
	total := n.get("total_path")
	if total.has && !total.given() {
		return "", nil
	}
	path, err := pathOf(total, "total")
	if err != nil {
		return "", err
	}
	return keypath.Format("body", keypath.Split(path)), nil
}

// withMember returns members with a value at a path, in place of the value that is there.
func withMember(members []importer.Member, keys []string, v importer.Value) []importer.Member {
	i := slices.IndexFunc(members, func(m importer.Member) bool { return m.Name == keys[0] })
	if len(keys) > 1 {
		var inner []importer.Member
		if i >= 0 {
			inner = members[i].Value.Object
		}
		v = importer.Value{Object: withMember(inner, keys[1:], v)}
	}
	if i >= 0 {
		out := slices.Clone(members)
		out[i].Value = v
		return out
	}
	return append(slices.Clone(members), importer.Member{Name: keys[0], Value: v})
}
