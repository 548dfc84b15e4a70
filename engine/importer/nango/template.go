package nango

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A part of a text is a constant, or an expression for a placeholder.
type part struct{ text, source string }

// placeholder matches ${name}, and ${base64(…)} with placeholders in it.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{base64\(((?:[^{}]|\$\{[^{}]*\})*)\)\}|\$\{([^{}]*)\}`)
})

// parts splits a text at its placeholders. token is the expression for ${accessToken}; if it is "", that
// placeholder is refused.
func (t *translation) parts(n node, text, token string) ([]part, error) {
	var out []part
	add := func(s string) {
		if s == "" {
			return
		}
		if last := len(out) - 1; last >= 0 && out[last].source == "" {
			out[last].text += s
			return
		}
		out = append(out, part{text: s})
	}
	rest := text
	for {
		m := placeholder().FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		add(rest[:m[0]])
		switch {
		case m[2] >= 0:
			inner, err := t.parts(n, rest[m[2]:m[3]], token)
			if err != nil {
				return nil, err
			}
			out = append(out, part{source: "base64(" + concatenated(inner) + ")"})
		case rest[m[4]:m[5]] == "accessToken" && token != "":
			out = append(out, part{source: token})
		default:
			v, err := t.placeholder(n, rest[m[4]:m[5]])
			if err != nil {
				return nil, err
			}
			if v.Source == "" {
				add(fmt.Sprint(v.Const))
			} else {
				out = append(out, part{source: v.Source})
			}
		}
		rest = rest[m[1]:]
	}
	add(rest)
	if i := slices.IndexFunc(out, func(p part) bool { return strings.Contains(p.text, "${") }); i >= 0 {
		return nil, fmt.Errorf("%s: the placeholders of %s are not translated", n.path, value.Preview(text))
	}
	return out, nil
}

// placeholder returns the value of a placeholder: an input, or a constant that was set.
func (t *translation) placeholder(n node, name string) (importer.Value, error) {
	if key, is := strings.CutPrefix(name, "connectionConfig."); is && key != "" {
		return t.connection(key), nil
	}
	key := strings.TrimPrefix(name, "credentials.")
	if key != name || slices.Contains([]string{"apiKey", "username", "password"}, key) || t.node.get("credentials").get(key).given() {
		return t.credential(key), nil
	}
	return importer.Value{}, fmt.Errorf("%s: the placeholder ${%s} is not translated", n.path, name)
}

// concatenated returns parts as one expression.
func concatenated(parts []part) string {
	var out []string
	for _, p := range parts {
		out = append(out, cmp.Or(p.source, importer.Quote(p.text)))
	}
	if len(out) == 0 {
		return "''"
	}
	return strings.Join(out, " + ")
}

// template returns the value of a text with placeholders.
func (t *translation) template(n node, token string) (importer.Value, error) {
	text, isScalar := value.Text(n.v)
	if !isScalar {
		return importer.Value{}, fmt.Errorf("%s: want a text, got %s", n.path, value.KindOf(n.v))
	}
	parts, err := t.parts(n, text, token)
	switch {
	case err != nil:
		return importer.Value{}, err
	case len(parts) == 0:
		return importer.Constant(""), nil
	case len(parts) == 1 && parts[0].source == "":
		return importer.Constant(parts[0].text), nil
	}
	return importer.Computed(concatenated(parts)), nil
}

var bracesDoubled = strings.NewReplacer("{", "{{", "}", "}}")

// address returns an address with placeholders as configurations have it, without a slash at its end. Of
// two alternatives, A || B, the first counts if the value that the address names first is set.
func (t *translation) address(n node) (string, error) {
	text := strings.TrimSpace(n.text())
	if !strings.Contains(text, "${") || !strings.Contains(text, "||") {
		parts, err := t.parts(n, strings.TrimSuffix(text, "/"), "")
		if err != nil {
			return "", err
		}
		var out strings.Builder
		for i, p := range parts {
			if i == 0 {
				t.whole(p.source)
			}
			if p.source != "" {
				out.WriteString("{+" + p.source + "}")
			} else {
				out.WriteString(bracesDoubled.Replace(p.text))
			}
		}
		return out.String(), nil
	}
	var sources [2]string
	m := connectionKey().FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s: want ${connectionConfig.NAME} in an address with alternatives", n.path)
	}
	t.optional = append(t.optional, m[1])
	decides := t.connection(m[1])
	alternatives := strings.SplitN(text, "||", 3)
	if decides.Source == "" {
		chosen := alternatives[0]
		if decides.Const == "" {
			chosen = alternatives[1]
		}
		return t.address(node{strings.TrimSpace(chosen), n.path})
	}
	for i := range sources {
		parts, err := t.parts(n, strings.TrimSuffix(strings.TrimSpace(alternatives[i]), "/"), "")
		if err != nil {
			return "", err
		}
		sources[i] = concatenated(parts)
	}
	return fmt.Sprintf("{+(%s != nil ? %s : %s)}", decides.Source, sources[0], sources[1]), nil
}

// whole says of an input that begins an address that its value has the scheme.
func (t *translation) whole(source string) {
	for i, in := range t.out.Inputs {
		sample := fmt.Sprint(in.Sample)
		if source == "input."+in.Name && in.Pattern == "" && !strings.Contains(sample, "://") {
			t.out.Inputs[i].Sample = "https://api.example.com"
		}
	}
}

var connectionKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`connectionConfig\.(\w+)`) })

// connection returns the value of a member of the connection's configuration.
func (t *translation) connection(key string) importer.Value {
	n := t.node.get("connection_config").get(key)
	if v, set := t.settings.Get(key); set {
		return importer.Constant(v)
	}
	secret := n.get("secret").flag() || secretName().MatchString(key)
	return t.declared("connectionConfig."+key, key, n, secret)
}

// credential returns the value of a member of the credentials.
func (t *translation) credential(key string) importer.Value {
	n := t.node.get("credentials").get(key)
	secret := n.get("secret").flag() || secretName().MatchString(n.get("title").text()) || !openName().MatchString(key)
	return t.declared("credentials."+key, key, n, secret)
}

var (
	secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)key|token|secret|passw`) })
	openName   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^user|client_?id$|email|scope|account|domain|url|host`)
	})
)

// declared returns the value of an input, which a declaration describes. A hidden input with a default is a
// constant. secret says whether the value is a secret.
func (t *translation) declared(id, key string, n node, secret bool) importer.Value {
	if n.get("hidden").flag() && n.get("default_value").given() {
		return importer.Constant(n.get("default_value").text())
	}
	if name, known := t.named[id]; known {
		return importer.Computed("input." + name)
	}
	t.keys("declaration", n)
	doc := importer.FirstSentence(cmp.Or(n.get("description").text(), n.get("title").text()))
	in := importer.Input{Name: importer.InputName(key), Doc: doc, Secret: secret, Place: n.path}
	if add := cmp.Or(n.get("prefix").text(), n.get("suffix").text()); add != "" {
		in.Doc = strings.TrimPrefix(in.Doc+", without "+add, ", ")
	}
	if text := n.get("default_value").text(); text != "" {
		in.Default = text
	} else {
		in.Optional = n.get("default_value").given() || n.get("optional").flag() || slices.Contains(t.optional, key)
	}
	t.allowed(&in, n)
	return t.input(id, in)
}

// input declares an input, and returns the expression that reads it.
func (t *translation) input(id string, in importer.Input) importer.Value {
	if in.Name == endpoint && id != endpoint {
		in.Name = "connection_" + in.Name
	}
	in.Name = importer.FreeName(t.out.Inputs, in.Name)
	t.named[id] = in.Name
	t.out.Inputs = append(t.out.Inputs, in)
	return importer.Computed("input." + in.Name)
}

// plain matches values that may stand anywhere in an address.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`) })

// formats are examples of the formats of declarations.
var formats = map[string]string{"hostname": "api.example.com", "uri": "https://api.example.com", "email": "ann@example.com",
	"uuid": "5ab87915-2deb-429c-a1e2-8b0495900f45"}

// allowed sets the pattern of an input, and a value for tests. A pattern that no value is known for is
// left out.
func (t *translation) allowed(in *importer.Input, n node) {
	pattern := n.get("pattern").text()
	candidates := []string{n.get("example").text(), formats[n.get("format").text()], "example", "api.example.com", "1", "0123456789"}
	if list := n.get("enum").list(); len(list) > 0 {
		candidates = lists.Map(list, node.text)
		pattern = strings.Join(lists.Map(candidates, regexp.QuoteMeta), "|")
	}
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if in.Secret || err != nil || len(pattern) > 500 {
		if err != nil {
			t.note(importer.Left, n.get("pattern"), "", "the pattern %s is not one of RE2, so the input has none", value.Preview(pattern))
		}
		re, pattern = regexp.MustCompile(""), ""
	}
	if in.Secret {
		candidates = []string{"example"}
	}
	for _, c := range candidates {
		if plain().MatchString(c) && re.MatchString(c) {
			in.Sample, in.Pattern = c, pattern
			break
		}
	}
	if in.Sample == nil {
		in.Sample = "example"
		if pattern != "" {
			t.note(importer.Left, n.get("pattern"), "", "the pattern %s is left out, since no value for tests is known", value.Preview(pattern))
		}
	}
	if in.Pattern != "" && in.Default != nil && !re.MatchString(fmt.Sprint(in.Default)) {
		in.Pattern += "|" + regexp.QuoteMeta(fmt.Sprint(in.Default))
	}
}
