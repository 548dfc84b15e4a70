package runtime

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A sender encodes requests as HTTP calls, and shows requests without their secrets.
type sender struct {
	job       *compile.Job
	client    *transport.Client
	redactor  *redact.Redactor
	origins   []string          // further origins of the partition
	partition string            // label of the partition, if events of requests are observed
	converter *format.Converter // nil if the responses are JSON
}

// encode turns a request into an HTTP call. If the address is outside the origin of baseUrl, the
// call has no secrets, and withheld names the parts that were left out.
func (s *sender) encode(request requests.Request) (call transport.Call, withheld []string, err error) {
	address, err := request.URL()
	if err != nil {
		return call, nil, err
	}
	if !s.client.Trusts(address) {
		request, withheld = s.withhold(request)
		if address, err = request.URL(); err == nil {
			err = s.checkAddress(address)
		}
	}
	if err == nil {
		call, err = transport.NewCall(request, address)
	}
	if err != nil {
		return call, nil, err
	}
	call.Job, call.Partition = s.job.ID(), s.partition
	call.Origins = s.origins
	call.JudgesPages = slices.ContainsFunc(s.job.OnErrors, func(t *compile.Trigger) bool { return t.Rule.OnError.On != rules.OnError })
	if s.converter != nil {
		call.MayBeEmpty = s.converter.MayBeEmpty
		if _, own := call.Header["Accept"]; !own {
			call.Header.Set("Accept", format.Accept(s.job.Spec().Response.Format))
		}
	}
	return call, withheld, nil
}

// shown returns a request without its secrets.
func (s *sender) shown(request requests.Request) trace.Request {
	call, _, err := s.encode(request)
	if err != nil {
		return trace.Request{Method: request.Verb(), URL: s.redactor.Shown(request.Endpoint)}
	}
	return s.shownCall(request, call)
}

// shownCall returns a request as shown does, given its encoded call.
func (s *sender) shownCall(request requests.Request, call transport.Call) trace.Request {
	out := trace.Request{Method: call.Method, URL: s.redactor.Text(call.URL)}
	switch {
	case call.Body == nil:
	case request.Method == "FORM":
		out.Body, _ = json.Marshal(s.redactor.Text(string(call.Body))) // a string always has an encoding
	default:
		out.Body = json.RawMessage(s.redactor.JSON(string(call.Body)))
	}
	return out
}

// recorded returns a shown request as a trace has it: also without the values of parameters that usually are credentials,
// which an API may have put into the address of the next page. Digests and expressions need these.
func (s *sender) recorded(request requests.Request, shown trace.Request) trace.Request {
	shown.URL = redact.Parameters(shown.URL)
	if request.Method == "FORM" {
		form := ""
		if err := json.Unmarshal(shown.Body, &form); err == nil {
			shown.Body, _ = json.Marshal(redact.Parameters("&" + form)[1:])
		}
	}
	return shown
}

// sentFacts returns the request as expressions see it: without the secrets of the configuration,
// but with the tokens of the API.
func (s *sender) sentFacts(request requests.Request, shown trace.Request) rules.Sent {
	facts := rules.Sent{Method: shown.Method, URL: shown.URL, Params: s.redacted(request.Params), Headers: s.redacted(request.Headers)}
	if shown.Body != nil && request.Method != "FORM" {
		facts.Body, _ = document.Decode(shown.Body)
	}
	return facts
}

// redacted returns a value without secrets at any depth. It returns the value itself if there is
// nothing to change.
func (s *sender) redacted(v any) any {
	if o, isObject := v.(rules.Object); isObject && len(o) == 0 {
		return noMembers
	}
	if value.Any(v, s.differs, nil) {
		return s.redactedCopy(v, s.redactor.Text)
	}
	return v
}

// noMembers is an object without members, which is never changed, as a value.
var noMembers any = rules.Object{}

// differs reports whether rules see a scalar with another value than the request has.
func (s *sender) differs(scalar any) bool {
	switch v := scalar.(type) {
	case string:
		return s.redactor.Text(v) != v
	case json.Number:
		return true
	}
	return false
}

// redactedCopy returns a copy of a value with its texts redacted by a function.
func (s *sender) redactedCopy(v any, redacted func(string) string) any {
	out, _ := value.Replace(v, value.Replacement{Scalar: func(v any) (any, error) {
		switch v := v.(type) {
		case string:
			return redacted(v), nil
		case json.Number: // 1.50 is sent as written, but rules compute with 1.5
			if n, err := value.Number(v); err == nil {
				return n, nil
			}
		}
		return v, nil
	}})
	return out
}

// withhold returns a request without its secrets, for an address outside the origin of baseUrl, and
// the names of the parameters, headers and body fields that it removed. It leaves the address
// itself unchanged, because the API wrote it.
func (s *sender) withhold(request requests.Request) (requests.Request, []string) {
	var removed, inBody []string
	request.Params, removed = s.withoutSecrets(request.Params, "")
	headers := make(rules.Object, 0, len(request.Headers))
	for _, m := range request.Headers {
		if secret.IsName(m.Name) || s.isSecret(m.Value) {
			removed = append(removed, m.Name)
			continue
		}
		headers = append(headers, m)
	}
	request.Headers = headers
	if body, ok := value.Members(request.Body); ok {
		request.Body, inBody = s.withoutSecrets(body, "")
	}
	return request, append(removed, inBody...)
}

// withoutSecrets returns the object at a path without the members that contain a secret, at any depth, and the paths
// of these. A list that contains a secret is left out as a whole.
func (s *sender) withoutSecrets(o rules.Object, path string) (out rules.Object, removed []string) {
	if o == nil {
		return nil, nil
	}
	out = make(rules.Object, 0, len(o))
	for _, m := range o {
		name := strings.TrimPrefix(path+"."+m.Name, ".")
		inner, isObject := value.Members(m.Value)
		switch {
		case s.redactor.Contains(m.Name), !isObject && s.isSecret(m.Value):
			removed = append(removed, s.redactor.Text(name))
			continue
		case isObject:
			kept, within := s.withoutSecrets(inner, name)
			m.Value, removed = kept, append(removed, within...)
		}
		out = append(out, m)
	}
	return out, removed
}

// isSecret reports whether a value contains a secret.
func (s *sender) isSecret(v any) bool {
	return value.Any(v, func(scalar any) bool {
		text, ok := value.Text(scalar)
		return ok && s.redactor.Contains(text)
	}, s.redactor.Contains)
}

// checkAddress refuses an address outside the origin of baseUrl if an expression of the
// configuration may have put a secret input into it. Secrets in an address that the API wrote
// belong to the API.
func (s *sender) checkAddress(address string) error {
	configured := func(e *language.Expression) bool {
		return e.Rule.Role.Addresses() && e.Rule.Origin.IsConfig()
	}
	if !s.job.Analysis().Reads(rules.ContextInput) || !slices.ContainsFunc(s.job.Parts, configured) || !s.redactor.Contains(address) {
		return nil
	}
	return &failure.Error{
		Class: failure.Policy, Op: failure.OpRequest, URL: s.redactor.Shown(address),
		Message: "refused: the address contains a secret, and is outside the origin of baseUrl",
		Hint:    "secrets are only sent to the origin of baseUrl",
	}
}
