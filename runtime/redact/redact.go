package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Redactor hides secrets in whatever is printed.
type Redactor struct {
	replacer *strings.Replacer
}

// shortest secret that is hidden by its text: hiding a shorter one would hide
// half of what is printed.
const shortestSecret = 4

// New hides the secrets, also as they stand in URLs, in JSON and in
// base64, the longest first.
func New(secrets []string) *Redactor {
	forms := map[string]bool{}
	for _, s := range secrets {
		if len(s) < shortestSecret {
			continue
		}
		for _, form := range []string{
			s, url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(url.QueryEscape(s), "+", "%20"), inJSON(s, true), inJSON(s, false),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
			base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			forms[form] = true
		}
	}
	var words []string
	for form := range forms {
		words = append(words, form)
	}
	sort.Slice(words, func(i, j int) bool {
		return len(words[i]) > len(words[j]) || len(words[i]) == len(words[j]) && words[i] < words[j]
	})
	var pairs []string
	for _, w := range words {
		pairs = append(pairs, w, hidden)
	}
	return &Redactor{replacer: strings.NewReplacer(pairs...)}
}

// inJSON is a text as it stands in a JSON string; encoders differ in <, > and &.
func inJSON(text string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	_ = enc.Encode(text) // a string can always be encoded
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

const hidden = "***"

// String hides the secrets in a text.
func (r *Redactor) String(text string) string { return r.replacer.Replace(text) }

// secretParam finds the parameters that usually hold credentials.
var secretParam = regexp.MustCompile(`(?i)([?&](?:api_?key|key|(?:access_)?token|client_secret|secret|password|pwd|signature|sig|auth)=)[^&#]+`)

var userinfo = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#@]*@`)

// URL hides the secrets in an address, and what usually is one: user names,
// passwords, and parameters with such names.
func (r *Redactor) URL(address string) string {
	address = secretParam.ReplaceAllString(address, "${1}"+hidden)
	return r.String(userinfo.ReplaceAllString(address, "${1}"+hidden+"@"))
}

// secretHeader finds the headers that usually hold credentials.
var secretHeader = regexp.MustCompile(`(?i)^(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:api-?key|auth|auth-?token|access-?token|csrf-?token|amz-security-token|vault-token))$`)

// Header hides the secrets in the value of a header, and a value that usually
// is one by the header's name.
func (r *Redactor) Header(name, value string) string {
	if secretHeader.MatchString(name) {
		return hidden
	}
	return r.URL(value)
}

// Writer hides the secrets in what is written to w. It passes whole lines on,
// so that no secret gets through in two pieces; Close passes the rest on.
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

// Close passes on a last line that has no end.
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
