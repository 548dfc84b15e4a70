package airbyte

import (
	"fmt"
	"net/url"
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
