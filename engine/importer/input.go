package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// inputName matches where an expression reads an input.
var inputName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\binput\.([A-Za-z_][A-Za-z0-9_]*)`) })

// setInputs sets the inputs of a group: those of its streams, or of the source. It returns the configuration with them.
// Secrets come from the environment: directly where their values stand alone, and otherwise as the default of an input. A
// number that is only read as a text is a text, and an input that credentials need is not optional.
func (w *writer) setInputs(g *group, root value.Object) value.Object {
	inputs := w.src.Inputs
	if g.first.Inputs != nil {
		inputs = g.first.Inputs
	}
	g.inputs = slices.Clone(inputs)
	all := text(root)
	auth, _ := value.At(root, []string{"api", "authentication"})
	credentials, _ := value.Members(auth)
	for i, in := range g.inputs {
		reads := 0
		for _, m := range inputName().FindAllStringSubmatch(all, -1) {
			if m[1] == in.Name {
				reads++
			}
		}
		converted, sole := "text(input."+in.Name+")", `{"expr":"input.`+in.Name+`"}`
		_, isNumber := in.Default.(int)
		switch {
		case reads == 0:
		case isNumber && strings.Count(all, converted) == reads:
			g.inputs[i].Default = fmt.Sprint(in.Default)
			root = replaced(root, converted, "input."+in.Name).(value.Object)
		case in.Needed && in.Optional && strings.Count(text(credentials), sole) == reads:
			g.inputs[i].Optional = false
		}
		switch in = g.inputs[i]; {
		case reads == 0 || in.Optional || in.Default != nil:
		case (in.Secret || isClient(credentials, sole)) && strings.Count(all, sole) == reads:
			root = fromEnvironment(root, in.Name, w.variable(g, in.Name)).(value.Object)
		case in.Secret:
			g.inputs[i].Default = value.ObjectOf("env", w.variable(g, in.Name))
		}
	}
	return root
}

// hideUsers takes the user names and passwords out of the base addresses of the streams, which would be copied otherwise.
// They become credentials whose values each run sets, unless the stream has others.
func (w *writer) hideUsers() {
	for _, s := range w.src.Streams {
		scheme, rest, _ := strings.Cut(s.BaseURL, "://")
		authority, _, _ := strings.Cut(rest, "/")
		at := strings.LastIndexByte(authority, '@')
		if at < 0 || strings.Contains(authority[:at], "{") {
			continue
		}
		s.BaseURL = scheme + "://" + rest[at+1:]
		s.Note(Note{Grade: Check, Source: s.Place, Target: "api.authentication",
			Text: "the address has a user name or a password, which was not copied; keep secrets out of documents"})
		if s.Auth != nil {
			continue
		}
		s.Auth = []Member{Named("type", Constant("basic"))}
		for _, key := range []string{"username", "#password"} {
			name := strings.TrimPrefix(key, "#")
			s.Auth = append(s.Auth, Named(key, Computed("input."+name)))
			inputs := &w.src.Inputs
			if s.Inputs != nil {
				inputs = &s.Inputs
			}
			if !slices.ContainsFunc(*inputs, func(in Input) bool { return in.Name == name }) {
				*inputs = append(*inputs, Input{Name: name, Secret: true, Place: s.Place})
			}
		}
	}
}

// isClient reports whether a value is the id of the client of OAuth 2.0, which stands beside its secret.
func isClient(credentials value.Object, sole string) bool {
	id, _ := credentials.Get("clientId")
	return text(id) == sole
}

// variable returns the name of the variable of the environment for an input: GITHUB_ACCESS_TOKEN, or API_TOKEN if the API has
// no name and the input does not begin with a part of its host. A stream with inputs of its own is that of another API.
func (w *writer) variable(g *group, input string) string {
	name := w.src.Name
	if name == "" && g.first.Inputs != nil {
		name = g.first.Name
	}
	name = strings.Trim(notInInput().ReplaceAllString(strings.ToLower(name), "_"), "_")
	if name == "" || name == "config" || name == "manifest" {
		name = "api"
		if first, _, more := strings.Cut(input, "_"); more && len(first) > 3 && strings.Contains(origin(g.first.BaseURL), first) {
			name = first
		}
	}
	if !strings.HasPrefix(input, name+"_") {
		input = name + "_" + input
	}
	return strings.ToUpper(input)
}

// fromEnvironment returns a value with a variable of the environment in the place of each expression that is an input.
func fromEnvironment(v any, input, variable string) any {
	switch v := v.(type) {
	case []any:
		return lists.Map(v, func(e any) any { return fromEnvironment(e, input, variable) })
	case value.Object:
		if source, has := v.Get("expr"); has && len(v) == 1 && source == "input."+input {
			return value.ObjectOf("env", variable)
		}
		out := value.Object{}
		for _, m := range v {
			out = append(out, value.Member{Name: m.Name, Value: fromEnvironment(m.Value, input, variable)})
		}
		return out
	}
	return v
}

// replaced returns a value with another text in place of one, in all its texts.
func replaced(v any, before, after string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, before, after)
	case []any:
		return lists.Map(v, func(e any) any { return replaced(e, before, after) })
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			out = append(out, value.Member{Name: m.Name, Value: replaced(m.Value, before, after)})
		}
		return out
	}
	return v
}

// declarations returns the inputs that a configuration reads.
func declarations(inputs []Input, root value.Object) value.Object {
	read := map[string]bool{}
	for _, m := range inputName().FindAllStringSubmatch(text(root), -1) {
		read[m[1]] = true
	}
	var out value.Object
	for _, in := range inputs {
		if !read[in.Name] {
			continue
		}
		declaration := value.Given("doc", in.doc(), "secret", in.Secret, "pattern", in.Pattern, "optional", in.Optional)
		if in.Default != nil {
			declaration = append(declaration, value.Member{Name: "default", Value: in.Default})
		}
		if declaration == nil {
			declaration = value.Object{}
		}
		out = append(out, value.Member{Name: in.Name, Value: declaration})
	}
	return out
}

// doc returns the documentation of an input, unless it only repeats the name: client_id, Client ID.
func (in Input) doc() string {
	if Repeats(in.Doc, in.Name) {
		return ""
	}
	return strings.TrimSpace(in.Doc)
}

// Repeats reports whether the documentation of an input says no more than its name.
func Repeats(doc, name string) bool { return strings.Contains(letters(name), letters(doc)) }

// letters returns the letters and digits of a text, in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
