package dlt

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// reference matches references to dlt's configuration or the environment in a text of the document. The
// groups are the kind and the name of dlt's, and the names of variables.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`dlt\.(secrets|config)(?:\.value|\[\s*["']([^"'\]]+)["']\s*\])` +
		`|os\.(?:environ\[|environ\.get\(|getenv\()\s*["']([A-Za-z_][A-Za-z0-9_]*)["']\s*[\])]|\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
})

// A part of a text is constant, or an expression.
type part struct{ text, source string }

// parts splits a text into constants and expressions. It reports whether one of these is a secret.
func (t *translation) parts(n node, text string) (out []part, hidden bool, err error) {
	for text != "" {
		match := reference().FindStringSubmatchIndex(text)
		if match == nil {
			match = []int{len(text), len(text)}
		}
		plain, err := t.placeholders(n, text[:match[0]])
		if err != nil {
			return nil, false, err
		}
		out = append(out, plain...)
		if match[0] < len(text) {
			one, isSecret := t.referred(n, reference().FindStringSubmatch(text[match[0]:]))
			out = append(out, one)
			hidden = hidden || isSecret
		}
		text = text[match[1]:]
	}
	return out, hidden, nil
}

// referred returns the input for a reference, or its constant. It reports whether it is a secret.
func (t *translation) referred(n node, found []string) (part, bool) {
	kind, key := found[1], found[2]+found[3]+found[4]
	name := key[strings.LastIndex(key, ".")+1:]
	if key == "" {
		key, name = n.path, n.name
	}
	hidden := kind == "secrets" || kind == "" && secret.IsName(name)
	in := importer.Input{Name: importer.InputName(name), Secret: hidden, Place: n.path}
	if strings.Contains(found[2], ".") {
		in.Doc = "the " + map[bool]string{true: "secret ", false: "setting "}[hidden] + found[2]
	}
	return t.input(in, key), hidden
}

// input returns the input for a key, or the constant that the user has set.
func (r *reader) input(in importer.Input, key string) part {
	if name, known := r.inputs[key]; known {
		return part{source: "input." + name}
	}
	if !in.Secret {
		if text, set := r.set.Get(in.Name); set {
			return part{text: text}
		}
	}
	in.Name = importer.FreeName(r.source.Inputs, in.Name)
	r.inputs[key] = in.Name
	r.source.Inputs = append(r.source.Inputs, in)
	return part{source: "input." + in.Name}
}

// placeholders splits a text at {resources.…} and {incremental.…}.
func (t *translation) placeholders(n node, text string) ([]part, error) {
	var out []part
	for text != "" {
		match := placeholder().FindStringSubmatchIndex(text)
		if match == nil {
			return append(out, part{text: t.unescaped(text)}), nil
		}
		if match[0] > 0 {
			out = append(out, part{text: t.unescaped(text[:match[0]])})
		}
		source, err := t.placeholder(n, text[match[2]:match[3]])
		if err != nil {
			return nil, err
		}
		out = append(out, source)
		text = text[match[1]:]
	}
	return out, nil
}

// unescaped returns a constant. Where dlt expands placeholders, two braces are one.
func (t *translation) unescaped(text string) string {
	if t.parent == "" && t.cursor == nil {
		return text
	}
	return strings.NewReplacer("{{", "{", "}}", "}").Replace(text)
}

func (t *translation) placeholder(n node, name string) (part, error) {
	parts := strings.SplitN(name, ".", 3)
	if parts[0] == "incremental" {
		return t.cursorValue(n, strings.TrimPrefix(name, "incremental."))
	}
	if len(parts) != 3 {
		return part{}, fmt.Errorf("%s: want {resources.PARENT.FIELD} instead of {%s}", n.path, name)
	}
	source, err := t.field(parts[2])
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", n.path, err)
	}
	return part{source: source}, nil
}

// joined returns parts as a value.
func joined(parts []part) importer.Value {
	var terms []string
	constant, computed := "", false
	for _, p := range parts {
		computed = computed || p.source != ""
		constant += p.text
		if p.source == "" {
			terms = append(terms, importer.Quote(p.text))
		} else {
			terms = append(terms, p.source)
		}
	}
	switch {
	case !computed:
		return importer.Constant(constant)
	case len(terms) == 1:
		return importer.Computed(terms[0])
	}
	for i, p := range parts {
		if p.source != "" && !strings.HasPrefix(p.source, "input.") {
			terms[i] = "text(" + p.source + ")"
		}
	}
	return importer.Computed(strings.Join(terms, " + "))
}

// value translates a value, which goes to a place of the request. Texts have placeholders.
func (t *translation) value(n node, target importer.Target) (importer.Value, error) {
	switch {
	case placeholder().MatchString(n.name):
		return importer.Value{}, fmt.Errorf("%s: a placeholder in a name is not translated", n.path)
	case n.isObject():
		out := importer.Value{Object: []importer.Member{}}
		for _, m := range n.members() {
			inner := importer.Target{In: target.In, Name: keypath.Join(append(keypath.Split(target.Name), m.name)...)}
			v, err := t.value(m, inner)
			if err != nil {
				return importer.Value{}, err
			}
			if !t.atCursor(inner.In, inner.Name) {
				out.Object = append(out.Object, importer.Member{Name: m.name, Value: v})
			}
		}
		return out, nil
	case n.list() != nil:
		out := importer.Value{List: []importer.Value{}}
		for _, e := range n.list() {
			v, err := t.value(e, importer.Target{In: importer.Nowhere})
			if err != nil {
				return importer.Value{}, err
			}
			out.List = append(out.List, v)
		}
		return out, nil
	case n.text() == "":
		return importer.Constant(n.v), nil
	}
	v, _, err := t.credential(n, "", target)
	return v, err
}

// credential translates a scalar that may be a secret: a reference to a secret or, by its name, the value
// itself. It reports whether the value is a secret.
func (t *translation) credential(n node, name string, target importer.Target) (importer.Value, bool, error) {
	text, isScalar := n.scalar()
	if !isScalar {
		return importer.Value{}, false, fmt.Errorf("%s: want a text, a number or a boolean", n.path)
	}
	if t.cursor.fills(text, target) {
		return importer.Value{}, false, nil
	}
	parts, hidden, err := t.parts(n, text)
	if err != nil {
		return importer.Value{}, false, err
	}
	v := joined(parts)
	isKey := target.In == importer.InHeader && secret.IsHeader(name, text) || target.In == importer.InParam && secret.IsParameter(name, text)
	if v.Source == "" && name != "" && isKey {
		return importer.Computed(t.plainSecret(n, importer.InputName(name))), true, nil
	}
	if v.Source == "" && n.text() == "" {
		v.Const = n.v
	}
	return v, hidden, nil
}

// plainSecret returns the input for a secret that stands in the document.
func (t *translation) plainSecret(n node, name string) string {
	t.note(importer.Check, n, "inputs."+name,
		"the document has the secret itself, which was not copied: set the input %s, and keep secrets out of documents", name)
	return t.input(importer.Input{Name: name, Secret: true, Place: n.path}, n.path).source
}

// inAddress returns a text as a part of an address, with expressions in braces.
func (t *translation) inAddress(n node, text string) (string, error) {
	parts, hidden, err := t.parts(n, text)
	if err != nil {
		return "", err
	}
	if hidden {
		return "", fmt.Errorf("%s: an address has a secret: send it as a parameter or a header", n.path)
	}
	var out strings.Builder
	for i, p := range parts {
		switch {
		case p.source == "" && strings.ContainsAny(p.text, "{}"):
			return "", fmt.Errorf("%s: the braces in %q are not translated", n.path, wording.Clip(p.text, 60))
		case p.source == "":
			out.WriteString(p.text)
		case i > 0 && (strings.HasPrefix(p.source, "input.") || importer.IsSegment(p.source)):
			out.WriteString("{" + p.source + "}")
		default:
			out.WriteString("{+" + p.source + "}") // dlt does not escape it
		}
	}
	return out.String(), nil
}

// param adds a parameter.
func (t *translation) param(p node) error {
	switch kind := p.get("type").text(); {
	case placeholder().MatchString(p.name):
		return fmt.Errorf("%s: a placeholder in a name is not translated", p.path)
	case p.isObject() && kind == "incremental":
		return nil // it is the cursor
	case p.isObject():
		return fmt.Errorf("%s: want the type resolve or incremental instead of %q", p.path, kind)
	case p.list() != nil:
		return t.listParam(p)
	}
	if flag, isFlag := p.v.(bool); isFlag { // Python's names
		t.out.Params = append(t.out.Params, importer.Member{Name: p.name,
			Value: importer.Constant(map[bool]string{true: "True", false: "False"}[flag])})
		return nil
	}
	v, hidden, err := t.credential(p, p.name, importer.Target{In: importer.InParam, Name: p.name})
	if err != nil || t.atCursor(importer.InParam, p.name) {
		return err
	}
	name := p.name
	if hidden {
		name = "#" + name
	}
	t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: v})
	return nil
}

// listParam adds a parameter with several values, which is repeated.
func (t *translation) listParam(p node) error {
	list := importer.Value{List: []importer.Value{}}
	for _, e := range p.list() {
		text, isScalar := e.scalar()
		if !isScalar || reference().MatchString(text) || placeholder().MatchString(text) {
			return fmt.Errorf("%s: only constants in a list of values are translated", e.path)
		}
		v := importer.Constant(e.v)
		if flag, isFlag := e.v.(bool); isFlag { // Python's names
			v = importer.Constant(map[bool]string{true: "True", false: "False"}[flag])
		}
		list.List = append(list.List, v)
	}
	t.out.ListStyle = string(requests.Repeat)
	t.out.Params = append(t.out.Params, importer.Member{Name: p.name, Value: list})
	return nil
}
