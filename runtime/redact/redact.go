// Package redact hides secrets in logs, traces, messages and recordings.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Redactor hides secrets in whatever is printed. It may be used by several
// goroutines.
type Redactor struct {
	replacer atomic.Pointer[strings.Replacer]

	mu    sync.Mutex
	forms map[string]bool // of all secrets
}

// shortestSecret is the length from which a secret is hidden by its text: hiding
// a shorter one would hide half of what is printed.
const shortestSecret = 4

// New returns a redactor that hides the secrets, also as they are written in
// URLs, in JSON and in base64.
func New(secrets []string) *Redactor {
	r := &Redactor{forms: map[string]bool{}}
	r.Hide(secrets...)
	return r
}

// Hide adds secrets, such as a token that was fetched during the run.
func (r *Redactor) Hide(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.forms)
	for _, s := range secrets {
		if len(s) < shortestSecret || r.forms[s] {
			continue
		}
		for _, form := range []string{
			s, url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(url.QueryEscape(s), "+", "%20"), inJSON(s, true), inJSON(s, false),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
			base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			r.forms[form] = true
		}
	}
	if len(r.forms) == before && r.replacer.Load() != nil {
		return
	}
	words := slices.SortedFunc(maps.Keys(r.forms), func(a, b string) int { // the longest first
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, w := range words {
		pairs = append(pairs, w, hidden)
	}
	r.replacer.Store(strings.NewReplacer(pairs...))
}

// inJSON writes a text as in a JSON string; encoders differ in <, > and &.
func inJSON(text string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	_ = enc.Encode(text) // a string can always be encoded
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

const hidden = "***"

// String returns a text with the secrets hidden.
func (r *Redactor) String(text string) string { return r.replacer.Load().Replace(text) }

// secretParam matches parameters that usually hold credentials.
var secretParam = regexp.MustCompile(
	`(?i)([?&](?:api_?key|key|(?:access_)?token|client_secret|secret|password|pwd|signature|sig|auth)=)[^&#]+`)

var userinfo = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#@]*@`)

// URL returns an address with the secrets hidden, and what is usually one: user
// names, passwords, and parameters with names such as token.
func (r *Redactor) URL(address string) string {
	address = secretParam.ReplaceAllString(address, "${1}"+hidden)
	return r.String(userinfo.ReplaceAllString(address, "${1}"+hidden+"@"))
}

// secretHeader matches headers that usually hold credentials.
var secretHeader = regexp.MustCompile(`(?i)^(?:(?:proxy-)?authorization|(?:set-)?cookie|` +
	`(?:x-)?(?:api-?key|auth|auth-?token|access-?token|csrf-?token|amz-security-token|vault-token))$`)

// Header returns the value of a header with the secrets hidden. The whole value is
// hidden if a header of that name usually holds a credential.
func (r *Redactor) Header(name, value string) string {
	if secretHeader.MatchString(name) {
		return hidden
	}
	return r.URL(value)
}

// Writer returns a writer that hides the secrets in what it writes to w. It writes
// complete lines, so that no secret passes in two pieces; Close writes the rest.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &redactingWriter{r: r, w: w} }

type redactingWriter struct {
	mu   sync.Mutex
	r    *Redactor
	w    io.Writer
	rest []byte
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := io.WriteString(w.w, w.r.String(string(w.rest[:end])))
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(p), err
}

// Close writes a last line that has no end.
func (w *redactingWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.r.String(string(w.rest)))
	w.rest = nil
	return err
}

// ExcerptBytes is how much of a body [Redactor.Excerpt] needs to see: enough
// that a secret in the part it shows is complete.
const ExcerptBytes = 1024

// Excerpt quotes the first 80 characters of a body of size bytes, whose first
// bytes are head, with the secrets hidden.
func (r *Redactor) Excerpt(head []byte, size int) string {
	if size == 0 {
		return "nothing: it is empty"
	}
	for n := range min(utf8.UTFMax, len(head)) { // the last character may be cut
		if size > len(head) && utf8.Valid(head[:len(head)-n]) {
			head = head[:len(head)-n]
			break
		}
	}
	return fmt.Sprintf("%q", value.Clip(r.String(string(head)), 80))
}
