// Package redact hides secrets in logs, traces, messages and recordings.
//
// It is one file. A [Redactor] knows the secrets of a run; its methods return what
// may be printed of a text, an address, a header or a body. A secret is hidden in
// every form in which it is usually written: plain, in URLs, in JSON and in base64.
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

// A Redactor hides secrets. It may be used by several goroutines. Use [New] to make
// one.
type Redactor struct {
	replacer atomic.Pointer[strings.Replacer]

	mu     sync.Mutex
	fixed  []string // secrets that are always hidden
	recent []string // secrets that [Redactor.Hide] added, the latest last
}

// maxRecent is how many secrets of [Redactor.Hide] are remembered: a token that
// changes with every request must not cost more with every request.
const maxRecent = 32

// ShortestSecret is the length of the shortest secret that is hidden, in bytes.
// Shorter ones occur in too many other words.
const ShortestSecret = 4

// New returns a redactor that hides the secrets. Secrets shorter than
// [ShortestSecret] are not hidden.
func New(secrets []string) *Redactor {
	r := &Redactor{fixed: secrets}
	r.update()
	return r
}

// Hide adds a secret, such as a token that was fetched during the run. Only the
// latest of these are hidden.
func (r *Redactor) Hide(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.recent, secret) || slices.Contains(r.fixed, secret) {
		return
	}
	r.recent = append(r.recent, secret)
	r.recent = r.recent[max(0, len(r.recent)-maxRecent):]
	r.update()
}

// update replaces the replacer by one for the present secrets.
func (r *Redactor) update() {
	forms := map[string]string{}
	for _, secret := range slices.Concat(r.fixed, r.recent) {
		if len(secret) < ShortestSecret {
			continue
		}
		for _, form := range formsOf(secret) {
			forms[form] = hidden
		}
	}
	r.replacer.Store(Replacer(forms))
}

// Replacer returns a replacer of texts by others. Of two texts that begin at the same
// place, it replaces the longer one.
func Replacer(replacements map[string]string) *strings.Replacer {
	longestFirst := slices.SortedFunc(maps.Keys(replacements), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	var pairs []string
	for _, text := range longestFirst {
		pairs = append(pairs, text, replacements[text])
	}
	return strings.NewReplacer(pairs...)
}

// formsOf returns the ways in which a secret is usually written.
func formsOf(secret string) []string {
	raw := []byte(secret)
	return []string{
		secret, inJSON(secret, true), inJSON(secret, false),
		url.PathEscape(secret), url.QueryEscape(secret), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
		base64.StdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw),
		base64.RawStdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	}
}

// inJSON returns a text as a JSON string has it. Encoders differ in whether they
// escape <, > and &.
func inJSON(text string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	_ = enc.Encode(text) // a string can always be encoded
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// hidden replaces a secret.
const hidden = "***"

// String returns a text with the secrets replaced by "***".
func (r *Redactor) String(text string) string { return r.replacer.Load().Replace(text) }

// secretParam matches parameters that usually hold credentials.
var secretParam = regexp.MustCompile(
	`(?i)([?&](?:api_?key|key|(?:access_)?token|client_secret|secret|password|pwd|signature|sig|auth)=)[^&#]+`)

// userinfo matches the user name and the password of an address.
var userinfo = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#@]*@`)

// URL returns an address with the secrets hidden. It also hides what usually is a
// secret: user name, password, and the values of parameters such as token.
func (r *Redactor) URL(address string) string {
	address = secretParam.ReplaceAllString(address, "${1}"+hidden)
	return r.String(userinfo.ReplaceAllString(address, "${1}"+hidden+"@"))
}

// secretHeader matches headers that usually hold credentials.
var secretHeader = regexp.MustCompile(`(?i)^(?:(?:proxy-)?authorization|(?:set-)?cookie|` +
	`(?:x-)?(?:api-?key|auth|auth-?token|access-?token|csrf-?token|amz-security-token|vault-token))$`)

// Header returns the value of a header with the secrets hidden. It hides the
// complete value if a header of that name usually holds a credential.
func (r *Redactor) Header(name, value string) string {
	if secretHeader.MatchString(name) {
		return hidden
	}
	return r.URL(value)
}

// Writer returns a writer that hides the secrets in what it writes to w. It writes
// only complete lines, so that no secret is cut in two; Close writes the rest.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &redactingWriter{r: r, w: w} }

type redactingWriter struct {
	mu   sync.Mutex
	r    *Redactor
	w    io.Writer
	rest []byte // a line that is not complete yet
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

// Close writes the last line, if it has no newline.
func (w *redactingWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.r.String(string(w.rest)))
	w.rest = nil
	return err
}

// ExcerptBytes is how many bytes of a body [Redactor.Excerpt] needs: enough for
// every secret in the excerpt to be complete.
const ExcerptBytes = 1024

// Excerpt returns the first 80 characters of a body, quoted, with the secrets
// hidden. head is the beginning of the body, and size its length in bytes.
func (r *Redactor) Excerpt(head []byte, size int) string {
	for n := range min(utf8.UTFMax, len(head)) { // the last character may be cut
		if size > len(head) && utf8.Valid(head[:len(head)-n]) {
			head = head[:len(head)-n]
			break
		}
	}
	return fmt.Sprintf("%q", value.Clip(r.String(string(head)), 80))
}
