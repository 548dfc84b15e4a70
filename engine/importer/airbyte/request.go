package airbyte

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// injected is a value that a request option puts into the request.
type injected struct {
	importer.Target
	value jinja.Expr
	place string
}

// option returns where a request option puts a value. It is not sent at all if there is no option.
func (b *builder) option(n node) (importer.Target, bool, error) {
	if !n.given() {
		return importer.Target{In: importer.Nowhere}, false, nil
	}
	if n.kind() == "Custom" {
		return importer.Target{}, false, custom("request option", n)
	}
	into := n.get("inject_into").text()
	if n.kind() == "RequestPath" || into == "path" {
		return importer.Target{In: importer.InURL}, true, nil
	}
	name := b.plain(n.get("field_name"))
	var keys []string
	for _, k := range n.get("field_path").list() {
		keys = append(keys, b.plain(k))
	}
	if len(keys) == 0 {
		keys = []string{name}
	}
	switch into {
	case "request_parameter":
		return importer.Target{In: importer.InParam, Name: keys[0]}, true, nil
	case "header":
		return importer.Target{In: importer.InHeader, Name: keys[0]}, true, nil
	case "body_data":
		b.form = true
		return importer.Target{In: importer.InBody, Name: rules.PathOf(keys...)}, true, nil
	case "body_json":
		return importer.Target{In: importer.InBody, Name: rules.PathOf(keys...)}, true, nil
	}
	return importer.Target{}, false, fmt.Errorf("%s: inject_into %q is not known", n.path, into)
}

// inject puts a value where a request option says.
func (b *builder) inject(n node, e jinja.Expr) error {
	target, given, err := b.option(n)
	if given && err == nil {
		b.injected = append(b.injected, injected{target, e, n.path})
	}
	return err
}

// request reads the request of a stream.
func (b *builder) request(n node) error {
	for _, key := range []string{"fetch_properties_from_endpoint", "query_properties"} {
		if n.get(key).given() {
			return fmt.Errorf("%s: properties that are read from an endpoint, or requested in groups, are not translated", n.get(key).path)
		}
	}
	method := strings.ToUpper(b.plain(n.get("http_method")))
	switch method {
	case "", "GET":
	case "POST":
		b.post = true
		b.out.Method = method
	default:
		return fmt.Errorf("%s: requests with method %s are not made", n.get("http_method").path, method)
	}
	n.mark("use_cache", "request_options_provider", "error_handler", "authenticator", "http_method", "$parameters")
	options := []node{n}
	if provider := n.get("request_options_provider"); provider.given() {
		if provider.kind() == "Custom" {
			return custom("request options provider", provider)
		}
		options = append(options, provider)
	}
	var params, body []importer.Member
	for _, o := range options {
		for _, part := range []struct {
			key   string
			place importer.Place
			into  *[]importer.Member
		}{
			{"request_parameters", importer.InParam, &params}, {"request_headers", importer.InHeader, &b.out.Headers},
			{"request_body_json", importer.InBody, &body}, {"request_body_data", importer.InBody, &body}, {"request_body", importer.InBody, &body},
		} {
			read, err := b.requestOptions(o.get(part.key), part.key, part.place)
			if err != nil {
				return err
			}
			*part.into = append(*part.into, read...)
		}
	}
	for _, i := range b.injected {
		v := b.sent(i.value, i.In)
		switch i.In {
		case importer.InParam:
			params = append(params, importer.Member{Name: i.Name, Value: v})
		case importer.InHeader:
			b.out.Headers = append(b.out.Headers, importer.Member{Name: i.Name, Value: v})
		case importer.InBody:
			body = setBody(body, rules.SplitPath(i.Name), v)
		}
	}
	if err := b.address(n); err != nil {
		return err
	}
	return b.place(n, params, body)
}

// place puts the parameters into the request: of GET they are its params; otherwise those are the
// members of the body, and the parameters a part of the endpoint.
func (b *builder) place(n node, params, body []importer.Member) error {
	if !b.post {
		if len(body) > 0 || b.bodyPaged() {
			return fmt.Errorf("%s: a GET request with a body is not made", n.path)
		}
		return b.queryLists(n, params)
	}
	b.out.Params = body
	if b.form || len(body) == 0 && !b.bodyPaged() { // POST would send an empty object
		b.out.Method = "FORM"
	}
	p := b.out.Paging
	return b.queryOfBody(n, params, p != nil && p.Into.In == importer.InParam)
}

// queryLists sets the parameters of a request without a body. Lists, which are repeated parameters, are
// a part of the endpoint.
func (b *builder) queryLists(n node, params []importer.Member) error {
	var lists []importer.Member
	for _, m := range params {
		if m.Value.List == nil {
			b.out.Params = append(b.out.Params, m)
			continue
		}
		for _, e := range m.Value.List {
			lists = append(lists, importer.Member{Name: m.Name, Value: e})
		}
	}
	return b.queryOfBody(n, lists, false)
}

func (b *builder) bodyPaged() bool {
	return b.out.Paging != nil && b.out.Paging.Into.In == importer.InBody
}

// queryOfBody writes parameters of a request with a body into its endpoint, with the token if that is
// one of them.
func (b *builder) queryOfBody(n node, params []importer.Member, paged bool) error {
	p := b.out.Paging
	if len(params) == 0 && !paged {
		return nil
	}
	var fixed []string
	for _, m := range params {
		name := url.QueryEscape(m.Name)
		switch {
		case m.Value.ReadsPage || m.Value.Object != nil || m.Value.List != nil:
			return fmt.Errorf("%s: the parameter %s of a POST request depends on the page, which is not translated", n.path, m.Name)
		case m.Value.Source != "":
			fixed = append(fixed, name+"={"+m.Value.Source+"}")
		default:
			text, _ := value.Text(m.Value.Const)
			fixed = append(fixed, name+"="+escapeBraces(url.QueryEscape(text)))
		}
	}
	glue := "?"
	if strings.Contains(b.out.Endpoint, "?") {
		glue = "&"
	}
	base := b.out.Endpoint
	if len(fixed) > 0 {
		b.out.Endpoint += glue + strings.Join(fixed, "&")
		glue = "&"
	}
	if !paged {
		return nil
	}
	if strings.Contains(base, "{") || slices.ContainsFunc(fixed, func(s string) bool { return strings.Contains(s, "{") }) {
		return fmt.Errorf("%s: the token of a POST request is a parameter of a computed address, which is not translated", n.path)
	}
	token := "text(" + p.TokenSource() + ")"
	p.Next = append(p.Next, importer.Next{Target: importer.Target{In: importer.InEndpoint},
		Source: strconv.Quote(b.out.Endpoint+glue+url.QueryEscape(p.Into.Name)+"=") + " + segment(" + token + ")"})
	p.Into = importer.Target{In: importer.Nowhere}
	return nil
}

func escapeBraces(text string) string {
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
}

// setBody sets a value at a path of a body.
func setBody(body []importer.Member, keys []string, v importer.Value) []importer.Member {
	for i, m := range body {
		if m.Name != keys[0] {
			continue
		}
		if len(keys) > 1 {
			v = importer.Value{Object: setBody(m.Value.Object, keys[1:], v)}
		}
		body = slices.Clone(body)
		body[i].Value = v
		return body
	}
	if len(keys) > 1 {
		v = importer.Value{Object: setBody(nil, keys[1:], v)}
	}
	return append(body, importer.Member{Name: keys[0], Value: v})
}

// requestOptions reads parameters, headers or a body.
func (b *builder) requestOptions(n node, key string, place importer.Place) ([]importer.Member, error) {
	if !n.given() {
		return nil, nil
	}
	switch key {
	case "request_body_data":
		b.form = true
	case "request_body":
		switch kind := n.own("type").text(); kind {
		case "RequestBodyUrlEncodedForm":
			b.form = true
		case "RequestBodyJsonObject", "RequestBodyGraphQL", "RequestBodyGraphQlQuery":
		default:
			return nil, fmt.Errorf("%s: a body of type %s is not translated", n.path, kind)
		}
		n = n.get("value")
	}
	if text, isText := n.v.(string); isText {
		return b.optionsText(n, text, place)
	}
	var out []importer.Member
	for _, m := range n.members() {
		v, leave, err := b.value(m.node, place, m.name)
		if err != nil {
			return nil, err
		}
		name := m.name
		if jinja.IsTemplate(name) {
			e, err := b.one(node{v: name, path: m.path, params: m.params})
			if err != nil || !e.Known {
				return nil, fmt.Errorf("%s: the name of a parameter is computed, which is not translated", m.path)
			}
			name = fmt.Sprint(e.Const)
		}
		if !leave {
			out = append(out, importer.Member{Name: name, Value: v})
		}
	}
	return out, nil
}

// optionsText reads parameters that one template gives: an object, or a query string.
func (b *builder) optionsText(n node, text string, place importer.Place) ([]importer.Member, error) {
	first, later, err := b.eval(n)
	if err != nil {
		return nil, err
	}
	if names := first.Names(); names != nil {
		var out []importer.Member
		for _, name := range names {
			was, is := first.Dict()[name], later.Dict()[name]
			v, leave := b.both(was, is, place, rules.PathOf(name))
			if !leave {
				out = append(out, importer.Member{Name: name, Value: v})
			}
		}
		return out, nil
	}
	if first.Known && (first.Const == nil || first.Const == "") && later.Known {
		return nil, nil
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "{{") &&
		!strings.HasPrefix(trimmed, "{%") {
		return b.bodyText(n, trimmed, place)
	}
	if place == importer.InHeader || !first.Known || !later.Known {
		return nil, fmt.Errorf("%s: the template gives no object that is known: %s", n.path, text)
	}
	values, err := url.ParseQuery(fmt.Sprint(first.Const))
	if err != nil || strings.ContainsAny(fmt.Sprint(first.Const), "{<\n") {
		return nil, fmt.Errorf("%s: a body as text is not translated: %s", n.path, text)
	}
	var out []importer.Member
	for _, pair := range strings.Split(fmt.Sprint(first.Const), "&") {
		name, _, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		if len(values[name]) > 0 {
			out = append(out, importer.Member{Name: name, Value: importer.Constant(values[name][0])})
			values[name] = values[name][1:]
		}
	}
	return out, nil
}

// bodyText reads an object that is written as a text with templates in it, in JSON or as Python writes it.
func (b *builder) bodyText(n node, text string, place importer.Place) ([]importer.Member, error) {
	var templates []string
	marked := outputs.ReplaceAllStringFunc(text, func(t string) string {
		templates = append(templates, t)
		return fmt.Sprintf("\ue000%d\ue001", len(templates)-1)
	})
	root, err := importer.ParseYAML(importer.File{Name: n.path, Text: []byte(marked)}, maxBytes)
	if err != nil {
		return nil, err
	}
	back := func(text string) string {
		return marks.ReplaceAllStringFunc(text, func(m string) string {
			i, _ := strconv.Atoi(strings.Trim(m, "\ue000\ue001"))
			return templates[i]
		})
	}
	var out []importer.Member
	for _, m := range (node{v: restored(root, back), path: n.path, params: n.params}).members() {
		v, leave, err := b.value(m.node, place, rules.PathOf(m.name))
		if err != nil {
			return nil, err
		}
		if !leave {
			out = append(out, importer.Member{Name: m.name, Value: v})
		}
	}
	return out, nil
}

// restored returns a value with its texts changed.
func restored(v any, text func(string) string) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		return value.Map(v, func(e any) any { return restored(e, text) })
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			out = append(out, value.Member{Name: text(m.Name), Value: restored(m.Value, text)})
		}
		return out
	}
	return v
}

var (
	outputs = regexp.MustCompile(`\{\{.*?\}\}`)
	marks   = regexp.MustCompile("\ue000[0-9]+\ue001")
)

// value reads one value of the request. It is left out if it is nothing in the first request.
func (b *builder) value(n node, place importer.Place, path string) (v importer.Value, leave bool, err error) {
	switch t := n.v.(type) {
	case nil:
		return v, true, nil
	case string:
		first, later, err := b.eval(n)
		if err != nil {
			return v, false, err
		}
		v, leave = b.both(first, later, place, rules.PathOf(rules.SplitPath(path)...))
		return v, leave, nil
	case bool:
		if place == importer.InBody && !b.form {
			return importer.Constant(t), false, nil
		}
		return importer.Constant(map[bool]string{true: "True", false: "False"}[t]), false, nil
	case value.Object:
		if kind, _ := t.Get("type"); kind == "QueryProperties" {
			return b.queryProperties(n)
		}
		if place != importer.InBody {
			return v, false, fmt.Errorf("%s: an object is no value of a parameter", n.path)
		}
		v.Object = []importer.Member{}
		for _, m := range n.members() {
			inner, leave, err := b.value(m.node, place, path+"."+strings.ReplaceAll(m.name, ".", `\.`))
			if err != nil {
				return v, false, err
			}
			if !leave {
				v.Object = append(v.Object, importer.Member{Name: m.name, Value: inner})
			}
		}
		return v, false, nil
	case []any:
		v.List = []importer.Value{}
		for _, e := range n.list() {
			before := len(b.next)
			inner, leave, err := b.value(e, place, path)
			if err != nil {
				return v, false, err
			}
			if len(b.next) > before {
				return v, false, fmt.Errorf("%s: a list whose elements depend on the page is not translated", n.path)
			}
			if !leave {
				v.List = append(v.List, inner)
			}
		}
		return v, false, nil
	}
	return importer.Constant(n.v), false, nil
}

// queryProperties reads a list of properties that one parameter has.
func (b *builder) queryProperties(n node) (v importer.Value, leave bool, err error) {
	if n.get("property_chunking").given() || n.get("property_selector").given() {
		return v, false, fmt.Errorf("%s: properties in several requests whose records are joined (property_chunking) are not translated", n.path)
	}
	list, isList := n.get("property_list").v.([]any)
	if !isList {
		return v, false, fmt.Errorf("%s: properties that are read from an endpoint are not translated", n.path)
	}
	return importer.Constant(strings.Join(value.Map(list, func(e any) string { return fmt.Sprint(e) }), ",")), false, nil
}

// both returns the value of the first request. If those after it have another one, it is a part of
// the next request.
func (b *builder) both(first, later jinja.Expr, place importer.Place, path string) (v importer.Value, leave bool) {
	v = b.sent(first, place)
	leave = v.Source == "" && v.Const == nil && v.Object == nil && v.List == nil
	if first.Source != later.Source {
		source := b.sent(later, place)
		text := source.Source
		if text == "" {
			text = "nil"
			if source.Const != nil {
				text = jinja.Literal(source.Const).Source
			}
		}
		b.next = append(b.next, importer.Next{Target: importer.Target{In: place, Name: path}, Source: text})
	}
	return v, leave
}

// sent returns a value as it is sent. A constant text is read as a literal of Python.
func (b *builder) sent(e jinja.Expr, place importer.Place) importer.Value {
	body := place == importer.InBody && !b.form
	if e.Known {
		v := e.Const
		if text, isText := v.(string); isText {
			v = literalOf(text)
			if text == "" {
				v = nil
			}
		}
		if flag, isBool := v.(bool); isBool && !body {
			v = map[bool]string{true: "True", false: "False"}[flag]
		}
		if f, isFloat := v.(float64); isFloat && !body {
			v = strconv.FormatFloat(f, 'f', -1, 64)
		}
		return importer.Constant(v)
	}
	if list := e.List(); list != nil {
		out := importer.Value{List: []importer.Value{}}
		for _, one := range list {
			out.List = append(out.List, b.sent(one, place))
		}
		return out
	}
	if names := e.Names(); names != nil {
		out := importer.Value{Object: []importer.Member{}}
		for _, name := range names {
			out.Object = append(out.Object, importer.Member{Name: name, Value: b.sent(e.Dict()[name], place)})
		}
		return out
	}
	switch {
	case e.Kind == jinja.Bool && !body:
		return importer.Computed(e.Operand() + " ? 'True' : 'False'")
	case e.Absent && inputOnly.MatchString(e.Source):
		return importer.Computed(e.Source + " != '' ? " + e.Source + " : nil")
	case e.Kind == jinja.Time:
		return importer.Computed(e.Operand() + ".Format('2006-01-02 15:04:05.000000-07:00')")
	}
	return importer.Computed(e.Source)
}

var inputOnly = regexp.MustCompile(`^input\.[A-Za-z0-9_]+$`)

var (
	pythonInt   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	pythonFloat = regexp.MustCompile(`^-?([0-9]+\.[0-9]*|\.[0-9]+)$`)
	pythonText  = regexp.MustCompile(`^('[^'\\]*'|"[^"\\]*")$`)
)

// literalOf reads a text as a literal of Python, as the CDK does with all that it renders.
func literalOf(text string) any {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "True":
		return true
	case trimmed == "False":
		return false
	case trimmed == "None":
		return nil
	case pythonInt.MatchString(trimmed) && len(trimmed) < 16:
		n, _ := strconv.Atoi(trimmed)
		return n
	case pythonFloat.MatchString(trimmed) && len(trimmed) < 16:
		f, _ := strconv.ParseFloat(trimmed, 64)
		return f
	case pythonText.MatchString(trimmed):
		return trimmed[1 : len(trimmed)-1]
	}
	return text
}

// pythonList reads the text of a list of Python with texts and numbers.
func pythonList(text string) []any {
	inner, begins := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if !begins || !ends {
		return []any{text}
	}
	out := []any{}
	for _, e := range strings.Split(inner, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, literalOf(e))
		}
	}
	return out
}
