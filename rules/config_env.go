package rules

import (
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// environment looks up the variables that {"env": "NAME"} refers to, and records which of them were read.
//
// The tables of fields say where such an object may stand. In a map with any keys, such as
// the parameters of a job, "env" may be a key like any other; [reader.secret] reads the
// values of such maps.
type environment struct {
	lookup       func(name string) (string, bool)
	placeholders bool   // variables without a value have a placeholder
	overridden   string // the baseUrl of the options, which needs no variable
	read         []envRead
}

// An envRead is an environment variable that was read.
type envRead struct {
	name  string
	path  string // config path of the value that names it
	at    int    // offset of that value in the configuration
	found bool
}

// names returns the names of the variables that were read, and of those without a value, in the order
// of the file, and the config paths for which each was read.
func (e *environment) names() (read, unset []string, paths map[string][]string) {
	slices.SortStableFunc(e.read, func(a, b envRead) int { return a.at - b.at })
	paths = map[string][]string{}
	for _, v := range e.read {
		read = lists.AppendNew(read, v.name)
		paths[v.name] = lists.AppendNew(paths[v.name], v.path)
		if !v.found {
			unset = lists.AppendNew(unset, v.name)
		}
	}
	return read, unset, paths
}

// envReference returns the name of the variable that a value names.
func envReference(v any) (string, bool) {
	object, isObject := value.Members(v)
	if !isObject || len(object) != 1 || object[0].Name != "env" {
		return "", false
	}
	name, isText := object[0].Value.(string)
	return name, isText
}

// lookUpEnv returns the value of a variable. It reports a variable without a value, unless
// there are placeholders. The path is the path of the value.
func (r *reader) lookUpEnv(name, path string) (text string, found bool) {
	if r.env.lookup != nil {
		text, found = r.env.lookup(name)
	}
	r.env.read = append(r.env.read, envRead{name, path, r.diags.Source().ValueAt(path), found})
	if !found && !r.env.placeholders {
		r.diags.Errorf(diag.Value(path), "environment variable %s is not set, or not passed to this configuration", name).
			WithRemedy("set it and pass it with %s", remedy.Env.Of(name))
	}
	return text, found
}

// envText returns the value of a variable, or its placeholder. It reports false if there is
// neither.
func (r *reader) envText(name, path string) (string, bool) {
	text, found := r.lookUpEnv(name, path)
	if !found && r.env.placeholders {
		return placeholderFor(name), true
	}
	return text, found
}

const placeholder = "placeholder-for-"

func placeholderFor(name string) string { return placeholder + name }

// HasPlaceholder reports whether a text has the placeholder of an environment variable: see
// [Options].
func HasPlaceholder(text string) bool { return strings.Contains(text, placeholder) }

// envValue returns the value of a variable as the field wants it.
func (r *reader) envValue(name, path string, f *Field) any {
	if f.Name == "baseUrl" && r.env.overridden != "" {
		return r.env.overridden
	}
	text, found := r.lookUpEnv(name, path)
	switch {
	case !found:
		return f.placeholder(name)
	case f.Kind == KindFlag && (text == "true" || text == "false"):
		return text == "true"
	case f.Env:
		r.hideAddress(name, text)
	}
	return text
}

// placeholder returns a value that the field accepts.
func (f *Field) placeholder(name string) any {
	switch {
	case f.Name == "baseUrl":
		return "https://" + strings.ToLower(strings.ReplaceAll(placeholderFor(name), "_", "-")) + ".invalid/"
	case f.Kind == KindText && f.Values == nil, f.Kind == KindAny:
		return placeholderFor(name)
	}
	return f.sample()
}

// hideAddress makes the value of a variable a secret: of an address the long parts of its path and
// the values of its parameters, since the network knows the origin.
func (r *reader) hideAddress(variable, text string) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" {
		r.hideEnv("", variable, text)
		return
	}
	for part := range strings.SplitSeq(address.Path, "/") {
		switch {
		case len(part) < secret.ShortestPart:
		case secret.IsRandom(part): // a key, as in the address of a webhook
			r.hide(part)
		default:
			r.hideEnv("", variable, part)
		}
	}
	r.hide("?" + address.RawQuery)
}

// hideEnv registers the value of a variable as a secret and, unless the value is a credential, as an
// identity: see [Config.Identities]. It is a credential if its key, which may be empty, or its variable has
// the name of a credential, or if it has the form of a token.
func (r *reader) hideEnv(key, variable, text string) {
	known := slices.Contains(r.cfg.Secrets, text) && !slices.Contains(r.cfg.Identities, text)
	r.hide(text)
	if !known && !secret.IsHeader(key, text) && !secret.IsHeader(strings.ReplaceAll(variable, "_", "-"), text) {
		r.cfg.Identities = append(r.cfg.Identities, text)
	}
}
