package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Request is one request to make, before it is encoded.
type Request struct {
	Method   string // GET, POST or FORM
	Base     string // address that Endpoint is resolved against
	Endpoint string // relative to Base, or an absolute address
	Params   Object // query of GET, body of POST and FORM
	Headers  Object
	Body     any // JSON body beside the params of POST: an [Object], or nil
}

// FirstRequest is the job's own request: endpoint, method, params, headers.
func (c *Config) FirstRequest(job Job) Request {
	r := Request{Method: job.Method, Base: c.BaseURL, Endpoint: job.Endpoint, Params: job.Params, Headers: c.HTTP.Headers}
	for _, m := range job.Headers {
		r.Headers = r.Headers.With(m.Name, m.Value)
	}
	return r
}

// Under puts parameters under the request's own, as api.http.defaultOptions says.
func (r Request) Under(params Object) Request {
	for _, m := range r.Params {
		params = params.With(m.Name, m.Value)
	}
	r.Params = params
	return r
}

// Verb is the HTTP method that is sent: POST for FORM.
func (r Request) Verb() string {
	if r.Method == "FORM" {
		return "POST"
	}
	return r.Method
}

// URL is the address that is sent: Endpoint resolved against Base by RFC 3986
// and, for GET, the params laid over its query: one of the same name is
// replaced in its place, the others follow in their order.
func (r Request) URL(dialect string) (string, error) {
	endpoint := r.Endpoint
	encode := encoders[SwitchesOf(dialect).PHPEncoding]
	if r.Verb() == "GET" && len(r.Params) > 0 {
		endpoint = encode.merge(endpoint, r.Params)
	}
	return Resolve(r.Base, endpoint)
}

// Resolve resolves an address against a base by RFC 3986; the base's own query
// and both fragments are dropped.
func Resolve(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("not an address: %s", value.Clip(base, 80))
	}
	to, err := url.Parse(escapeIllegal(ref))
	if err != nil {
		return "", fmt.Errorf("not an address: %s", value.Clip(ref, 80))
	}
	if to.Scheme == "" && to.Host == "" && to.Path == "" {
		to.Path = b.Path // "?page=2" keeps the path, and url.ResolveReference the query of "#f"
		if to.RawQuery == "" && !to.ForceQuery {
			to.RawQuery = b.RawQuery
		}
	}
	out := b.ResolveReference(to)
	if out.Path == "" {
		out.Path = "/"
	}
	out.Fragment, out.RawFragment, out.ForceQuery = "", "", false
	return out.String(), nil
}

// escapeIllegal percent-encodes what may not stand in an address: spaces,
// control characters, quotes and everything beyond ASCII. A percent sign that
// begins no escape is one of them.
func escapeIllegal(ref string) string {
	var b strings.Builder
	for i := 0; i < len(ref); i++ {
		c := ref[i]
		escaped := c == '%' && i+2 < len(ref) && isHex(ref[i+1]) && isHex(ref[i+2])
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || c == '%' && !escaped {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// Payload is the body that is sent and its content type; nil for GET without a
// body. A POST sends its params, with Body laid over them, as a JSON object; a
// FORM sends them urlencoded.
func (r Request) Payload(dialect string) ([]byte, string, error) {
	encode := encoders[SwitchesOf(dialect).PHPEncoding]
	body, _ := value.Members(r.Body)
	switch {
	case r.Method == "FORM":
		return []byte(encode.query(r.Params)), "application/x-www-form-urlencoded", nil
	case r.Method == "GET" && r.Body == nil:
		return nil, "", nil
	case r.Method == "GET":
		text, err := encode.json(body)
		return text, "application/json", err
	}
	object := r.Params
	for _, m := range body {
		object = object.With(m.Name, overlay(at(object, m.Name), m.Value))
	}
	text, err := encode.json(object)
	return text, "application/json", err
}

func at(o Object, name string) any { v, _ := o.Get(name); return v }

// overlay lays an object over another, deeply, and over a list where its keys
// index that list; anything else takes its place.
func overlay(under, over any) any {
	above, ok := value.Members(over)
	if list, isList := under.([]any); isList && ok && len(above) > 0 {
		out := slices.Clone(list)
		for _, m := range above {
			i, err := strconv.Atoi(m.Name)
			if err != nil || i < 0 || i >= len(out) {
				return over
			}
			out[i] = overlay(out[i], m.Value)
		}
		return out
	}
	below, both := value.Members(under)
	if !ok || !both {
		return over
	}
	for _, m := range above {
		below = below.With(m.Name, overlay(at(below, m.Name), m.Value))
	}
	return below
}

// SetPath returns an object with the value at a path of keys, making the
// objects on the way.
func SetPath(o Object, keys []string, v any) Object {
	if len(keys) == 1 {
		return o.With(keys[0], v)
	}
	inner, _ := value.Members(at(o, keys[0]))
	return o.With(keys[0], SetPath(inner, keys[1:], v))
}

// encoding is how a dialect writes queries and bodies.
type encoding struct {
	query func(Object) string
	merge func(endpoint string, params Object) string
	json  func(Object) ([]byte, error)
}

var encoders = map[bool]encoding{
	false: {query: encodeQuery, merge: mergeQuery, json: encodeJSON},
	true: {query: php.BuildQuery, merge: php.MergeURL, json: func(o Object) ([]byte, error) {
		return php.EncodeJSON(o), nil
	}},
}

func encodeJSON(o Object) ([]byte, error) {
	if o == nil {
		o = Object{}
	}
	return value.Marshal(o)
}

// encodeQuery encodes params: scalars as name=value, lists and objects with their
// indexes and keys in brackets; null and empty lists are left out.
func encodeQuery(params Object) string {
	var pairs []string
	for _, m := range params {
		pairs = append(pairs, pairsOf(m.Name, m.Value)...)
	}
	return strings.Join(pairs, "&")
}

func pairsOf(name string, v any) []string {
	if text, ok := value.Text(v); ok {
		return []string{url.QueryEscape(name) + "=" + url.QueryEscape(text)}
	}
	var pairs []string
	if list, ok := v.([]any); ok {
		for i, e := range list {
			pairs = append(pairs, pairsOf(fmt.Sprintf("%s[%d]", name, i), e)...)
		}
	}
	object, _ := value.Members(v)
	for _, m := range object {
		pairs = append(pairs, pairsOf(name+"["+m.Name+"]", m.Value)...)
	}
	return pairs
}

// mergeQuery lays params over the query of an endpoint. What the endpoint says
// otherwise stays exactly as it is written.
func mergeQuery(endpoint string, params Object) string {
	rest, fragment, _ := strings.Cut(endpoint, "#")
	path, query, _ := strings.Cut(rest, "?")
	_ = fragment // never sent
	var parts []string
	used := map[string]bool{}
	if query != "" {
		for part := range strings.SplitSeq(query, "&") {
			name, _, _ := strings.Cut(part, "=")
			if plain, err := url.QueryUnescape(name); err == nil {
				name = plain
			}
			v, replaced := params.Get(name)
			switch {
			case !replaced:
				parts = append(parts, part)
			case !used[name]:
				used[name] = true
				parts = append(parts, pairsOf(name, v)...)
			}
		}
	}
	for _, m := range params {
		if !used[m.Name] {
			parts = append(parts, pairsOf(m.Name, m.Value)...)
		}
	}
	if len(parts) == 0 {
		return path
	}
	return path + "?" + strings.Join(parts, "&")
}

// ParseQuery takes a query string, or the query of a URL, apart: percent
// escapes decoded, order kept, a name that comes more than once as a list.
func ParseQuery(text string) Object {
	if _, query, ok := strings.Cut(text, "?"); ok {
		text = query
	} else if strings.Contains(text, "://") {
		return nil
	}
	text, _, _ = strings.Cut(text, "#")
	var out Object
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, v, _ := strings.Cut(part, "=")
		name, v = unescape(name), unescape(v)
		had, again := out.Get(name)
		switch list, isList := had.([]any); {
		case isList:
			out = out.With(name, append(list, v))
		case again:
			out = out.With(name, []any{had, v})
		default:
			out = out.With(name, v)
		}
	}
	return out
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
