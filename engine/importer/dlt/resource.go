package dlt

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A translation makes the stream of a resource.
type translation struct {
	*reader
	res *resource
	out *importer.Stream

	parent   string // the resource that placeholders read
	variable string // of for, which has its items
	cursor   *cursor
	taken    map[string]bool // the parameters that the path has taken
}

// build makes the stream of a resource. It refuses the stream if a part of it cannot be translated.
func (r *reader) build(res *resource) {
	if res.built {
		return
	}
	res.built = true
	t := &translation{reader: r, res: res, out: res.out, taken: map[string]bool{}}
	if err := t.stream(); err != nil {
		*res.out = importer.Stream{Name: res.name, Place: res.path, Hidden: res.out.Hidden, Notes: res.out.Notes, Refused: err.Error()}
	}
}

// note adds a note about a part of the source.
func (t *translation) note(grade importer.Grade, n node, target, format string, args ...any) {
	t.out.Note(importer.Note{Grade: grade, Text: fmt.Sprintf(format, args...), Source: n.path, Target: target})
}

func (t *translation) stream() error {
	for _, step := range []func() error{
		t.hints, t.known, t.parents, t.increment, t.address, t.method, t.auth, t.headers, t.items, t.pages, t.actions, t.included, t.kept,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// The keys of resources. The keys of tables say how dlt's destination keeps the rows.
var (
	resourceKeys = []string{
		"name", "endpoint", "include_from_parent", "write_disposition", "primary_key", "merge_key", "table_name", "selected", "processing_steps",
	}
	tableKeys = []string{
		"max_table_nesting", "parent", "parent_table_name", "columns", "schema_contract", "table_format", "file_format", "references",
		"nested_hints", "parallelized",
	}
	endpointKeys = []string{
		"path", "method", "params", "json", "data", "paginator", "data_selector", "response_actions", "incremental", "auth", "headers",
	}
	clientKeys = []string{"base_url", "headers", "auth", "paginator", "session"}
)

// hints reads the keys of the resource that are about tables.
func (t *translation) hints() error {
	for _, level := range []node{t.defaults, t.res.node} {
		for _, m := range level.members() {
			switch {
			case slices.Contains(tableKeys, m.name):
				t.note(importer.Left, m, "", "%s is about tables and threads, and has no effect here", m.name)
			case !slices.Contains(resourceKeys, m.name):
				t.out.Note(unknownKey(m))
			}
		}
	}
	for _, step := range t.of(t.res, "processing_steps").list() {
		for _, m := range step.members() {
			code, _ := m.scalar()
			return fmt.Errorf(
				"%s is Python (%s): remove it from the document, and write its effect as filter or fields of the job", m.path, wording.Clip(code, 60))
		}
	}
	t.mergeHints()
	if table := t.of(t.res, "table_name"); table.given() {
		if name := table.text(); name != "" && !strings.ContainsAny(name, "{(") && !strings.HasPrefix(name, "lambda") {
			t.out.ID, t.out.Name = t.res.name, name
		} else {
			t.note(importer.Approximate, table, "", "the name of the table is computed in Python; the file has the name of the resource")
		}
	}
	if selected := t.of(t.res, "selected"); selected.given() && selected.v != false {
		t.note(importer.Left, selected, "", "the resource is selected in any case")
	}
	return nil
}

// mergeHints reads how the rows are merged: the keys, and write_disposition.
func (t *translation) mergeHints() {
	disposition := t.of(t.res, "write_disposition")
	how := cmp.Or(disposition.text(), disposition.get("disposition").text())
	switch primary, merge := t.of(t.res, "primary_key"), t.of(t.res, "merge_key"); {
	case primary.given():
		t.out.Key = keyPaths(primary)
		if merge.given() {
			t.note(importer.Left, merge, "", "the rows are merged by primary_key")
		}
	case merge.given():
		t.out.Key = keyPaths(merge)
		t.note(importer.Check, merge, "key", "dlt replaces all rows of a merge_key; here, key replaces one row, so it must identify an item")
	case how == "merge":
		t.note(importer.Check, disposition, "", "there is no primary_key, so that dlt adds rows as with append")
	}
	switch {
	case how == "merge" && t.out.Key != nil:
		t.note(importer.Check, disposition, "key", "merge the rows by key, so that the file has one for each")
	case disposition.given() && how != "merge":
		t.note(importer.Left, disposition, "",
			"a complete list replaces the file of the run before, unless the job is an increment, whose rows are added")
	}
}

func keyPaths(n node) []string {
	return lists.Map(n.texts(), func(name string) string { return keypath.Join(name) })
}

// known notes the keys of the endpoint and of the client that are not known.
func (t *translation) known() error {
	for _, level := range []node{endpointDefaults(t.defaults), t.res.endpoint} {
		if level.given() && !level.isObject() {
			return fmt.Errorf("%s: want a path or an object", level.path)
		}
		for _, m := range level.members() {
			if !slices.Contains(endpointKeys, m.name) {
				t.out.Note(unknownKey(m))
			}
		}
	}
	for _, m := range t.client.members() {
		if m.name == "session" && m.given() {
			t.note(importer.Approximate, m, "api.http", "a session is Python, and was left out: write what it changes, such as headers, in api.http")
		} else if !slices.Contains(clientKeys, m.name) {
			t.out.Note(unknownKey(m))
		}
	}
	return nil
}

// placeholder matches the placeholders that dlt replaces in texts.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{((?:resources|incremental)\.[^{}]+)\}`) })

// braces matches a name in braces in a path.
var braces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]*)\}`) })

// parents finds the resource whose items the endpoint reads, and makes it the variable of the job.
func (t *translation) parents() error {
	type read struct{ resource, at string }
	var reads []read
	for _, p := range t.merged(t.res, "params") {
		if p.get("type").text() == "resolve" {
			for _, m := range p.members() {
				if !slices.Contains([]string{"type", "resource", "field"}, m.name) {
					t.out.Note(unknownKey(m))
				}
			}
			reads = append(reads, read{p.get("resource").text(), p.path})
		}
	}
	for _, key := range []string{"path", "params", "json", "data", "headers"} {
		n := t.in(t.res, key)
		value.Any(n.v, func(v any) bool {
			text, _ := v.(string)
			for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
				if parts := strings.SplitN(m[1], ".", 3); parts[0] == "resources" && len(parts) == 3 {
					reads = append(reads, read{parts[1], n.path})
				}
			}
			return false
		}, nil)
	}
	for _, read := range reads {
		switch {
		case t.parent != "" && read.resource != t.parent:
			return fmt.Errorf("%s: the resource has several parents (%s and %s), which dlt refuses, too", read.at, t.parent, read.resource)
		case t.resources[read.resource] == nil:
			return fmt.Errorf("%s: its parent %q is not in the document; a resource that is Python cannot be read", read.at, read.resource)
		}
		t.parent = read.resource
	}
	if t.parent == "" {
		return nil
	}
	parent := t.resources[t.parent]
	t.build(parent)
	t.variable = parent.out.ItemVariable(importer.Singular(importer.InputName(parent.name)))
	t.out.For = []importer.Variable{{Name: t.variable, Parent: parent.out}}
	return nil
}

// field returns the expression for a field of the parent's item.
func (t *translation) field(path string) (string, error) {
	keys, err := pathKeys(path)
	if err != nil {
		return "", err
	}
	return keypath.Format(t.variable, keys), nil
}

// pathKeys reads a JSONPath, which may begin without the $.
func pathKeys(text string) ([]string, error) {
	switch {
	case strings.HasPrefix(text, "$"):
	case strings.HasPrefix(text, "["):
		text = "$" + text
	default:
		text = "$." + text
	}
	return importer.JSONPath(text)
}

// address reads the address of the client, and the path.
func (t *translation) address() error {
	base, err := t.inAddress(t.client.get("base_url"), strings.TrimRight(t.client.get("base_url").text(), "/"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(base, "{+") && !strings.Contains(base, "://") {
		return fmt.Errorf("client.base_url: want an address such as https://api.example.com/v1 instead of %q", base)
	}
	n := t.in(t.res, "path")
	text, ok := n.scalar()
	if !ok {
		return fmt.Errorf("%s: want a text", n.path)
	}
	if text, err = t.bindPath(n, text); err != nil {
		return err
	}
	endpoint, err := t.inAddress(n, text)
	if err != nil {
		return err
	}
	t.out.BaseURL = base + "/"
	if rest, isURL := cutOrigin(endpoint); isURL {
		t.out.BaseURL, endpoint = endpoint[:len(endpoint)-len(rest)], rest
	}
	if t.out.Endpoint = strings.TrimLeft(endpoint, "/"); t.out.Endpoint == "" {
		t.out.Endpoint = "."
	}
	return nil
}

// cutOrigin returns an address without its origin and the slash after it.
func cutOrigin(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return address, false
	}
	return strings.TrimPrefix(address[len(u.Scheme)+3+len(u.Host):], "/"), true
}

// bindPath puts constant parameters into the path. Resolved parameters become placeholders.
func (t *translation) bindPath(n node, text string) (string, error) {
	params := map[string]node{}
	for _, p := range t.merged(t.res, "params") {
		params[p.name] = p
	}
	var failed error
	out := braces().ReplaceAllStringFunc(text, func(found string) string {
		name := found[1 : len(found)-1]
		p, known := params[name]
		constant, isScalar := p.scalar()
		switch {
		case placeholder().MatchString(found):
			return found
		case !known:
			failed = cmp.Or(failed, fmt.Errorf("%s: there is no parameter %q for {%s}", n.path, name, name))
		case p.get("type").text() == "resolve":
			t.taken[name] = true
			return fmt.Sprintf("{resources.%s.%s}", p.get("resource").text(), p.get("field").text())
		case isScalar:
			t.taken[name] = true
			return constant
		default:
			failed = cmp.Or(failed, fmt.Errorf("%s: only parameters of type resolve and constants can be in a path", p.path))
		}
		return found
	})
	for name, p := range params {
		if p.get("type").text() == "resolve" && !t.taken[name] {
			failed = cmp.Or(failed, fmt.Errorf(
				"%s: the path does not have {%s}; outside of the path, dlt wants {resources.PARENT.FIELD}", p.path, name))
		}
	}
	return out, failed
}

// method reads the method, the parameters and the body.
func (t *translation) method() error {
	n := t.in(t.res, "method")
	method := strings.ToUpper(cmp.Or(n.text(), "GET"))
	if method != "GET" && method != "POST" {
		return fmt.Errorf("%s: the method %s is not translated; lists are read with GET and POST", n.path, method)
	}
	for _, p := range t.merged(t.res, "params") {
		if t.taken[p.name] || !p.given() {
			continue
		}
		if err := t.param(p); err != nil {
			return err
		}
	}
	if method == "POST" {
		t.out.Method = method
	}
	return t.body(method)
}

// body reads the body.
func (t *translation) body(method string) error {
	body, data := t.merged(t.res, "json"), t.in(t.res, "data")
	switch document := t.in(t.res, "json"); {
	case document.given() && !document.isObject():
		return fmt.Errorf("%s: a body that is not an object is not translated", document.path)
	case data.given() && (!data.isObject() || method != "POST" || document.given()):
		return fmt.Errorf("%s: only an object as the body of a POST is translated, which is sent urlencoded", data.path)
	case data.given():
		t.out.Method, body = "FORM", t.merged(t.res, "data")
	case method == "POST" && !document.given():
		t.note(importer.Approximate, t.in(t.res, "method"), "body", "the body is {}; dlt sends none")
	case !document.given():
		return nil
	}
	t.out.Body = []importer.Member{}
	for _, m := range body {
		v, err := t.value(m, importer.Target{In: importer.InBody, Name: keypath.Join(m.name)})
		if err != nil {
			return err
		}
		if t.atCursor(importer.InBody, keypath.Join(m.name)) {
			continue
		}
		t.out.Body = append(t.out.Body, importer.Member{Name: m.name, Value: v})
	}
	return nil
}

// headers reads the headers of the client and of the endpoint.
func (t *translation) headers() error {
	for _, level := range [][]node{t.client.get("headers").members(), t.merged(t.res, "headers")} {
		for _, m := range level {
			if !m.given() {
				continue
			}
			v, secret, err := t.credential(m, m.name, importer.Target{In: importer.InHeader, Name: m.name})
			if err != nil {
				return err
			}
			name := m.name
			if secret {
				name = "#" + name
			}
			t.out.Headers = slices.DeleteFunc(t.out.Headers, func(h importer.Member) bool {
				return strings.EqualFold(strings.TrimPrefix(h.Name, "#"), m.name)
			})
			if !t.atCursor(importer.InHeader, m.name) {
				t.out.Headers = append(t.out.Headers, importer.Member{Name: name, Value: v})
			}
		}
	}
	return nil
}

// single matches a path whose last part is a placeholder.
var single = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-zA-Z0-9._-]+\}`) })

// isSingle reports whether dlt takes the response for one item: the path ends with a placeholder.
func (t *translation) isSingle() bool {
	text, _ := t.in(t.res, "path").scalar()
	return single().MatchString(path.Base(text))
}

// items reads where the list is.
func (t *translation) items() error {
	n := t.in(t.res, "data_selector")
	switch {
	case !n.given() && t.isSingle():
		return nil // the response is the item
	case !n.given():
		t.out.AnyList = true
		t.note(importer.Approximate, t.res.endpoint, "dataField",
			"there is no data_selector: the items are the response, or the only list in its root; if a response has several lists, where dlt "+
				"chooses one, name it in dataField")
		return nil
	}
	keys, err := pathKeys(n.text())
	if err != nil {
		return fmt.Errorf("%s: %w", n.path, err)
	}
	if len(keys) > 0 && keys[len(keys)-1] == "*" {
		keys = keys[:len(keys)-1] // the elements of the list
	}
	t.out.Items = keypath.Join(keys...)
	return nil
}

// included adds members of the parent's item.
func (t *translation) included() error {
	n := t.of(t.res, "include_from_parent")
	if len(n.texts()) > 0 && t.parent == "" {
		return fmt.Errorf("%s: the resource has no parent", n.path)
	}
	for _, name := range n.texts() {
		t.out.Fields = append(t.out.Fields, importer.Field{Name: keypath.Join("_" + t.parent + "_" + name),
			Source: keypath.Format(t.variable, []string{name})})
	}
	return nil
}

// actions reads response_actions. dlt ignores a response with the action ignore, which ends the list;
// every other word leaves it to the status.
func (t *translation) actions() error {
	for _, n := range t.in(t.res, "response_actions").list() {
		action, status, content := n.get("action"), n.get("status_code"), n.get("content")
		for _, m := range n.members() {
			if !slices.Contains([]string{"action", "status_code", "content"}, m.name) {
				t.out.Note(unknownKey(m))
			}
		}
		switch {
		case action.text() == "raise":
			t.note(importer.Left, action, "", "errors end the run in any case")
			continue
		case action.text() != "ignore":
			code, _ := action.scalar()
			return fmt.Errorf("%s is Python (%s): remove it from the document, and write its effect as onError",
				cmp.Or(action.path, n.path), wording.Clip(cmp.Or(code, n.text()), 60))
		}
		if err := t.ignore(status, content); err != nil {
			return err
		}
	}
	return nil
}

// ignore adds the rules that end the list at a response.
func (t *translation) ignore(status, content node) error {
	var conditions []string
	code, hasStatus := status.scalar()
	if hasStatus {
		if !regexp.MustCompile(`^[1-5][0-9][0-9]$`).MatchString(code) {
			return fmt.Errorf("%s: want an HTTP status instead of %s", status.path, code)
		}
		conditions = append(conditions, "status == "+code)
	}
	if content.text() != "" {
		conditions = append(conditions, "toJSON(body) contains "+importer.Quote(content.text()))
		t.note(importer.Approximate, content, "pagination.onError", "the text is looked for in the body as compact JSON, without white space")
	}
	if conditions == nil {
		return fmt.Errorf("%s: want status_code or content", content.path)
	}
	condition := strings.Join(conditions, " and ")
	if !hasStatus || code[0] != '2' {
		t.out.Errors = append(t.out.Errors, importer.ErrorRule{When: condition, Do: "stop"})
	}
	if !hasStatus || code[0] == '2' {
		t.out.Errors = append(t.out.Errors, importer.ErrorRule{On: "success", When: condition, Do: "stop"})
	}
	return nil
}
