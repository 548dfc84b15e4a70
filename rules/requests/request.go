// Package requests makes the addresses and bodies of requests, as the specification or as
// PHP encodes them.
package requests

import (
	"time"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Request is one request, before it is encoded.
type Request struct {
	Method   string       // GET, POST or FORM
	Base     Base         // Endpoint is resolved against it
	Endpoint string       // relative to Base, or an absolute address
	Params   value.Object // query of GET, body of POST and FORM
	Headers  value.Object
	Body     any           // JSON body in addition to the params of POST: a [value.Object], or nil
	After    time.Duration // the wait before it is sent
	Encoding Encoding
}

// Under returns the request with more parameters, which its own override
// (api.http.defaultOptions).
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

// URL returns the address that is sent: Endpoint resolved against Base (RFC 3986).
// For GET the params are merged into its query: one of the same name is replaced in
// its place, the others follow in their order. An address that is longer than
// [MaxURLBytes] is a [*LengthError].
func (r Request) URL() (string, error) {
	endpoint := r.Endpoint
	if r.Verb() == "GET" && len(r.Params) > 0 {
		if value.Exceeds(r.Params, MaxURLBytes) { // before it is encoded
			return "", &LengthError{What: "the URL", Limit: MaxURLBytes}
		}
		endpoint = r.Encoding.merge(endpoint, r.Params)
	}
	return r.Base.Resolve(endpoint)
}

// Payload returns the body that is sent and its content type, or nil for GET
// without a body. A POST sends its params, with Body merged into them, as a JSON
// object. A FORM sends them urlencoded.
func (r Request) Payload() ([]byte, string, error) {
	body, _ := value.Members(r.Body)
	switch {
	case r.Method == "FORM":
		return []byte(r.Encoding.query(r.Params)), "application/x-www-form-urlencoded", nil
	case r.Method == "GET" && r.Body == nil:
		return nil, "", nil
	case r.Method == "GET":
		text, err := r.Encoding.json(body)
		return text, "application/json", err
	}
	object, _ := value.Overlay(r.Params, body).(value.Object)
	text, err := r.Encoding.json(object)
	return text, "application/json", err
}

// An Encoding says how queries and bodies are written.
type Encoding int

// The encodings.
const (
	Standard Encoding = iota
	PHP               // true is 1, ~ is %7E, / is \/ in JSON
)

func (e Encoding) query(params value.Object) string {
	if e == PHP {
		return php.BuildQuery(params)
	}
	return encodeQuery(params)
}

func (e Encoding) merge(endpoint string, params value.Object) string {
	if e == PHP {
		return php.MergeURL(endpoint, params)
	}
	return mergeQuery(endpoint, params)
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
