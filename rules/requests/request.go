// Package requests makes the addresses and bodies of requests, as the specification or as
// PHP encodes them.
package requests

import (
	"cmp"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Request is one request, before it is encoded.
type Request struct {
	Method   string       // GET, POST or FORM
	Base     Base         // Endpoint is resolved against it
	Endpoint string       // relative to Base, or an absolute address
	Params   value.Object // query of GET, body of POST and FORM unless OwnBody is set
	Headers  value.Object
	Body     any           // JSON body in addition to the params of POST: a [value.Object], or nil
	OwnBody  bool          // Body is all of the body, and Params are in the query, whatever the method is
	After    time.Duration // the wait before it is sent
	Encoding Encoding
	Lists    ListStyle // how lists are written in queries and forms; with PHP, it has no effect
}

// Under returns the request with further parameters, such as api.http.defaultOptions. The request's
// own parameters override them.
func (r Request) Under(params value.Object) Request {
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

// ParamsInQuery reports whether the params are merged into the query of the address, as for GET and with OwnBody.
// Otherwise, they are the body.
func (r Request) ParamsInQuery() bool { return r.Verb() == "GET" || r.OwnBody }

// URL returns the address that is sent: Endpoint resolved against Base (RFC 3986).
// If the params are merged into its query, one of the same name is replaced in its place, and the others
// follow in their order. An address that is longer than [MaxURLBytes] is a [*LengthError].
func (r Request) URL() (string, error) {
	endpoint := r.Endpoint
	if r.ParamsInQuery() && len(r.Params) > 0 {
		if value.Exceeds(r.Params, MaxURLBytes) { // before it is encoded
			return "", &LengthError{What: "the URL", Limit: MaxURLBytes}
		}
		endpoint = r.merge(endpoint)
	}
	return r.Base.Resolve(endpoint)
}

// Payload returns the body that is sent and its content type, or nil for GET
// without a body. A POST sends its params, with Body merged into them, as a JSON
// object. A FORM sends the same members urlencoded.
func (r Request) Payload() ([]byte, string, error) {
	if r.Method == "GET" && r.Body == nil {
		return nil, "", nil
	}
	body, _ := value.Members(r.Body)
	if r.Method != "GET" && !r.OwnBody {
		body, _ = value.Overlay(r.Params, body).(value.Object)
	}
	if r.Method == "FORM" {
		return []byte(r.query(body)), "application/x-www-form-urlencoded", nil
	}
	text, err := r.Encoding.json(body)
	return text, "application/json", err
}

// An Encoding says how queries and bodies are written.
type Encoding int

// The encodings.
const (
	Standard Encoding = iota
	PHP               // true is 1, ~ is %7E, / is \/ in JSON
)

// A ListStyle says how a list of scalars is written in queries and forms. The zero style is [Indices].
type ListStyle string

// The styles. Lists in lists, and lists of objects, have indices in every style.
const (
	Indices  ListStyle = "indices"  // ids[0]=1&ids[1]=2
	Brackets ListStyle = "brackets" // ids[]=1&ids[]=2
	Repeat   ListStyle = "repeat"   // ids=1&ids=2
	Comma    ListStyle = "comma"    // ids=1,2
)

// ListStyles lists the styles.
func ListStyles() []string {
	return []string{string(Indices), string(Brackets), string(Repeat), string(Comma)}
}

func (r Request) query(params value.Object) string {
	if r.Encoding == PHP {
		return php.BuildQuery(params)
	}
	return r.Lists.query(params)
}

// merge returns an endpoint with the params of the request in its query.
func (r Request) merge(endpoint string) string {
	if r.Encoding == PHP {
		return php.MergeURL(endpoint, r.Params)
	}
	return r.Lists.merge(endpoint, r.Params)
}

func (e Encoding) json(object value.Object) ([]byte, error) {
	switch {
	case e == PHP:
		return php.EncodeJSON(object), nil
	case object == nil:
		object = value.Object{}
	}
	return value.Marshal(object)
}

// query encodes params: scalars as name=value, objects with their keys in brackets, and lists in
// the style. It leaves out null and empty lists.
func (s ListStyle) query(params value.Object) string {
	pairs := make([]string, 0, len(params))
	for _, m := range params {
		pairs = s.appendPairs(pairs, m.Name, m.Value)
	}
	return strings.Join(pairs, "&")
}

// appendPairs appends the pairs of a param, encoded, to a list.
func (s ListStyle) appendPairs(pairs []string, name string, v any) []string {
	if text, ok := value.Text(v); ok {
		return append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(text))
	}
	if list, ok := v.([]any); ok {
		if texts, ok := scalars(list); ok && len(texts) > 0 && s != Indices && s != "" {
			return append(pairs, s.list(name, texts)...)
		}
		for i, e := range list {
			pairs = s.appendPairs(pairs, fmt.Sprintf("%s[%d]", name, i), e)
		}
	}
	object, _ := value.Members(v)
	for _, m := range object {
		pairs = s.appendPairs(pairs, name+"["+m.Name+"]", m.Value)
	}
	return pairs
}

// list encodes a list of scalars, which has at least one.
func (s ListStyle) list(name string, texts []string) []string {
	for i, t := range texts {
		texts[i] = url.QueryEscape(t)
	}
	name = url.QueryEscape(name)
	if s == Comma {
		return []string{name + "=" + strings.Join(texts, ",")}
	}
	if s == Brackets {
		name += url.QueryEscape("[]")
	}
	return lists.Map(texts, func(t string) string { return name + "=" + t })
}

// scalars returns the texts of a list without its nulls. It reports false if another element is no
// scalar.
func scalars(list []any) (texts []string, ok bool) {
	for _, e := range list {
		text, isScalar := value.Text(e)
		switch {
		case isScalar:
			texts = append(texts, text)
		case e != nil:
			return nil, false
		}
	}
	return texts, true
}

// merge merges params into the query of an endpoint. The other parameters of the endpoint keep their
// spelling.
func (s ListStyle) merge(endpoint string, params value.Object) string {
	rest, _, _ := strings.Cut(endpoint, "#") // the fragment is never sent
	path, query, _ := strings.Cut(rest, "?")
	parts := make([]string, 0, len(params))
	used := map[string]bool{}
	if query != "" {
		for p := range Params(query) {
			name, v, replaced := paramOf(params, p.Name)
			switch {
			case !replaced:
				parts = append(parts, p.Text)
			case !used[name]:
				used[name] = true
				parts = s.appendPairs(parts, name, v)
			}
		}
	}
	for _, m := range params {
		if !used[m.Name] {
			parts = s.appendPairs(parts, m.Name, m.Value)
		}
	}
	if len(parts) == 0 {
		return path
	}
	return path + "?" + strings.Join(parts, "&")
}

// paramOf returns the param that a parameter of a query stands for: ids for ids[0], if ids is a list or
// an object.
func paramOf(params value.Object, name string) (param string, v any, found bool) {
	if v, found = params.Get(name); found {
		return name, v, true
	}
	param, _, inBrackets := strings.Cut(name, "[")
	if v, found = params.Get(param); !found || !inBrackets {
		return "", nil, false
	}
	_, isScalar := value.Text(v)
	return param, v, !isScalar
}

// ParseQuery returns the parameters of a query string, or of a URL: decoded, in
// order, with the values of a repeated name as a list. It takes time in proportion to
// the length of the text.
func ParseQuery(text string) value.Object {
	if _, query, ok := strings.Cut(text, "?"); ok {
		text = query
	} else if name, _, _ := strings.Cut(text, "="); strings.Contains(name, "/") { // an address without a query
		return nil
	}
	text, _, _ = strings.Cut(text, "#")
	var params value.Object
	for p := range Params(text) {
		if p.Text != "" {
			params = append(params, value.Member{Name: p.Name, Value: p.Value})
		}
	}
	return params.Gather()
}

// A Param is a parameter of a query. Text is how it is spelled; it may be empty.
type Param struct{ Name, Value, Text string }

// Params iterates over the parameters of a query, in order. A name or a value that cannot
// be decoded stays as it is spelled.
func Params(query string) iter.Seq[Param] {
	return func(yield func(Param) bool) {
		for text := range strings.SplitSeq(query, "&") {
			name, v, _ := strings.Cut(text, "=")
			if !yield(Param{unescape(name), unescape(v), text}) {
				return
			}
		}
	}
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// MaxURLBytes is the length of the longest address that is requested or read.
const MaxURLBytes = 8 << 10

// AcceptJSON is the header Accept of a request for a page, unless the configuration names a format.
const AcceptJSON = "application/json, */*;q=0.5"

// A LengthError says that something is longer than is allowed.
type LengthError struct {
	What  string // "the URL"
	Limit int    // bytes
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

// A Base is an address that others are resolved against. It was parsed once, since nearly
// all addresses of a run are resolved against the same one.
type Base struct {
	text   string
	url    *url.URL // nil if text is empty or not an address
	prefix string   // comes before plain relative addresses; "" if it is not known
}

// NewBase returns the base with a text, which need not be an address.
func NewBase(text string) Base {
	b := parseBase(text)
	if u := b.url; u != nil && u.Host != "" && u.Opaque == "" && (u.Path == "" || isPlain(u.Path)) {
		folder := u.Path[:strings.LastIndexByte(u.Path, '/')+1]
		b.prefix = (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: cmp.Or(folder, "/")}).String()
	}
	return b
}

func parseBase(text string) Base {
	u, err := url.Parse(text)
	if err != nil {
		u = nil
	}
	return Base{text: text, url: u}
}

// isPlain reports whether a path has only letters, digits and separators that are never escaped, and neither an empty
// segment nor one that begins with a dot.
func isPlain(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '~':
		case c == '/', c == '.' && i > 0:
			if i > 0 && path[i-1] == '/' {
				return false
			}
		default:
			return false
		}
	}
	return path != ""
}

// String returns the address as it was given.
func (b Base) String() string { return b.text }

// Resolve resolves an address against a base (RFC 3986). It drops the base's own
// query and both fragments. An address that is longer than [MaxURLBytes] is a
// [*LengthError].
func Resolve(base, ref string) (string, error) { return parseBase(base).Resolve(ref) }

// Resolve resolves an address against b, as the function [Resolve] does.
func (b Base) Resolve(ref string) (string, error) {
	if err := CheckURLLength(ref); err != nil {
		return "", err
	}
	if b.prefix != "" && isRelative(ref) {
		return b.prefix + ref, nil
	}
	base := b.url
	switch {
	case base == nil && b.text == "":
		base = &url.URL{}
	case base == nil:
		return "", fmt.Errorf("not an address: %s", wording.Clip(b.text, 80))
	}
	to, err := url.Parse(escapeIllegal(ref))
	if err != nil {
		return "", fmt.Errorf("not an address: %s", wording.Clip(ref, 80))
	}
	if to.Scheme == "" && to.Host == "" && to.Path == "" {
		to.Path = base.Path // "?page=2" keeps the path, and "#f" the query
		if to.RawQuery == "" && !to.ForceQuery {
			to.RawQuery = base.RawQuery
		}
	}
	out := base.ResolveReference(to)
	if out.Path == "" {
		out.Path = "/"
	}
	out.Fragment, out.RawFragment, out.ForceQuery = "", "", false
	return out.String(), nil
}

// isRelative reports whether an address is a plain path, with or without a query, that begins with a name.
func isRelative(ref string) bool {
	path, query, hasQuery := strings.Cut(ref, "?")
	return isPlain(path) && path[0] != '/' && hasQuery == (query != "") && strings.IndexByte(query, '#') < 0 && escapeIllegal(query) == query
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
			b.WriteString(ref[copied:i] + fmt.Sprintf("%%%02X", c))
			copied = i + 1
		}
	}
	return b.String() + ref[copied:]
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
