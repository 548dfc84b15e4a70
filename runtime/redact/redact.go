// Package redact hides secrets in logs, traces, messages and recordings.
//
// A [Redactor] knows the secrets of a run; its methods return
// texts, addresses, headers and bodies without them. A secret is hidden in every form in which
// it is usually written: plain, in base64 and in hexadecimal digits, alone or as a
// part of a longer text, and with the escapes of URLs, JSON, PHP and HTML, also if a
// text was escaped twice. Where a message was clipped (…), the beginning of a secret
// is hidden, too.
//
// # Decisions
//
// A text is unescaped before it is searched, since a list of spellings is never complete.
// Where a text was clipped, the beginning of a secret counts too, so that code that shortens
// texts need not know the secrets.
package redact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A Redactor hides secrets. It is safe for use by several goroutines. Use [New] to create one.
type Redactor struct {
	finder atomic.Pointer[finder]

	mu        sync.Mutex
	fixed     []namedSecret // secrets that are always hidden
	recent    []namedSecret // secrets that [Redactor.Hide] added, the latest last
	fragments []namedSecret // fragments of secrets; see [Redactor.HideFragments]
}

// maxRecent is the number of secrets of [Redactor.Hide] that are remembered, so that a token that
// changes with every request does not slow down later requests.
const maxRecent = 32

// ShortestSecret is the length, in bytes, of the shortest secret that is hidden within words. A
// shorter secret is hidden only as a separate word, and not in base64 or hexadecimal digits, because
// it occurs in too many other words.
const ShortestSecret = 4

// TokenName is the name of the secrets that [Redactor.Hide] adds.
const TokenName = "token"

// New returns a redactor that hides the secrets.
func New(secrets []string) *Redactor {
	byName := map[string]string{}
	for i, text := range secrets {
		byName[fmt.Sprintf("secret %d", i)] = text
	}
	return NewNamed(byName)
}

// NewNamed returns a redactor that hides secrets. [Redactor.Find] returns their names.
func NewNamed(secrets map[string]string) *Redactor {
	r := &Redactor{}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		r.fixed = append(r.fixed, namedSecret{name, secrets[name]})
	}
	r.update()
	return r
}

// Hide adds a secret, such as a token that was fetched during the run. Only the latest of these
// secrets are hidden.
func (r *Redactor) Hide(text string) { r.HideAs(TokenName, text) }

// HideAs is [Redactor.Hide] for a secret with a name of its own.
func (r *Redactor) HideAs(name, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := func(s namedSecret) bool { return s.text == text }
	if text == "" || slices.ContainsFunc(r.recent, same) || slices.ContainsFunc(r.fixed, same) {
		return
	}
	r.recent = append(r.recent, namedSecret{name, text})
	r.recent = r.recent[max(0, len(r.recent)-maxRecent):]
	r.update()
}

// update replaces the finder by one for the current secrets. If a text is a form of two secrets,
// the longer secret counts.
func (r *Redactor) update() {
	all := slices.Concat(r.fixed, r.recent, r.fragments)
	slices.SortStableFunc(all, func(a, b namedSecret) int { return cmp.Compare(len(b.text), len(a.text)) })
	r.finder.Store(newFinder(all))
}

// Find returns the places in a text that contain a secret, in any order; they may overlap. It is
// for a text that must be restored later: unlike [Redactor.Text], it finds neither the beginnings
// of secrets in a clipped text nor the surrounding text that reveals them in base64.
func (r *Redactor) Find(text string) []Match { return r.finder.Load().find(text, toSpellAgain) }

// Generation returns a value that identifies the current secrets: it equals an earlier result unless
// the secrets have changed.
func (r *Redactor) Generation() any { return r.finder.Load() }

// Contains reports whether a text contains a secret in any form.
func (r *Redactor) Contains(text string) bool { return len(r.Find(text)) > 0 }

// Hidden replaces a secret.
const Hidden = "***"

// Text returns a text with the secrets replaced by "***". It also hides the user
// name and the password in an address.
func (r *Redactor) Text(text string) string { return r.hide(text, toHide) }

func (r *Redactor) hide(text string, why purpose) string {
	text = hideUser(text)
	parts := joined(r.finder.Load().find(text, why))
	if parts == nil {
		return text
	}
	var b strings.Builder
	end := 0
	for _, part := range parts {
		b.WriteString(text[end:part.start])
		b.WriteString(Hidden)
		end = part.end
	}
	b.WriteString(text[end:])
	return b.String()
}

// hideUser hides the user names and the passwords of the addresses in a text.
func hideUser(text string) string {
	var b strings.Builder
	start, copied := 0, 0 // start is after the last @
	for {
		n := strings.IndexByte(text[start:], '@')
		if n < 0 {
			break
		}
		before := text[start : start+n]
		at := strings.LastIndexAny(before, "/?#@ \t\r\n\"\\<>") + 1
		if at < n && strings.HasSuffix(before[:at], "/") && slashes().MatchString(before[max(0, at-len(`:\/\/`)):at]) {
			b.WriteString(text[copied:start+at] + Hidden)
			copied = start + n
		}
		start += n + 1
	}
	if copied == 0 {
		return text
	}
	b.WriteString(text[copied:])
	return b.String()
}

// slashes matches the text before the user name in an address. The slashes may be escaped, as in
// JSON of PHP.
var slashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\\?/\\?/$`) })

// Shown returns a message or an address as people may see it: with the secrets hidden. In addresses, it also hides
// the parts that usually are secret: user name, password, and the values of parameters such as token.
func (r *Redactor) Shown(text string) string { return r.Text(Parameters(text)) }

// Parameters returns a text with the values of parameters that usually are secret, such as token, hidden in its
// addresses. In a form without an address, the first parameter must follow a "&".
func Parameters(text string) string {
	var b strings.Builder
	copied := 0
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "?&#")
		if i < 0 {
			break
		}
		at += i + 1
		at += len(text[at:]) - len(strings.TrimPrefix(text[at:], "amp;"))
		name := text[at : at+endOf(text[at:], "=&#?")]
		value := strings.TrimPrefix(text[at+len(name):], "=")
		value = value[:endOf(value, "&#")]
		start := at + len(name) + len("=")
		if name == "" || value == "" || text[start-1] != '=' {
			continue
		}
		at = start
		if plainName, plainValue := plainOf(name), plainOf(value); secret.IsName(plainName) ||
			secret.IsValue(plainName, plainValue) || secret.IsIssued(plainValue) {
			at += len(value)
			b.WriteString(text[copied:start] + Hidden)
			copied = at
		}
	}
	if copied == 0 {
		return text
	}
	return b.String() + text[copied:]
}

// endOf returns the offset at which a part of a parameter ends: at one of the given characters, or where an address does.
func endOf(text, ends string) int {
	for i := range len(text) {
		if strings.IndexByte(ends, text[i]) >= 0 || strings.IndexByte(" \t\r\n\f\v\"<>", text[i]) >= 0 {
			return i
		}
	}
	return len(text)
}

// plainOf returns a part of an address without its escapes.
func plainOf(text string) string {
	if u, ok := unescape(text); ok {
		return u.text
	}
	return text
}

// Header returns the value of a header with the secrets hidden. It hides the whole value if headers
// of that name usually hold a credential.
func (r *Redactor) Header(name, value string) string {
	if secret.IsName(name) {
		return Hidden
	}
	return r.Shown(value)
}

// JSON is [Redactor.Text] for a JSON text. The result is also JSON: a number that is a secret
// becomes a string.
func (r *Redactor) JSON(text string) string {
	out := r.Text(text)
	if out == text || json.Valid([]byte(out)) || !json.Valid([]byte(text)) {
		return out
	}
	return scalar().ReplaceAllStringFunc(text, func(one string) string {
		shown := r.Text(one)
		if one[0] == '"' || shown == one {
			return shown
		}
		return `"` + Hidden + `"`
	})
}

// scalar matches a string or another scalar of JSON.
var scalar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.\w]+`) })

// ExcerptBytes is the number of bytes of a body that [Redactor.Excerpt] needs.
const ExcerptBytes = 1024

// Excerpt returns the first 80 characters of a body, quoted, with the secrets hidden. head is the
// beginning of the body, and size its length in bytes.
func (r *Redactor) Excerpt(head []byte, size int) string {
	for n := range min(utf8.UTFMax, len(head)) { // the last character may be cut
		if size > len(head) && utf8.Valid(head[:len(head)-n]) {
			head = head[:len(head)-n]
			break
		}
	}
	why := toHide
	if size > len(head) {
		why = toHideCut
	}
	return fmt.Sprintf("%q", wording.Clip(r.hide(string(head), why), 80))
}
