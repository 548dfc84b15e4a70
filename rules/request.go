package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Request is one request, before it is encoded.
type Request struct {
	Method   string // GET, POST or FORM
	Base     string // address that Endpoint is resolved against
	Endpoint string // relative to Base, or an absolute address
	Params   Object // query of GET, body of POST and FORM
	Headers  Object
	Body     any           // JSON body in addition to the params of POST: an [Object], or nil
	After    time.Duration // to wait before it is sent
}

// FirstRequest returns the job's own request: endpoint, method, params, headers.
func (c *Config) FirstRequest(job Job) Request {
	r := Request{Method: job.Method, Base: c.BaseURL, Endpoint: job.Endpoint, Params: job.Params, Headers: c.HTTP.Headers}
	if len(job.Headers) > 0 {
		r.Headers = r.Headers.Merge(job.Headers)
	}
	return r
}

// Under returns the request with more parameters, which its own override
// (api.http.defaultOptions).
func (r Request) Under(params Object) Request {
	if len(params) > 0 {
		r.Params = params.Merge(r.Params)
	}
	return r
}

// Verb returns the HTTP method that is sent: POST for FORM.
func (r Request) Verb() string {
	if r.Method == "FORM" {
		return "POST"
	}
	return r.Method
}

// MaxURLBytes is the length of the longest address that is requested or read.
const MaxURLBytes = 8 << 10

// A LengthError says that something is longer than is allowed.
type LengthError struct {
	What  string // "the URL"
	Limit int    // in bytes
}

// Error returns the limit.
func (e *LengthError) Error() string {
	return fmt.Sprintf("%s is longer than %d bytes", e.What, e.Limit)
}

// CheckURLLength refuses an address that is longer than [MaxURLBytes]. Its error is a
// [*LengthError].
func CheckURLLength(address string) error {
	if len(address) <= MaxURLBytes {
		return nil
	}
	return &LengthError{What: "the URL", Limit: MaxURLBytes}
}

// URL returns the address that is sent: Endpoint resolved against Base (RFC 3986).
// For GET the params are merged into its query: one of the same name is replaced in
// its place, the others follow in their order. An address that is longer than
// [MaxURLBytes] is a [*LengthError].
func (r Request) URL(dialect string) (string, error) {
	endpoint := r.Endpoint
	encode := encoders[SwitchesOf(dialect).phpEncoding]
	if r.Verb() == "GET" && len(r.Params) > 0 {
		if value.Exceeds(r.Params, MaxURLBytes) { // before it is encoded
			return "", &LengthError{What: "the URL", Limit: MaxURLBytes}
		}
		endpoint = encode.merge(endpoint, r.Params)
	}
	return Resolve(r.Base, endpoint)
}

// Resolve resolves an address against a base (RFC 3986). It drops the base's own
// query and both fragments. An address that is longer than [MaxURLBytes] is a
// [*LengthError].
func Resolve(base, ref string) (string, error) {
	if err := CheckURLLength(ref); err != nil {
		return "", err
	}
	b, err := parseBase(base)
	if err != nil {
		return "", fmt.Errorf("not an address: %s", value.Clip(base, 80))
	}
	to, err := url.Parse(escapeIllegal(ref))
	if err != nil {
		return "", fmt.Errorf("not an address: %s", value.Clip(ref, 80))
	}
	if to.Scheme == "" && to.Host == "" && to.Path == "" {
		to.Path = b.Path // "?page=2" keeps the path, and "#f" the query
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

// A parsedBase is a base address that was parsed. Its URL is not changed.
type parsedBase struct {
	text string
	url  *url.URL
}

var lastBase atomic.Pointer[parsedBase]

// parseBase parses a base address, which the caller must not change. Nearly all addresses of a
// run are resolved against the same one, so the last one is kept.
func parseBase(base string) (*url.URL, error) {
	if last := lastBase.Load(); last != nil && last.text == base {
		return last.url, nil
	}
	u, err := url.Parse(base)
	if err == nil {
		lastBase.Store(&parsedBase{base, u})
	}
	return u, err
}

// escapeIllegal percent-encodes the characters that an address must not have:
// spaces, control characters, quotes, everything beyond ASCII, and a percent sign
// that does not begin an escape.
func escapeIllegal(ref string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(ref); i++ {
		c := ref[i]
		escaped := c == '%' && i+2 < len(ref) && isHex(ref[i+1]) && isHex(ref[i+2])
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || c == '%' && !escaped {
			fmt.Fprintf(&b, "%s%%%02X", ref[copied:i], c)
			copied = i + 1
		}
	}
	if copied == 0 {
		return ref
	}
	return b.String() + ref[copied:]
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// Payload returns the body that is sent and its content type, or nil for GET
// without a body. A POST sends its params, with Body merged into them, as a JSON
// object. A FORM sends them urlencoded.
func (r Request) Payload(dialect string) ([]byte, string, error) {
	encode := encoders[SwitchesOf(dialect).phpEncoding]
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
	object, _ := overlay(r.Params, body).(Object)
	text, err := encode.json(object)
	return text, "application/json", err
}

// overlay merges an object deeply into another, or into a list if its keys are
// indexes of that list. Any other value replaces the one under it.
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
	had := make(map[string]any, len(below))
	for _, m := range below {
		had[m.Name] = m.Value
	}
	merged := make(Object, len(above))
	for i, m := range above {
		merged[i] = Member{Name: m.Name, Value: overlay(had[m.Name], m.Value)}
	}
	return below.Merge(merged)
}

// SetPath returns an object with the value at a path of keys. It makes the objects
// along the path.
func SetPath(o Object, keys []string, v any) Object {
	if len(keys) == 1 {
		return o.With(keys[0], v)
	}
	had, _ := o.Get(keys[0])
	inner, _ := value.Members(had)
	return o.With(keys[0], SetPath(inner, keys[1:], v))
}

// encoding is how a dialect encodes queries and bodies.
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
// indexes and keys in brackets. It leaves out null and empty lists.
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

// mergeQuery merges params into the query of an endpoint. The other parameters of
// the endpoint keep their spelling.
func mergeQuery(endpoint string, params Object) string {
	rest, _, _ := strings.Cut(endpoint, "#") // the fragment is never sent
	path, query, _ := strings.Cut(rest, "?")
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

// ParseQuery returns the parameters of a query string, or of a URL: decoded, in
// order, with the values of a repeated name as a list. It takes time in proportion to
// the length of the text.
func ParseQuery(text string) Object {
	if _, query, ok := strings.Cut(text, "?"); ok {
		text = query
	} else if strings.Contains(text, "://") {
		return nil
	}
	text, _, _ = strings.Cut(text, "#")
	var params Object
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, v, _ := strings.Cut(part, "=")
		params = append(params, Member{Name: unescape(name), Value: unescape(v)})
	}
	return params.Gather()
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
