package airbyte

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// constant returns a value at keys as a constant expression.
func constant(v any, keys []string) jinja.Expr {
	for _, k := range keys {
		var ok bool
		if v, ok = value.At(v, []string{k}); !ok {
			return jinja.Literal(nil)
		}
	}
	return literal(v)
}

func literal(v any) jinja.Expr {
	switch v := v.(type) {
	case []any:
		var list []jinja.Expr
		for _, e := range v {
			list = append(list, literal(e))
		}
		return jinja.ListOf(list)
	case value.Object:
		return jinja.Members("{}", func(keys []string) (jinja.Expr, error) { return constant(v, keys), nil })
	}
	return jinja.Literal(v)
}

var notInNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_]+`) })

// setting returns the expression for a setting: the input of its name.
func (r *reader) setting(keys []string) (jinja.Expr, error) {
	if strings.HasPrefix(keys[0], "__") { // injected settings
		return jinja.Literal(nil), nil
	}
	schema, n := r.schemaOf(keys)
	kind, _ := schema.Get("type")
	if text, ok := r.options.Set[strings.Join(keys, ".")]; ok {
		r.set[strings.Join(keys, ".")] = true
		return jinja.Literal(typed(text, kind)), nil
	}
	if v, ok := schema.Get("const"); ok {
		return literal(v), nil
	}
	if _, hasMembers := schema.Get("properties"); hasMembers || kind == "object" {
		return jinja.Members("config", func(more []string) (jinja.Expr, error) {
			return r.setting(append(slices.Clip(keys), more...))
		}), nil
	}
	if _, isChoice := schema.Get("oneOf"); isChoice && schema != nil {
		return jinja.Members("config", func(more []string) (jinja.Expr, error) {
			return r.setting(append(slices.Clip(keys), more...))
		}), nil
	}
	if schema == nil && r.spec != nil && len(keys) == 1 {
		return jinja.Literal(nil), nil // the connector never has it
	}
	if v, ok := usualValue(keys, schema, n); ok {
		return literal(v), nil
	}
	in := r.input(keys, schema, n)
	e := jinja.Name("input."+in.Name, jinja.Text)
	switch kind {
	case "integer", "number":
		e.Kind = jinja.Number
	case "boolean":
		e.Kind = jinja.Bool
	case "array":
		e = e.Split()
	}
	if in.Optional || in.Default == nil && r.spec == nil {
		fill := func(v any) bool { return r.fill(in.Name, v) }
		if kind == "array" {
			e.Absent = true
			return e.TrueUnlessNil("input." + in.Name), nil
		}
		return jinja.Input(e.Source, e.Kind, in.Optional, fill), nil
	}
	if least, _ := schema.Get("minimum"); e.Kind == jinja.Number && isPositive(least) {
		e = e.NeverFalse()
	}
	return e, nil
}

// typed returns a text of the options as the value of a setting that has a type.
func typed(text string, kind any) any {
	if flag, err := strconv.ParseBool(strings.ToLower(text)); err == nil && kind == "boolean" {
		return flag
	}
	if kind == "integer" || kind == "number" {
		return literalOf(text)
	}
	return text
}

// usualValue returns the value that a setting has unless somebody sets it, if hardly anybody does: a number or a switch with a
// default, the length of a step, or the end of what is read. Such a value is a constant of the configuration.
func usualValue(keys []string, schema value.Object, n need) (v any, ok bool) {
	name := keys[len(keys)-1]
	kind, _ := schema.Get("type")
	v, hasDefault := schema.Get("default")
	isScalar := kind == "integer" || kind == "number" || kind == "boolean"
	switch hidden, _ := schema.Get("airbyte_secret"); {
	case schema == nil, hidden == true, slices.Contains(credentials, keys[0]), identityName().MatchString(importer.InputName(name)):
		return nil, false
	case hasDefault && v != nil && v != "":
		return v, isScalar || kind == "string" && tuningName().MatchString(name)
	}
	return nil, n == never && (isScalar || kind == "string" && (tuningName().MatchString(name) || endName().MatchString(name)))
}

var (
	// identityName matches the names of settings that say whose data is read.
	identityName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|_)(ids?|number|account|company|customer|workspace|project|port)$`)
	})
	// tuningName matches the names of settings that change only how lists are divided.
	tuningName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(page|batch|chunk|slice|window|step|lookback)`)
	})
	// endName matches the names of settings that say where a run ends.
	endName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|_)end_(date|time|datetime)$`) })
)

// isPositive reports whether a value is a number above 0.
func isPositive(v any) bool {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return err == nil && n > 0
}

// fill gives an input a default.
func (r *reader) fill(name string, v any) bool {
	for i, in := range r.inputs {
		if in.Name == name && (in.Default == nil || in.Default == v) {
			r.inputs[i].Default, r.inputs[i].Optional = v, false
			return true
		}
	}
	return false
}

// settingsPlace is the beginning of the place of each setting in a report.
const settingsPlace = "spec."

// A need says when a setting must have a value.
type need int

const (
	never     need = iota
	ifChosen       // if the objects around it, or the alternative of which it is a part, are chosen
	inAllRuns      // in any case
)

// schemaOf returns the schema of a setting, and when it must have a value. It is nil if the
// specification does not have it.
func (r *reader) schemaOf(keys []string) (value.Object, need) {
	schema, above, last := r.spec, inAllRuns, inAllRuns
	for _, k := range keys {
		inner, n := memberSchema(schema, k)
		if inner == nil {
			return nil, never
		}
		schema, above, last = inner, min(above, last), n
	}
	if last != never && above != inAllRuns {
		last = ifChosen
	}
	return schema, last
}

// memberSchema returns the schema of a member: of the object, or of the first alternative that has it.
func memberSchema(schema value.Object, key string) (value.Object, need) {
	properties, _ := schema.Get("properties")
	if v, ok := value.At(properties, []string{key}); ok && properties != nil {
		inner, _ := value.Members(v)
		list, _ := schema.Get("required")
		names, _ := list.([]any)
		if slices.Contains(names, any(key)) {
			return inner, inAllRuns
		}
		return inner, never
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		choices, _ := schema.Get(word)
		list, _ := choices.([]any)
		for _, c := range list {
			choice, _ := value.Members(c)
			if inner, n := memberSchema(choice, key); inner != nil {
				return inner, min(n, ifChosen)
			}
		}
	}
	return nil, never
}

// input returns the input for a setting.
func (r *reader) input(keys []string, schema value.Object, n need) importer.Input {
	in := importer.Input{Place: settingsPlace + strings.Join(keys, ".")}
	for _, known := range r.inputs {
		if known.Place == in.Place {
			return known
		}
	}
	in.Name = r.inputName(keys)
	title, _ := schema.Get("title")
	in.Doc, _ = title.(string)
	if description, _ := schema.Get("description"); importer.Repeats(in.Doc, in.Name) {
		text, _ := description.(string)
		in.Doc = cmp.Or(firstSentence(text), in.Doc)
	}
	if in.Doc = wanted().ReplaceAllString(in.Doc, ""); jargon().MatchString(in.Doc) {
		in.Doc = ""
	}
	in.Doc = r.uncapitalized(in.Doc)
	hidden, marked := schema.Get("airbyte_secret")
	in.Secret = hidden == true || !marked && schema == nil && secret.IsName(in.Name)
	in.Default, _ = schema.Get("default")
	switch kind, _ := schema.Get("type"); kind {
	case "integer", "number":
		in.Sample = 10
	case "boolean":
		in.Sample = true
	}
	switch v := in.Default.(type) {
	case []any:
		var texts []string
		for _, e := range v {
			texts = append(texts, fmt.Sprint(e))
		}
		in.Default = strings.Join(texts, ",")
	case value.Object:
		in.Default = nil
	}
	if in.Default == "" {
		in.Default = nil
	}
	if startName().MatchString(in.Name) {
		in.Doc = ""
		if in.Default == nil { // a default shows what it is
			in.Doc = "the beginning of the first run"
		}
	}
	if example := exampleOf(schema); example != "" && in.Default == nil && !in.Secret && in.Doc != "" && !strings.Contains(in.Doc, example) {
		in.Doc += ", such as " + example
	}
	if in.Default == nil && n != inAllRuns && schema != nil {
		isPassword := strings.Contains(keys[len(keys)-1], "pass") // which may be empty
		in.Optional, in.Needed = true, n == ifChosen || len(keys) > 1 && slices.Contains(credentials, keys[0]) && !isPassword
	}
	r.inputs = append(r.inputs, in)
	return in
}

// credentials are settings that only hold those of one kind of credentials.
var credentials = []string{"credentials", "credential", "authentication", "authorization", "auth"}

// inputName returns the name of the input for a setting: that of the setting, without the object of credentials around
// it if no other setting has this name.
func (r *reader) inputName(keys []string) string {
	name := func(keys []string) string {
		name := strings.Trim(notInNames().ReplaceAllString(strings.Join(keys, "_"), "_"), "_")
		if name == "" || name[0] >= '0' && name[0] <= '9' {
			name = "setting_" + name
		}
		return name
	}
	isTaken := func(name string) bool {
		return slices.ContainsFunc(r.inputs, func(in importer.Input) bool { return in.Name == name })
	}
	if len(keys) > 1 && slices.Contains(credentials, keys[0]) {
		short := name(keys[1:])
		if other, _ := r.schemaOf([]string{short}); other == nil && !isTaken(short) {
			return short
		}
	}
	return importer.FreeName(r.inputs, name(keys))
}

// startName matches the names of settings that say where the first run begins.
var startName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|_)start_(date|time|datetime)$`) })

// jargon matches descriptions that speak of the product that the document is for.
var jargon = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)airbyte|\b(connectors?|sync(s|ed|ing)?|streams?|replicat\w+)\b`)
})

// wanted matches the end of descriptions that says only that the thing before it is read, or where it is found.
var wanted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i),? ((that|which) )?((you|you'd|you would) (want|wish|like|need) to (sync|replicate)|can be found .*)\.?$`)
})

// exampleOf returns the first example of a setting if it is a short text without blanks.
func exampleOf(schema value.Object) string {
	list, _ := schema.Get("examples")
	examples, _ := list.([]any)
	if len(examples) == 0 {
		return ""
	}
	text, isText := examples[0].(string)
	if !isText || len(text) > 40 || strings.ContainsAny(text, " \n{}") || jargon().MatchString(text) {
		return ""
	}
	return text
}

// uncapitalized returns a text with a small letter at its beginning, unless it begins with an abbreviation or the name of
// the API.
func (r *reader) uncapitalized(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if len(word) < 2 || word[1:] != strings.ToLower(word[1:]) || strings.EqualFold(strings.Trim(word, "'s."), r.name) {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}

var markup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^>]*>`) })

// isThe matches the beginning of descriptions that only points to the setting.
var isThe = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(this|it) is |^enter `) })

// firstSentence returns the first sentence of a description, or its beginning if it is long, without markup.
func firstSentence(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(markup().ReplaceAllString(text, "")), " ")
	if first, _, ok := strings.Cut(text, ". "); ok {
		text = first
	}
	text = isThe().ReplaceAllString(strings.TrimSuffix(text, "."), "")
	if len(text) <= most {
		return text
	}
	for _, end := range []string{" (", "; ", ", ", " that ", " which "} {
		if at := strings.LastIndex(text[:most], end); at > most/4 {
			return text[:at]
		}
	}
	return ""
}
