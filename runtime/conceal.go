package runtime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A checkpoint and the values for the next run hold values that rules computed, and
// some contain secrets: a next link that repeats a key, or a secret input. So a
// secret is replaced by its name, and the name by the present value when the values
// are read again. The secret may have changed in between.

// mark encloses the name of a secret. An empty name stands for the mark itself.
const mark = "\ue0f5"

// numberTag is the only name in the object that stands for a number that is a secret.
const numberTag = mark + "number" + mark

// escapings are the ways in which a secret is escaped in a text. The first that
// fits is used; a mixture of them is restored as the first with its character.
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

var percentEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerPercent(text string) string {
	return percentEscape.ReplaceAllStringFunc(text, strings.ToLower)
}

// quoted returns a text as a JSON string has it.
func quoted(marshal func(any) ([]byte, error), text string) string {
	out, _ := marshal(text) // a string can always be encoded
	return string(out[1 : len(out)-1])
}

// A concealer keeps secrets out of what is saved.
type concealer struct {
	find    func(text string) []redact.Found
	secrets map[string]string                                      // by name
	fetched func(name string) (text string, known bool, err error) // the present value of a secret that a run fetches; nil: none

	secretsNow any // identifies the secrets that find finds
}

// newConcealer returns a concealer of secrets by their names, and of those that a
// redactor with the same secrets has learned during the run.
func newConcealer(secrets map[string]string, redactor *redact.Redactor) *concealer {
	return &concealer{find: redactor.Find, secrets: secrets, secretsNow: redactor.Secrets()}
}

// concealer returns a concealer that can also reveal secrets that the client fetches.
func (l *Loop) concealer(ctx context.Context) *concealer {
	c := newConcealer(l.Secrets, l.Redactor)
	c.fetched = func(name string) (string, bool, error) { return l.Client.Secret(ctx, name) }
	return c
}

// conceal replaces the secrets in the values of a checkpoint by their names.
func (c *concealer) conceal(token []byte) ([]byte, error) {
	return replaceMembers(token, func(v any) (any, error) { return c.concealed(v), nil })
}

// reveal replaces the names of secrets in a checkpoint by their present values.
func (c *concealer) reveal(token []byte) ([]byte, error) {
	if !bytes.Contains(token, []byte(mark)) {
		return token, nil
	}
	return replaceMembers(token, c.revealed)
}

// concealed returns a value with the names of secrets instead of the secrets.
func (c *concealer) concealed(v any) any {
	out, _ := replaceIn(v, replacement{
		text: func(text string) (string, error) { return c.concealText(text), nil },
		scalar: func(v any) (any, error) {
			if n, ok := v.(json.Number); ok {
				if text := c.concealText(n.String()); strings.HasPrefix(text, mark) && strings.HasSuffix(text, mark) && strings.Count(text, mark) == 2 {
					return map[string]any{numberTag: text}, nil
				}
			}
			return v, nil
		},
	})
	return out
}

// concealText replaces the secrets in a text. Where they overlap, the first and
// longest is replaced.
func (c *concealer) concealText(text string) string {
	found := c.find(text)
	if len(found) == 0 {
		return strings.ReplaceAll(text, mark, mark+mark)
	}
	for i := range found {
		found[i] = withoutNeedlessEscape(text, found[i])
	}
	slices.SortFunc(found, func(a, b redact.Found) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	var out strings.Builder
	end := 0
	for _, one := range found {
		if one.Start < end {
			continue
		}
		out.WriteString(strings.ReplaceAll(text[end:one.Start], mark, mark+mark))
		out.WriteString(mark + c.nameOf(one, text[one.Start:one.End]) + mark)
		end = one.End
	}
	out.WriteString(strings.ReplaceAll(text[end:], mark, mark+mark))
	return out.String()
}

// withoutNeedlessEscape narrows what was found to the secret as it is, if it stands in
// the text behind an escape that does nothing: the ~ of "\~". It is restored the same.
func withoutNeedlessEscape(text string, one redact.Found) redact.Found {
	plain, known := redact.Spell(one.Form, one.Secret)
	if !one.Escaped || !known || plain == "" {
		return one
	}
	if at := strings.Index(text[one.Start:one.End], plain); at >= 0 {
		one.Start += at
		one.End, one.Escaped = one.Start+len(plain), false
	}
	return one
}

// nameOf returns the name of a secret, and how it is written.
func (c *concealer) nameOf(one redact.Found, written string) string {
	name := one.Name + "|" + one.Form
	if !one.Escaped {
		return strings.TrimSuffix(name, "|")
	}
	form := one.Form
	if form == "+" { // the escapes of URLs include it
		form, name = "", one.Name+"|"
	}
	plain, _ := redact.Spell(form, one.Secret)
	for _, e := range escapings {
		if e.of(plain) == written {
			return name + "|" + e.name
		}
	}
	for _, e := range escapings {
		if strings.Contains(written, e.character) {
			return name + "|" + e.name
		}
	}
	return strings.TrimSuffix(name, "|")
}

// revealed returns a value with the present values of the secrets that it names.
func (c *concealer) revealed(v any) (any, error) {
	return replaceIn(v, replacement{text: c.revealText, object: func(object map[string]any) any {
		if text, ok := object[numberTag].(string); ok && len(object) == 1 {
			return json.Number(text)
		}
		return object
	}})
}

func (c *concealer) revealText(text string) (string, error) {
	if text == numberTag {
		return text, nil
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, mark)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, found := strings.Cut(after, mark)
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

// spell returns the present value of a secret, written as its name says.
func (c *concealer) spell(name string) (string, error) {
	if name == "" {
		return mark, nil
	}
	parts := append(strings.Split(name, "|"), "", "")
	secret, known := c.secrets[parts[0]]
	if !known && c.fetched != nil {
		var err error
		if secret, known, err = c.fetched(parts[0]); err != nil {
			return "", err
		}
	}
	if !known && parts[0] == redact.TokenName {
		return "", errors.New("it needs a bearer token, which the credentials do not have")
	}
	if !known {
		return "", fmt.Errorf("it needs the secret %q, which the configuration does not have", parts[0])
	}
	text, ok := redact.Spell(parts[1], secret)
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

// replaceMembers replaces the values of the members of a JSON object.
func replaceMembers(document []byte, replace func(any) (any, error)) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
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

// A replacement says what replaces the parts of a value.
type replacement struct {
	text   func(string) (string, error) // texts, and the names of members
	scalar func(any) (any, error)       // other scalars; nil: nothing
	object func(map[string]any) any     // objects, after their members; nil: nothing
}

// replaceIn returns a copy of a value with its parts replaced.
func replaceIn(v any, by replacement) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return by.text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = replaceIn(v[i], by); err != nil {
				return nil, err
			}
		}
		return out, nil
	case rules.Object:
		out := make(rules.Object, len(v))
		for i, m := range v {
			if out[i].Name, err = by.text(m.Name); err != nil {
				return nil, err
			}
			if out[i].Value, err = replaceIn(m.Value, by); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			if name, err = by.text(name); err != nil {
				return nil, err
			}
			if out[name], err = replaceIn(inner, by); err != nil {
				return nil, err
			}
		}
		if by.object != nil {
			return by.object(out), nil
		}
		return out, nil
	}
	if by.scalar != nil {
		return by.scalar(v)
	}
	return v, nil
}
