package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A checkpoint holds values that rules computed, and some contain secrets: a next
// link that repeats a key, or a secret input. So a secret is replaced by its name
// in every text, and the name by the present value when the run resumes. The secret
// may have changed in between.

// mark encloses the name of a secret in a checkpoint. An empty name stands for the
// mark itself.
const mark = "\ue0f5"

// spellings are the ways in which a secret occurs in a text, by the suffix of its
// name.
var spellings = []struct {
	suffix string
	of     func(secret string) string
}{
	{"", func(secret string) string { return secret }},
	{"?", url.QueryEscape},
	{"/", url.PathEscape},
}

// A concealer keeps secrets out of checkpoints.
type concealer struct {
	secrets  map[string]string // by name
	replacer *strings.Replacer // of secrets by their names
}

func newConcealer(secrets map[string]string) *concealer {
	names := map[string]string{} // what replaces each spelling
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, s := range spellings {
			text := s.of(secrets[name])
			if _, taken := names[text]; !taken && len(secrets[name]) >= redact.ShortestSecret {
				names[text] = mark + name + s.suffix + mark
			}
		}
	}
	names[mark] = mark + mark
	return &concealer{secrets, redact.Replacer(names)}
}

// conceal replaces the secrets in the texts of a checkpoint by their names.
func (c *concealer) conceal(token []byte) ([]byte, error) {
	if len(c.secrets) == 0 && !bytes.Contains(token, []byte(mark)) {
		return token, nil
	}
	return replaceTexts(token, func(text string) (string, error) { return c.replacer.Replace(text), nil })
}

// reveal replaces the names of secrets in a checkpoint by their present values.
func (c *concealer) reveal(token []byte) ([]byte, error) {
	if !bytes.Contains(token, []byte(mark)) {
		return token, nil
	}
	return replaceTexts(token, func(text string) (string, error) {
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
	})
}

// spell returns the present value of a secret in the spelling of its name.
func (c *concealer) spell(name string) (string, error) {
	if name == "" {
		return mark, nil
	}
	if secret, known := c.secrets[name]; known {
		return secret, nil
	}
	for _, s := range spellings[1:] {
		if bare, ok := strings.CutSuffix(name, s.suffix); ok {
			if secret, known := c.secrets[bare]; known {
				return s.of(secret), nil
			}
		}
	}
	return "", fmt.Errorf("it needs the secret %q, which the configuration does not have", name)
}

// replaceTexts replaces the texts of a JSON document, except the names of members.
func replaceTexts(document []byte, replace func(string) (string, error)) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	v, err := replaceIn(v, replace)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func replaceIn(v any, replace func(string) (string, error)) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			if v[i], err = replaceIn(v[i], replace); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = replaceIn(v[name], replace); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
