package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// HideFragments hides the texts within values that are fragments of secrets, such as the password of user:password or one of
// several keys in JSON, until the end of the run. The secret or the fragment may be in base64, and the secret may have
// escapes. A text that is shorter than [ShortestSecret], or that is a word of JSON, is not hidden.
func (r *Redactor) HideFragments(values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]bool{"true": true, "false": true, "null": true}
	for _, s := range slices.Concat(r.fixed, r.recent, r.fragments) {
		known[s.text] = true
	}
	before := len(r.fragments)
	for _, v := range values {
		for _, text := range value.Texts(v) {
			for _, fragment := range decodings(text) {
				if name := r.fragmentName(fragment); name != "" && !known[fragment] {
					known[fragment] = true
					r.fragments = append(r.fragments, namedSecret{name, fragment})
				}
			}
		}
	}
	if len(r.fragments) > before {
		r.update()
	}
}

// fragmentName returns the name of a fragment of a secret, from which [Fragment] obtains it, or "" if the text is not a fragment.
func (r *Redactor) fragmentName(text string) string {
	if len(text) < ShortestSecret {
		return ""
	}
	for _, s := range slices.Concat(r.fixed, r.recent) {
		for i, view := range views(s.text) {
			for form, written := range fragmentForms(text) {
				if at := strings.Index(view, written); at >= 0 {
					return fmt.Sprintf(fragmentFormat, s.name, i, form, at, at+len(written), len(view))
				}
			}
		}
	}
	return ""
}

// fragmentFormat is the format of the name of a fragment: the name of the secret, the index of the view, the index of the
// form, the offsets of the fragment in the view, and the length of the view. The names are in checkpoints.
const fragmentFormat = "%s@%d:%d:%d:%d:%d"

// ParseFragmentName splits the name of a fragment of a secret into the name of the secret and the place of the fragment in it. It
// reports false for any other name.
func ParseFragmentName(name string) (secret, place string, ok bool) {
	if i := strings.LastIndexByte(name, '@'); i >= 0 && strings.Count(name[i:], ":") == strings.Count(fragmentFormat, ":") {
		return name[:i], name[i+1:], true
	}
	return "", "", false
}

// Fragment returns the fragment of a secret at a place of [ParseFragmentName]. It reports false if the secret has another length than
// the secret in which the place was found.
func Fragment(secret, place string) (string, bool) {
	var view, form, start, end, size int
	_, err := fmt.Sscanf(place, strings.TrimPrefix(fragmentFormat, "%s@"), &view, &form, &start, &end, &size)
	all := views(secret)
	if err != nil || view < 0 || view >= len(all) || len(all[view]) != size || start < 0 || end < start || end > size {
		return "", false
	}
	fragment := all[view][start:end]
	if form > 0 {
		decoded := decodings(fragment)
		return decoded[len(decoded)-1], len(decoded) > 1
	}
	return fragment, true
}

// fragmentForms returns the forms in which a secret may have a fragment: as it is, and in base64.
func fragmentForms(text string) []string {
	return []string{text, base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text))}
}

// views returns the texts in which the fragments of a secret are found: the secret, the text in it if it is base64, and
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
