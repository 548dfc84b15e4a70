package saved

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// delimiter encloses the name of a secret. An empty name stands for the delimiter itself.
const delimiter = "\ue0f5"

// numberTag is the only key in the object that represents a number that is a secret.
const numberTag = delimiter + "number" + delimiter

// escapings are the ways in which a secret may be escaped in a text. The first that fits is used. If a
// text mixes several, it is restored in the first escaping that fits one of its characters. The names
// are in checkpoints, so they must not change: ? escapes as a query, / as a path, 20 writes a space as
// %20, l writes digits in lower case, ?? escapes twice.
var escapings = []struct {
	name, character string
	of              func(text string) string
}{
	{"?20", "%", func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }},
	{"?", "%", url.QueryEscape},
	{"/", "%", url.PathEscape},
	{"?20l", "%", func(text string) string { return lowerPercent(strings.ReplaceAll(url.QueryEscape(text), "+", "%20")) }},
	{"?l", "%", func(text string) string { return lowerPercent(url.QueryEscape(text)) }},
	{"/l", "%", func(text string) string { return lowerPercent(url.PathEscape(text)) }},
	{"??", "%", func(text string) string { return url.QueryEscape(url.QueryEscape(text)) }},
	{"json", `\`, func(text string) string { return quoted(value.Marshal, text) }},
	{"json/", `\`, func(text string) string { return strings.ReplaceAll(quoted(value.Marshal, text), "/", `\/`) }},
	{"json<", `\`, func(text string) string { return quoted(json.Marshal, text) }},
	{"html", "&", html.EscapeString},
}

var percentEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9A-F]{2}`) })

func lowerPercent(text string) string {
	return percentEscape().ReplaceAllStringFunc(text, strings.ToLower)
}

// quoted returns a text as it is written in a JSON string.
func quoted(marshal func(any) ([]byte, error), text string) string {
	out, _ := marshal(text) // a string always has an encoding
	return string(out[1 : len(out)-1])
}

// A Concealer replaces secrets in saved values by their names, and the names by the secrets.
type Concealer struct {
	redactor   *redact.Redactor
	secrets    map[string]string // by name
	fetch      Fetch
	generation any // identifies the current secrets of the redactor
}

// A Fetch returns the current value of a secret that a run fetches, such as a token.
type Fetch func(name string) (text string, known bool, err error)

// NewConcealer returns a concealer of the given secrets, by name, and of the secrets that a
// redactor with the same secrets has learned during the run. It reveals other secrets with fetch,
// which may be nil.
func NewConcealer(secrets map[string]string, redactor *redact.Redactor, fetch Fetch) *Concealer {
	return &Concealer{redactor: redactor, secrets: secrets, fetch: fetch, generation: redactor.Generation()}
}

// Generation identifies the secrets that were known when the concealer was made. Checkpoints keep
// encoded values under it.
func (c *Concealer) Generation() any { return c.generation }

// ConcealJSON replaces the secrets in the values of a checkpoint by their names. The checkpoint is a
// JSON object without insignificant white space.
func (c *Concealer) ConcealJSON(checkpoint []byte) ([]byte, error) {
	if !c.changes(checkpoint) {
		return checkpoint, nil
	}
	return replaceMembers(checkpoint, func(v any) (any, error) { return c.conceal(v, digestInCheckpoint), nil })
}

// changes reports whether a text or a number in a JSON document has a secret or a delimiter.
func (c *Concealer) changes(document []byte) bool {
	if bytes.Contains(document, []byte(delimiter)) {
		return true
	}
	for {
		text := bytes.IndexByte(document, '"')
		if text < 0 {
			return c.has(document)
		}
		end := text + 1
		for document[end] != '"' {
			if document[end] == '\\' {
				end++
			}
			end++
		}
		if c.has(document[:text]) || c.has(scan.Unquote(document[text:end+1])) { // the numbers before the text, and the text
			return true
		}
		document = document[end+1:]
	}
}

func (c *Concealer) has(text []byte) bool { return len(c.find(string(text))) > 0 }

// find returns the places of secrets that are replaced in a saved text.
func (c *Concealer) find(text string) []redact.Match {
	return slices.DeleteFunc(c.redactor.Find(text), func(f redact.Match) bool { return isTime(f.Secret) })
}

// isTime reports whether the text of a secret is a time or a date, such as a value from the environment at which windows end.
// It stays in saved values. A number does not, since it may be a PIN.
func isTime(text string) bool {
	_, err := times.Parse(text)
	return err == nil
}

// RevealJSON replaces the names of secrets in a checkpoint by the secrets. It is an error if a secret has changed, unless
// the run fetches it or it is a key.
func (c *Concealer) RevealJSON(checkpoint []byte) ([]byte, error) {
	if !bytes.Contains(checkpoint, []byte(delimiter)) {
		return checkpoint, nil
	}
	return replaceMembers(checkpoint, c.RevealValue)
}

// Encode encodes a value of a checkpoint as [Value] does, without its secrets.
func (c *Concealer) Encode(v any) (json.RawMessage, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	if err := value.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return json.Marshal(c.conceal(v, digestInCheckpoint))
}

// ConcealValue returns a value for the next run with the secrets replaced by their names.
func (c *Concealer) ConcealValue(v any) any { return c.conceal(v, digestOf) }

// conceal returns a value with the secrets replaced by their names, with digests.
func (c *Concealer) conceal(v any, digest func(secret string) string) any {
	name := func(text string) (string, error) { return c.concealText(text, digest), nil }
	out, _ := value.Replace(v, value.Replacement{Name: name, Scalar: func(v any) (any, error) {
		switch v := v.(type) {
		case string:
			return c.concealText(v, digest), nil
		case json.Number:
			text := c.concealText(v.String(), digest)
			if strings.HasPrefix(text, delimiter) && strings.HasSuffix(text, delimiter) && strings.Count(text, delimiter) == 2 {
				return map[string]any{numberTag: text}, nil
			}
		}
		return v, nil
	}})
	return out
}

// concealText replaces the secrets in a text. Of overlapping secrets it replaces the first and
// longest.
func (c *Concealer) concealText(text string, digest func(secret string) string) string {
	found := c.find(text)
	if len(found) == 0 {
		return strings.ReplaceAll(text, delimiter, delimiter+delimiter)
	}
	for i := range found {
		found[i] = withoutNeedlessEscape(text, found[i])
	}
	slices.SortFunc(found, func(a, b redact.Match) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	var out strings.Builder
	end := 0
	for _, f := range found {
		if f.Start < end {
			continue
		}
		out.WriteString(strings.ReplaceAll(text[end:f.Start], delimiter, delimiter+delimiter))
		out.WriteString(delimiter + c.nameOf(f, text[f.Start:f.End], digest) + delimiter)
		end = f.End
	}
	out.WriteString(strings.ReplaceAll(text[end:], delimiter, delimiter+delimiter))
	return out.String()
}

// withoutNeedlessEscape narrows a found place to the secret itself if the text has a needless
// escape before it, such as the backslash of "\~". The restored text is the same.
func withoutNeedlessEscape(text string, f redact.Match) redact.Match {
	revealed, known := redact.Spell(f.Form, f.Secret)
	if !f.Escaped || !known || revealed == "" {
		return f
	}
	if at := strings.Index(text[f.Start:f.End], revealed); at >= 0 {
		f.Start += at
		f.End, f.Escaped = f.Start+len(revealed), false
	}
	return f
}

// nameOf returns the name of a secret together with its spelling and, unless the run fetches it, a digest.
func (c *Concealer) nameOf(f redact.Match, written string, digest func(secret string) string) string {
	parts := []string{f.Name, f.Form, "", ""}
	if f.Escaped {
		if f.Form == "+" { // the escapes of URLs include it
			parts[1] = ""
		}
		plain, _ := redact.Spell(parts[1], f.Secret)
		parts[2] = escapingOf(plain, written)
	}
	name := f.Name
	if whole, _, isFragment := redact.ParseFragmentName(name); isFragment {
		name = whole
	}
	if _, given := c.secrets[name]; given {
		parts[3] = digest(f.Secret)
	}
	return strings.TrimRight(strings.Join(parts, "|"), "|")
}

// escapingOf returns the name of the escaping in which a text is written, or "" for none.
func escapingOf(plain, written string) string {
	for _, e := range escapings {
		if e.of(plain) == written {
			return e.name
		}
	}
	for _, e := range escapings {
		if strings.Contains(written, e.character) {
			return e.name
		}
	}
	return ""
}

// digestOf returns a digest that shows whether a secret has changed. It has only 16 bits, so that many texts have
// the same digest, and none but the shortest can be found from it.
func digestOf(secret string) string {
	return value.SHA256(secret)[:4]
}

// keyDigest stands in checkpoints for the digest of a key, which may have changed.
const keyDigest = "key"

// digestInCheckpoint is [digestOf] for a checkpoint. A key is not there by chance, but because the next request has it,
// and the run may go on with a new key.
func digestInCheckpoint(secret string) string {
	if isKey(secret) {
		return keyDigest
	}
	return digestOf(secret)
}

// isKey reports whether a secret is random, so that no other value contains its text.
func isKey(text string) bool { return secret.IsIssued(text) || secret.IsRandom(text) }

// RevealValue returns a value with the names of secrets replaced by the secrets. See [Concealer.RevealJSON].
func (c *Concealer) RevealValue(v any) (any, error) {
	return value.Replace(v, value.Replacement{
		Name: c.revealText,
		Scalar: func(v any) (any, error) {
			if text, ok := v.(string); ok {
				return c.revealText(text)
			}
			return v, nil
		},
		Object: func(object map[string]any) any {
			if text, ok := object[numberTag].(string); ok && len(object) == 1 {
				return json.Number(text)
			}
			return object
		},
	})
}

func (c *Concealer) revealText(text string) (string, error) {
	if text == numberTag {
		return text, nil
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, delimiter)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, found := strings.Cut(after, delimiter)
		if !found {
			return "", fmt.Errorf("the name of a secret is not terminated")
		}
		secret, err := c.spell(name)
		if err != nil {
			return "", err
		}
		out.WriteString(secret)
		text = after
	}
}

// spell returns the current value of a secret, which must have the digest in its name, in the spelling that its name states.
func (c *Concealer) spell(name string) (string, error) {
	if name == "" {
		return delimiter, nil
	}
	parts := append(strings.Split(name, "|"), "", "", "") // nameOf leaves out empty parts at the end
	current, err := c.current(parts[0])
	if err != nil {
		return "", err
	}
	if digest := parts[3]; digest != "" && digest != digestOf(current) && (digest != keyDigest || !isKey(current)) {
		return "", fmt.Errorf("it contains the secret %q, which has changed: set the earlier one, or start over", parts[0])
	}
	text, ok := redact.Spell(parts[1], current)
	if !ok {
		return "", fmt.Errorf("it has the secret %q in the unknown form %q", parts[0], parts[1])
	}
	for _, e := range escapings {
		if e.name == parts[2] {
			return e.of(text), nil
		}
	}
	return text, nil
}

// current returns the current value of a secret or of a part of a secret. The part is hidden from now on.
func (c *Concealer) current(name string) (string, error) {
	secret, known := c.secrets[name]
	if known {
		return secret, nil
	}
	if whole, place, ok := redact.ParseFragmentName(name); ok {
		if secret, err := c.current(whole); err != nil {
			return "", err
		} else if part, ok := redact.Fragment(secret, place); ok {
			c.redactor.HideFragments(part)
			return part, nil
		}
		return "", fmt.Errorf("it needs a part of the secret %q, which has changed", whole)
	}
	if c.fetch != nil {
		var err error
		if secret, known, err = c.fetch(name); err != nil {
			return "", err
		}
	}
	switch {
	case known:
		return secret, nil
	case name == redact.TokenName:
		return "", errors.New("it needs a bearer token, which the credentials do not have")
	}
	return "", fmt.Errorf("it needs the secret %q, which the configuration does not have", name)
}

// replaceMembers replaces the values of the members of a JSON object.
func replaceMembers(document []byte, replace func(any) (any, error)) ([]byte, error) {
	var members map[string]any
	if err := value.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	for name, v := range members {
		var err error
		if members[name], err = replace(v); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}
