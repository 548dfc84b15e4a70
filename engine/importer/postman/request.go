package postman

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A translation is that of one request.
type translation struct {
	*reader
	*entry
	out      *importer.Stream
	segments []string // of the path, with the variables of Postman
	late     []string // parameters that asked for a later page than the first
}

// translate translates a request if it returns a list, or if the user names it; otherwise it returns nil.
func (r *reader) translate(e *entry) *translation {
	e.stream = &importer.Stream{Name: e.name, Place: e.place}
	t := &translation{reader: r, entry: e, out: e.stream}
	method := strings.ToUpper(e.Request.Method)
	if method == "" {
		method = "GET"
	}
	named := r.options.Streams != nil && r.wants(e)
	err := t.address()
	if err == nil {
		err = t.body(method)
	}
	if err == nil {
		err = t.headers()
	}
	if err == nil {
		t.credentials()
		t.scripts()
		err = t.pages(method)
	}
	if !named && !t.isList(method) {
		return nil
	}
	if err != nil {
		t.out.Refused = err.Error()
	}
	return t
}

// isList reports whether a request returns a list, as far as can be seen.
func (t *translation) isList(method string) bool {
	if len(t.saved()) > 0 {
		return t.list && (method == "GET" || method == "POST")
	}
	return method == "GET" && (len(t.segments) == 0 || !isVariable(t.segments[len(t.segments)-1]))
}

func isVariable(segment string) bool {
	return strings.HasPrefix(segment, ":") && len(segment) > 1 || strings.HasPrefix(segment, "{{")
}

func (t *translation) note(g importer.Grade, source, target, format string, args ...any) {
	if source != "" {
		source = "." + source
	}
	t.out.Note(importer.Note{Grade: g, Text: fmt.Sprintf(format, args...), Source: t.place + source, Target: target})
}

// split returns the parts of an address, from its text those that are not given as well.
func (a address) split() address {
	raw, _, _ := strings.Cut(a.Raw, "#")
	raw, query, _ := strings.Cut(raw, "?")
	if len(a.Host) == 0 && raw != "" {
		if protocol, rest, has := strings.Cut(raw, "://"); has {
			a.Protocol, raw = protocol, rest
		}
		host, path, hasPath := strings.Cut(raw, "/")
		a.Host = words{host}
		if hasPath {
			a.Path = strings.Split(path, "/")
		}
	}
	if len(a.Query) > 0 {
		return a
	}
	for p := range strings.SplitSeq(query, "&") {
		if name, v, _ := strings.Cut(p, "="); p != "" {
			a.Query = append(a.Query, pair{Key: name, Value: &v})
		}
	}
	return a
}

// address sets the base address, the endpoint and the query.
func (t *translation) address() error {
	a := t.Request.URL.split()
	host := strings.Join(a.Host, ".")
	if host == "" {
		return fmt.Errorf("%s.request.url: the request has no address", t.place)
	}
	if a.Port != "" {
		host += ":" + a.Port
	}
	base, err := t.base(a.Protocol, host)
	if err != nil {
		return err
	}
	t.out.BaseURL = base
	var endpoint []string
	for _, s := range a.Path {
		t.segments = append(t.segments, s)
		text, err := t.segment(a, s)
		if err != nil {
			return err
		}
		endpoint = append(endpoint, text)
	}
	t.out.Endpoint = strings.Join(endpoint, "/")
	t.path = base + strings.Trim(strings.Join(t.segments, "/"), "/")
	for _, p := range a.Query {
		if p.Disabled || p.Key == "" {
			continue
		}
		m, err := t.parameter(unescaped(p.Key), unescaped(p.text()))
		if err != nil {
			return err
		}
		t.out.Params = append(t.out.Params, m)
	}
	return nil
}

// base returns the address up to the path, with a slash at its end. The values of its variables are
// constants, as far as they are known and no secrets.
func (t *translation) base(protocol, host string) (string, error) {
	host, err := expanded(host, func(name string) (string, bool) {
		v := t.lookup(name)
		return v.text(), v.text() != "" && !isSecret(v) && !t.isSet(name)
	})
	if err != nil {
		return "", err
	}
	parts, err := t.parts(host)
	if err != nil {
		return "", err
	}
	text := ""
	for i, p := range parts {
		if p.source == "" {
			text += p.text
			continue
		}
		sample := "api.example.com"
		if i == 0 && protocol == "" {
			sample = "https://" + sample
		}
		t.sample(p.source, sample)
		text += "{+" + p.source + "}"
	}
	if protocol == "" && !strings.Contains(text, "://") && !strings.HasPrefix(text, "{+") {
		protocol = "https"
		t.note(importer.Check, "request.url", "api.baseUrl", "The address has no scheme, for which Postman takes http; https is taken")
	}
	if protocol != "" {
		text = protocol + "://" + text
	}
	return strings.TrimRight(text, "/") + "/", nil
}

// sample says of an input that it is a part of an address.
func (t *translation) sample(source, sample string) {
	for i, in := range t.src.Inputs {
		if source == "input."+in.Name {
			t.src.Inputs[i].Sample = sample
		}
	}
}

// segment returns a segment of the path as an endpoint has it. A variable of the path, :id, is an input
// that is named after the segment before it: order_id.
func (t *translation) segment(a address, s string) (string, error) {
	if !strings.HasPrefix(s, ":") || len(s) == 1 {
		if text := unescaped(s); secret.IsIssued(text) || secret.IsRandom(text) {
			source := "{input." + t.input("path "+text, importer.Input{Name: "token", Secret: true, Place: t.place}) + "}"
			t.segments[len(t.segments)-1] = source
			t.hidden("a segment of the path")
			return source, nil
		}
		return t.addressed(unescaped(s), false)
	}
	name := s[1:]
	input := importer.InputName(name)
	if i := len(t.segments) - 2; input == "id" && i >= 0 && !isVariable(t.segments[i]) {
		input = importer.Singular(importer.InputName(t.segments[i])) + "_id"
	}
	if v, set := t.options.Set[name]; set {
		t.set.Get(name)
		return braces.Replace(url.PathEscape(v)), nil
	}
	for _, v := range a.Variables {
		if v.name() == name && strings.Contains(v.text(), "{{") {
			return t.addressed(v.text(), false)
		}
	}
	t.set.Get(name)
	at := strings.Join(t.segments, "/")
	return "{input." + t.input("path "+t.out.BaseURL+at, importer.Input{Name: input, Place: t.place + ".request.url"}) + "}", nil
}

// unescaped returns a part of an address without escapes. One that is malformed is taken as it is.
func unescaped(text string) string {
	if out, err := url.QueryUnescape(text); err == nil && strings.Contains(text, "%") {
		return out
	}
	return text
}

// parameter returns a parameter. The value of a secret is not copied.
func (t *translation) parameter(name, text string) (importer.Member, error) {
	if strings.Contains(name, "{{") {
		return importer.Member{}, fmt.Errorf("%s: a variable in the name of a parameter is not translated: %s", t.place, preview(name))
	}
	if text != "" && !strings.Contains(text, "{{") && secret.IsParameter(name, text) {
		source := t.input("parameter "+name+" "+text, importer.Input{Name: importer.InputName(name), Secret: true, Place: t.place})
		t.hidden("the parameter " + name)
		return importer.Named("#"+name, importer.Computed("input."+source)), nil
	}
	v, err := t.value(text)
	return importer.Named(name, number(v)), err
}

func (t *translation) hidden(what string) {
	t.note(importer.Check, "request", "inputs", "The value of %s is probably a secret, and was not copied: set the input", what)
}

// usual are headers that every client sends, and those that Postman adds.
var usual = []string{"user-agent", "host", "content-length", "connection", "accept-encoding", "postman-token", "cache-control"}

// headers sets the headers that are not credentials.
func (t *translation) headers() error {
	for _, h := range t.Request.Header {
		name, text := strings.ToLower(h.Key), h.text()
		json := name == "accept" && (text == "*/*" || text == "application/json")
		if h.Disabled || name == "" || json || name == "content-type" && t.out.Method != "" || slices.Contains(usual, name) {
			continue
		}
		if name == "content-type" {
			continue // of a body that is not sent
		}
		if name == "authorization" && t.auth.sent() {
			t.note(importer.Left, "request.header", "", "The header Authorization is replaced by the authorization of the request")
			continue
		}
		v, err := t.value(text)
		if err != nil {
			return err
		}
		key := h.Key
		if v.Source == "" && secret.IsHeader(h.Key, text) {
			source := t.input("header "+h.Key+" "+text, importer.Input{Name: importer.InputName(h.Key), Secret: true, Place: t.place})
			t.hidden("the header " + h.Key)
			key, v = "#"+key, importer.Computed("input."+source)
		}
		t.out.Headers = append(t.out.Headers, importer.Named(key, v))
	}
	return nil
}

// body sets the method and the body.
func (t *translation) body(method string) error {
	if method != "GET" && method != "POST" {
		return fmt.Errorf("%s.request.method: lists are read with GET and POST, not with %s", t.place, method)
	}
	if method == "POST" {
		t.out.Method = "POST"
	}
	b := t.Request.Body
	if b == nil || b.Disabled || b.empty() || b.Mode == "" {
		if method == "POST" { // the query stays one
			t.out.Body = []importer.Member{}
		}
		return nil
	}
	members, err := t.bodyMembers(b, method)
	if err != nil {
		return err
	}
	if method == "POST" && len(t.out.Params) == 0 {
		t.out.Params = members
		return nil
	}
	t.out.Body = members
	return nil
}

// bodyMembers translates the members of a body that is not empty. A form changes the method.
func (t *translation) bodyMembers(b *body, method string) ([]importer.Member, error) {
	switch b.Mode {
	case "raw":
		v, err := t.json(b.Raw)
		return v.Object, err
	case "graphql":
		return t.graphQL(b)
	case "urlencoded":
		if method == "GET" {
			return nil, fmt.Errorf("%s.request.body: a form in a GET request is not translated", t.place)
		}
		t.out.Method = "FORM"
		return t.form(b.URLEncoded)
	}
	return nil, fmt.Errorf("%s.request.body: a body of mode %s is not translated", t.place, b.Mode)
}

// json returns the JSON text of a body, or "" if it has none.
func (b *body) json() string {
	if b.Mode != "graphql" {
		return b.Raw
	}
	query, _ := json.Marshal(b.GraphQL.Query) // a text
	return fmt.Sprintf(`{"query":%s,"variables":%s}`, query, cmp.Or(b.variables(), "{}"))
}

// variables returns the JSON text of the variables of GraphQL.
func (b *body) variables() string {
	text, isText := b.GraphQL.Variables.(string)
	if !isText && b.GraphQL.Variables != nil {
		encoded, _ := json.Marshal(b.GraphQL.Variables) // it was read from JSON
		text = string(encoded)
	}
	return strings.TrimSpace(text)
}

// graphQL translates a query with its variables.
func (t *translation) graphQL(b *body) ([]importer.Member, error) {
	query, err := t.value(b.GraphQL.Query)
	if err != nil {
		return nil, err
	}
	members := []importer.Member{importer.Named("query", query)}
	variables := b.variables()
	if variables == "" {
		return members, nil
	}
	v, err := t.json(variables)
	return append(members, importer.Named("variables", v)), err
}

// form translates the parameters of a form.
func (t *translation) form(pairs []pair) ([]importer.Member, error) {
	var members []importer.Member
	for _, p := range pairs {
		if p.Disabled || p.Key == "" {
			continue
		}
		m, err := t.parameter(p.Key, p.text())
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

func (b *body) empty() bool {
	return b.Mode == "raw" && strings.TrimSpace(b.Raw) == "" || b.Mode == "urlencoded" && len(b.URLEncoded) == 0 ||
		b.Mode == "formdata" && len(b.FormData) == 0
}

// json translates a JSON text with variables, also with those outside of texts: {"limit": {{limit}}}.
func (t *translation) json(text string) (importer.Value, error) {
	v, err := rules.ParseJSON(diag.NewSource("", quoted(text)))
	if err != nil {
		return importer.Value{}, fmt.Errorf("%s.request.body: want a JSON object: %w", t.place, err)
	}
	if _, isObject := value.Members(v); !isObject {
		return importer.Value{}, fmt.Errorf("%s.request.body: want a JSON object, got %s", t.place, value.KindOf(v))
	}
	return t.tree(v)
}

// quoted puts the variables of a JSON text that stand outside of texts into texts.
func quoted(text string) string {
	var out strings.Builder
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\' && i+1 < len(text):
			out.WriteByte(c)
			i++
		case c == '"':
			inText = !inText
		case !inText && strings.HasPrefix(text[i:], "{{"):
			if m := reference().FindStringIndex(text[i:]); m != nil && m[0] == 0 {
				out.WriteString(strconv.Quote(text[i : i+m[1]]))
				i += m[1] - 1
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// tree translates a value of JSON.
func (t *translation) tree(v any) (importer.Value, error) {
	if object, isObject := value.Members(v); isObject {
		out := importer.Value{Object: []importer.Member{}}
		for _, m := range object {
			inner, err := t.tree(m.Value)
			if err != nil {
				return importer.Value{}, err
			}
			if text, isText := m.Value.(string); isText && inner.Source == "" && secret.IsValue(m.Name, text) {
				source := t.input("body "+m.Name+" "+text, importer.Input{Name: importer.InputName(m.Name), Secret: true, Place: t.place})
				t.hidden("the member " + m.Name + " of the body")
				inner, m.Name = importer.Computed("input."+source), "#"+m.Name
			}
			out.Object = append(out.Object, importer.Named(m.Name, inner))
		}
		return out, nil
	}
	switch v := v.(type) {
	case []any:
		out := importer.Value{List: []importer.Value{}}
		for _, e := range v {
			inner, err := t.tree(e)
			if err != nil {
				return importer.Value{}, err
			}
			out.List = append(out.List, inner)
		}
		return out, nil
	case string:
		return t.value(v)
	}
	return importer.Constant(v), nil
}

// scripts notes the scripts, which do not run.
func (t *translation) scripts() {
	for _, e := range t.entry.scripts {
		var lines []string
		for _, line := range e.Script.Exec {
			if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "//") {
				lines = append(lines, s)
			}
		}
		code := strings.Join(lines, "\n")
		switch {
		case code == "" || e.Disabled:
		case e.Listen == "prerequest":
			t.note(importer.Approximate, "event", "", "A script runs before the request; what it changes is not translated")
		case strings.Contains(code, "setNextRequest") || strings.Contains(code, ".set("):
			t.note(importer.Check, "event", "", "A script after the response sets variables or the next request; it is not translated")
		default:
			t.note(importer.Left, "event", "", "A script tests the response")
		}
	}
}
