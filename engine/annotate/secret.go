package annotate

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// A hiddenValue is a scalar of the configuration that is, or contains, a secret.
type hiddenValue struct {
	path string
	name string // the environment variable that takes its place; "": only a part is secret
	by   any
}

// hide returns a value without its secrets, and records the replacements.
func (a *annotation) hide(path string, v any) any {
	if members, ok := value.Members(v); ok {
		out := rules.Object{}
		for _, m := range members {
			out = append(out, rules.Member{Name: m.Name, Value: a.hide(diag.Join(path, m.Name), m.Value)})
		}
		return out
	}
	if list, ok := v.([]any); ok {
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = a.hide(diag.Index(path, i), e)
		}
		return out
	}
	text, ok := value.Text(v)
	if !ok || v == nil || text == "" {
		return v
	}
	shown := a.Redact(text)
	if _, isText := v.(string); isText {
		a.texts[path] = shown
	}
	if shown == text {
		return v
	}
	s := hiddenValue{path: path, by: shown}
	if strings.Trim(shown, "*") == "" && !inTests(path) {
		s.name = a.variable(path, text)
		s.by = rules.Object{{Name: "env", Value: s.name}}
	}
	a.secrets = append(a.secrets, s)
	return s.by
}

// inTests reports whether a value is part of a test, which reads no environment.
func inTests(path string) bool {
	return strings.HasPrefix(strings.TrimPrefix(path, "parameters."), "tests[")
}

var (
	notInNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })
	humps      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])`) })
)

// variable returns the name of the environment variable for a secret: made of the last keys of
// its config path, and another one for each secret.
func (a *annotation) variable(path, secret string) string {
	if name, known := a.variables[secret]; known {
		return name
	}
	name := variableFor(path)
	taken := slices.Collect(maps.Values(a.variables))
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s_%d", variableFor(path), n)
	}
	a.variables[secret] = name
	return name
}

// variableFor makes AUTHENTICATION_TOKEN of api.authentication.#token.
func variableFor(path string) string {
	keys := strings.Split(path, ".")
	name := strings.Join(keys[max(len(keys)-2, 0):], "_")
	name = strings.Trim(notInNames().ReplaceAllString(humps().ReplaceAllString(name, "${1}_$2"), "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "SECRET_" + name
	}
	return strings.ToUpper(strings.TrimSuffix(name, "_"))
}

// withoutSecrets replaces the secrets in a YAML text, and leaves all else as it is.
func (a *annotation) withoutSecrets(text string) (string, error) {
	replacements := map[string]string{}
	for _, s := range a.secrets {
		replacements[s.path] = "{env: " + s.name + "}"
		if s.name == "" {
			shown, _ := value.Text(s.by)
			quoted, err := value.Marshal(shown)
			if err != nil {
				return "", err
			}
			replacements[s.path] = string(quoted)
		}
	}
	text, err := yaml.Replace(text, replacements)
	if err != nil {
		return "", err
	}
	return a.hideInComments(text), nil
}

var commentLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*#.*$`) })

// hideInComments replaces the secrets in the comments of a text. A short secret may also occur
// in other values, which would change; then only whole lines are comments.
func (a *annotation) hideInComments(text string) string {
	for _, hidden := range []string{a.Redact(text), commentLine().ReplaceAllStringFunc(text, a.Redact)} {
		if root, err := yaml.Parse(diag.NewSource("", hidden)); err == nil && reflect.DeepEqual(root, a.root) {
			return hidden
		}
	}
	return text
}
