package nango

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/value"
)

// endpoint is the name of the input with the endpoint, and of the setting for it.
const endpoint = "endpoint"

// A translation makes a stream of a provider.
type translation struct {
	*reader
	out      *importer.Stream
	node     node
	named    map[string]string // the names of inputs, by the placeholders that they replace
	optional []string          // members of the connection's configuration that may be empty
}

func (t *translation) note(grade importer.Grade, n node, target, format string, args ...any) {
	t.out.Note(importer.Note{Grade: grade, Text: fmt.Sprintf(format, args...), Source: n.path, Target: target})
}

func (t *translation) translate() error {
	proxy := t.node.get("proxy")
	t.keys("provider", t.node)
	t.keys("proxy", proxy)
	if proxy.get("base_url").text() == "" {
		return fmt.Errorf("%s: the provider has no address", proxy.get("base_url").path)
	}
	base, err := t.address(proxy.get("base_url"))
	if err != nil {
		return err
	}
	if strings.Contains(proxy.get("base_url").text(), "?") {
		return fmt.Errorf("%s: an address with a query is not translated", proxy.get("base_url").path)
	}
	t.out.BaseURL = base + "/"
	t.credentials()
	if err := t.query(proxy.get("query")); err != nil {
		return err
	}
	t.retry(proxy.get("retry"))
	if err := t.paginate(proxy.get("paginate")); err != nil {
		return err
	}
	t.endpoint()
	t.metadata()
	return nil
}

// endpoint sets the endpoint: an input, or the setting.
func (t *translation) endpoint() {
	if text, set := t.settings.Get(endpoint); set {
		t.out.Endpoint = bracesDoubled.Replace(strings.TrimPrefix(text, "/"))
		if t.out.Endpoint == "" {
			t.out.Endpoint = "./"
		}
		return
	}
	v := t.input(endpoint, importer.Input{Name: endpoint, Doc: "path of the list, such as /v1/users", Sample: "/items", Place: t.node.path})
	t.out.Endpoint = "{+trimPrefix(" + v.Source + ", '/')}"
	t.note(importer.Check, t.node, "endpoint",
		"a provider has no endpoints: set the input endpoint, such as endpoint=/v1/users, or import it with this setting")
}

// metadata says which inputs Nango itself takes from the responses of the authorization.
func (t *translation) metadata() {
	for _, key := range []string{"token_response_metadata", "redirect_uri_metadata", "connection_configuration"} {
		for _, e := range t.node.get(key).list() {
			if name, isInput := t.named["connectionConfig."+e.text()]; isInput {
				t.note(importer.Check, t.node.get(key), "inputs."+name, "Nango takes %s from the authorization; here it is the input %s",
					e.text(), name)
			}
		}
	}
}

// headers adds the headers of all requests. It returns the headers with the token or the key, which are
// credentials.
func (t *translation) headers(secret func(text string) bool) []namedNode {
	var out []namedNode
	for _, m := range t.node.get("proxy").get("headers").members() {
		if secret(m.text()) {
			out = append(out, m)
			continue
		}
		v, err := t.template(m.node, "")
		if err != nil {
			t.note(importer.Credentials, m.node, "headers", "the header is left out: %v; write it by hand", err)
			continue
		}
		t.out.Headers = append(t.out.Headers, importer.Member{Name: m.name, Value: v})
	}
	return out
}

// query adds the parameters of all requests that are not credentials.
func (t *translation) query(n node) error {
	for _, m := range n.members() {
		if strings.Contains(m.text(), "${apiKey}") {
			continue // a credential
		}
		if _, isText := m.v.(string); !isText {
			t.note(importer.Left, m.node, "", "Nango sends texts only, so this parameter is left out")
			continue
		}
		v, err := t.template(m.node, "")
		if err != nil {
			return err
		}
		t.out.Params = append(t.out.Params, importer.Member{Name: m.name, Value: v})
	}
	return nil
}

// retry reads when a request is made again: by headers, and for further statuses.
func (t *translation) retry(n node) {
	t.keys("retry", n)
	common := func(key string, v importer.Value) {
		t.out.Common = append(t.out.Common, importer.Member{Name: key, Value: v})
	}
	after, at, remaining := n.get("after").list(), n.get("at").list(), n.get("remaining").list()
	if len(remaining) > 0 && len(at) > 0 {
		common("rateLimit", importer.Value{Object: []importer.Member{
			{Name: "remaining", Value: importer.Constant(remaining[0].text())}, {Name: "reset", Value: importer.Constant(at[0].text())},
		}})
		remaining, at = remaining[1:], at[1:]
	}
	if header := slices.Concat(after, at); len(header) > 0 {
		if name := header[0].text(); !strings.EqualFold(name, "Retry-After") {
			common("retryHeader", importer.Constant(name))
		}
		at, after = nil, header[1:]
	}
	for _, h := range slices.Concat(after, at, remaining) {
		t.note(importer.Left, h, "api.http", "the header %s is not read: retries wait for the other one", h.text())
	}
	t.statuses(n)
}

// retried are the statuses that are retried in any case.
var retried = []int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// statuses reads error_code. If a header says how many requests are left, it has the statuses that may be a
// rate limit, and otherwise statuses that are retried. A class such as 5xx is retried there and here.
func (t *translation) statuses(n node) {
	var codes []importer.Value
	var texts []string
	for _, e := range n.get("error_code").list() {
		code, err := strconv.Atoi(e.text())
		switch {
		case strings.EqualFold(e.text(), "5xx") || slices.Contains(retried, code):
		case err != nil || code < 400 || code > 599:
			t.note(importer.Check, e, "pagination.onError", "%s is not the status of an error; write a rule by hand", value.Preview(e.v))
		default:
			codes = append(codes, importer.Constant(code))
			texts = append(texts, strconv.Itoa(code))
		}
	}
	switch {
	case len(codes) == 0:
	case n.get("remaining").given():
		if len(codes) != 1 || texts[0] != "403" { // its default
			t.out.Common = append(t.out.Common, importer.Member{Name: "limitCodes", Value: importer.Value{List: codes}})
		}
	case len(codes) == 1:
		t.out.Errors = append(t.out.Errors, importer.ErrorRule{When: "status == " + texts[0], Do: "retry"})
	default:
		t.out.Errors = append(t.out.Errors, importer.ErrorRule{When: "status in [" + strings.Join(texts, ", ") + "]", Do: "retry"})
	}
}
