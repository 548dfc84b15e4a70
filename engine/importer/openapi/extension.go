package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// The extensions that describe paging.
const (
	speakeasy = "x-speakeasy-pagination"
	fern      = "x-fern-pagination"
	microsoft = "x-ms-pageable"
)

// extension returns the extension of an operation. The value true stands for the extension of the root.
func (r *reader) extension(op *operation) node {
	for _, name := range []string{speakeasy, fern, microsoft} {
		n := op.node.get(name)
		if n.flag() {
			n = r.root.get(name)
		}
		if n.given() && n.v != false {
			return n
		}
	}
	return node{}
}

// described sets the paging by an extension. It reports false if the operation has no extension.
func (t *translation) described() (bool, error) {
	n := t.extension(t.operation)
	if !n.given() {
		return false, nil
	}
	var err error
	var name string
	switch {
	case t.node.get(speakeasy).given():
		name, err = speakeasy, t.speakeasy(n)
	case t.node.get(fern).given():
		name, err = fern, t.fern(n)
	default:
		name, err = microsoft, t.microsoft(n)
	}
	if err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// unknown notes keys of an extension that are not known.
func (t *translation) unknown(extension string, n node, known ...string) {
	for _, key := range n.names() {
		if !slices.Contains(known, key) {
			t.note(importer.Approximate, extension+"."+key, "pagination", "The key %s is not known, and was left out", key)
		}
	}
}

// microsoft reads {"nextLinkName": "nextLink", "itemName": "value", "operationName": "…"}.
func (t *translation) microsoft(n node) error {
	t.unknown(microsoft, n, "nextLinkName", "itemName", "operationName")
	item := "value"
	if n.get("itemName").given() {
		item = n.get("itemName").text()
	}
	if err := t.listAt(strings.Split(item, ".")); err != nil {
		return err
	}
	if n.get("operationName").given() {
		t.note(importer.Left, microsoft+".operationName", "", "The next page is requested at its address, whatever operation that is")
	}
	if link := n.get("nextLinkName").text(); link != "" {
		// A name with a dot is one member, such as odata.nextLink, unless the response has its parts.
		keys := []string{link}
		if parts := strings.Split(link, "."); t.property(t.response, parts[0]).given() {
			keys = parts
		}
		t.out.Paging = nextURL(keypath.Join(keys...))
	}
	return nil
}

// speakeasy reads {"type": "offsetLimit", "inputs": [{"name", "in", "type"}], "outputs": {…}}.
func (t *translation) speakeasy(n node) error {
	t.unknown(speakeasy, n, "type", "inputs", "outputs")
	out := n.get("outputs")
	t.unknown(speakeasy+".outputs", out, "results", "numPages", "nextCursor", "nextUrl", "limit")
	if results := out.get("results"); results.given() {
		keys, err := importer.JSONPath(results.text())
		if err != nil {
			return fmt.Errorf("outputs.results: %w", err)
		}
		if err := t.listAt(keys); err != nil {
			return err
		}
	}
	inputs := map[string]importer.Target{}
	for _, in := range n.get("inputs").list() {
		t.unknown(speakeasy+".inputs", in, "name", "in", "type")
		target, err := t.target(in.get("in").text(), in.get("name").text())
		if err != nil {
			return err
		}
		inputs[in.get("type").text()] = target
	}
	switch kind := n.get("type").text(); kind {
	case "offsetLimit":
		return t.counted(inputs, out)
	case "cursor":
		target, has := inputs["cursor"]
		if !has {
			return fmt.Errorf("no input has the type cursor")
		}
		t.size(inputs["limit"].Name)
		return t.cursor(target, out.get("nextCursor").text())
	case "url":
		keys, err := importer.JSONPath(out.get("nextUrl").text())
		if err != nil {
			return fmt.Errorf("outputs.nextUrl: %w", err)
		}
		t.size(inputs["limit"].Name)
		t.out.Paging = nextURL(keypath.Join(keys...))
		return nil
	default:
		return fmt.Errorf("the type %q is not known; want offsetLimit, cursor or url", kind)
	}
}

// counted is paging by a page number or by an index.
func (t *translation) counted(inputs map[string]importer.Target, out node) error {
	if into, has := inputs["page"]; has {
		p := t.pages(into)
		if pages := out.get("numPages"); pages.given() {
			keys, err := importer.JSONPath(pages.text())
			if err != nil {
				return fmt.Errorf("outputs.numPages: %w", err)
			}
			p.Pages = keypath.Join(keys...)
		}
		t.sizeOf(p, inputs["limit"].Name)
		t.out.Paging = p
		return nil
	}
	target, has := inputs["offset"]
	if !has {
		return fmt.Errorf("no input has the type page or offset")
	}
	p := &importer.Paging{Kind: importer.Offset, Into: target, First: true}
	t.sizeOf(p, inputs["limit"].Name)
	p.Short = p.Size != ""
	t.out.Paging = p
	return nil
}

// cursor is paging by a value of the response, or of its last item.
func (t *translation) cursor(target importer.Target, path string) error {
	keys, err := importer.JSONPath(path)
	if err != nil {
		return fmt.Errorf("the cursor: %w", err)
	}
	p := &importer.Paging{Kind: importer.Token, Into: target, Path: keypath.Join(keys...)}
	if n := len(t.list.keys); len(keys) > n+1 && slices.Equal(keys[:n], t.list.keys) && keys[n] == "-1" {
		p.Kind, p.Path = importer.LastItem, keypath.Join(keys[n+1:]...)
	} else if slices.Contains(keys, "-1") {
		p.Path, p.Source = "", keypath.Format("body", keys)
	}
	t.out.Paging = p
	return nil
}

// fern reads {"cursor": "$request.cursor", "next_cursor": "$response.next", "results": "$response.data"}
// and the like.
func (t *translation) fern(n node) error {
	t.unknown(fern, n, "cursor", "next_cursor", "results", "offset", "step", "has-next-page", "next_uri", "next_path", "type")
	if n.get("type").text() == "custom" {
		return fmt.Errorf("paging of the type custom is code")
	}
	keys, err := fernPath(n.get("results").text(), "$response")
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := t.listAt(keys); err != nil {
		return err
	}
	switch {
	case n.get("cursor").given():
		target, err := t.fernTarget(n.get("cursor").text())
		if err != nil {
			return fmt.Errorf("cursor: %w", err)
		}
		next, err := fernPath(n.get("next_cursor").text(), "$response")
		if err != nil {
			return fmt.Errorf("next_cursor: %w", err)
		}
		t.out.Paging = &importer.Paging{Kind: importer.Token, Into: target, Path: keypath.Join(next...)}
	case n.get("offset").given():
		if err := t.fernOffset(n); err != nil {
			return err
		}
	case n.get("next_uri").given() || n.get("next_path").given():
		key := "next_uri"
		if !n.get(key).given() {
			key = "next_path"
		}
		next, err := fernPath(n.get(key).text(), "$response")
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		t.out.Paging = nextURL(keypath.Join(next...))
	default:
		return fmt.Errorf("it has neither cursor nor offset nor next_uri")
	}
	if more := n.get("has-next-page"); more.given() {
		keys, err := fernPath(more.text(), "$response")
		if err != nil {
			return fmt.Errorf("has-next-page: %w", err)
		}
		t.out.Paging.More = keypath.Join(keys...)
	}
	return nil
}

// fernOffset is paging by a page number or, with a step, by an index.
func (t *translation) fernOffset(n node) error {
	target, err := t.fernTarget(n.get("offset").text())
	if err != nil {
		return fmt.Errorf("offset: %w", err)
	}
	step := n.get("step")
	if !step.given() {
		t.out.Paging = t.pages(target)
		return nil
	}
	size, err := t.fernTarget(step.text())
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	p := &importer.Paging{Kind: importer.Offset, Into: target, First: true}
	t.sizeOf(p, size.Name)
	t.out.Paging = p
	return nil
}

// fernPath reads $response.data.items.
func fernPath(text, root string) ([]string, error) {
	rest, ok := strings.CutPrefix(text, root)
	if !ok || rest != "" && rest[0] != '.' {
		return nil, fmt.Errorf("want a path such as %s.data instead of %q", root, text)
	}
	if rest == "" {
		return nil, nil
	}
	return strings.Split(rest[1:], "."), nil
}

// fernTarget reads $request.cursor, which is a parameter or a member of the body.
func (t *translation) fernTarget(text string) (importer.Target, error) {
	keys, err := fernPath(text, "$request")
	if err != nil {
		return importer.Target{}, err
	}
	if len(keys) == 1 && t.parameter("query", keys[0]).given() {
		return t.target("parameters", keys[0])
	}
	return t.target("requestBody", strings.Join(keys, "."))
}

// target returns the place of a parameter, and notes that the paging sends it.
func (t *translation) target(in, name string) (importer.Target, error) {
	switch {
	case name == "":
		return importer.Target{}, fmt.Errorf("an input has no name")
	case in == "requestBody" && t.method == "POST":
		t.sent["body "+name] = true
		if keys := strings.Split(name, "."); len(keys) > 1 {
			return importer.Target{In: importer.InBody, Name: keypath.Join(keys...)}, nil
		}
		return importer.Target{In: importer.InParam, Name: name}, nil
	case in != "parameters":
		return importer.Target{}, fmt.Errorf("the input %s is in %q, which the request does not have", name, in)
	case t.parameter("header", name).given():
		t.sent["header "+name] = true
		return importer.Target{In: importer.InHeader, Name: name}, nil
	case t.method == "POST":
		return importer.Target{}, fmt.Errorf("the input %s is in the query of a POST; a job has no parameters of the query there", name)
	}
	t.sent["query "+name] = true
	return importer.Target{In: importer.InParam, Name: name}, nil
}
