package dlt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
)

// A part of a template is a text or an expression.
type part struct{ text, source string }

// placeholder matches what a template replaces, and the braces that it leaves.
var placeholder = regexp.MustCompile(`\{\{|\}\}|\{([^{}]*)\}`)

// parts splits a text into texts and expressions: {resources.NAME.FIELD}, {incremental.VALUE}, and in a
// path the names of parameters.
func (t *translation) parts(n node, text string) ([]part, error) {
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
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		add(text[at:m[0]])
		at = m[1]
		if m[2] < 0 { // doubled braces
			add(text[m[0] : m[0]+1])
			continue
		}
		name := text[m[2]:m[3]]
		source, err := t.placeholder(n, name)
		if err != nil {
			return nil, err
		}
		out = append(out, part{source: source})
	}
	add(text[at:])
	return out, nil
}

func (t *translation) placeholder(n node, name string) (string, error) {
	if source, isParam := t.params[name]; isParam {
		return source, nil
	}
	words := strings.SplitN(name, ".", 3)
	switch {
	case words[0] == "resources" && len(words) == 3:
		return t.parent(words[1], words[2], n)
	case words[0] == "incremental" && t.increment != nil && len(words) == 2:
		switch words[1] {
		case "start_value", "last_value":
			return t.keptStart()
		case "initial_value":
			return literal(t.increment.get("initial_value").v), nil
		case "end_value":
			return literal(t.increment.get("end_value").v), nil
		}
	}
	return "", fmt.Errorf("%s: the placeholder {%s} is not known", n.path, name)
}

// literal returns a constant as an expression.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case nil:
		return "nil"
	}
	return fmt.Sprint(v)
}

// template returns the value of a text.
func (t *translation) template(n node, text string) (importer.Value, error) {
	parts, err := t.parts(n, text)
	switch {
	case err != nil:
		return importer.Value{}, err
	case len(parts) == 0:
		return importer.Constant(""), nil
	case len(parts) == 1 && parts[0].source == "":
		return importer.Constant(parts[0].text), nil
	case len(parts) == 1:
		return importer.Computed(parts[0].source), nil
	}
	var sources []string
	for _, p := range parts {
		if p.source == "" {
			sources = append(sources, strconv.Quote(p.text))
		} else {
			sources = append(sources, "text("+p.source+")")
		}
	}
	return importer.Computed(strings.Join(sources, " + ")), nil
}

// path returns the path of a JSONPath that names one member: $.a.b, a['b'], with [*] for all elements.
func path(n node) (string, error) {
	keys, err := pathKeys(n)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, k := range keys {
		if k == "*" {
			texts = append(texts, k)
		} else {
			texts = append(texts, rules.PathOf(k))
		}
	}
	return strings.Join(texts, "."), nil
}

// step matches one step of a JSONPath.
var step = regexp.MustCompile(`^(?:\.?(\*|[A-Za-z_@][\w@-]*)|\[(\d+|\*)\]|\['([^']*)'\]|\["([^"]*)"\])`)

func pathKeys(n node) ([]string, error) {
	text := n.text()
	rest := strings.TrimPrefix(text, "$")
	var keys []string
	for rest != "" {
		m := step.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%s: the JSONPath %s is not translated: want names with dots between them", n.path, text)
		}
		rest = rest[len(m[0]):]
		keys = append(keys, m[1]+m[2]+m[3]+m[4])
	}
	if text == "" {
		return nil, fmt.Errorf("%s: want a JSONPath", n.path)
	}
	return slices.Clip(keys), nil
}
