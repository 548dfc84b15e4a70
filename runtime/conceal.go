package runtime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A checkpoint holds values that rules computed, and some contain secrets: a next
// link that repeats a key, or a secret input. So a secret is replaced by its name
// in every text, and the name by the present value when the run resumes. The secret
// may have changed in between.

// mark encloses the name of a secret in a checkpoint. An empty name stands for the
// mark itself.
const mark = "\ue0f5"

// shortestSecret is the length of the shortest secret that is concealed, in bytes;
// shorter ones occur in too many other values.
const shortestSecret = 4

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

// conceal replaces the secrets in the texts of a checkpoint by their names.
func conceal(token []byte, secrets map[string]string) ([]byte, error) {
	names := map[string]string{} // by spelling
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, s := range spellings {
			text := s.of(secrets[name])
			if _, taken := names[text]; !taken && len(secrets[name]) >= shortestSecret {
				names[text] = name + s.suffix
			}
		}
	}
	if len(names) == 0 && !bytes.Contains(token, []byte(mark)) {
		return token, nil
	}
	longestFirst := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	pairs := []string{mark, mark + mark}
	for _, text := range longestFirst {
		pairs = append(pairs, text, mark+names[text]+mark)
	}
	replacer := strings.NewReplacer(pairs...)
	return replaceTexts(token, func(text string) (string, error) { return replacer.Replace(text), nil })
}

// reveal replaces the names of secrets in a checkpoint by their present values.
func reveal(token []byte, secrets map[string]string) ([]byte, error) {
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
			secret, err := spell(name, secrets)
			if err != nil {
				return "", err
			}
			out.WriteString(secret)
			text = after
		}
	})
}

// spell returns the present value of a secret in the spelling of its name.
func spell(name string, secrets map[string]string) (string, error) {
	if name == "" {
		return mark, nil
	}
	if secret, known := secrets[name]; known {
		return secret, nil
	}
	for _, s := range spellings[1:] {
		if bare, ok := strings.CutSuffix(name, s.suffix); ok {
			if secret, known := secrets[bare]; known {
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
