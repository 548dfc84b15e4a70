package airbyte

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// paging reads the paginator.
func (t *translation) paging(retriever node) error {
	if retriever.get("pagination_reset").given() {
		t.note(importer.Approximate, retriever.get("pagination_reset"), "", "there is no reset of the pagination; the list is read on")
	}
	return t.pagingOf(retriever.get("paginator"))
}

// pagingOf reads a paginator.
func (t *translation) pagingOf(n node) error {
	switch kind := n.kind(); kind {
	case "", "NoPagination":
		if kind == "" && n.get("pagination_strategy").given() {
			break
		}
		return nil
	case "DefaultPaginator":
	case "Custom":
		return custom("paginator", n)
	default:
		return fmt.Errorf("%s: the paginator %s is not known", n.path, kind)
	}
	n.mark("url_base", "decoder", "$parameters")
	target, _, err := t.option(n.get("page_token_option"))
	if err != nil {
		return err
	}
	p := &importer.Paging{Into: target}
	strategy := n.get("pagination_strategy")
	if err := t.strategy(p, strategy); err != nil {
		return err
	}
	if p.Source == "nil" { // no page but the first
		return nil
	}
	t.out.Paging = p
	size := n.get("page_size_option")
	if !size.given() {
		size = n.get("limit_option")
	}
	return t.pageSize(p, strategy.get("page_size"), size)
}

// pageSize reads the size of a page, and sends it.
func (t *translation) pageSize(p *importer.Paging, n, option node) error {
	if !n.given() {
		return nil
	}
	e, err := jinja.Translate(n.text(), t.scope(n, jinja.Literal(nil)))
	if err != nil {
		return fmt.Errorf("%s: %w", n.path, err)
	}
	if text, isText := e.Const.(string); isText && e.Constant {
		e = jinja.Literal(literalOf(text))
	}
	p.Size = e.Source
	if !e.Constant {
		p.Size = "number(" + e.Source + ")"
	}
	p.Short = p.Kind == importer.Pages || p.Kind == importer.Offset
	target, sent, err := t.option(option)
	if err != nil || !sent {
		return err
	}
	if target.In == importer.InParam {
		p.SizeIn = target.Name
	}
	t.injected = append(t.injected, injected{target, e, option.path})
	return nil
}

// strategy reads the pagination strategy.
func (t *translation) strategy(p *importer.Paging, n node) error {
	switch kind := n.kind(); kind {
	case "PageIncrement":
		p.Kind, p.First = importer.Pages, n.get("inject_on_first_request").flag()
		n.mark("page_size")
		start := n.get("start_from_page").text()
		if jinja.IsTemplate(start) {
			e, err := t.one(n.get("start_from_page"))
			if err != nil || !e.Constant {
				return fmt.Errorf("%s: a computed first page is not translated", n.path)
			}
			start = fmt.Sprint(e.Const)
		}
		p.Start, _ = strconv.Atoi(start)
		t.counter(p, "state.page")
	case "OffsetIncrement":
		p.Kind, p.First = importer.Offset, n.get("inject_on_first_request").flag()
		n.mark("page_size")
		t.counter(p, "state.offset")
	case "CursorPagination", "CursorPaginationStrategy":
		n.mark("page_size", "decoder", "stop_condition")
		return t.cursorStrategy(p, n)
	case "Custom":
		return custom("pagination strategy", n)
	default:
		return fmt.Errorf("%s: the pagination strategy %s is not known", n.path, kind)
	}
	if p.Into.In == importer.InURL {
		return fmt.Errorf("%s: a number cannot take the place of the address", n.path)
	}
	return nil
}

// counter sets the tokens of a strategy that counts.
func (t *translation) counter(p *importer.Paging, name string) {
	t.token = jinja.Name(name, jinja.Number).ReadsPage()
	if p.First {
		t.initial = jinja.Literal(p.Start)
	}
}

// pageScope returns the names that the expressions of a strategy read.
func (t *translation) pageScope(n node) jinja.Scope {
	last := jinja.Members("items[-1]", func(keys []string) (jinja.Expr, error) {
		e, err := t.itemMember("items[-1]", keys)
		e.Absent, e.Root, e.Keys = true, "items[-1]", keys
		return e, err
	})
	scope := withParams(jinja.Scope{
		"config": jinja.Members("config", t.setting), "response": jinja.Path("body"), "headers": jinja.Members("headers", t.headerMember),
		"last_record": last, "last_page_size": jinja.Name("count", jinja.Number),
		"last_records": jinja.Members("items", func(keys []string) (jinja.Expr, error) {
			if keys[0] == "-1" {
				if len(keys) == 1 {
					return last, nil
				}
				return tokenMember(last, keys[1:])
			}
			return jinja.Path("items"), fmt.Errorf("last_records has no counterpart")
		}),
		"stream_slice": jinja.Members("stream_slice", t.sliceMember), "stream_partition": jinja.Members("stream_partition", t.sliceMember),
		"stream_interval": jinja.Members("stream_interval", t.intervalMember),
	}, n)
	return scope
}

// headerMember returns a header. The key link has the links of the header Link by their relation.
func (t *translation) headerMember(keys []string) (jinja.Expr, error) {
	if keys[0] != "link" {
		e := jinja.Name(fmt.Sprintf("header(%s)", importer.Quote(keys[0])), jinja.Text)
		e.Absent, e.Root, e.Keys = true, "header", keys[:1]
		return e, nil
	}
	if len(keys) == 1 {
		e := jinja.Members("header(\"Link\")", func(more []string) (jinja.Expr, error) {
			return t.headerMember(append([]string{"link"}, more...))
		})
		e.Kind, e.Absent = jinja.Any, true
		return e, nil
	}
	if len(keys) > 2 && keys[2] != "url" {
		e := jinja.Name(fmt.Sprintf("link(%s, %s)", importer.Quote(keys[1]), importer.Quote(keys[2])), jinja.Text)
		e.Absent = true
		return e, nil
	}
	e := jinja.Name(fmt.Sprintf("link(%s)", importer.Quote(keys[1])), jinja.Text)
	e.Absent, e.Root, e.Keys = true, "link", keys[1:2]
	if len(keys) == 2 {
		members := jinja.Members(e.Source, func(more []string) (jinja.Expr, error) { return t.headerMember(append(keys[:2:2], more...)) })
		members.Absent, members.Root, members.Keys, members.Kind = true, "link", keys[1:2], jinja.Any
		return members, nil
	}
	return e, nil
}

// cursorStrategy reads a CursorPagination.
func (t *translation) cursorStrategy(p *importer.Paging, n node) error {
	cursor := n.get("cursor_value")
	token, err := jinja.Translate(cursor.text(), t.pageScope(cursor))
	if err != nil {
		return fmt.Errorf("%s: %w", cursor.path, err)
	}
	token = token.AsLiteral()
	p.Kind = importer.Token
	if p.Into.In == importer.InURL {
		p.Kind = importer.NextURL
	}
	t.token = token.ReadsPage()
	t.chooseToken(p, token)
	condition := n.get("stop_condition")
	if !condition.given() {
		if numbered().MatchString(p.Path) && p.Kind == importer.Token { // 0 ends the list
			p.Stops = append(p.Stops, importer.Stop{When: "not truthy(" + token.Source + ")"})
		}
		return nil
	}
	stop, err := jinja.Translate(condition.text(), t.pageScope(condition))
	if err != nil {
		return fmt.Errorf("%s: %w", condition.path, err)
	}
	if stop.Constant {
		if isTrueForCDK(stop.Const) {
			p.Source = "nil"
		}
		return nil
	}
	t.stop(p, token, stop)
	return nil
}

// numbered matches the paths of tokens that are probably numbers.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(page|offset|skip|start|index|number)$`) })

// isTrueForCDK reports whether the CDK takes a constant for true.
func isTrueForCDK(v any) bool {
	if text, isText := v.(string); isText {
		v = literalOf(text)
	}
	return v != nil && v != false && v != "" && v != 0 && v != "false"
}

// chooseToken says where the token comes from, as closely as possible.
func (t *translation) chooseToken(p *importer.Paging, token jinja.Expr) {
	last := append(keypath.Split(t.out.Items), "-1")
	switch {
	case token.Root == "body" && p.Kind == importer.Token && len(token.Keys) > len(last) && slices.Equal(token.Keys[:len(last)], last):
		p.Kind, p.Path = importer.LastItem, keypath.Join(token.Keys[len(last):]...)
	case token.Constant && (token.Const == nil || token.Const == ""):
		p.Source = "nil"
	case token.Root == "body" && len(token.Keys) > 0 && !hasIndex(token.Keys):
		p.Path = keypath.Join(token.Keys...)
	case token.Root == "items[-1]" && p.Kind == importer.Token && t.overlay[keypath.Join(token.Keys...)] == "":
		p.Kind, p.Path = importer.LastItem, keypath.Join(append(slices.Clip(t.itemPath), token.Keys...)...)
	case token.Root == "header":
		p.Header = token.Keys[0]
	case token.Root == "link" && p.Kind == importer.NextURL:
		p.Kind, p.Rel = importer.Link, token.Keys[0]
	default:
		p.Source = token.Source
	}
	if p.Kind == importer.NextURL && p.Header != "" {
		p.Source, p.Header = token.Source, ""
	}
}

func hasIndex(keys []string) bool {
	for _, k := range keys {
		if strings.HasPrefix(k, "-") {
			return true
		}
	}
	return false
}

// counted returns a condition with the number of items in place of the length of their list.
func (t *translation) counted(source string) string {
	if strings.Contains(t.out.Items, "*") {
		return source
	}
	list := keypath.Format("body", keypath.Split(t.out.Items))
	return strings.NewReplacer("len("+list+")", "count", "empty("+list+") or not truthy("+list+")", "count == 0",
		"not empty("+list+") and truthy("+list+")", "count > 0").Replace(source)
}

// flagRule matches the condition that a flag of the response is true.
var flagRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^truthy\(body\.(\w+)\)$`) })

// linkRule matches the condition that a parameter of a link is not true.
var linkRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^link\('(\w+)', '(\w+)'\) != 'true'$`) })

// stop adds the rule of a stop condition, unless the end of the token says the same.
func (t *translation) stop(p *importer.Paging, token, stop jinja.Expr) {
	parts := []string{"empty(" + token.Source + ")", "not truthy(" + token.Source + ")", token.Source + " == nil", token.Source + " == ''",
		token.Source + ` == ""`}
	if token.Root == "link" {
		all, _ := t.headerMember([]string{"link"})
		parts = append(parts, "empty("+all.Source+")", "not truthy("+all.Source+")", all.Source+" == nil")
	}
	if token.Root == "body" {
		for n := 1; n < len(token.Keys); n++ { // there is no token without the objects around it, either
			above := keypath.Format("body", token.Keys[:n])
			parts = append(parts, above+" == nil", "empty("+above+")", "not truthy("+above+")")
		}
	}
	isSame := func(source string) bool {
		for part := range strings.SplitSeq(source, " or ") {
			found := false
			for _, known := range parts {
				found = found || part == known
			}
			if !found {
				return false
			}
		}
		return true
	}
	source := t.counted(stop.True().Source)
	if m := linkRule().FindStringSubmatch(source); m != nil && p.Kind == importer.Link && m[1] == p.Rel {
		p.MoreParam = m[2]
		return
	}
	switch {
	case isSame(source):
		return
	case p.More == "" && strings.HasPrefix(source, "not truthy(body.") && strings.Count(source, "(") == 1 && !strings.Contains(source,
		" or ") && !strings.Contains(source, "["):
		p.More = strings.TrimSuffix(strings.TrimPrefix(source, "not truthy(body."), ")")
		return
	}
	if m := flagRule().FindStringSubmatch(source); m != nil {
		p.Last = m[1]
		return
	}
	for _, or := range []string{" or empty(" + token.Source + ") or not truthy(" + token.Source + ")", " or " + token.Source + " == nil"} {
		source = strings.TrimSuffix(source, or)
	}
	p.Stops = append(p.Stops, importer.Stop{When: source})
}
