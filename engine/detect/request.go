package detect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Request is the request for the first page of a list.
type Request struct {
	URL    string            // absolute; {name} in it is replaced by an input
	Method string            // GET, or POST with a Body, if empty
	Header http.Header       // credentials in it are used, but never written
	Body   []byte            // a JSON object or a form
	Inputs map[string]string // values for the names in braces
}

// Secrets returns the values in a request that must not be printed.
func (r Request) Secrets() []string {
	c, err := newCall(r)
	if err == nil {
		return c.secrets()
	}
	var all []string // of a request that is not understood, every value may be one
	for _, values := range r.Header {
		all = append(all, values...)
	}
	return all
}

// A RequestError says what is wrong with a [Request]. No request was made.
type RequestError struct {
	Message string
	Hint    string // how to fix it; may be empty
}

// Error implements error.
func (e *RequestError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

func invalid(hint, format string, args ...any) error {
	return &RequestError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// A call is a request as a configuration writes it: split into what a job has, what the
// API has, and credentials.
type call struct {
	base, endpoint string // with {input.name} for inputs
	address        *url.URL
	method         string // GET, POST or FORM
	params         value.Object
	headers        value.Object // of the job
	hidden         value.Object // of the API, by names with #
	auth           value.Object // nil: none
	env            map[string]string
	inputs         []string
	values         map[string]string
	body           value.Object // what is sent in a JSON body, as values
}

// holder marks the place of an input in an address, so that the address can be parsed.
const holder = "stopwhen-input-"

var braces = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// newCall checks a request and splits it.
func newCall(r Request) (*call, error) {
	c := &call{env: map[string]string{}, values: r.Inputs}
	text := braces.ReplaceAllStringFunc(r.URL, func(found string) string {
		name := strings.Trim(found, "{}")
		if !slices.Contains(c.inputs, name) {
			c.inputs = append(c.inputs, name)
		}
		return holder + strconv.Itoa(slices.Index(c.inputs, name)) + "-"
	})
	if err := c.checkInputs(); err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalid("write it with https:// and the host", "the address is not an absolute http or https address")
	}
	c.address = u
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
		if _, given := c.values[name]; !given {
			return invalid("add --set "+name+"=VALUE, or write %7B and %7D for braces that belong to the address",
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
	for i := len(c.inputs) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, holder+strconv.Itoa(i)+"-", "{input."+c.inputs[i]+"}")
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
	for cut > 1 && strings.Contains(path[cut:], ":") { // a reference would take it for a scheme
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
			return invalid("use --method POST", "a GET request has no body")
		}
		return nil
	}
	isForm := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	switch v, err := parseJSON(body); {
	case len(body) == 0:
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

// isSecret reports whether a parameter is probably a credential. A long value under a name
// that credentials have is taken for one.
func isSecret(name, text string) bool {
	const long = 16
	return secret.Like(name, text) || secret.Name(name) && len(text) >= long && !strings.ContainsAny(text, " \t\n")
}

// withoutSecrets replaces secrets in a body by references to the environment.
func (c *call) withoutSecrets(o value.Object) value.Object {
	out := value.Object{}
	for _, m := range o {
		switch v := m.Value.(type) {
		case value.Object:
			out = append(out, value.Member{Name: m.Name, Value: c.withoutSecrets(v)})
			continue
		case string:
			if isSecret(m.Name, v) {
				out = append(out, value.Member{Name: "#" + m.Name, Value: c.reference(m.Name, v)})
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// setQuery sets the parameters of the address. Those of a POST request stay in its
// endpoint, and so do those that a parameter cannot be: without a value, or repeated.
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
			c.auth = value.Object{{Name: "type", Value: rules.AuthQuery}, {Name: "name", Value: name}, {Name: "#value", Value: c.reference(name, text[0])}}
		case c.method != http.MethodGet || len(text) > 1 || name == "":
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

// addParam adds a parameter: a number as one, and an input as an expression.
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
		at := strings.Index(text, holder)
		if at < 0 {
			parts = append(parts, strconv.Quote(text))
			break
		}
		if at > 0 {
			parts = append(parts, strconv.Quote(text[:at]))
		}
		number, rest, _ := strings.Cut(text[at+len(holder):], "-")
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
	for _, pair := range strings.Split(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		if values.Has(name) && !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return values, order, nil
}

// noise are headers that a browser or a client adds to every request. They are neither
// needed nor wanted in a configuration.
var noise = []string{
	"Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Dnt", "Host", "If-Modified-Since",
	"If-None-Match", "Keep-Alive", "Origin", "Pragma", "Priority", "Referer", "Te", "Upgrade-Insecure-Requests", "User-Agent",
}

// setCredentials sorts the headers: credentials become the authentication, other secrets
// headers of the API, and the rest headers of the job.
func (c *call) setCredentials(user *url.Userinfo, header http.Header) {
	if user != nil {
		password, _ := user.Password()
		c.auth = c.basic(user.Username(), password)
	}
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		key, text := textproto.CanonicalMIMEHeaderKey(name), strings.Join(header[name], ", ")
		hides := secret.Name(name) || strings.HasSuffix(strings.ToLower(name), "-token")
		switch {
		case slices.Contains(noise, key) && (key != "Content-Type" || isOwnType(text)), strings.HasPrefix(name, ":"), strings.HasPrefix(key, "Sec-"):
		case hides && c.auth == nil:
			c.auth = c.authentication(name, text)
		case hides:
			c.hidden = append(c.hidden, value.Member{Name: "#" + name, Value: c.reference(name, text)})
		case text == "*/*":
		default:
			c.headers = append(c.headers, value.Member{Name: name, Value: text})
		}
	}
}

// isOwnType reports whether a content type is one that the engine sends by itself.
func isOwnType(text string) bool {
	media, _, _ := strings.Cut(text, ";")
	return slices.Contains([]string{"application/json", "application/x-www-form-urlencoded"}, strings.TrimSpace(media))
}

// authentication returns the settings for a header with a credential.
func (c *call) authentication(name, text string) value.Object {
	scheme, token, _ := strings.Cut(text, " ")
	if textproto.CanonicalMIMEHeaderKey(name) == "Authorization" {
		switch strings.ToLower(scheme) {
		case "bearer":
			return value.Object{{Name: "type", Value: rules.AuthBearer}, {Name: "#token", Value: c.reference("token", token)}}
		case "basic":
			if decoded, err := base64.StdEncoding.DecodeString(token); err == nil {
				user, password, _ := strings.Cut(string(decoded), ":")
				return c.basic(user, password)
			}
		}
	}
	return value.Object{{Name: "type", Value: rules.AuthHeader}, {Name: "name", Value: name}, {Name: "#value", Value: c.reference(name, text)}}
}

func (c *call) basic(user, password string) value.Object {
	auth := value.Object{{Name: "type", Value: rules.AuthBasic}, {Name: "username", Value: c.reference("user", user)}}
	if password == "" {
		return auth.With("#password", "")
	}
	return auth.With("#password", c.reference("password", password))
}

// reference stores a secret, and returns the reference to it that a configuration has.
func (c *call) reference(name, text string) value.Object {
	words := strings.FieldsFunc(name, func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') })
	variable := strings.ToUpper(strings.TrimPrefix(strings.ToLower(strings.Join(words, "_")), "x_"))
	if variable == "" || variable[0] <= '9' || !strings.Contains(variable, "_") {
		variable = "API_" + variable
	}
	for n := 2; c.env[variable] != "" && c.env[variable] != text; n++ {
		variable = strings.TrimRight(variable, "0123456789") + strconv.Itoa(n)
	}
	c.env[variable] = text
	return value.Object{{Name: "env", Value: variable}}
}

// secrets returns the values that must not be written.
func (c *call) secrets() []string {
	var out []string
	for _, text := range c.env {
		if text != "" {
			out = append(out, text)
		}
	}
	for name, text := range c.values {
		if secret.Name(name) && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// isJSON reports whether requests have a JSON body.
func (c *call) isJSON() bool { return c.method == http.MethodPost }

const (
	maxDepth = 100
	maxBytes = 32 << 20
)

// parseJSON decodes a JSON text. Objects keep their order, numbers all their digits.
func parseJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := nextValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("there is more after the value")
	}
	return v, nil
}

func nextValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("the value has more than %d levels", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for dec.More() {
			v, err := nextValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	object := value.Object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := nextValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object, value.Member{Name: name.(string), Value: v})
	}
	_, err = dec.Token()
	return object, err
}
