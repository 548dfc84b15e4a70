package postman

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// reference matches {{name}}.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{\s*([^{}]+?)\s*\}\}`) })

// dynamic are the variables of Postman that have a value for each request. The others are random.
var dynamic = map[string]string{
	"$timestamp":    "text(now().Unix())",
	"$isoTimestamp": `now().Format("2006-01-02T15:04:05.000Z")`,
}

// The limits of variables in the values of variables.
const (
	maxNested   = 10      // how deep they may stand
	maxExpanded = 1 << 20 // bytes of a text in which they were replaced
)

// expanded replaces the variables of a text for which the function has a value, also in these values.
func expanded(text string, valueOf func(name string) (v string, ok bool)) (string, error) {
	for range maxNested + 1 {
		var out strings.Builder
		end, replaced := 0, false
		for _, m := range reference().FindAllStringSubmatchIndex(text, -1) {
			v, ok := valueOf(text[m[2]:m[3]])
			if !ok {
				continue
			}
			out.WriteString(text[end:m[0]] + v)
			end, replaced = m[1], true
			if out.Len() > maxExpanded {
				return "", errors.New("the values of its variables are too long")
			}
		}
		if !replaced {
			return text, nil
		}
		text = out.String() + text[end:]
	}
	return "", errors.New("the values of its variables have variables in variables without end")
}

// A part of a text is a constant, or an expression for a variable.
type part struct{ text, source string }

// parts splits a text at its variables. One whose value has variables is replaced by that value.
func (t *translation) parts(text string) ([]part, error) {
	text, err := expanded(text, func(name string) (string, bool) {
		v := t.lookup(name).text()
		return v, strings.Contains(v, "{{") && !t.isSet(name)
	})
	if err != nil {
		return nil, err
	}
	var out []part
	add := func(s string) {
		switch last := len(out) - 1; {
		case s == "":
		case last >= 0 && out[last].source == "":
			out[last].text += s
		default:
			out = append(out, part{text: s})
		}
	}
	end := 0
	for _, m := range reference().FindAllStringSubmatchIndex(text, -1) {
		add(text[end:m[0]])
		end = m[1]
		name := text[m[2]:m[3]]
		switch source, is := dynamic[name]; {
		case is:
			out = append(out, part{source: source})
		case strings.HasPrefix(name, "$"):
			return nil, fmt.Errorf("the random value {{%s}} is not translated", name)
		case t.isSet(name):
			v, _ := t.set.Get(name)
			add(v)
		default:
			out = append(out, part{source: "input." + t.variable(name)})
		}
	}
	add(text[end:])
	return out, nil
}

// lookup returns a variable of the path of the request, of an environment or of the collection.
func (t *translation) lookup(name string) variable {
	v := t.known[name]
	v.Key = name
	return v
}

func (t *translation) isSet(name string) bool {
	_, set := t.options.Set[name]
	return set
}

// isSecret reports whether a variable is a secret, by its type, its name or its value.
func isSecret(v variable) bool {
	return v.Type == "secret" || secret.IsValue(v.Key, v.text()) || secret.IsName(v.Key)
}

// variable returns the name of the input for a variable.
func (t *translation) variable(name string) string {
	t.set.Get(name) // exists
	v := t.lookup(name)
	in := importer.Input{Name: importer.InputName(name), Secret: isSecret(v), Place: "variable"}
	if text := v.text(); text != "" && !in.Secret {
		in.Default = constant(text)
	}
	return t.input("variable "+name, in)
}

// input declares an input, once for each purpose, and returns its name.
func (t *translation) input(purpose string, in importer.Input) string {
	if name, known := t.inputs[purpose]; known {
		return name
	}
	in.Name = importer.FreeName(t.src.Inputs, in.Name)
	t.inputs[purpose] = in.Name
	t.src.Inputs = append(t.src.Inputs, in)
	return in.Name
}

// constant returns a text as a configuration has it: a whole number without quotes.
func constant(text string) any {
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		return n
	}
	return text
}

func isNumber(v any) bool { _, is := v.(int); return is }

// value returns the value of a text with variables.
func (t *translation) value(text string) (importer.Value, error) {
	parts, err := t.parts(text)
	switch {
	case err != nil:
		return importer.Value{}, err
	case len(parts) == 0:
		return importer.Constant(""), nil
	case len(parts) == 1 && parts[0].source == "":
		return importer.Constant(parts[0].text), nil
	}
	return importer.Computed(t.concatenated(parts)), nil
}

// concatenated returns parts as one expression.
func (t *translation) concatenated(parts []part) string {
	if len(parts) == 1 {
		return parts[0].source
	}
	var out []string
	for _, p := range parts {
		source := p.source
		if slices.ContainsFunc(t.src.Inputs, func(in importer.Input) bool { return source == "input."+in.Name && isNumber(in.Default) }) {
			source = "text(" + source + ")"
		}
		out = append(out, cmp.Or(source, importer.Quote(p.text)))
	}
	return strings.Join(out, " + ")
}

// resolved returns a text with the values of its variables, or x where one is not known, for an exchange
// of package detect.
func (t *translation) resolved(text string) string {
	out, err := expanded(text, func(name string) (string, bool) {
		v, set := t.options.Set[name]
		if !set {
			v = cmp.Or(t.lookup(name).text(), "x")
		}
		return v, true
	})
	if err != nil {
		return "x"
	}
	return out
}

var braces = strings.NewReplacer("{", "{{", "}", "}}")

// addressed returns a text with variables as addresses have it.
func (t *translation) addressed(text string, whole bool) (string, error) {
	parts, err := t.parts(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, p := range parts {
		switch {
		case p.source == "":
			out.WriteString(braces.Replace(p.text))
		case whole:
			out.WriteString("{+" + p.source + "}")
		default:
			out.WriteString("{" + p.source + "}")
		}
	}
	return out.String(), nil
}

// number returns a value whose text is a whole number as one.
func number(v importer.Value) importer.Value {
	if text, isText := v.Const.(string); isText && v.Source == "" {
		v.Const = constant(text)
	}
	return v
}

// preview returns a text for a message.
func preview(text string) string { return value.Preview(text) }
