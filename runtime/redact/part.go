package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// HideParts hides the texts within values that are parts of secrets, such as the password of user:password or one of
// several keys in JSON, until the end of the run. The secret or the part may be in base64, and the secret may have
// escapes. A text that is shorter than [ShortestSecret], or that is a word of JSON, is not hidden.
func (r *Redactor) HideParts(values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]bool{"true": true, "false": true, "null": true}
	for _, s := range slices.Concat(r.fixed, r.recent, r.parts) {
		known[s.text] = true
	}
	before := len(r.parts)
	for _, v := range values {
		for _, text := range value.Texts(v) {
			for _, part := range decodings(text) {
				if name := r.partName(part); name != "" && !known[part] {
					known[part] = true
					r.parts = append(r.parts, namedSecret{name, part})
				}
			}
		}
	}
	if len(r.parts) > before {
		r.update()
	}
}

// partName returns the name of a part of a secret, from which [Part] obtains the part, or "" if the text is no such part.
func (r *Redactor) partName(text string) string {
	if len(text) < ShortestSecret {
		return ""
	}
	for _, s := range slices.Concat(r.fixed, r.recent) {
		for i, view := range views(s.text) {
			for form, written := range partForms(text) {
				if at := strings.Index(view, written); at >= 0 {
					return fmt.Sprintf(partFormat, s.name, i, form, at, at+len(written), len(view))
				}
			}
		}
	}
	return ""
}

// partFormat is the format of the name of a part: the name of the secret, the index of the view, the index of the
// form, the offsets of the part in the view, and the length of the view. The names are in checkpoints.
const partFormat = "%s@%d:%d:%d:%d:%d"

// ParsePartName splits the name of a part of a secret into the name of the secret and the place of the part in it. It
// reports false for any other name.
func ParsePartName(name string) (secret, place string, ok bool) {
	if i := strings.LastIndexByte(name, '@'); i >= 0 && strings.Count(name[i:], ":") == strings.Count(partFormat, ":") {
		return name[:i], name[i+1:], true
	}
	return "", "", false
}

// Part returns the part of a secret at a place of [ParsePartName]. It reports false if the secret has another length than
// the secret in which the place was found.
func Part(secret, place string) (string, bool) {
	var view, form, start, end, size int
	_, err := fmt.Sscanf(place, strings.TrimPrefix(partFormat, "%s@"), &view, &form, &start, &end, &size)
	all := views(secret)
	if err != nil || view < 0 || view >= len(all) || len(all[view]) != size || start < 0 || end < start || end > size {
		return "", false
	}
	part := all[view][start:end]
	if form > 0 {
		decoded := decodings(part)
		return decoded[len(decoded)-1], len(decoded) > 1
	}
	return part, true
}

// partForms returns the forms in which a secret may have a part: as it is, and in base64.
func partForms(text string) []string {
	return []string{text, base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text))}
}

// views returns the texts in which the parts of a secret are found: the secret, the text in it if it is base64, and
// both without their escapes.
func views(secret string) []string {
	plain := decodings(secret)
	for _, text := range slices.Clone(plain) {
		for range maxEscapes {
			u, changed := unescape(text)
			if !changed {
				break
			}
			text = u.text
			plain = append(plain, text)
		}
	}
	return plain
}

// decodings returns a text and, if it is base64, the text in it.
func decodings(text string) []string {
	plain := []string{text}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if decoded, err := encoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
			return append(plain, string(decoded))
		}
	}
	return plain
}
