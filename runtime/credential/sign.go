package credential

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/url"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A signer signs requests with what expressions give.
type signer struct {
	Options
	machines sync.Pool
	atOnce   bool // the expressions see the request as it was before them
}

func newSigner(of *rules.Auth, options Options) transport.Auth {
	s := &signer{Options: options, atOnce: of.AtOnce, machines: sync.Pool{New: func() any { return &language.Machine{} }}}
	auth := transport.Auth{Sign: s.sign}
	for _, e := range options.Expressions.Parts {
		auth.Computed = append(auth.Computed, e.Rule.Target)
	}
	return auth
}

// sign adds headers and parameters to a request, in the order of their expressions. Unless
// they are evaluated at once, each sees what those before it have added.
func (s *signer) sign(request *http.Request, body []byte) error {
	machine := s.machines.Get().(*language.Machine)
	defer s.machines.Put(machine)
	machine.Context = request.Context()
	page := s.page()
	page.UUID = sync.OnceValue(newUUID)
	for i, e := range s.Expressions.Parts {
		if i == 0 || !s.atOnce {
			page.Request = requestFacts(request, body)
		}
		text, err := s.Expressions.Text(e, machine, page)
		if err != nil {
			return s.fault(failure.Config, "the request cannot be signed: ", err)
		}
		if e.Rule.Role == rules.Header {
			request.Header.Set(e.Rule.Target, text)
			continue
		}
		address, err := url.Parse(transport.WithQuery(request.URL.String(), [][2]string{{e.Rule.Target, text}}))
		if err != nil {
			return s.fault(failure.Config, "the request cannot be signed: ", err)
		}
		request.URL = address
	}
	return nil
}

// requestFacts returns a request as expressions see it.
func requestFacts(r *http.Request, body []byte) rules.Object {
	headers := map[string]any{"Host": hostOf(r)}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	return rules.Object{
		{Name: "method", Value: r.Method}, {Name: "url", Value: r.URL.String()}, {Name: "path", Value: path},
		{Name: "query", Value: r.URL.RawQuery}, {Name: "headers", Value: headers}, {Name: "body", Value: string(body)},
	}
}

func hostOf(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
