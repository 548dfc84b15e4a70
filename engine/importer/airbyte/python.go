package airbyte

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/value"
)

// structure reads a text that is a list or an object as Python writes it, with templates in it. The CDK sends
// such a text as the list or the object that it stands for: {"from": {{ start }}}. It reports false for any
// other text, and if values decide whether the text is a list or an object.
func (t *translation) structure(n node, text string, place importer.Place, path string) (v importer.Value, ok bool, err error) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' || strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "{%") ||
		strings.HasPrefix(text, "{#") {
		return v, false, nil
	}
	marked, restore := withMarks(text)
	p := &python{text: marked}
	root, ok := p.value(0)
	if p.space(); !ok || p.text != "" {
		return v, false, nil
	}
	pages := len(t.next)
	v, ok, err = t.structured(node{v: root, path: n.path, params: n.params}, restore, place, path)
	if err != nil || !ok {
		t.next = t.next[:pages]
	}
	return v, ok, err
}

// structured returns a value of Python as a value of the request.
func (t *translation) structured(n node, restore func(string) string, place importer.Place, path string) (v importer.Value, ok bool,
	err error) {
	inner := func(x any) node { return node{v: x, path: n.path, params: n.params} }
	switch typed := n.v.(type) {
	case value.Object:
		v.Object = []importer.Member{}
		for _, m := range typed {
			e, ok, err := t.structured(inner(m.Value), restore, place, path+"."+strings.ReplaceAll(m.Name, ".", `\.`))
			if !ok || err != nil {
				return v, ok, err
			}
			v.Object = append(v.Object, importer.Member{Name: restore(m.Name), Value: e})
		}
		return v, true, nil
	case []any:
		v.List = []importer.Value{}
		for _, x := range typed {
			before := len(t.next)
			e, ok, err := t.structured(inner(x), restore, place, path)
			if !ok || err != nil {
				return v, ok, err
			}
			if len(t.next) > before {
				return v, false, fmt.Errorf("%s: a list whose elements depend on the page is not translated", n.path)
			}
			v.List = append(v.List, e)
		}
		return v, true, nil
	case bareTemplate, string:
		return t.templated(inner(restore(fmt.Sprint(typed))), n.v, place, path)
	}
	return importer.Constant(n.v), true, nil
}

// templated returns the value of a template: in quotes a text, and without them a number.
func (t *translation) templated(n node, written any, place importer.Place, path string) (importer.Value, bool, error) {
	first, later, err := t.eval(n)
	if err != nil {
		return importer.Value{}, false, err
	}
	if _, isBare := written.(bareTemplate); isBare {
		if first.Kind != jinja.Number || later.Kind != jinja.Number {
			return importer.Value{}, false, nil
		}
	} else {
		first, later = jinja.Joined([]jinja.Expr{first}), jinja.Joined([]jinja.Expr{later})
	}
	v := importer.Computed(first.Source)
	if first.Constant {
		v = importer.Constant(first.Const)
	}
	if first.Source != later.Source {
		t.next = append(t.next, importer.Next{Target: importer.Target{In: place, Name: path}, Source: later.Source})
	}
	return v, true, nil
}

// withMarks replaces the templates in a text by marks. restore puts them back into a part of it.
func withMarks(text string) (marked string, restore func(string) string) {
	var templates []string
	marked = outputs().ReplaceAllStringFunc(text, func(t string) string {
		templates = append(templates, t)
		return fmt.Sprintf("\ue000%d\ue001", len(templates)-1)
	})
	return marked, func(text string) string {
		return marks().ReplaceAllStringFunc(text, func(m string) string {
			i, _ := strconv.Atoi(strings.Trim(m, "\ue000\ue001"))
			return templates[i]
		})
	}
}

// A bareTemplate is the mark of a template without quotes around it.
type bareTemplate string

// python reads literals of Python: texts, numbers, True, False, None, lists, tuples and objects. The words of
// JSON, true, false and null, are not literals.
type python struct {
	text string // the rest
}

func (p *python) space() { p.text = strings.TrimLeft(p.text, " \t\r\n") }

// skip reads a character, if it comes next.
func (p *python) skip(c byte) bool {
	p.space()
	if p.text == "" || p.text[0] != c {
		return false
	}
	p.text = p.text[1:]
	return true
}

// value reads a value. Its texts have marks in the places of templates.
func (p *python) value(depth int) (any, bool) {
	p.space()
	switch {
	case p.text == "" || depth > 100:
		return nil, false
	case p.skip('['):
		return p.list(']', depth)
	case p.skip('('):
		return p.list(')', depth)
	case p.skip('{'):
		return p.object(depth)
	case p.text[0] == '"' || p.text[0] == '\'':
		return p.quoted()
	}
	if at := marks().FindStringIndex(p.text); at != nil && at[0] == 0 {
		mark := p.text[:at[1]]
		p.text = p.text[at[1]:]
		return bareTemplate(mark), true
	}
	end := strings.IndexAny(p.text, ",]})} \t\r\n")
	if end <= 0 {
		return nil, false
	}
	word := p.text[:end]
	p.text = p.text[end:]
	v := literalOf(word)
	_, isText := v.(string)
	return v, !isText
}

func (p *python) list(end byte, depth int) (any, bool) {
	out := []any{}
	for !p.skip(end) {
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if !p.skip(',') && (p.text == "" || p.text[0] != end) {
			return nil, false
		}
	}
	return out, true
}

func (p *python) object(depth int) (any, bool) {
	out := value.Object{}
	for !p.skip('}') {
		p.space()
		if p.text == "" || p.text[0] != '"' && p.text[0] != '\'' {
			return nil, false
		}
		key, ok := p.quoted()
		if !ok || !p.skip(':') {
			return nil, false
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = out.With(fmt.Sprint(key), v)
		if !p.skip(',') && (p.text == "" || p.text[0] != '}') {
			return nil, false
		}
	}
	return out, true
}

// escapes are the characters after a backslash, with what they stand for.
var escapes = map[rune]rune{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '"': '"', '\'': '\''}

// quoted reads a text in quotes.
func (p *python) quoted() (any, bool) {
	quote := rune(p.text[0])
	var out strings.Builder
	for at := 1; at < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[at:])
		at += size
		switch r {
		case quote:
			p.text = p.text[at:]
			return out.String(), true
		case '\n':
			return nil, false
		case '\\':
			next, size := utf8.DecodeRuneInString(p.text[at:])
			escape, ok := escapes[next]
			if !ok {
				return nil, false
			}
			at += size
			r = escape
		}
		out.WriteRune(r)
	}
	return nil, false
}
