package botocore

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A part is a piece of an endpoint: a text, or an expression for a segment of the path.
type part struct {
	text, source string
	greedy       bool // the segment may contain slashes
}

// address sets the address of the service.
func (t *translation) address() error {
	m := t.service.Metadata
	if m.EndpointPrefix == "" {
		return fmt.Errorf("%s has no endpointPrefix", t.serviceFile)
	}
	host := m.EndpointPrefix + "." + t.region() + ".amazonaws.com"
	if m.GlobalEndpoint != "" && m.EndpointPrefix != "s3" {
		host = m.GlobalEndpoint
	}
	prefix, err := t.hostPrefix()
	if err != nil {
		return err
	}
	t.out.BaseURL = "https://" + prefix + host + "/"
	t.note(importer.Check, "metadata.endpointPrefix", "api.baseUrl",
		"The address is that of most services and regions; services of one region, FIPS and China have others: see the service's endpoints")
	return nil
}

// region returns the region as a part of an address.
func (t *translation) region() string {
	if name, set := t.set.Get("region"); set {
		return url.PathEscape(name)
	}
	t.input("region", importer.Input{Doc: "region of AWS, such as eu-west-1", Place: "metadata.endpointPrefix"})
	return "{input.region}"
}

var label = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]+)\}`) })

// hostPrefix returns the prefix that the operation adds to the host of the service: a text, or the value of
// a member.
func (t *translation) hostPrefix() (string, error) {
	var failed error
	in := t.service.shape(t.operation.Input)
	out := label().ReplaceAllStringFunc(t.operation.Endpoint.HostPrefix, func(found string) string {
		name := found[1 : len(found)-1]
		if in.Members[name] == nil {
			failed = fmt.Errorf("the input has no member %s, which hostPrefix reads", name)
			return ""
		}
		v := t.memberValue(name, in.Members[name])
		if v.Source == "" {
			return fmt.Sprint(v.Const)
		}
		return "{" + v.Source + "}"
	})
	return out, failed
}

// request sets the endpoint, the parameters and the headers.
func (t *translation) request() error {
	if err := t.method(); err != nil {
		return err
	}
	t.endpoint()
	t.protocolHeaders()
	tokens, err := t.paginator.list("input_token")
	if err != nil {
		return err
	}
	limit, err := t.paginator.list("limit_key")
	if err != nil {
		return err
	}
	in := t.service.shape(t.operation.Input)
	names := in.Required
	for _, name := range sortedNames(in.Members) {
		if _, set := t.options.Set[name]; set {
			names = lists.AppendNew(names, name)
		}
	}
	if _, set := t.set.Get(PageSize); set && limit != nil {
		names = lists.AppendNew(names, limit[0])
	}
	for _, name := range names {
		if in.Members[name] == nil || contains(tokens, name) {
			continue
		}
		if err := t.send(name, in.Members[name], in.Payload); err != nil {
			return err
		}
	}
	t.out.Endpoint = t.endpointText()
	return nil
}

func (t *translation) method() error {
	verb := cmp.Or(t.operation.HTTP.Method, "POST")
	switch {
	case t.protocol == "query" || t.protocol == "ec2":
		t.out.Method = "FORM"
		t.out.Params = []importer.Member{
			{Name: "Action", Value: importer.Constant(t.paginator.name)},
			{Name: "Version", Value: importer.Constant(t.service.Metadata.APIVersion)},
		}
	case verb == "GET":
		t.out.Method = "GET"
	case verb == "POST" && t.protocol != "rest-xml":
		t.out.Method = "POST"
	case verb == "POST":
		return fmt.Errorf("its request has a body in XML, which a job cannot send")
	default:
		return fmt.Errorf("its request has the method %s; a job has GET or POST", verb)
	}
	return nil
}

// endpoint reads the path of the operation: /{Bucket}/{Key+}?list-type=2.
func (t *translation) endpoint() {
	address, query, _ := strings.Cut(t.operation.HTTP.RequestURI, "?")
	rest := strings.TrimPrefix(address, "/")
	in := t.service.shape(t.operation.Input)
	last := 0
	for _, match := range label().FindAllStringSubmatchIndex(rest, -1) {
		t.uri = append(t.uri, part{text: rest[last:match[0]]})
		last = match[1]
		name, greedy := strings.CutSuffix(rest[match[2]:match[3]], "+")
		if member := memberAt(in, name); member != "" {
			v := t.memberValue(member, in.Members[member])
			segment := part{source: v.Source, greedy: greedy}
			if v.Source == "" {
				segment.text = escapeSegment(fmt.Sprint(v.Const), greedy)
			}
			t.uri = append(t.uri, segment)
		}
	}
	t.uri = append(t.uri, part{text: rest[last:]})
	for pair := range strings.SplitSeq(query, "&") {
		if name, v, _ := strings.Cut(pair, "="); name != "" {
			t.queryParam(name, importer.Constant(v))
		}
	}
}

// memberAt returns the member with the location uri that a label of the path names.
func memberAt(in *shape, name string) string {
	for _, m := range sortedNames(in.Members) {
		if ref := in.Members[m]; ref.Location == "uri" && cmp.Or(ref.LocationName, m) == name {
			return m
		}
	}
	return ""
}

func escapeSegment(text string, greedy bool) string {
	out := url.PathEscape(text)
	if greedy {
		out = strings.ReplaceAll(out, "%2F", "/")
	}
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(out)
}

// queryParam adds a parameter of the query, which requests with a body have in the endpoint.
func (t *translation) queryParam(name string, v importer.Value) {
	if t.out.Method == "GET" {
		t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: v})
		return
	}
	before := "?"
	for _, p := range t.uri {
		if strings.Contains(p.text, "?") {
			before = "&"
		}
	}
	if v.Source != "" {
		t.uri = append(t.uri, part{text: before + url.QueryEscape(name) + "="}, part{source: v.Source})
		return
	}
	text, _ := value.Text(v.Const)
	t.uri = append(t.uri, part{text: before + url.QueryEscape(name) + "=" + url.QueryEscape(text)})
}

// endpointText returns the endpoint as a job has it.
func (t *translation) endpointText() string {
	var b strings.Builder
	for _, p := range t.uri {
		switch {
		case p.source == "":
			b.WriteString(p.text)
		case p.greedy:
			b.WriteString("{+" + p.source + "}")
		default:
			b.WriteString("{" + p.source + "}")
		}
	}
	return cmp.Or(b.String(), "./")
}

// protocolHeaders adds the headers of the protocol.
func (t *translation) protocolHeaders() {
	m := t.service.Metadata
	if t.protocol == "json" {
		t.out.Common = headers("Content-Type", "application/x-amz-json-"+cmp.Or(m.JSONVersion, "1.0"))
		t.out.Headers = append(t.out.Headers,
			importer.Member{Name: "X-Amz-Target", Value: importer.Constant(m.TargetPrefix + "." + t.paginator.name)})
	}
	switch m.EndpointPrefix { // as the handlers of botocore do
	case "apigateway":
		t.out.Common = headers("Accept", "application/json")
	case "glacier":
		t.out.Common = headers("x-amz-glacier-version", m.APIVersion)
	}
}

func headers(name, text string) []importer.Member {
	return []importer.Member{{Name: "headers", Value: importer.Value{Object: []importer.Member{
		{Name: name, Value: importer.Constant(text)}}}}}
}

// send adds a member of the input to the request.
func (t *translation) send(name string, ref *reference, payload string) error {
	wire := cmp.Or(ref.LocationName, name)
	switch {
	case ref.Location == "uri":
		return nil // the endpoint has it
	case ref.Location == "header":
		t.out.Headers = append(t.out.Headers, importer.Member{Name: wire, Value: t.memberValue(name, ref)})
	case ref.Location == "querystring":
		t.queryParam(wire, t.queryValue(name, ref))
	case ref.Location != "":
		return fmt.Errorf("its input %s is sent in %s, which a job cannot do", name, ref.Location)
	case t.out.Method == "FORM":
		t.flatten(t.formName("", name, ref), name, ref, 0)
	case name == payload:
		return t.sendPayload(name, ref)
	default:
		t.out.Params = append(t.out.Params, importer.Member{Name: wire, Value: t.memberValue(name, ref)})
	}
	return nil
}

// sendPayload adds the members of the member that is the whole body.
func (t *translation) sendPayload(name string, ref *reference) error {
	body := t.service.shape(ref)
	if body.Type != "structure" {
		return fmt.Errorf("its body is the input %s of the type %s; a job sends an object", name, body.Type)
	}
	for _, inner := range body.Required {
		if body.Members[inner] != nil {
			if err := t.send(inner, body.Members[inner], ""); err != nil {
				return err
			}
		}
	}
	return nil
}
