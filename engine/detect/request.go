package detect

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Request is the request for the first page of a list.
type Request struct {
	URL    string            // absolute address; {name} in it is replaced by Inputs["name"]
	Method string            // if it is empty, GET, or POST with a Body
	Header http.Header       // credentials in it are used, but never written
	Body   []byte            // a JSON object or a form
	Inputs map[string]string // values for the names in braces
}

// isGraphQL reports whether the body is a query of GraphQL.
func (c *call) isGraphQL() bool {
	return c.isJSON() && strings.Contains(c.query(), "{")
}

// query returns the query in the body, or "" if there is no query.
func (c *call) query() string {
	query, _ := c.body.Get("query")
	text, _ := query.(string)
	return text
}

// param returns an integer parameter of the request that has a name in any spelling: of the address
// or, at any depth, of a JSON body.
func (c *call) param(name string) (at path, n int, ok bool) {
	for _, f := range c.numbers() {
		if apinames.Alike(f.name(), name) {
			n, _ = number(f.value)
			return f.path, n, true
		}
	}
	return nil, 0, false
}

// numbers returns the integer parameters of the request.
func (c *call) numbers() []fact {
	var found []fact
	var search func(o value.Object, above path)
	search = func(o value.Object, parent path) {
		for _, m := range o {
			inner, isObject := m.Value.(value.Object)
			if _, isNumber := number(m.Value); isNumber {
				found = append(found, fact{path: parent.child(m.Name), value: m.Value})
			} else if isObject && c.isJSON() {
				search(inner, parent.child(m.Name))
			}
		}
	}
	search(c.params, nil)
	return found
}

// declaredInteger matches the declaration of a variable in a query of GraphQL.
var declaredInteger = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(\w+)\s*:\s*Int\b`) })

// unset returns the variable of the query that has one of the names in any spelling, is an integer, and
// has no value. It returns "" if there is no such variable.
func (c *call) unset(names []string) string {
	variables, _ := c.body.Get("variables")
	given, _ := variables.(value.Object)
	for _, m := range declaredInteger().FindAllStringSubmatch(c.query(), -1) {
		if _, ok := given.Get(m[1]); !ok && apinames.AlikeAny(m[1], names) {
			return m[1]
		}
	}
	return ""
}

// Secrets returns the values in a request that must not be printed.
func (r Request) Secrets() []string {
	c, err := newCall(r)
	if err == nil {
		return c.secrets()
	}
	return slices.Concat(slices.Collect(maps.Values(r.Header))...) // every value of a request that is not understood may be a secret
}

// A RequestError describes an invalid [Request]. No request was made.
type RequestError struct {
	Message string
	Hint    string // how to fix it; may be empty

	Remedy remedy.Remedy // the hint, for a front end with its own wording
}

// Error implements error.
func (e *RequestError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

func invalid(hint, format string, args ...any) error {
	return invalidUnless(remedy.New("%s", hint), format, args...)
}

// invalidUnless returns the error for a request that is invalid without a remedy.
func invalidUnless(r remedy.Remedy, format string, args ...any) error {
	return &RequestError{Message: fmt.Sprintf(format, args...), Hint: r.String(), Remedy: r}
}

// A call is a request as a configuration writes it: split into the keys of the job, the keys of the API,
// and credentials.
type call struct {
	base, endpoint string // addresses with {input.name} for inputs
	address        *url.URL
	method         string // GET, POST or FORM
	params         value.Object
	headers        value.Object // headers of the job
	hidden         value.Object // secret headers of the API, with names that begin with #
	auth           value.Object // nil if there is no authentication
	env            map[string]string
	inputs         []string
	values         map[string]string
	guessed        []string     // inputs for parts of the path that look like tokens
	body           value.Object // values of the JSON body
	typed          *url.URL     // the address with the values of the inputs
}

// holder marks the place of an input in an address, so that the address can be parsed.
const holder = "stopwhen-input-"

var braces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// newCall checks a request and splits it.
func newCall(r Request) (*call, error) {
	r, guessed := r.withoutTokens()
	c := &call{env: map[string]string{}, values: r.Inputs, guessed: guessed}
	text := braces().ReplaceAllStringFunc(r.URL, func(found string) string {
		name := strings.Trim(found, "{}")
		c.inputs = lists.AppendNew(c.inputs, name)
		return holder + strconv.Itoa(slices.Index(c.inputs, name)) + "-"
	})
	if err := c.checkInputs(); err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil || !utf8.ValidString(r.URL) || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalid("write it with https:// and the host", "the address is not an absolute http or https address")
	}
	c.address = u
	c.typed, _ = url.Parse(braces().ReplaceAllStringFunc(r.URL, func(found string) string {
		return url.PathEscape(c.values[strings.Trim(found, "{}")])
	}))
	c.split(u)
	if err := c.setBody(r); err != nil {
		return nil, err
	}
	if err := c.setQuery(u); err != nil {
		return nil, err
	}
	c.setCredentials(u.User, r.Header)
	return c, nil
}

// checkInputs compares the names in braces with the values that are given.
func (c *call) checkInputs() error {
	for _, name := range c.inputs {
		text, given := c.values[name]
		if given && text == "" {
			return invalidUnless(remedy.New("give it one with %s", remedy.RequestInput.Of(name)), "{%s} in the address has an empty value", name)
		}
		if !given {
			return invalidUnless(remedy.New("add %s, or write %%7B and %%7D for braces that belong to the address", remedy.RequestInput.Of(name)),
				"the address has {%s}, which has no value", name)
		}
	}
	for name := range c.values {
		if !slices.Contains(c.inputs, name) {
			return invalid("write it where the value belongs", "the address has no {%s}", name)
		}
	}
	return nil
}

// named replaces the marks of inputs as an address of a configuration writes them.
func (c *call) named(text string) string {
	text = strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
	for i, name := range c.inputs {
		text = strings.ReplaceAll(text, holder+strconv.Itoa(i)+"-", "{input."+name+"}")
	}
	return text
}

// split sets the base address and the endpoint: the last segment of the path.
func (c *call) split(u *url.URL) {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	cut := strings.LastIndex(strings.TrimSuffix(path, "/"), "/") + 1
	for cut > 1 && strings.Contains(path[cut:], ":") { // in a relative reference, the text before the colon would be a scheme
		cut = strings.LastIndex(path[:cut-1], "/") + 1
	}
	c.base = c.named(u.Scheme + "://" + u.Host + path[:cut])
	if c.endpoint = c.named(path[cut:]); c.endpoint == "" || strings.Contains(c.endpoint, ":") {
		c.base, c.endpoint = c.named(u.Scheme+"://"+u.Host+"/"), c.named(path)
	}
}

// setBody sets the method and, if there is a body, the parameters in it.
func (c *call) setBody(r Request) error {
	c.method = strings.ToUpper(r.Method)
	if c.method == "" {
		c.method = http.MethodGet
		if len(r.Body) > 0 {
			c.method = http.MethodPost
		}
	}
	if c.method != http.MethodGet && c.method != http.MethodPost {
		return invalid("lists are requested with GET or POST", "the method %s is not supported", c.method)
	}
	body := bytes.TrimSpace(r.Body)
	if c.method == http.MethodGet {
		if len(body) > 0 {
			return invalidUnless(remedy.New("use %s POST", remedy.Method), "a GET request has no body")
		}
		return nil
	}
	isForm := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	switch v, err := parseJSON(body); {
	case len(body) == 0:
	case !utf8.Valid(body):
		return invalid("", "the body is not UTF-8")
	case err == nil && !isForm:
		object, ok := v.(value.Object)
		if !ok {
			return invalid("want an object", "the body is %s", value.KindOf(v))
		}
		c.params, c.body = c.withoutSecrets(object), object
	case body[0] == '{' || body[0] == '[':
		return invalid("", "the body is not JSON: %v", err)
	default:
		c.method = "FORM"
		values, order, err := parseQuery(string(body))
		if err != nil {
			return invalid("want a JSON object, or name=value&name=value", "the body is neither JSON nor a form")
		}
		for _, name := range order {
			c.addParam(name, values[name])
		}
	}
	return nil
}

// setQuery sets the parameters of the address. They stay in the endpoint if the request is a POST,
// or if one of them has no value or is repeated, which parameters cannot express.
func (c *call) setQuery(u *url.URL) error {
	values, order, err := parseQuery(u.RawQuery)
	if err != nil {
		return invalid("", "the parameters of the address: %v", err)
	}
	var keep []string
	for _, name := range order {
		text := values[name]
		switch {
		case len(text) == 1 && c.auth == nil && isSecret(name, text[0]):
			c.auth = value.Object{
				{Name: "type", Value: rules.AuthQuery}, {Name: "name", Value: name}, {Name: "#value", Value: c.reference(name, text[0])},
			}
		case c.method != http.MethodGet || len(text) > 1 || name == "" || !utf8.ValidString(name+text[0]):
			for _, v := range text {
				keep = append(keep, url.QueryEscape(name)+"="+url.QueryEscape(v))
			}
		default:
			c.addParam(name, text)
		}
	}
	if len(keep) > 0 {
		c.endpoint += "?" + c.named(strings.Join(keep, "&"))
	}
	return nil
}

// addParam adds a parameter: a number as a number, and an input as an expression.
func (c *call) addParam(name string, values []string) {
	text := values[0]
	if isSecret(name, text) {
		c.params = append(c.params, value.Member{Name: "#" + name, Value: c.reference(name, text)})
		return
	}
	c.params = c.params.With(name, c.paramValue(text))
}

func (c *call) paramValue(text string) any {
	if !strings.Contains(text, holder) {
		if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
			return n
		}
		return text
	}
	var parts []string
	for text != "" {
		start := strings.Index(text, holder)
		if start < 0 {
			parts = append(parts, strconv.Quote(text))
			break
		}
		if start > 0 {
			parts = append(parts, strconv.Quote(text[:start]))
		}
		number, rest, _ := strings.Cut(text[start+len(holder):], "-")
		i, _ := strconv.Atoi(number)
		parts, text = append(parts, "input."+c.inputs[min(i, len(c.inputs)-1)]), rest
	}
	return value.Object{{Name: "expr", Value: strings.Join(parts, " + ")}}
}

// parseQuery returns the parameters of a query by name, and their names in order.
func parseQuery(query string) (values url.Values, order []string, err error) {
	if values, err = url.ParseQuery(query); err != nil {
		return nil, nil, err
	}
	for p := range requests.Params(query) {
		if values.Has(p.Name) && !slices.Contains(order, p.Name) {
			order = append(order, p.Name)
		}
	}
	return values, order, nil
}

// isJSON reports whether requests have a JSON body.
func (c *call) isJSON() bool { return c.method == http.MethodPost }
