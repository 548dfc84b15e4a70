package nango

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// paginate reads how the next page is requested. Each key may be replaced by a setting, as the scripts
// of Nango replace it.
func (t *translation) paginate(n node) error {
	t.keys("paginate", n)
	merged, _ := value.Members(n.v)
	for _, key := range paginateKeys() {
		if text, set := t.settings.Get(key); set {
			merged = merged.With(key, text)
		}
	}
	n.v = merged
	if err := t.method(n); err != nil {
		return err
	}
	if err := t.items(n.get("response_path")); err != nil {
		return err
	}
	if len(merged) == 0 || !n.get("type").given() {
		t.note(importer.Partial, n, "pagination", "the provider has no pagination, so one page is read: `stopwhen detect ADDRESS` finds it, "+
			"or import it with settings such as type=link and link_rel_in_response_header=next")
		return nil
	}
	switch kind := n.get("type").text(); kind {
	case "cursor":
		return t.cursor(n)
	case "link":
		return t.link(n)
	case "offset":
		return t.offset(n)
	default:
		return fmt.Errorf("%s: want cursor, link or offset, got %s", n.get("type").path, value.Preview(kind))
	}
}

// method sets the method: POST for parameters in a body.
func (t *translation) method(n node) error {
	inBody := n.get("in_body").text()
	method, _ := t.settings.Get("method")
	switch method = strings.ToUpper(method); {
	case method == "POST" && inBody == "false":
		t.out.Method, t.out.Body = "POST", []importer.Member{}
	case method == "POST" || method == "" && inBody == "true":
		t.out.Method = "POST"
		if len(t.out.Params) > 0 { // of the provider, which are in the query
			t.out.Body = []importer.Member{}
		}
	case method == "GET" || method == "":
	default:
		return fmt.Errorf("the setting method must be GET or POST instead of %q", method)
	}
	return nil
}

// inBody reports whether the parameters of a page are members of the body.
func (t *translation) inBody(n node) bool {
	return t.out.Method == "POST" && n.get("in_body").text() != "false"
}

// target returns where the cursor or the number of a page goes.
func (t *translation) target(n node, key string) (importer.Target, error) {
	name := n.get(key).text()
	if name == "" {
		return importer.Target{}, fmt.Errorf("%s: want the name of a parameter", n.get(key).path)
	}
	if t.inBody(n) {
		return importer.Target{In: importer.InBody, Name: keypath.Join(strings.Split(name, ".")...)}, nil
	}
	return importer.Target{In: importer.InParam, Name: name}, nil
}

// items sets the path of the list.
func (t *translation) items(n node) error {
	if n.text() != "" {
		p, err := path(n)
		t.out.Items = p
		return err
	}
	t.out.AnyList = true
	t.note(importer.Check, n, "dataField",
		"the source does not say where the list is; the only list of the response is taken: if there are several, write dataField")
	return nil
}

// limit sets the size of pages, and returns it with its parameter. The size is 0 if it is not known.
func (t *translation) limit(n node) (size int, sizeIn string, err error) {
	limit, name := n.get("limit"), n.get("limit_name_in_request").text()
	if !limit.given() {
		if name != "" {
			t.note(importer.Check, n.get("limit_name_in_request"), "params",
				"no page size is sent: import it with the setting limit=100 to send one as %s", name)
		}
		return 0, "", nil
	}
	size, err = strconv.Atoi(limit.text())
	if err != nil || size <= 0 {
		return 0, "", fmt.Errorf("%s: want a number above 0, got %s", limit.path, value.Preview(limit.v))
	}
	if name == "" {
		return size, "", nil
	}
	member := importer.Member{Name: name, Value: importer.Constant(size)}
	switch {
	case t.inBody(n) && t.out.Body != nil:
		t.out.Body = append(t.out.Body, nested(name, member.Value))
	case t.inBody(n):
		t.out.Params = append(t.out.Params, nested(name, member.Value))
	default:
		t.out.Params = append(t.out.Params, member)
		sizeIn = name
	}
	return size, sizeIn, nil
}

// nested returns a value at a path of the body as a member.
func nested(path string, v importer.Value) importer.Member {
	keys := strings.Split(path, ".")
	for i := len(keys) - 1; i > 0; i-- {
		v = importer.Value{Object: []importer.Member{{Name: keys[i], Value: v}}}
	}
	return importer.Member{Name: keys[0], Value: v}
}

func (t *translation) cursor(n node) error {
	target, err := t.target(n, "cursor_name_in_request")
	if err != nil {
		return err
	}
	p, err := path(n.get("cursor_path_in_response"))
	if err != nil {
		return err
	}
	t.out.Paging = &importer.Paging{Kind: importer.Token, Into: target, Path: p}
	t.note(importer.Approximate, n.get("cursor_path_in_response"), "pagination",
		"Nango ends the list at an empty page, even if it has a cursor; here the cursor decides")
	_, _, err = t.limit(n)
	return err
}

func (t *translation) link(n node) error {
	// The address comes with the parameters of the provider, and without the parameters of a script.
	p := &importer.Paging{Into: importer.Target{In: importer.InURL}, NoParam: len(t.out.Params) == 0}
	t.out.Paging = p
	switch rel, body := n.get("link_rel_in_response_header"), n.get("link_path_in_response_body"); {
	case rel.text() != "":
		p.Kind, p.Rel = importer.Link, rel.text()
	case body.text() != "":
		keys, err := path(body)
		if err != nil {
			return err
		}
		p.Kind, p.Path = importer.NextURL, keys
	default:
		return fmt.Errorf("%s: want link_rel_in_response_header or link_path_in_response_body", n.path)
	}
	_, _, err := t.limit(n)
	return err
}

func (t *translation) offset(n node) error {
	target, err := t.target(n, "offset_name_in_request")
	if err != nil {
		return err
	}
	start := 0
	if s := n.get("offset_start_value"); s.given() {
		if start, err = strconv.Atoi(s.text()); err != nil || start < 0 {
			return fmt.Errorf("%s: want a number, got %s", s.path, value.Preview(s.v))
		}
	}
	p := &importer.Paging{Kind: importer.Offset, Into: target, Start: start, First: true}
	switch how := cmp.Or(n.get("offset_calculation_method").text(), "by-response-size"); how {
	case "by-response-size":
	case "per-page":
		p.Kind = importer.Pages
	default:
		return fmt.Errorf("%s: want per-page or by-response-size, got %s", n.get("offset_calculation_method").path, value.Preview(how))
	}
	size, sizeIn, err := t.limit(n)
	if size > 0 {
		p.Size, p.SizeIn, p.Short = strconv.Itoa(size), sizeIn, true
	}
	t.out.Paging = p
	return err
}

// step matches one step of a path, as lodash reads it.
var step = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\.?([^.\[\]'"]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\])`)
})

// path returns a path of a response. A name such as @odata.nextLink is one member, since lodash looks
// for the whole name first.
func path(n node) (string, error) {
	text := n.text()
	if strings.HasPrefix(text, "@") {
		return keypath.Join(text), nil
	}
	var keys []string
	for rest := text; rest != ""; {
		m := step().FindStringSubmatch(rest)
		if m == nil {
			return "", fmt.Errorf("%s: want a path of names with dots between them, got %s", n.path, value.Preview(text))
		}
		rest = rest[len(m[0]):]
		keys = append(keys, m[1]+m[2]+m[3]+m[4])
	}
	if len(keys) == 0 {
		return "", fmt.Errorf("%s: want a path of the response", n.path)
	}
	return keypath.Join(keys...), nil
}
