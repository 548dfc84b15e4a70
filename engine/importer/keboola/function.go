package keboola

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// references give the expressions for references such as {"time": "currentStart"}, by their keys.
type references map[string]func(name string) (string, error)

const now = "now().Unix()"

// An expression computes a value.
type expression struct {
	source string
	text   bool // its value is a text
}

// value returns a constant, or the expression for a function or a reference.
func (r *reader) value(v any, refs references) (importer.Value, error) {
	object, isObject := value.Members(v)
	switch {
	case !isObject || environment(object) != "":
		return importer.Constant(v), nil
	case !r.computes(object, refs):
		out := importer.Value{Object: []importer.Member{}}
		for _, m := range object {
			inner, err := r.value(m.Value, refs)
			if err != nil {
				return out, err
			}
			out.Object = append(out.Object, importer.Member{Name: m.Name, Value: inner})
		}
		return out, nil
	}
	if name, isText := value.Text(memberOf(object, "attr")); len(object) == 1 && isText {
		if constant, is := r.constant(name); is {
			return importer.Constant(constant), nil
		}
	}
	e, err := r.expression(object, refs)
	return importer.Computed(e.source), err
}

// environment returns the name of the variable in {"env": "NAME"}.
func environment(o value.Object) string {
	if len(o) != 1 || o[0].Name != "env" {
		return ""
	}
	name, _ := o[0].Value.(string)
	return name
}

// computes reports whether an object is a function or a reference.
func (r *reader) computes(o value.Object, refs references) bool {
	if _, isFunction := o.Get("function"); isFunction {
		return true
	}
	return len(o) == 1 && (o[0].Name == "attr" || refs[o[0].Name] != nil)
}

// expression returns the expression for a value.
func (r *reader) expression(v any, refs references) (expression, error) {
	if list, isList := v.([]any); isList {
		parts, err := r.expressions(list, refs)
		return expression{source: "[" + strings.Join(sources(parts), ", ") + "]"}, err
	}
	object, isObject := value.Members(v)
	switch {
	case !isObject:
		return literal(v), nil
	case !r.computes(object, refs):
		parts, err := r.expressions(object.Values(), refs)
		for i, m := range object {
			if err == nil {
				parts[i].source = importer.Quote(m.Name) + ": " + parts[i].source
			}
		}
		return expression{source: "{" + strings.Join(sources(parts), ", ") + "}"}, err
	}
	if name, isFunction := object.Get("function"); isFunction {
		return r.call(name, memberOf(object, "args"), refs)
	}
	name, _ := value.Text(object[0].Value)
	if object[0].Name == "attr" {
		return r.attribute(name)
	}
	source, err := refs[object[0].Name](name)
	return expression{source: source}, err
}

func (r *reader) expressions(list []any, refs references) ([]expression, error) {
	var out []expression
	for _, v := range list {
		e, err := r.expression(v, refs)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func sources(list []expression) []string {
	return lists.Map(list, func(e expression) string { return e.source })
}

// literal returns a scalar as an expression.
func literal(v any) expression {
	switch v := v.(type) {
	case nil:
		return expression{source: "nil"}
	case string:
		return expression{importer.Quote(v), true}
	}
	text, _ := value.Text(v)
	return expression{source: text}
}

// call returns the expression for a function.
func (r *reader) call(name, args any, refs references) (expression, error) {
	if name == "time" {
		return expression{source: now}, nil
	}
	if members, isObject := value.Members(args); isObject {
		args = members.Values()
	}
	list, _ := args.([]any)
	parts, err := r.expressions(list, refs)
	text, _ := name.(string)
	f, ok := php.FunctionNamed(text)
	if !ok || err != nil {
		return expression{}, cmpError(err, "the function %v is not known", name)
	}
	if f.Timed && len(parts) == f.Min-1 {
		parts = append(parts, expression{source: now})
	}
	if isText := func(e expression) bool { return e.text }; name == "concat" &&
		!slices.ContainsFunc(parts, func(e expression) bool { return !isText(e) }) {
		return expression{strings.Join(sources(parts), " + "), true}, nil
	}
	return expression{source: f.Builtin + "(" + strings.Join(sources(parts), ", ") + ")"}, nil
}

func cmpError(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

// find returns the value of an attribute: a value of config, by its keys with dots between them.
func find(o value.Object, name string) (any, bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
		inner, isObject := value.Members(m.Value)
		if list, isList := m.Value.([]any); isList {
			isObject = true
			for i, e := range list {
				inner = append(inner, value.Member{Name: strconv.Itoa(i), Value: e})
			}
		}
		if rest, below := strings.CutPrefix(name, m.Name+"."); below && isObject {
			if v, has := find(inner, rest); has {
				return v, true
			}
		}
	}
	return nil, false
}

// constant returns the value of an attribute that is not an input: a setting gives it, an iteration overrides it,
// or it is a boolean, which parameters have as PHP writes it.
func (r *reader) constant(name string) (any, bool) {
	if v, set := r.settings.Get(name); set {
		return v, true
	}
	v, _ := find(r.config, name)
	_, overridden := find(r.over, name)
	_, isBoolean := v.(bool)
	return v, (overridden || isBoolean) && !hidden(name, v) && v != nil
}

// attribute returns the expression for an attribute, and declares its input.
func (r *reader) attribute(name string) (expression, error) {
	if v, is := r.constant(name); is {
		return literal(v), nil
	}
	v, has := find(r.config, name)
	if !has {
		return expression{}, fmt.Errorf("config has no value %s", name)
	}
	object, _ := value.Members(v)
	text, isScalar := value.Text(v)
	if !isScalar && environment(object) == "" {
		return expression{}, fmt.Errorf("the value %s of config is not a scalar", name)
	}
	key := name
	if _, overridden := find(r.over, name); overridden {
		key = fmt.Sprintf("%s %d", name, r.iteration)
	}
	in := importer.Input{Default: v, Place: r.at("config." + name)}
	if hidden(name, v) {
		in.Default, in.Secret, in.Sample = nil, true, "example"
		text = ""
	}
	_, isText := v.(string)
	if text == "" && !in.Secret {
		in.Default = ""
	}
	return expression{r.input(key, in), isText || in.Secret}, nil
}

// input declares an input for a value of the document, and returns the expression for it.
func (r *reader) input(key string, in importer.Input) string {
	if name, known := r.given[key]; known {
		return "input." + name
	}
	in.Name = importer.InputName(key)
	for i, first := 2, in.Name; slices.ContainsFunc(r.inputs, func(had importer.Input) bool { return had.Name == in.Name }); i++ {
		in.Name = first + "_" + strconv.Itoa(i)
	}
	r.inputs = append(r.inputs, in)
	r.given[key] = in.Name
	return "input." + in.Name
}

// hidden reports whether an attribute is a secret: by # before one of its keys, or by its name.
func hidden(name string, v any) bool {
	text, isScalar := value.Text(v)
	return !isScalar || slices.ContainsFunc(strings.Split(name, "."), func(key string) bool {
		return strings.HasPrefix(key, "#") || secret.IsValue(key, text)
	})
}

// address returns an address with expressions in braces.
func (r *reader) address(v any) (string, error) {
	object, isObject := value.Members(v)
	if !isObject {
		text, _ := v.(string)
		return strings.NewReplacer("{", "{{", "}", "}}").Replace(text), nil
	}
	if memberOf(object, "function") == "concat" {
		args, _ := memberOf(object, "args").([]any)
		var b strings.Builder
		for _, one := range args {
			part, err := r.address(one)
			if err != nil {
				return "", err
			}
			b.WriteString(part)
		}
		return b.String(), nil
	}
	if name := environment(object); name != "" {
		return "{+" + r.input(name, importer.Input{Doc: "environment variable " + name, Place: name}) + "}", nil
	}
	e, err := r.value(object, nil)
	if text, isConst := value.Text(e.Const); isConst {
		return text, err
	}
	return "{+" + e.Source + "}", err
}

// endsInSlash reports whether the text of an address ends with a slash, as far as the document says so.
func (r *reader) endsInSlash(v any) bool {
	object, isObject := value.Members(v)
	if !isObject {
		text, _ := v.(string)
		return strings.HasSuffix(text, "/")
	}
	args, _ := memberOf(object, "args").([]any)
	switch function := memberOf(object, "function"); {
	case function == "concat" && len(args) > 0:
		return r.endsInSlash(args[len(args)-1])
	case function == "sprintf" && len(args) > 0:
		return r.endsInSlash(args[0])
	case len(object) == 1 && object[0].Name == "attr":
		name, _ := value.Text(object[0].Value)
		text, _ := find(r.config, name)
		return r.endsInSlash(text)
	}
	return false
}

// times are the references to the times of runs.
func times(current, previous string) references {
	return references{"time": func(name string) (string, error) {
		if name == "previousStart" {
			return previous, nil
		}
		return current, nil
	}}
}

// query returns parameters of a query, as PHP writes them: objects and lists become parameters with
// brackets, a boolean is 1 or 0, and null is left out.
func (r *reader) query(object value.Object, refs references) ([]importer.Member, error) {
	var out []importer.Member
	var add func(name string, v any, computes bool) error
	add = func(name string, v any, computes bool) error {
		inner, isObject := value.Members(v)
		list, isList := v.([]any)
		switch {
		case v == nil:
			return nil
		case isObject && environment(inner) == "" && !(computes && r.computes(inner, refs)):
			for _, m := range inner {
				if err := add(name+"["+m.Name+"]", m.Value, computes); err != nil {
					return err
				}
			}
			return nil
		case isList:
			for i, e := range list {
				if err := add(name+"["+strconv.Itoa(i)+"]", e, false); err != nil {
					return err
				}
			}
			return nil
		}
		element, err := r.value(v, refs)
		if err != nil {
			return err
		}
		switch element.Const {
		case true:
			element.Const = 1
		case false:
			element.Const = 0
		}
		out = append(out, importer.Member{Name: marked(name, element), Value: element})
		return nil
	}
	for _, m := range object {
		if err := add(m.Name, m.Value, true); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return out, nil
}

// marked returns the name of a parameter, with # if its value is a secret.
func marked(name string, v importer.Value) string {
	if text, isText := v.Const.(string); isText && secret.IsParameter(name, text) && !strings.HasPrefix(name, "#") {
		return "#" + name
	}
	return name
}

// pathOf returns a path whose keys a delimiter separates.
func pathOf(text, delimiter string) string { return keypath.Join(strings.Split(text, delimiter)...) }

// whole returns a number as PHP reads it from a configuration. It reports false for any other value, and for
// a number that is not above 0.
func whole(v any) (int, bool) {
	text, isScalar := value.Text(v)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, isScalar && err == nil && n > 0
}
