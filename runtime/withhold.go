package runtime

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// withhold returns a request without its secrets, for an address outside the origin
// of baseUrl, and the names of the parameters, headers and body fields that it
// leaves out. What the address itself contains stays: the API wrote it.
func (r *run) withhold(request rules.Request) (rules.Request, []string) {
	var left []string
	request.Params = r.withoutSecrets(request.Params, "", &left)
	headers := make(rules.Object, 0, len(request.Headers))
	for _, m := range request.Headers {
		if secret.Name(m.Name) || r.isSecret(m.Value) {
			left = append(left, m.Name)
			continue
		}
		headers = append(headers, m)
	}
	request.Headers = headers
	if body, ok := value.Members(request.Body); ok {
		request.Body = r.withoutSecrets(body, "", &left)
	}
	return request, left
}

// withoutSecrets returns an object without the members that are secret, at any depth.
// A list that contains a secret is left out.
func (r *run) withoutSecrets(o rules.Object, path string, left *[]string) rules.Object {
	if o == nil {
		return nil
	}
	out := make(rules.Object, 0, len(o))
	for _, m := range o {
		name := strings.TrimPrefix(path+"."+m.Name, ".")
		inner, isObject := value.Members(m.Value)
		switch {
		case r.Redactor.Contains(m.Name), !isObject && r.isSecret(m.Value):
			*left = append(*left, r.Redactor.String(name))
			continue
		case isObject:
			m.Value = r.withoutSecrets(inner, name, left)
		}
		out = append(out, m)
	}
	return out
}

// isSecret reports whether a value contains a secret.
func (r *run) isSecret(v any) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, r.isSecret)
	}
	if object, ok := value.Members(v); ok {
		return slices.ContainsFunc(object, func(m rules.Member) bool { return r.Redactor.Contains(m.Name) || r.isSecret(m.Value) })
	}
	text, ok := value.Text(v)
	return ok && r.Redactor.Contains(text)
}

// checkAddress refuses an address outside the origin of baseUrl into which an
// expression of the configuration may have put a secret input. The secrets in an
// address that the API wrote are the API's.
func (r *run) checkAddress(address string) error {
	configured := func(e *compile.Expression) bool {
		return (e.Rule.Role == rules.URL || e.Rule.Role == rules.Endpoint) && e.Rule.Origin.By == (rules.Author{})
	}
	if !r.job.Reads("input") || !slices.ContainsFunc(r.job.Parts, configured) || !r.Redactor.Contains(address) {
		return nil
	}
	return &failure.Error{
		Class: failure.Policy, Op: "request", URL: r.Redactor.URL(address),
		Message: "refused: the address contains a secret, and is outside the origin of baseUrl",
		Hint:    "secrets are only sent to the origin of baseUrl",
	}
}

// reportWithheld logs that a request was made without its secrets.
func (r *run) reportWithheld(withheld []string) {
	if len(withheld) > 0 {
		r.warn("withheld", "a request to another origin than that of baseUrl is made without "+strings.Join(withheld, ", ")+
			": secrets are only sent to that origin")
	}
}
