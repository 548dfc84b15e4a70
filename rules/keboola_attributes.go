package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The attributes of a configuration are the values in its section config, apart from
// jobs. Functions read them as {"attr": "server"}, and nested attributes with dots between their
// keys. Each attribute that is read becomes an input, so that a run can set it.

// attributes are values by their names, flattened.
type attributes struct {
	*decoder
	input  func(name string) string // the name of the input for an attribute
	values Object

	shared []Object // iterations that cannot override the value
}

// newAttributes returns the attributes in an object.
func (d *decoder) newAttributes(object Object, input func(name string) string) *attributes {
	return &attributes{decoder: d, input: input, values: flatten("", object)}
}

// flatten returns the scalars in a value by their paths.
func flatten(prefix string, v any) Object {
	members, _ := value.Members(v)
	list, _ := v.([]any)
	for i, e := range list {
		members = append(members, Member{Name: strconv.Itoa(i), Value: e})
	}
	var out Object
	for _, m := range members {
		name := prefix + m.Name
		if _, ok := value.Text(m.Value); ok {
			out = append(out, Member{Name: name, Value: m.Value})
		} else if env, ok := envReference(m.Value); ok {
			out = append(out, Member{Name: name, Value: envVariable(env)})
		} else {
			out = append(out, flatten(name+".", m.Value)...)
		}
	}
	return out
}

// envVariable is the value of an environment variable of that name.
type envVariable string

// refer returns the expression for an attribute, and declares its input. It is a [resolver].
func (a *attributes) refer(path, name string) (source string, hidden bool) {
	for i, over := range a.shared {
		if slices.Contains(flatten("", over).Names(), name) {
			a.diags.Errorf(diag.Value(path), "all iterations share this value, and iterations[%d] overrides %s", i, name).
				WithRemedy("extract each account with a configuration of its own, or set the value with %s", remedy.AnyInput)
			return "", false
		}
	}
	v, ok := a.values.Get(name)
	if !ok {
		a.reportMissing(path, name)
		return "", false
	}
	in := Input{Name: a.input(name), Doc: "attribute " + name + " of config", Default: withoutSpelling(v)}
	if env, ok := v.(envVariable); ok {
		text, ok := a.envText(string(env), path)
		if !ok {
			return "", false
		}
		in.Default, in.Secret = text, true
	}
	text, _ := value.Text(in.Default)
	in.Secret = in.Secret || hiddenName(name, text)
	if in.Secret {
		a.hide(text)
	}
	if !slices.ContainsFunc(a.cfg.Inputs, func(had Input) bool { return had.Name == in.Name }) {
		a.cfg.Inputs = append(a.cfg.Inputs, in)
	}
	return keypath.Format("input", []string{in.Name}), in.Secret
}

// hiddenName reports whether one of the keys in the path of an attribute marks a secret.
func hiddenName(name, text string) bool {
	return slices.ContainsFunc(strings.Split(name, "."), func(key string) bool {
		return strings.HasPrefix(key, "#") || secret.IsValue(key, text)
	})
}

// reportMissing reports an attribute that does not exist.
func (a *attributes) reportMissing(path, name string) {
	d := a.diags.Errorf(diag.Value(path), "config has no value %q", name)
	nearest(d, name, a.values.Names())
	inner := slices.DeleteFunc(a.values.Names(), func(known string) bool { return !strings.HasPrefix(known, name+".") })
	if len(inner) > 0 {
		d.WithReplacement("", "its values are "+strings.Join(inner[:min(len(inner), 20)], ", "))
	}
}
