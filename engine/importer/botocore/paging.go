package botocore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/wording"
)

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
		return fmt.Errorf("there are %s and %s", wording.Counted(len(in), "input_token"), wording.Counted(len(out), "output_token"))
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

// token sets the token, or the first of several tokens.
func (t *translation) token(name, expression string) error {
	p := t.out.Paging
	target, err := t.target(name)
	if err != nil {
		return err
	}
	p.Into = target
	q, err := parseQuery(expression)
	if err != nil {
		return fmt.Errorf("output_token: %w", err)
	}
	if last, ok := t.lastItem(q[0]); ok && len(q) == 1 && target.In == importer.InParam {
		p.Kind, p.Path = importer.LastItem, keypath.Join(last...)
		return nil
	}
	source, simple, err := t.tokenSource(q)
	if err != nil {
		return fmt.Errorf("output_token: %w", err)
	}
	switch {
	case target.In == importer.InEndpoint:
		p.Source = t.nextEndpoint(target.Name, source)
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

// tokenSource returns the expression for a token, and the place of the token, or nil.
func (t *translation) tokenSource(q query) (string, *found, error) {
	source := ""
	for _, alternative := range slices.Backward(q) {
		var key string
		if last, ok := t.lastItem(alternative); ok {
			key = t.lastSource(last)
		} else {
			f, err := t.find(alternative)
			if err != nil {
				return "", nil, err
			}
			if key = f.source(); len(q) == 1 {
				return key, &f, nil
			}
		}
		if source == "" {
			source = key
			continue
		}
		source = fmt.Sprintf("empty(%s) ? %s : %s", key, source, key)
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
		return keypath.Format("items[-1]", keys)
	}
	return keypath.Format(t.results[0].source()+"[-1]", keys)
}

// nextEndpoint returns the expression for the endpoint with a token in its query.
func (t *translation) nextEndpoint(name, source string) string {
	t.queryParam(name, importer.Computed(source))
	var parts []string
	text := ""
	flush := func() {
		if text != "" {
			parts = append(parts, importer.Quote(text))
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

// further adds a token that is sent together with the first token.
func (t *translation) further(name, expression string) error {
	target, err := t.target(name)
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
	isPath := simple != nil && simple.header == "" && isScalar(simple.shape.Type)
	if !isPath || p.Path == "" || p.Kind != importer.Token || target.In != importer.InParam {
		return fmt.Errorf("output_token: several tokens must be paths of scalars that are sent as parameters")
	}
	p.Together = append(p.Together, importer.Together{Name: target.Name, Path: simple.path()})
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
	var code string
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
