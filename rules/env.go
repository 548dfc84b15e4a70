package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// environment puts the values of environment variables in the places of a configuration
// that name them with {"env": "NAME"}. It changes no value: it returns others.
//
// The tables of fields say where a value may stand. In a map with any keys, such as the
// parameters of a job, "env" may be a key like any other; the decoder reads the values
// of such maps ([decoder.secret]).
type environment struct {
	*decoder
	lookup       func(name string) (string, bool)
	placeholders bool            // variables without a value have a placeholder
	overridden   string          // the baseUrl of the options, which needs no variable
	names        []string        // of the variables that were read, in the order of the file
	paths        map[string]bool // config paths of the values that were replaced
}

func newEnvironment(d *decoder, options Options) *environment {
	return &environment{decoder: d, lookup: options.Env, placeholders: options.Placeholders, paths: map[string]bool{}}
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

// refersToEnv reports whether a value, or one in it, may name a variable.
func refersToEnv(v any) bool {
	if _, refers := envReference(v); refers {
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, refersToEnv)
	case Object:
		return slices.ContainsFunc(v, func(m Member) bool { return refersToEnv(m.Value) })
	case map[string]any:
		for _, member := range v {
			if refersToEnv(member) {
				return true
			}
		}
	}
	return false
}

// envMay reports whether {"env": "NAME"} may stand for a value of the field. Not for an
// expression: its text would be a program, and not a value.
func (f Field) envMay() bool {
	switch f.Kind {
	case Text, Flag, Count, Integer, Status, Path, Key, Seconds, PerSecond, Secret:
		return true
	case Any:
		return f.Env || f.Fields != nil
	}
	return false
}

// read returns the value of a variable. It reports a variable that has none, unless
// there are placeholders. The path is that of the value.
func (e *environment) read(name, path string) (text string, found bool) {
	if !slices.Contains(e.names, name) {
		e.names = append(e.names, name)
	}
	e.paths[path] = true
	if e.lookup != nil {
		text, found = e.lookup(name)
	}
	if !found && !e.placeholders {
		e.diags.Errorf(diag.Value(path), "environment variable %s is not set, or not passed to this configuration", name).
			WithHint(fmt.Sprintf("set it and pass it with --env %s", name))
	}
	return text, found
}

// text returns the value of a variable, or its placeholder. It reports false if there is
// neither.
func (e *environment) text(name, path string) (string, bool) {
	text, found := e.read(name, path)
	if !found && e.placeholders {
		return placeholderFor(name), true
	}
	return text, found
}

const placeholder = "placeholder-for-"

func placeholderFor(name string) string { return placeholder + name }

// HasPlaceholder reports whether a text has the placeholder of an environment variable: see
// [Options].
func HasPlaceholder(text string) bool { return strings.Contains(text, placeholder) }

// object replaces the values of an object by the table of its keys.
func (e *environment) object(path string, v any, fields []Field) any {
	object, ok := value.Members(v)
	if !ok {
		return v
	}
	out := slices.Clone(object)
	for i, m := range out {
		if f, known := find(fields, m.Name); known {
			out[i].Value = e.field(diag.Join(path, m.Name), m.Value, f)
		}
	}
	return out
}

// field replaces the value of a field, or the values in it.
func (e *environment) field(path string, v any, f Field) any {
	if name, ok := envReference(v); ok && f.envMay() {
		switch {
		case f.Kind == Secret: // the decoder reads it, since it knows what it is for
			return v
		case f.Name == "baseUrl" && e.overridden != "":
			return e.overridden
		}
		return e.value(name, path, f)
	}
	switch f.Kind {
	case Nested:
		return e.pagination(path, v)
	case Map:
		return e.members(path, v, f)
	case List, Blocks:
		return e.elements(path, v, f)
	}
	if f.Fields != nil {
		return e.object(path, v, f.Fields)
	}
	return v
}

// value returns the value of a variable as the field wants it.
func (e *environment) value(name, path string, f Field) any {
	text, found := e.read(name, path)
	switch {
	case !found:
		return e.placeholder(name, f)
	case f.Kind == Flag && (text == "true" || text == "false"):
		return text == "true"
	case f.Env:
		e.hide(text)
	}
	return text
}

// placeholder returns a value that the field accepts.
func (e *environment) placeholder(name string, f Field) any {
	switch {
	case f.Name == "baseUrl":
		return "https://" + strings.ToLower(strings.ReplaceAll(placeholderFor(name), "_", "-")) + ".invalid/"
	case f.Kind == Text && f.Values == nil, f.Kind == Any:
		return placeholderFor(name)
	}
	return f.Sample()
}

// shortestPart is the length of the shortest part of an address or a cookie that is a
// secret. Shorter ones, such as v1, are words that occur elsewhere.
const shortestPart = 8

// hide makes a value a secret: of an address the long parts of its path and the values of
// its parameters, since the network knows the origin.
func (e *environment) hide(text string) {
	secrets := []string{text}
	if address, err := url.Parse(text); err == nil && address.Host != "" {
		secrets = slices.DeleteFunc(strings.Split(address.Path, "/"), func(part string) bool { return len(part) < shortestPart })
		secrets = append(secrets, "?"+address.RawQuery)
	}
	e.decoder.hide(secrets...)
}

// members replaces the values of a map.
func (e *environment) members(path string, v any, f Field) any {
	object, ok := value.Members(v)
	if !ok || f.Each == nil && !f.Env {
		return v
	}
	each := Field{Kind: Any, Env: true}
	if f.Each != nil {
		each = *f.Each
	}
	out := slices.Clone(object)
	for i, m := range out {
		out[i].Value = e.field(diag.Join(path, m.Name), m.Value, each)
	}
	return out
}

// elements replaces the elements of a list.
func (e *environment) elements(path string, v any, f Field) any {
	list, ok := v.([]any)
	if !ok || f.Each == nil && f.Fields == nil {
		return v
	}
	each := Field{Kind: Block, Fields: f.Fields}
	if f.Each != nil {
		each = *f.Each
	}
	out := slices.Clone(list)
	for i, element := range out {
		out[i] = e.field(diag.Index(path, i), element, each)
	}
	return out
}

// pagination replaces the values of a pagination object by the table of its method.
func (e *environment) pagination(path string, v any) any {
	object, _ := value.Members(v)
	fields := e.cfg.catalog.fields
	written, _ := object.Get("method")
	for _, m := range e.cfg.catalog.methods {
		if m.Name == written {
			fields = e.cfg.catalog.fieldsOf(m)
		}
	}
	return e.object(path, v, fields)
}
