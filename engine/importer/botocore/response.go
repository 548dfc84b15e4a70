package botocore

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// found is where a value is in a response.
type found struct {
	keys   []string // of its path, with * for every element and -1 for the last one
	header string   // the header that has it, instead
	shape  *shape
	query  path
}

// path returns the path as the keys of configurations have it.
func (f found) path() string {
	var b strings.Builder
	for i, k := range f.keys {
		if i > 0 {
			b.WriteByte('.')
		}
		if k == "*" {
			b.WriteString("*")
			continue
		}
		b.WriteString(rules.PathOf(k))
	}
	return cmp.Or(b.String(), ".")
}

// source returns the expression for the value.
func (f found) source() string {
	if f.header != "" {
		return fmt.Sprintf("header(%s)", strconv.Quote(f.header))
	}
	return rules.FormatPath("body", f.keys)
}

func (t *translation) isXML() bool { return !strings.HasSuffix(t.protocol, "json") }

// find returns where the value of a path of shapes is in a response.
func (t *translation) find(p path) (found, error) {
	shape := t.service.shape(t.operation.Output)
	out := found{keys: t.root(), query: p}
	for i, s := range p {
		switch s.kind {
		case member:
			ref := shape.Members[s.name]
			if ref == nil {
				return out, fmt.Errorf("the output has no member %s", pathText(p[:i+1]))
			}
			shape = t.service.shape(ref)
			name := t.nameOf(s.name, ref, shape)
			switch {
			case i == 0 && (ref.Location == "header" || ref.Location == "headers"):
				out.header = cmp.Or(ref.LocationName, s.name)
			case i == 0 && t.service.shape(t.operation.Output).Payload == s.name:
				out.keys = t.payloadRoot(ref, shape)
			default:
				out.keys = append(out.keys, name)
			}
		default:
			if shape.Type != "list" {
				return out, fmt.Errorf("%s is no list", pathText(p[:i]))
			}
			if t.isXML() {
				return out, fmt.Errorf("%s reads the elements of a list in XML; only the last item of the result can be read", pathText(p))
			}
			shape = t.service.shape(shape.Member)
			out.keys = append(out.keys, map[stepKind]string{each: "*", element: strconv.Itoa(s.index)}[s.kind])
		}
	}
	out.shape = shape
	if shape.Type == "list" && t.isXML() && !shape.Flattened {
		out.keys = append(out.keys, t.elementOf(shape))
	}
	return out, nil
}

func pathText(p path) string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.kind == each:
			b.WriteString("[]")
		case s.kind == element:
			fmt.Fprintf(&b, "[%d]", s.index)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// nameOf returns the name of a member in a response.
func (t *translation) nameOf(name string, ref *reference, s *shape) string {
	if t.protocol == "json" {
		return name
	}
	if t.isXML() && s.Type == "list" && s.Flattened && s.Member != nil && s.Member.LocationName != "" {
		return s.Member.LocationName
	}
	return cmp.Or(ref.LocationName, name)
}

// elementOf returns the name of the elements of a list in XML.
func (t *translation) elementOf(s *shape) string {
	if s.Member != nil && s.Member.LocationName != "" {
		return s.Member.LocationName
	}
	return "member"
}

// bucketRoots are the roots of S3's responses, which its model does not have.
var bucketRoots = map[string]string{
	"ListBuckets": "ListAllMyBucketsResult", "ListDirectoryBuckets": "ListAllMyDirectoryBucketsResult",
	"ListObjects": "ListBucketResult", "ListObjectsV2": "ListBucketResult", "ListObjectVersions": "ListVersionsResult",
	"ListMultipartUploads": "ListMultipartUploadsResult", "ListParts": "ListPartsResult",
}

// root returns the keys of the object that has the members of the output.
func (t *translation) root() []string {
	output := t.operation.Output
	switch {
	case !t.isXML() || output == nil:
		return nil
	case t.protocol == "rest-xml" && t.service.Metadata.EndpointPrefix == "s3" && bucketRoots[t.paginator.name] != "":
		return []string{bucketRoots[t.paginator.name]}
	case t.protocol == "rest-xml":
		return []string{cmp.Or(output.LocationName, t.service.shape(output).LocationName, output.Shape)}
	case output.ResultWrapper == "":
		return []string{t.paginator.name + "Response"}
	}
	return []string{t.paginator.name + "Response", output.ResultWrapper}
}

// payloadRoot returns the keys of a member that is the whole body.
func (t *translation) payloadRoot(ref *reference, s *shape) []string {
	if !t.isXML() {
		return nil
	}
	return []string{cmp.Or(ref.LocationName, s.LocationName, ref.Shape)}
}

// response sets the format, and the lists of items.
func (t *translation) response() error {
	if t.isXML() {
		t.out.Response = []importer.Member{{Name: "format", Value: importer.Constant("xml")}}
	}
	keys, err := t.paginator.list("result_key")
	if err != nil {
		return err
	}
	if keys == nil {
		return fmt.Errorf("result_key is missing")
	}
	for _, key := range keys {
		if err := t.result(key); err != nil {
			return fmt.Errorf("result_key: %w", err)
		}
	}
	if len(t.results) == 0 {
		return fmt.Errorf("result_key: %s is neither a list nor an object", strings.Join(keys, ", "))
	}
	if len(t.results) == 1 {
		t.out.Items = t.results[0].path()
		return nil
	}
	for i, r := range t.results {
		name := t.paginator.name
		if i > 0 {
			name += "." + r.query[len(r.query)-1].name
		}
		t.out.Lists = append(t.out.Lists, importer.List{Path: r.path(), Name: name})
	}
	return nil
}

// result adds a list of items.
func (t *translation) result(key string) error {
	q, err := parseQuery(key)
	if err != nil {
		return err
	}
	if len(q) > 1 {
		return fmt.Errorf("%q has alternatives", key)
	}
	f, err := t.find(q[0])
	if err != nil {
		return err
	}
	place := t.out.Place + ".result_key"
	switch f.shape.Type {
	case "list", "structure":
	case "map":
		if t.isXML() {
			return fmt.Errorf("%s is a map in XML", key)
		}
		f.keys = append(f.keys, "*")
		if t.service.shape(f.shape.Value).Type == "structure" {
			t.out.Fields = []importer.Field{{Name: "key", Source: "key"}}
		} else {
			t.note(importer.Approximate, place, "dataField", "%s is a map, and the items are its values, without their keys", key)
		}
	default:
		if len(t.results) > 0 {
			t.note(importer.Left, place, "", "%s is a value of a page and not a list; botocore adds up its values", key)
			return nil
		}
		f.keys = f.keys[:len(f.keys)-1]
		t.note(importer.Approximate, place, "dataField",
			"%s is a text; each page is an item, whose texts botocore joins", key)
	}
	if f.header != "" {
		return fmt.Errorf("%s is a header", key)
	}
	t.results = append(t.results, f)
	return nil
}

// paging sets where the next page comes from, and when the list ends.
func (t *translation) paging() error {
	in, err := t.paginator.list("input_token")
	if err != nil {
		return err
	}
	out, err := t.paginator.list("output_token")
	if err != nil {
		return err
	}
	switch {
	case len(in) == 0 || len(out) == 0:
		return fmt.Errorf("input_token and output_token are missing")
	case len(in) != len(out):
		return fmt.Errorf("there are %s and %s", value.Counted(len(in), "input_token"), value.Counted(len(out), "output_token"))
	}
	t.out.Paging = &importer.Paging{Kind: importer.Token}
	if err := t.token(in[0], out[0]); err != nil {
		return err
	}
	for i := range in[1:] {
		if err := t.further(in[i+1], out[i+1]); err != nil {
			return err
		}
	}
	t.throttling()
	return t.more()
}

// target returns where a token goes in the next request.
func (t *translation) target(name string) (importer.Target, error) {
	input := t.service.shape(t.operation.Input)
	ref := input.Members[name]
	if ref == nil {
		return importer.Target{}, fmt.Errorf("the input has no member %s", name)
	}
	wire := cmp.Or(ref.LocationName, name)
	switch {
	case ref.Location == "header":
		return importer.Target{In: importer.InHeader, Name: wire}, nil
	case ref.Location == "uri":
		return importer.Target{}, fmt.Errorf("input_token %s is a part of the path", name)
	case ref.Location == "querystring" && t.out.Method != "GET":
		return importer.Target{In: importer.InEndpoint, Name: wire}, nil
	case t.out.Method == "FORM":
		wire = t.formName("", name, ref)
	}
	return importer.Target{In: importer.InParam, Name: wire}, nil
}

// token sets the token, or the first one of several.
func (t *translation) token(name, expression string) error {
	p := t.out.Paging
	into, err := t.target(name)
	if err != nil {
		return err
	}
	p.Into = into
	q, err := parseQuery(expression)
	if err != nil {
		return fmt.Errorf("output_token: %w", err)
	}
	if last, ok := t.lastItem(q[0]); ok && len(q) == 1 && into.In == importer.InParam {
		p.Kind, p.Path = importer.LastItem, rules.PathOf(last...)
		return nil
	}
	source, simple, err := t.tokenSource(q)
	if err != nil {
		return fmt.Errorf("output_token: %w", err)
	}
	switch {
	case into.In == importer.InEndpoint:
		p.Source = t.nextEndpoint(into.Name, source)
		p.Into.Name = ""
		p.Stops = append(p.Stops, importer.Stop{When: "empty(" + source + ")"})
	case simple == nil || !isScalar(simple.shape.Type):
		p.Source = source
	case simple.header != "":
		p.Header = simple.header
	default:
		p.Path = simple.path()
	}
	return nil
}

// tokenSource returns the expression for a token, and its place if it has one.
func (t *translation) tokenSource(q query) (string, *found, error) {
	source := ""
	for i := len(q) - 1; i >= 0; i-- {
		one := ""
		if last, ok := t.lastItem(q[i]); ok {
			one = t.lastSource(last)
		} else {
			f, err := t.find(q[i])
			if err != nil {
				return "", nil, err
			}
			if one = f.source(); len(q) == 1 {
				return one, &f, nil
			}
		}
		if source == "" {
			source = one
			continue
		}
		source = fmt.Sprintf("empty(%s) ? %s : %s", one, source, one)
	}
	return source, nil, nil
}

// lastItem returns the path in the item of a path that reads the last item of the result.
func (t *translation) lastItem(p path) ([]string, bool) {
	list := t.results[0].query
	if !list.prefixOf(p) || len(p) < len(list)+1 || p[len(list)] != (step{kind: element, index: -1}) {
		return nil, false
	}
	shape := t.service.shape(t.results[0].shape.Member)
	var keys []string
	for _, s := range p[len(list)+1:] {
		ref := shape.Members[s.name]
		if s.kind != member || ref == nil {
			return nil, false
		}
		shape = t.service.shape(ref)
		keys = append(keys, t.nameOf(s.name, ref, shape))
	}
	return keys, len(keys) > 0
}

// lastSource returns the expression for a value of the last item of the result.
func (t *translation) lastSource(keys []string) string {
	if len(t.results) == 1 {
		return rules.FormatPath("items[-1]", keys)
	}
	return rules.FormatPath(t.results[0].source()+"[-1]", keys)
}

// nextEndpoint returns the expression for the endpoint with a token in its query.
func (t *translation) nextEndpoint(name, source string) string {
	t.queryParam(name, importer.Computed(source))
	var parts []string
	text := ""
	flush := func() {
		if text != "" {
			parts = append(parts, strconv.Quote(text))
		}
		text = ""
	}
	for _, p := range t.uri {
		if p.source == "" {
			text += p.text
			continue
		}
		flush()
		function := "segment"
		if p.greedy {
			function = "reserved"
		}
		parts = append(parts, fmt.Sprintf("%s(%s)", function, p.source))
	}
	flush()
	return strings.Join(parts, " + ")
}

// further adds a token that is sent together with the first one.
func (t *translation) further(name, expression string) error {
	into, err := t.target(name)
	if err != nil {
		return err
	}
	q, err := parseQuery(expression)
	if err != nil {
		return fmt.Errorf("output_token: %w", err)
	}
	p := t.out.Paging
	_, simple, err := t.tokenSource(q)
	if err != nil {
		return fmt.Errorf("output_token: %w", err)
	}
	if simple == nil || p.Path == "" || p.Kind != importer.Token || into.In != importer.InParam || simple.header != "" || !isScalar(simple.shape.Type) {
		return fmt.Errorf("output_token: several tokens must be paths of scalars that are sent as parameters")
	}
	p.Together = append(p.Together, importer.Together{Name: into.Name, Path: simple.path()})
	return nil
}

// more sets the flag that is true while there is more.
func (t *translation) more() error {
	keys, err := t.paginator.list("more_results")
	if err != nil || keys == nil {
		return err
	}
	q, err := parseQuery(keys[0])
	if err != nil {
		return fmt.Errorf("more_results: %w", err)
	}
	f, err := t.find(q[0])
	if err != nil {
		return fmt.Errorf("more_results: %w", err)
	}
	if len(q) > 1 || len(keys) > 1 {
		return fmt.Errorf("more_results: want one path")
	}
	p := t.out.Paging
	switch {
	case f.shape.Type != "boolean":
		p.Stops = append(p.Stops, importer.Stop{When: "empty(" + f.source() + ")"})
	default:
		p.More = f.path()
	}
	return nil
}

// throttling repeats a request that is refused because there are too many, which the protocols json
// and query report with status 400.
func (t *translation) throttling() {
	code := ""
	switch t.protocol {
	case "json":
		code = `body["__type"]`
	case "query":
		code = "body.ErrorResponse.Error.Code"
	default:
		return
	}
	t.out.Errors = []importer.ErrorRule{{
		When: fmt.Sprintf(`status == 400 and %s matches "Throttl|TooManyRequests|ThroughputExceeded|RequestLimitExceeded"`, code),
		Do:   "retry"}}
}
