package airbyte

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
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
	place := n.get("inject_into").text()
	if n.kind() == "RequestPath" || place == "path" {
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
	switch place {
	case "request_parameter":
		return importer.Target{In: importer.InParam, Name: keys[0]}, true, nil
	case "header":
		return importer.Target{In: importer.InHeader, Name: keys[0]}, true, nil
	case "body_data":
		b.form = true
		return importer.Target{In: importer.InBody, Name: rules.JoinPath(keys...)}, true, nil
	case "body_json":
		return importer.Target{In: importer.InBody, Name: rules.JoinPath(keys...)}, true, nil
	}
	return importer.Target{}, false, fmt.Errorf("%s: inject_into %q is not known", n.path, place)
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
			return fmt.Errorf("%s: properties that are read from an endpoint, or requested in groups, are not translated; "+
				"name those that you need in request_parameters", n.get(key).path)
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
	params, body, err := b.allOptions(n)
	if err != nil {
		return err
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
	if b.tokenInBody() {
		b.note(importer.Approximate, n, "pagination", "a token that consists of digits may be sent as a text; there, it is a number")
	}
	if err := b.address(n); err != nil {
		return err
	}
	return b.place(n, params, body)
}

// allOptions reads the parameters, the headers and the body, of the requester and of its provider of options.
func (b *builder) allOptions(n node) (params, body []importer.Member, err error) {
	options := []node{n}
	if provider := n.get("request_options_provider"); provider.given() {
		if provider.kind() == "Custom" {
			return nil, nil, custom("request options provider", provider)
		}
		options = append(options, provider)
	}
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
				return nil, nil, err
			}
			*part.into = append(*part.into, read...)
		}
	}
	return params, body, nil
}

// place puts the parameters and the body into the request. Parameters that are lists are repeated, and
// become a part of the endpoint.
func (b *builder) place(n node, params, body []importer.Member) error {
	hasBody := len(body) > 0 || b.bodyPaged()
	if b.form || b.post && !hasBody { // POST would send an empty object
		b.out.Method = "FORM"
	}
	if b.form && !b.post {
		return fmt.Errorf("%s: a GET request with an urlencoded body is not made", n.path)
	}
	if b.post && len(params) == 0 && !b.queryPaged() {
		b.out.Params = body
		return nil
	}
	if hasBody || b.post {
		b.out.Body = append([]importer.Member{}, body...)
	}
	return b.query(n, params)
}

// tokenInBody reports whether a JSON body has a token of the response, whose type is not known.
func (b *builder) tokenInBody() bool {
	p := b.out.Paging
	if p == nil || b.form || b.token.Keys == nil {
		return false
	}
	return p.Into.In == importer.InBody || slices.ContainsFunc(b.next, func(next importer.Next) bool {
		return next.In == importer.InBody && next.Source == b.token.Source
	})
}

func (b *builder) bodyPaged() bool { return b.pagedIn(importer.InBody) }

func (b *builder) queryPaged() bool { return b.pagedIn(importer.InParam) }

// pagedIn reports whether a part of the requests after the first, or the token of a page, has a place.
func (b *builder) pagedIn(place importer.Place) bool {
	p := b.out.Paging
	return p != nil && p.Into.In == place ||
		slices.ContainsFunc(b.next, func(next importer.Next) bool { return next.In == place })
}

// query sets the parameters of the query.
func (b *builder) query(n node, params []importer.Member) error {
	for _, m := range params {
		for _, e := range m.Value.List {
			if e.ReadsPage || e.Object != nil || e.List != nil {
				return fmt.Errorf("%s: the repeated parameter %s depends on the page, which is not translated", n.path, m.Name)
			}
			b.out.ListStyle = string(requests.Repeat)
		}
	}
	b.out.Params = append(b.out.Params, params...)
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
