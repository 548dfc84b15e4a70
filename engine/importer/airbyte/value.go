package airbyte

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// optionsText reads parameters that one template gives: an object, or a query string.
func (t *translation) optionsText(n node, text string, place importer.Place) ([]importer.Member, error) {
	first, later, err := t.eval(n)
	if err != nil {
		return nil, err
	}
	if names := first.Names(); names != nil {
		var out []importer.Member
		for _, name := range names {
			was, is := first.Dict()[name], later.Dict()[name]
			v, leave := t.both(was, is, place, keypath.Join(name))
			if !leave {
				out = append(out, importer.Member{Name: name, Value: v})
			}
		}
		return out, nil
	}
	if first.Constant && (first.Const == nil || first.Const == "") && later.Constant {
		return nil, nil
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "{{") &&
		!strings.HasPrefix(trimmed, "{%") {
		return t.bodyText(n, trimmed, place)
	}
	if place == importer.InHeader || !first.Constant || !later.Constant {
		return nil, fmt.Errorf("%s: the template gives no object that is known: %s", n.path, text)
	}
	values, err := url.ParseQuery(fmt.Sprint(first.Const))
	if err != nil || strings.ContainsAny(fmt.Sprint(first.Const), "{<\n") {
		return nil, fmt.Errorf("%s: a body as text is not translated: %s", n.path, text)
	}
	var out []importer.Member
	for pair := range strings.SplitSeq(fmt.Sprint(first.Const), "&") {
		name, _, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		if len(values[name]) > 0 {
			out = append(out, importer.Member{Name: name, Value: importer.Constant(values[name][0])})
			values[name] = values[name][1:]
		}
	}
	return out, nil
}

// bodyText reads an object that is written as a text with templates in it, in JSON or as Python writes it.
func (t *translation) bodyText(n node, text string, place importer.Place) ([]importer.Member, error) {
	marked, back := withMarks(text)
	root, err := importer.ParseYAML(importer.File{Name: n.path, Text: []byte(marked)}, maxBytes)
	if err != nil {
		return nil, err
	}
	var out []importer.Member
	for _, m := range (node{v: restored(root, back), path: n.path, params: n.params}).members() {
		v, leave, err := t.value(m.node, place, keypath.Join(m.name))
		if err != nil {
			return nil, err
		}
		if !leave {
			out = append(out, importer.Member{Name: m.name, Value: v})
		}
	}
	return out, nil
}

// restored returns a value with its texts changed.
func restored(v any, text func(string) string) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		return lists.Map(v, func(e any) any { return restored(e, text) })
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			out = append(out, value.Member{Name: text(m.Name), Value: restored(m.Value, text)})
		}
		return out
	}
	return v
}

var (
	outputs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{.*?\}\}`) })
	marks   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\ue000[0-9]+\ue001") })
)

// value reads one value of the request. leave says that the first request does not have the value.
func (t *translation) value(n node, place importer.Place, path string) (v importer.Value, leave bool, err error) {
	switch typed := n.v.(type) {
	case nil:
		return v, true, nil
	case string:
		if place == importer.InBody && !t.form {
			if v, ok, err := t.structure(n, typed, place, path); ok || err != nil {
				return v, false, err
			}
		}
		first, later, err := t.eval(n)
		if err != nil {
			return v, false, err
		}
		v, leave = t.both(first, later, place, keypath.Join(keypath.Split(path)...))
		return v, leave, nil
	case bool:
		if place == importer.InBody && !t.form {
			return importer.Constant(typed), false, nil
		}
		return importer.Constant(map[bool]string{true: "True", false: "False"}[typed]), false, nil
	case value.Object:
		if kind, _ := typed.Get("type"); kind == "QueryProperties" {
			return t.queryProperties(n)
		}
		if place != importer.InBody {
			return v, false, fmt.Errorf("%s: an object is not a value of a parameter", n.path)
		}
		v.Object = []importer.Member{}
		for _, m := range n.members() {
			inner, leave, err := t.value(m.node, place, path+"."+strings.ReplaceAll(m.name, ".", `\.`))
			if err != nil {
				return v, false, err
			}
			if !leave {
				v.Object = append(v.Object, importer.Member{Name: m.name, Value: inner})
			}
		}
		return v, false, nil
	case []any:
		v.List = []importer.Value{}
		for _, e := range n.list() {
			before := len(t.next)
			inner, leave, err := t.value(e, place, path)
			if err != nil {
				return v, false, err
			}
			if len(t.next) > before {
				return v, false, fmt.Errorf("%s: a list whose elements depend on the page is not translated", n.path)
			}
			if !leave {
				v.List = append(v.List, inner)
			}
		}
		return v, false, nil
	}
	return importer.Constant(n.v), false, nil
}

// queryProperties reads a list of properties that one parameter has. Names that are read from an endpoint
// become an input.
func (t *translation) queryProperties(n node) (v importer.Value, leave bool, err error) {
	n.mark("property_chunking", "always_include_properties", "property_selector")
	if _, isObject := value.Members(n.get("property_list").v); isObject {
		name := importer.FreeName(t.inputs, "properties")
		t.inputs = append(t.inputs, importer.Input{Name: name, Doc: "names of the properties, with commas between them", Place: n.path})
		t.note(importer.Partial, n.get("property_list"), "inputs."+name,
			"the names of the properties are read from %s there; here the input %s has them, and those that it lacks are not requested",
			n.get("property_list").at("retriever.requester.path").text(), name)
		return importer.Computed("input." + name), false, nil
	}
	list, isList := n.get("property_list").v.([]any)
	if !isList {
		return v, false, fmt.Errorf("%s: want a list of properties", n.get("property_list").path)
	}
	names := lists.Map(list, func(e any) string { return fmt.Sprint(e) })
	if chunking := n.get("property_chunking"); chunking.given() {
		if requests := chunks(names, chunking); requests > 1 {
			return v, false, fmt.Errorf("%s: %d requests with a part of the properties each, whose records are joined, are not translated; "+
				"leave out property_chunking and the properties that you do not need", chunking.path, requests)
		}
		always, _ := n.get("always_include_properties").v.([]any)
		names = append(lists.Map(always, func(e any) string { return fmt.Sprint(e) }), names...)
	}
	if selector := n.get("property_selector"); selector.given() {
		t.note(importer.Check, selector, "params", "all properties are requested; there, those that the user has selected")
	}
	return importer.Constant(strings.Join(names, ",")), false, nil
}

// chunks returns the number of requests for properties.
func chunks(names []string, n node) int {
	limit, err := strconv.Atoi(n.get("property_limit").text())
	if err != nil {
		return 1
	}
	requests, filled := 1, 0
	for _, name := range names {
		size := 1
		if n.get("property_limit_type").text() == "characters" {
			size = len(name) + len("%2C")
		}
		if filled += size; filled > limit {
			requests, filled = requests+1, size
		}
	}
	return requests
}

// both returns the value of the first request. If the later requests have another value, that becomes a part
// of the next request.
func (t *translation) both(first, later jinja.Expr, place importer.Place, path string) (v importer.Value, leave bool) {
	v = t.sent(first, place)
	leave = v.Source == "" && v.Const == nil && v.Object == nil && v.List == nil
	if first.Source != later.Source {
		source := t.sent(later, place)
		text := source.Source
		if text == "" {
			text = "nil"
			if source.Const != nil {
				text = jinja.Literal(source.Const).Source
			}
		}
		t.next = append(t.next, importer.Next{Target: importer.Target{In: place, Name: path}, Source: text})
	}
	return v, leave
}

// sent returns a value as it is sent. A constant text is read as a literal of Python. Of a parameter only texts
// and lists are read, so that 1.10 stays as it is; a whole number is sent alike.
func (t *translation) sent(e jinja.Expr, place importer.Place) importer.Value {
	body := place == importer.InBody && !t.form
	if e.Constant {
		v := e.Const
		if text, isText := v.(string); isText {
			switch {
			case text == "":
				v = nil
			case pythonTexts().MatchString(text):
				list := importer.Value{List: []importer.Value{}}
				for _, one := range pythonList(text) {
					list.List = append(list.List, t.sent(jinja.Literal(one), place))
				}
				return list
			case body || place == importer.InHeader || pythonText().MatchString(text) || pythonInt().MatchString(text):
				v = literalOf(text)
			}
		}
		if flag, isBool := v.(bool); isBool && !body {
			v = map[bool]string{true: "True", false: "False"}[flag]
		}
		if f, isFloat := v.(float64); isFloat && !body {
			v = strconv.FormatFloat(f, 'f', -1, 64)
		}
		return importer.Constant(v)
	}
	if list := e.List(); list != nil {
		out := importer.Value{List: []importer.Value{}}
		for _, one := range list {
			out.List = append(out.List, t.sent(one, place))
		}
		return out
	}
	if names := e.Names(); names != nil {
		out := importer.Value{Object: []importer.Member{}}
		for _, name := range names {
			out.Object = append(out.Object, importer.Member{Name: name, Value: t.sent(e.Dict()[name], place)})
		}
		return out
	}
	switch {
	case e.Kind == jinja.Bool && e.Absent && inputOnly().MatchString(e.Source):
		flag := "text(" + e.Source + ") == 'true'"
		if !body {
			flag = "(" + flag + " ? 'True' : 'False')"
		}
		return importer.Computed(e.Source + " != nil ? " + flag + " : nil")
	case e.Kind == jinja.Bool && !body:
		return importer.Computed(e.Operand() + " ? 'True' : 'False'")
	case e.Kind == jinja.Time:
		return importer.Computed(e.Operand() + ".Format('2006-01-02 15:04:05.000000-07:00')")
	}
	return importer.Computed(e.Source)
}

var inputOnly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^input\.[A-Za-z0-9_]+$`) })

var (
	pythonInt   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`) })
	pythonFloat = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?([0-9]+\.[0-9]*|\.[0-9]+)$`) })
	pythonTexts = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[\s*(?:(?:'[^',\\]*'|"[^",\\]*"|-?[0-9]+)\s*(?:,\s*|\]$))+$`)
	})
	pythonText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^('[^'\\]*'|"[^"\\]*")$`) })
)

// literalOf reads a text as a literal of Python, as the CDK does with every rendered text.
func literalOf(text string) any {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "True":
		return true
	case trimmed == "False":
		return false
	case trimmed == "None":
		return nil
	case pythonInt().MatchString(trimmed) && len(trimmed) < 16:
		n, _ := strconv.Atoi(trimmed)
		return n
	case pythonFloat().MatchString(trimmed) && len(trimmed) < 16:
		f, _ := strconv.ParseFloat(trimmed, 64)
		return f
	case pythonText().MatchString(trimmed):
		return trimmed[1 : len(trimmed)-1]
	}
	return text
}

// pythonList reads the text of a list of Python with texts and numbers.
func pythonList(text string) []any {
	inner, begins := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if !begins || !ends {
		return []any{text}
	}
	out := []any{}
	for e := range strings.SplitSeq(inner, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, literalOf(e))
		}
	}
	return out
}
