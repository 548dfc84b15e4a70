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

// A checkpoint holds values that rules computed, and some are made of secrets: a
// next link that repeats a key, or a secret input. So a secret is replaced by its
// name, and the name by the present value when the run resumes. The secret may
// have changed in between.

// mark encloses the name of a secret in a checkpoint. Twice in a row it is itself.
const mark = "\ue0f5"

// shortestSecret is the length of the shortest secret that is concealed, in bytes;
// shorter ones occur in too many other values.
const shortestSecret = 4

// spellings are the ways in which a secret occurs in a checkpoint, by the suffix of
// its name.
var spellings = []struct {
	suffix string
	of     func(secret string) string
}{
	{"", inJSON},
	{"?", func(secret string) string { return inJSON(url.QueryEscape(secret)) }},
	{"/", func(secret string) string { return inJSON(url.PathEscape(secret)) }},
}

// inJSON writes a text as a JSON string, without the quotes.
func inJSON(text string) string {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return string(quoted[1 : len(quoted)-1])
}

// conceal replaces the secrets in a checkpoint by their names.
func conceal(token []byte, secrets map[string]string) []byte {
	names := map[string]string{} // by spelling
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, s := range spellings {
			text := s.of(secrets[name])
			if _, taken := names[text]; !taken && len(secrets[name]) >= shortestSecret {
				names[text] = name + s.suffix
			}
		}
	}
	longestFirst := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	pairs := []string{mark, mark + mark}
	for _, text := range longestFirst {
		pairs = append(pairs, text, mark+names[text]+mark)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(token)))
}

// reveal replaces the names of secrets in a checkpoint by their present values.
func reveal(token []byte, secrets map[string]string) ([]byte, error) {
	var out bytes.Buffer
	for rest := string(token); ; {
		before, after, found := strings.Cut(rest, mark)
		out.WriteString(before)
		if !found {
			return out.Bytes(), nil
		}
		name, after, found := strings.Cut(after, mark)
		if !found {
			return nil, fmt.Errorf("the name of a secret has no end")
		}
		text, err := spell(name, secrets)
		if err != nil {
			return nil, err
		}
		out.WriteString(text)
		rest = after
	}
}

// spell returns the present value of a secret in the spelling that its name asks for.
func spell(name string, secrets map[string]string) (string, error) {
	if name == "" {
		return mark, nil
	}
	for _, s := range spellings[1:] {
		if bare, ok := strings.CutSuffix(name, s.suffix); ok {
			if secret, known := secrets[bare]; known {
				return s.of(secret), nil
			}
		}
	}
	if secret, known := secrets[name]; known {
		return inJSON(secret), nil
	}
	return "", fmt.Errorf("it needs the secret %q, which the configuration does not have", name)
}
