package airbyte

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// injected is a value that a request option puts into the request.
type injected struct {
	importer.Target
	value jinja.Expr
	place string
}

// option returns where a request option puts a value. It is not sent at all if there is no option.
func (t *translation) option(n node) (importer.Target, bool, error) {
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
	name := t.plain(n.get("field_name"))
	var keys []string
	for _, k := range n.get("field_path").list() {
		keys = append(keys, t.plain(k))
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
		t.form = true
		return importer.Target{In: importer.InBody, Name: keypath.Join(keys...)}, true, nil
	case "body_json":
		return importer.Target{In: importer.InBody, Name: keypath.Join(keys...)}, true, nil
	}
	return importer.Target{}, false, fmt.Errorf("%s: inject_into %q is not known", n.path, place)
}

// inject puts a value where a request option says.
func (t *translation) inject(n node, e jinja.Expr) error {
	target, given, err := t.option(n)
	if given && err == nil {
		t.injected = append(t.injected, injected{target, e, n.path})
	}
	return err
}

// request reads the request of a stream.
func (t *translation) request(n node) error {
	for _, key := range []string{"fetch_properties_from_endpoint", "query_properties"} {
		if n.get(key).given() {
			return fmt.Errorf("%s: properties that are read from an endpoint, or requested in groups, are not translated; "+
				"name those that you need in request_parameters", n.get(key).path)
		}
	}
	method := strings.ToUpper(t.plain(n.get("http_method")))
	switch method {
	case "", "GET":
	case "POST":
		t.post = true
		t.out.Method = method
	default:
		return fmt.Errorf("%s: requests with method %s are not made", n.get("http_method").path, method)
	}
	n.mark("use_cache", "request_options_provider", "error_handler", "authenticator", "http_method", "$parameters")
	params, body, err := t.allOptions(n)
	if err != nil {
		return err
	}
	for _, i := range t.injected {
		v := t.sent(i.value, i.In)
		switch i.In {
		case importer.InParam:
			params = append(params, importer.Member{Name: i.Name, Value: v})
		case importer.InHeader:
			t.out.Headers = append(t.out.Headers, importer.Member{Name: i.Name, Value: v})
		case importer.InBody:
			body = setBody(body, keypath.Split(i.Name), v)
		}
	}
	if t.tokenInBody() {
		t.note(importer.Approximate, n, "pagination", "a token that consists of digits may be sent as a text; there, it is a number")
	}
	if err := t.address(n); err != nil {
		return err
	}
	return t.place(n, params, body)
}

// allOptions reads the parameters, the headers and the body, of the requester and of its provider of options.
func (t *translation) allOptions(n node) (params, body []importer.Member, err error) {
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
			{"request_parameters", importer.InParam, &params}, {"request_headers", importer.InHeader, &t.out.Headers},
			{"request_body_json", importer.InBody, &body}, {"request_body_data", importer.InBody, &body}, {"request_body", importer.InBody, &body},
		} {
			read, err := t.requestOptions(o.get(part.key), part.key, part.place)
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
func (t *translation) place(n node, params, body []importer.Member) error {
	hasBody := len(body) > 0 || t.bodyPaged()
	if t.form || t.post && !hasBody { // POST would send an empty object
		t.out.Method = "FORM"
	}
	if t.form && !t.post {
		return fmt.Errorf("%s: a GET request with an urlencoded body is not made", n.path)
	}
	if t.post && len(params) == 0 && !t.queryPaged() {
		t.out.Params = body
		return nil
	}
	if hasBody || t.post {
		t.out.Body = append([]importer.Member{}, body...)
	}
	return t.query(n, params)
}

// tokenInBody reports whether a JSON body has a token of the response, whose type is not known.
func (t *translation) tokenInBody() bool {
	p := t.out.Paging
	if p == nil || t.form || t.token.Keys == nil {
		return false
	}
	return p.Into.In == importer.InBody || slices.ContainsFunc(t.next, func(next importer.Next) bool {
		return next.In == importer.InBody && next.Source == t.token.Source
	})
}

func (t *translation) bodyPaged() bool { return t.pagedIn(importer.InBody) }

func (t *translation) queryPaged() bool { return t.pagedIn(importer.InParam) }

// pagedIn reports whether a part of the requests after the first, or the token of a page, has a place.
func (t *translation) pagedIn(place importer.Place) bool {
	p := t.out.Paging
	return p != nil && p.Into.In == place ||
		slices.ContainsFunc(t.next, func(next importer.Next) bool { return next.In == place })
}

// query sets the parameters of the query.
func (t *translation) query(n node, params []importer.Member) error {
	for _, m := range params {
		for _, e := range m.Value.List {
			if e.ReadsPage || e.Object != nil || e.List != nil {
				return fmt.Errorf("%s: the repeated parameter %s depends on the page, which is not translated", n.path, m.Name)
			}
			t.out.ListStyle = string(requests.Repeat)
		}
	}
	t.out.Params = append(t.out.Params, params...)
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
func (t *translation) requestOptions(n node, key string, place importer.Place) ([]importer.Member, error) {
	if !n.given() {
		return nil, nil
	}
	switch key {
	case "request_body_data":
		t.form = true
	case "request_body":
		switch kind := n.own("type").text(); kind {
		case "RequestBodyUrlEncodedForm":
			t.form = true
		case "RequestBodyJsonObject", "RequestBodyGraphQL", "RequestBodyGraphQlQuery":
		default:
			return nil, fmt.Errorf("%s: a body of type %s is not translated", n.path, kind)
		}
		n = n.get("value")
	}
	if text, isText := n.v.(string); isText {
		return t.optionsText(n, text, place)
	}
	var out []importer.Member
	for _, m := range n.members() {
		v, leave, err := t.value(m.node, place, m.name)
		if err != nil {
			return nil, err
		}
		name := m.name
		if jinja.IsTemplate(name) {
			e, err := t.one(node{v: name, path: m.path, params: m.params})
			if err != nil || !e.Constant {
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
