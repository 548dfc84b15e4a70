package dlt

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// keysOf are the keys of each object that are read. A key with a text is left out, and a note says the
// text.
var keysOf = map[string]map[string]string{
	"": {"client": "", "resource_defaults": "", "resources": ""},
	"client": {"base_url": "", "headers": "", "auth": "", "paginator": "",
		"session": "a session is an object of Python: what it sets belongs to api.http"},
	"resource": {"name": "", "endpoint": "", "selected": "", "include_from_parent": "", "processing_steps": "", "primary_key": "",
		"merge_key":         "rows are merged by the key of the job: stopwhen run --merge",
		"write_disposition": "the command says how rows are written: --out replaces, --append appends, --merge merges by key",
		"table_name":        "the file has the name of the job; --out names another one",
		"columns":           "types of columns come from the items, or from a contract: --contract",
		"schema_contract":   "stopwhen run --contract FILE --contract-mode freeze",
		"max_table_nesting": "rows have the items as the API sends them",
		"table_format":      "it is for the destination", "file_format": "it is for the destination",
		"references": "it is for the destination", "nested_hints": "it is for the destination",
		"parallelized": "stopwhen run --jobs N runs jobs at the same time",
		"spec":         "it is for programs in Python"},
	"endpoint": {"path": "", "method": "", "params": "", "json": "", "headers": "", "paginator": "", "data_selector": "",
		"response_actions": "", "incremental": "", "auth": "", "data": ""},
	"incremental": {"cursor_path": "", "initial_value": "", "start_param": "", "end_value": "", "end_param": "", "lag": "", "type": "",
		"convert":                   "",
		"last_value_func":           "",
		"primary_key":               "a row that the next run reads again is replaced by the key of the job: stopwhen run --merge",
		"row_order":                 "the whole list is read",
		"on_cursor_value_missing":   "an item without the value is written, and does not move what is kept",
		"allow_external_schedulers": "a scheduler sets inputs: --set NAME=VALUE",
		"range_start":               "", "range_end": ""},
	"resolve": {"type": "", "resource": "", "field": ""},
	"action":  {"status_code": "", "content": "", "action": ""},
}

// known notes the keys of an object that are left out, and those that are not known.
func (t *translation) known(n node, kind string) {
	for _, m := range n.members() {
		switch why, known := keysOf[kind][m.name]; {
		case !known:
			t.note(importer.Left, m.node, "", "%s is not known here", m.name)
		case why != "":
			t.note(importer.Left, m.node, "", "%s", why)
		}
	}
}

// A translation makes the stream of one resource.
type translation struct {
	*reader
	out  *importer.Stream
	node node // with the defaults

	params    map[string]string // of the path: the expressions that replace them
	increment *increment
}

// An increment is what the next run does not read again.
type increment struct {
	node
	param  string // the parameter that has the start; empty if there is none
	inBody bool   // whether it is a member of the body
}

func (t *translation) note(g importer.Grade, n node, target, format string, args ...any) {
	t.out.Note(importer.Note{Grade: g, Text: fmt.Sprintf(format, args...), Source: n.path, Target: target})
}

func (t *translation) translate() error {
	endpoint := t.node.get("endpoint")
	client := t.root.get("client")
	t.known(t.root, "")
	t.known(client, "client")
	t.known(t.node, "resource")
	t.known(endpoint, "endpoint")
	if endpoint.get("data").given() {
		return fmt.Errorf("%s: a body that is no JSON is not translated", endpoint.get("data").path)
	}
	t.increments(endpoint)
	for _, step := range []func() error{
		func() error { return t.parameters(endpoint) },
		func() error { return t.address(endpoint) },
		func() error { return t.headers(client.get("headers"), endpoint.get("headers")) },
		func() error { return t.items(endpoint.get("data_selector")) },
		func() error { return t.paginator(first(endpoint.get("paginator"), client.get("paginator"))) },
		func() error { return t.actions(endpoint.get("response_actions")) },
		t.finishIncrement,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	t.credentials(first(endpoint.get("auth"), client.get("auth")))
	t.steps(t.node.get("processing_steps"))
	return t.identity()
}

func first(nodes ...node) node {
	for _, n := range nodes {
		if n.given() {
			return n
		}
	}
	return node{}
}

// parameters reads the parameters and the body.
func (t *translation) parameters(n node) error {
	params, err := t.values(n.get("params"), inQuery)
	if err != nil {
		return err
	}
	body, err := t.values(n.get("json"), inBody)
	if err != nil {
		return err
	}
	t.out.Params = params
	switch method := strings.ToUpper(cmp.Or(n.get("method").text(), "GET")); method {
	case "GET":
		if len(body) > 0 {
			t.out.Body = body
		}
	case "POST":
		t.out.Method = method
		if len(params) == 0 {
			t.out.Params = body
			break
		}
		t.out.Body = append([]importer.Member{}, body...)
	default:
		return fmt.Errorf("%s: requests with method %s are not made", n.get("method").path, method)
	}
	return nil
}

// A place is where values are.
type place int

const (
	inQuery place = iota
	inBody
	elsewhere // in a header, or within another value
)

// values reads parameters or a body, without those that belong to the path or to the increment.
func (t *translation) values(n node, at place) ([]importer.Member, error) {
	var out []importer.Member
	for _, m := range n.members() {
		switch kind := m.get("type").text(); kind {
		case "resolve":
			t.known(m.node, "resolve")
			source, err := t.parent(m.get("resource").text(), m.get("field").text(), m.node)
			if err != nil {
				return nil, err
			}
			if strings.Contains(t.node.get("endpoint").get("path").text(), "{"+m.name+"}") {
				t.params[m.name] = source
				continue
			}
			out = append(out, importer.Member{Name: m.name, Value: importer.Computed(source)})
			continue
		case "incremental":
			if at == elsewhere {
				return nil, fmt.Errorf("%s: an increment is translated among the parameters and at the top of the body", m.path)
			}
			t.increment = &increment{m.node, m.name, at == inBody}
			continue
		}
		if t.increment != nil && t.increment.param == "" && at != elsewhere && startValue.MatchString(m.text()) {
			t.increment.param, t.increment.inBody = m.name, at == inBody
			continue
		}
		v, err := t.value(m.node)
		if err != nil {
			return nil, err
		}
		out = append(out, importer.Member{Name: m.name, Value: v})
	}
	return out, nil
}

// startValue matches a text that is the start of an increment alone.
var startValue = regexp.MustCompile(`^\{incremental\.(start_value|last_value)\}$`)

func (t *translation) value(n node) (importer.Value, error) {
	switch v := n.v.(type) {
	case string:
		return t.template(n, v)
	case []any:
		out := importer.Value{List: []importer.Value{}}
		for _, e := range n.list() {
			one, err := t.value(e)
			if err != nil {
				return out, err
			}
			out.List = append(out.List, one)
		}
		return out, nil
	}
	if !n.isObject() {
		return importer.Constant(n.v), nil
	}
	members, err := t.values(n, elsewhere)
	return importer.Value{Object: append([]importer.Member{}, members...)}, err
}

// address reads the base and the path.
func (t *translation) address(n node) error {
	base := t.root.get("client").get("base_url")
	t.out.BaseURL = strings.TrimSuffix(base.text(), "/") + "/"
	if base.text() == "" || strings.Contains(base.text(), "{") {
		v := t.input(importer.Input{Name: "url", Doc: "address of the API, without a slash at its end",
			Sample: "https://api.example.com", Place: "client.base_url"})
		t.out.BaseURL = "{+" + v.Source + "}/"
		if text, isText := v.Const.(string); isText {
			t.out.BaseURL = strings.TrimSuffix(text, "/") + "/"
		}
	}
	parts, err := t.parts(n.get("path"), cmp.Or(n.get("path").text(), t.out.Name))
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.source != "" {
			t.out.Endpoint += "{" + p.source + "}"
		} else {
			t.out.Endpoint += strings.NewReplacer("{", "{{", "}", "}}").Replace(p.text)
		}
	}
	t.out.Endpoint = strings.TrimPrefix(t.out.Endpoint, "/")
	return nil
}

func (t *translation) headers(all ...node) error {
	for _, n := range all {
		members, err := t.values(n, elsewhere)
		if err != nil {
			return err
		}
		for _, m := range members {
			t.out.Headers = slices.DeleteFunc(t.out.Headers, func(h importer.Member) bool { return strings.EqualFold(h.Name, m.Name) })
			t.out.Headers = append(t.out.Headers, m)
		}
	}
	return nil
}

// items reads the path of the list. Without one, dlt takes the list with the likeliest name.
func (t *translation) items(n node) error {
	if !n.given() {
		t.out.AnyList = true
		t.note(importer.Check, t.node.get("endpoint"), "dataField",
			"the source does not say where the list is; the only list of the response is taken: if there are several, write dataField")
		return nil
	}
	path, err := path(n)
	t.out.Items = strings.TrimSuffix(path, ".*")
	if t.out.Items == "*" {
		t.out.Items = ""
	}
	return err
}

// actions reads what is done about responses.
func (t *translation) actions(n node) error {
	for _, a := range n.list() {
		do := map[string]string{"ignore": "stop", "raise": "fail"}[a.get("action").text()]
		if do == "" {
			t.note(importer.Approximate, a, "onError", "an action that is a function of Python is left out; write the rule by hand")
			continue
		}
		t.known(a, "action")
		status := a.get("status_code").number(0)
		var conditions []string
		if status != 0 {
			conditions = append(conditions, "status == "+strconv.Itoa(status))
		}
		if text := a.get("content").text(); text != "" {
			conditions = append(conditions, "toJSON(body) contains "+strconv.Quote(text))
			t.note(importer.Check, a.get("content"), "onError", "the text is looked for in the body as JSON without white space")
		}
		when := strings.Join(conditions, " and ")
		if status == 0 || status >= 300 {
			t.out.Errors = append(t.out.Errors, importer.ErrorRule{When: when, Do: do})
		}
		if status < 300 {
			t.out.Errors = append(t.out.Errors, importer.ErrorRule{On: "success", When: when, Do: do})
		}
	}
	return nil
}

// steps names the steps that are functions.
func (t *translation) steps(n node) {
	for _, s := range n.list() {
		for _, m := range s.members() {
			t.note(importer.Partial, m.node, "", "the step %s is a function of Python and is left out; write filter or fields", m.name)
		}
	}
}

// identity reads the key, and the members that come from the parent.
func (t *translation) identity() error {
	key := t.node.get("primary_key")
	if text := key.text(); text != "" {
		t.out.Key = []string{rules.PathOf(text)}
	}
	for _, k := range key.list() {
		t.out.Key = append(t.out.Key, rules.PathOf(k.text()))
	}
	include := t.node.get("include_from_parent")
	if include.given() && len(t.out.For) == 0 {
		return fmt.Errorf("%s: the resource has no parent", include.path)
	}
	for _, f := range include.list() {
		v := t.out.For[0]
		t.out.Fields = append(t.out.Fields, importer.Field{Name: rules.PathOf("_" + v.Parent.Name + "_" + f.text()),
			Source: rules.FormatPath(v.Name, []string{f.text()})})
	}
	return nil
}

// parent returns the expression for a member of an item of another resource, and makes that resource
// the parent.
func (t *translation) parent(resource, field string, n node) (string, error) {
	parent := t.streams[resource]
	if parent == nil || parent == t.out {
		return "", fmt.Errorf("%s: there is no resource %q", n.path, resource)
	}
	keys, err := pathKeys(node{field, join(n.path, "field")})
	if err != nil {
		return "", err
	}
	name := importer.InputName(resource)
	if importer.Taken(name) {
		name = "parent_" + name
	}
	if !slices.ContainsFunc(t.out.For, func(v importer.Variable) bool { return v.Parent == parent }) {
		if len(t.out.For) > 0 {
			return "", fmt.Errorf("%s: a resource with two parents is not translated", n.path)
		}
		t.out.For = append(t.out.For, importer.Variable{Name: name, Parent: parent})
	}
	return rules.FormatPath(name, keys), nil
}

// credentials reads the authentication. The values are inputs.
func (t *translation) credentials(n node) {
	if !n.given() {
		return
	}
	secret := func(key, input string) importer.Member {
		return importer.Member{Name: key, Value: t.input(importer.Input{Name: input, Secret: true, Place: n.path})}
	}
	open := func(key, input, text string) importer.Member {
		if text != "" && !strings.ContainsAny(text, "{[") {
			return importer.Member{Name: key, Value: importer.Constant(text)}
		}
		return importer.Member{Name: key, Value: t.input(importer.Input{Name: input, Place: n.path})}
	}
	kind := cmp.Or(n.get("type").text(), n.text())
	if kind == "" && n.get("token").given() {
		kind = "bearer"
	}
	auth := func(kind string, members ...importer.Member) {
		t.out.Auth = append([]importer.Member{{Name: "type", Value: importer.Constant(kind)}}, members...)
	}
	switch kind {
	case "bearer":
		auth("bearer", secret("#token", "token"))
	case "api_key":
		name := cmp.Or(n.get("name").text(), "Authorization")
		switch in := cmp.Or(n.get("location").text(), "header"); in {
		case "header", "query":
			auth(in, importer.Member{Name: "name", Value: importer.Constant(name)}, secret("#value", "api_key"))
		case "param":
			auth("query", importer.Member{Name: "name", Value: importer.Constant(name)}, secret("#value", "api_key"))
		case "cookie":
			key := secret("#value", "api_key")
			key.Value.Source = fmt.Sprintf("%q + %s", name+"=", key.Value.Source)
			auth("header", importer.Member{Name: "name", Value: importer.Constant("Cookie")}, key)
		default:
			t.note(importer.Credentials, n, "api.authentication", "the key is in %s, which is not known; write api.authentication", in)
		}
	case "http_basic":
		auth("basic", open("username", "username", n.get("username").text()), secret("#password", "password"))
	case "oauth2_client_credentials":
		members := []importer.Member{open("tokenUrl", "token_url", n.get("access_token_url").text()),
			open("clientId", "client_id", n.get("client_id").text()), secret("#clientSecret", "client_secret")}
		if scope := n.get("access_token_request_data").get("scope").text(); scope != "" {
			members = append(members, importer.Member{Name: "scopes", Value: importer.Constant(
				value.Map(strings.Fields(scope), func(s string) any { return s }))})
		}
		for _, m := range n.get("access_token_request_data").members() {
			if m.name != "scope" && m.name != "grant_type" {
				t.note(importer.Credentials, m.node, "api.authentication", "the parameter %s of the token request is not translated", m.name)
			}
		}
		auth("oauth2", members...)
	default:
		t.note(importer.Credentials, n, "api.authentication",
			"the authentication %s is a class of Python; write api.authentication: its types login, oauth2 and sign cover most of them",
			cmp.Or(kind, "of this resource"))
	}
}
