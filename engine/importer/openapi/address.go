package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

var inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]+)\}`) })

// server sets the address: the address of the first server, whose variables are inputs.
func (t *translation) server() error {
	servers := t.root.get("servers")
	for _, nearer := range []node{t.item.get("servers"), t.node.get("servers")} {
		if len(nearer.list()) > 0 {
			servers = nearer
		}
	}
	var first node
	if list := servers.list(); len(list) > 0 {
		first = list[0]
		if len(list) > 1 {
			t.out.Note(importer.Note{Grade: importer.Check, Source: "servers", Target: "api.baseUrl",
				Text: "The document has several servers; the address is that of the first one"})
		}
	}
	address := first.get("url").text()
	for _, span := range slices.Backward(inBraces().FindAllStringIndex(address, -1)) {
		name := address[span[0]+1 : span[1]-1]
		// A scheme and a port are constants: a configuration has them as they are.
		fixed := strings.HasPrefix(address[span[1]:], "://") || portBefore().MatchString(address[:span[0]])
		address = address[:span[0]] + t.serverVariable(name, first.get("variables", name), fixed) + address[span[1]:]
	}
	if !strings.Contains(address, "://") {
		if strings.HasPrefix(address, "{") {
			address = "https://" + address
		} else {
			address = "https://{" + t.input(importer.Input{Name: "host", Doc: "host of the API, such as api.example.com", Place: "servers"}) +
				"}/" + strings.TrimPrefix(address, "/")
		}
	}
	t.out.BaseURL = strings.TrimSuffix(address, "/") + "/"
	return nil
}

// portBefore matches an address up to a port.
var portBefore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^/]*//[^/]*:$`) })

// serverVariable returns the value of a variable of an address: an input or, if it is fixed, its default.
func (t *translation) serverVariable(name string, v node, fixed bool) string {
	if text, set := t.set.Get(name); set || fixed {
		return cmp.Or(text, v.get("default").text())
	}
	in := importer.Input{Name: name, Doc: importer.FirstSentence(v.get("description").text()), Place: "servers.variables." + name}
	if v.get("default").given() {
		in.Default = v.get("default").text()
	}
	if list := v.get("enum").texts(); len(list) > 0 {
		in.Pattern = strings.Join(lists.Map(list, regexp.QuoteMeta), "|")
	}
	return "{" + t.input(in) + "}"
}

// address sets the endpoint. A parameter of the path is a member of the items of another operation,
// or an input.
func (t *translation) address() error {
	t.out.Endpoint = strings.TrimPrefix(t.path, "/")
	braces := inBraces().FindAllStringIndex(t.out.Endpoint, -1)
	if len(braces) == 0 {
		if t.out.Endpoint == "" {
			t.out.Endpoint = "./"
		}
		return nil
	}
	inherited := t.parent()
	out, last := "", 0
	for i, span := range braces {
		name := t.out.Endpoint[span[0]+1 : span[1]-1]
		var v string
		if i < len(inherited) {
			v = inherited[i]
		} else if text, set := t.set.Get(name); set {
			v = url.PathEscape(text)
		} else {
			p := t.parameter("path", name)
			required := t.required(name, p.get("schema"), p.get("description").text(), "parameters."+name)
			v = inAddress(required, url.PathEscape)
		}
		t.values = append(t.values, v)
		out += t.out.Endpoint[last:span[0]] + v
		last = span[1]
	}
	t.out.Endpoint = out + t.out.Endpoint[last:]
	return nil
}

// inAddress returns a value as a part of an address. escape escapes a constant.
func inAddress(v importer.Value, escape func(string) string) string {
	if v.Source != "" {
		return "{" + v.Source + "}"
	}
	text, _ := value.Text(v.Const)
	return escape(text)
}

// parameter returns a parameter by its place and its name.
func (op *operation) parameter(in, name string) node {
	for _, p := range op.parameters {
		if p.get("in").text() == in && p.get("name").text() == name {
			return p
		}
	}
	return node{}
}

// parent makes the stream a child of the operation whose path is the beginning of its own, up to a
// parameter that the items there have: of /orders for /orders/{orderId}/lines. It returns the values
// of the parameters up to this one.
func (t *translation) parent() []string {
	for _, span := range slices.Backward(inBraces().FindAllStringIndex(t.path, -1)) {
		prefix := strings.TrimSuffix(t.path[:span[0]], "/")
		name := t.path[span[0]+1 : span[1]-1]
		if _, set := t.options.Set[name]; set {
			continue
		}
		for _, other := range t.operations {
			if other.method != "GET" || other.path != prefix {
				continue
			}
			if member := t.identifierIn(other, name); member != "" {
				return t.child(other, name, member)
			}
		}
	}
	return nil
}

// child adds the variable with the items of the parent.
func (t *translation) child(parent *operation, param, member string) []string {
	s := t.stream(parent)
	if s.Refused != "" {
		return nil
	}
	variable := s.ItemVariable(importer.Singular(prefixWord(parent.path)))
	t.out.For = []importer.Variable{{Name: variable, Parent: s}}
	t.note(importer.Check, "parameters."+param, "for."+variable,
		"By their names, the values of {%s} are the members %s of the items of %s", param, member, parent.name)
	return append(slices.Clone(parent.values), "{"+keypath.Format(variable, []string{member})+"}")
}

// identifierIn returns the member of the items of an operation that a parameter of a path names.
func (t *translation) identifierIn(op *operation, param string) string {
	if op.list.equal != nil {
		return ""
	}
	noun := importer.Singular(prefixWord(op.path))
	candidates := []string{param}
	for _, id := range apinames.IdentifierNames() {
		if apinames.Alike(param, id) || apinames.Alike(param, noun+id) || apinames.Alike(param, noun) {
			candidates = append(candidates, id)
		}
	}
	for _, rest := range []string{noun} {
		if bare, ok := strings.CutPrefix(strings.ToLower(param), rest); ok && bare != "" {
			candidates = append(candidates, strings.TrimLeft(bare, "_-"))
		}
	}
	names := t.properties(op.list.item)
	for _, c := range candidates {
		for _, name := range names {
			if apinames.Alike(c, name) && isScalarType(t.typeOf(t.property(op.list.item, name))) {
				return name
			}
		}
	}
	return ""
}

func isScalarType(kind string) bool { return kind != "object" && kind != "array" }

// prefixWord returns the last word of a path: orders of /v1/orders.
func prefixWord(p string) string {
	p = strings.TrimSuffix(p, "/")
	word := importer.InputName(p[strings.LastIndexByte(p, '/')+1:])
	return cmp.Or(word, "item")
}

// parametersSent adds the parameters of the query and the headers that an operation requires.
func (t *translation) parametersSent() error {
	for _, p := range t.parameters {
		name, in := p.get("name").text(), p.get("in").text()
		if in == "path" || t.sent[in+" "+name] {
			continue
		}
		v, ok := t.parameterValue(p)
		if !ok {
			continue
		}
		switch in {
		case "query":
			t.query(name, v)
		case "header":
			if slices.ContainsFunc([]string{"accept", "content-type", "authorization"}, func(n string) bool { return strings.EqualFold(n, name) }) {
				continue // as OpenAPI says, these are not described by parameters
			}
			t.out.Headers = append(t.out.Headers, importer.Member{Name: name, Value: v})
		case "cookie":
			source := importer.Quote(name+"=") + " + " + cmp.Or(v.Source, importer.Quote(fmt.Sprint(v.Const)))
			t.out.Headers = append(t.out.Headers, importer.Member{Name: "Cookie", Value: importer.Computed(source)})
		}
	}
	return nil
}

// query adds a parameter of the query. Requests with a body have it in the endpoint.
func (t *translation) query(name string, v importer.Value) {
	if t.method == "GET" {
		t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: v})
		return
	}
	glue := "?"
	if strings.Contains(t.out.Endpoint, "?") {
		glue = "&"
	}
	t.out.Endpoint += glue + name + "=" + inAddress(v, url.QueryEscape)
}

// parameterValue returns the value of a parameter: the value that the user sets, the only possible value, or
// an input. It reports false for a parameter that is left out.
func (t *translation) parameterValue(p node) (importer.Value, bool) {
	name := p.get("name").text()
	schema := p.get("schema")
	if !schema.given() {
		_, schema = mediaOf(p.get("content"))
	}
	if text, set := t.set.Get(name); set {
		return importer.Constant(t.typed(schema, text)), true
	}
	if !p.get("required").flag() {
		return importer.Value{}, false
	}
	return t.required(name, schema, p.get("description").text(), "parameters."+name), true
}

// required returns the value of something that an operation requires.
func (t *translation) required(name string, schema node, doc, place string) importer.Value {
	if c := t.keyword(schema, "const"); c.given() {
		return importer.Constant(c.constant())
	}
	if list := t.keyword(schema, "enum").list(); len(list) == 1 {
		return importer.Constant(list[0].constant())
	}
	doc = importer.FirstSentence(cmp.Or(doc, t.keyword(schema, "description").text()))
	in := importer.Input{Name: name, Doc: doc, Place: t.place + "." + place}
	switch d := t.keyword(schema, "default"); {
	case d.given() && isScalarType(t.typeOf(schema)):
		in.Default = d.constant()
	case name == "api-version" && t.root.get("info", "version").given(): // as Azure's documents have it
		in.Default = t.root.get("info", "version").text()
	}
	return importer.Computed(t.input(in))
}

// typed returns a value that the user has set, by the type of a schema.
func (t *translation) typed(schema node, text string) any {
	switch t.typeOf(schema) {
	case "integer", "number":
		if v, err := value.Number(json.Number(text)); err == nil {
			return v
		}
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true"
		}
	}
	return text
}

// body adds the members that the body of a POST requires.
func (t *translation) body() error {
	if t.method != "POST" {
		return nil
	}
	t.out.Method = "POST"
	body, err := t.resolve(t.node.get("requestBody"))
	if err != nil {
		return err
	}
	media, schema := mediaOf(body.get("content"))
	if body.get("content", "application/x-www-form-urlencoded").given() && !strings.Contains(media, "json") {
		t.out.Method = "FORM"
		schema = body.get("content", "application/x-www-form-urlencoded", "schema")
	}
	var required []string
	for _, p := range t.schemas(schema, 0) {
		required = append(required, p.get("required").texts()...)
	}
	for _, name := range t.properties(schema) {
		p := t.property(schema, name)
		if t.sent["body "+name] {
			continue
		}
		if text, set := t.set.Get(name); set {
			t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Constant(t.typed(p, text))})
			continue
		}
		if !slices.Contains(required, name) {
			continue
		}
		v := t.required(name, p, "", "requestBody."+name)
		if v.Source != "" && !isScalarType(t.typeOf(p)) {
			v.Source = "fromJSON(" + v.Source + ")"
		}
		t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: v})
	}
	return nil
}
