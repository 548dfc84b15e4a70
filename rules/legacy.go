package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// What a configuration of the reference implementation has in other places, or in other
// forms, is read before the tables of fields are applied (dialect keboola).

// legacy is a configuration of the reference implementation.
type legacy struct {
	*decoder
	attributes *attributes
	unknown    Object // the members of config that have no meaning of their own
}

// legacyOf returns what only the reference implementation reads in the object that holds
// api and config, and the object without that.
func (d *decoder) legacyOf(root any) (*legacy, any) {
	object, _ := value.Members(root)
	config, _ := object.Get("config")
	members, ok := value.Members(config)
	if !ok {
		return nil, root
	}
	l := &legacy{decoder: d, attributes: d.newAttributes(members.Without("jobs"), func(name string) string { return name })}
	object = slices.Clone(object)
	for i, m := range object {
		switch m.Name {
		case "config":
			object[i].Value = l.known(members)
		case "api":
			object[i].Value = l.api(diag.Join(d.cfg.path, "api"), m.Value)
		}
	}
	return l, object
}

// known returns the members of config that have a meaning of their own.
func (l *legacy) known(config Object) Object {
	var known Object
	for _, m := range config {
		if _, ok := find(configFields, m.Name); ok {
			known = append(known, m)
		} else {
			l.unknown = append(l.unknown, m)
		}
	}
	return known
}

// api takes functions out of baseUrl, and leaves the address that they give at present.
func (l *legacy) api(path string, api any) any {
	object, _ := value.Members(api)
	base, _ := object.Get("baseUrl")
	f := l.functions(nil)
	if _, isObject := value.Members(base); !isObject || !f.calls(base) {
		return api
	}
	computed, ok := f.value(diag.Join(path, "baseUrl"), base).(Computed)
	if !ok {
		return api
	}
	l.cfg.baseSource = computed
	address, err := l.constant(base)
	if err != nil {
		l.diags.Errorf(diag.Value(computed.Path), "%v", err)
		address = "https://invalid.invalid/"
	}
	return object.With("baseUrl", php.String(address))
}

// unread warns of the attributes that nothing reads. They have no effect, and may be
// misspelt keys.
func (l *legacy) unread() {
	for _, m := range l.unknown {
		name := m.Name
		if slices.ContainsFunc(l.cfg.Inputs, func(in Input) bool { return in.Name == name || strings.HasPrefix(in.Name, name+".") }) {
			continue
		}
		l.diags.Warnf(diag.Key(diag.Join(diag.Join(l.cfg.path, "config"), name)), "no function reads %s, so it has no effect", name).
			WithHint(diag.DidYouMean(name, names(configFields)))
	}
}

// params computes the functions in the parameters of a job.
func (l *legacy) params(s setting) setting {
	if l == nil {
		return s
	}
	return l.functions(l.times()).evaluated(s)
}

// headers computes the functions in headers of all requests.
func (l *legacy) headers(s setting) setting {
	if l == nil {
		return s
	}
	return l.functions(nil).evaluated(s)
}

// functions returns what reads function objects that may refer to the attributes, and
// more.
func (l *legacy) functions(more map[string]refers) functions {
	references := map[string]refers{"attr": l.attributes.refer}
	for name, read := range more {
		references[name] = read
	}
	return functions{decoder: l.decoder, references: references}
}

// constant computes functions of attributes.
func (l *legacy) constant(v any) (any, error) {
	switch object, _ := value.Members(v); {
	case len(object) == 1 && object[0].Name == "attr":
		name, _ := value.Text(object[0].Value)
		at, _ := l.attributes.values.Get(name)
		if env, ok := at.(envVariable); ok {
			text, _ := l.env.text(string(env), "")
			return text, nil
		}
		return computable(at), nil
	case object != nil:
		name, _ := object.Get("function")
		args, _ := object.Get("args")
		return l.constantCall(name, args)
	}
	list, ok := v.([]any)
	if !ok {
		return computable(v), nil
	}
	return l.constants(list)
}

func (l *legacy) constants(list []any) (_ []any, err error) {
	out := make([]any, len(list))
	for i, v := range list {
		if out[i], err = l.constant(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (l *legacy) constantCall(name, args any) (any, error) {
	list, _ := args.([]any)
	values, err := l.constants(list)
	if err != nil {
		return nil, err
	}
	for _, f := range php.Functions {
		if slices.Contains(timedFunctions, f.Name) && len(values) == f.Min-1 {
			values = append(values, 0)
		}
		if f.Name == name && len(values) >= f.Min {
			return f.Call(values)
		}
	}
	return "", nil // reported
}

// times are the references to the times of runs, which parameters and user data can read.
func (l *legacy) times() map[string]refers {
	return map[string]refers{"time": func(path, name string) (string, bool) {
		switch name {
		case "currentStart":
			return sourceOfNow, false
		case "previousStart":
			return "(kept." + previousStart + " ?? 0)", false
		}
		l.diags.Errorf(diag.Value(path), "unknown time %q", name).WithHint(nearest(name, []string{"currentStart", previousStart}))
		return "", false
	}}
}

// previousStart is the name under which a job keeps the time of its beginning for the
// next run.
const previousStart = "previousStart"

// keepStart adds what lets the next run know when the job began, if it asks.
func (l *lowerer) keepStart(set *Ruleset) {
	i := slices.IndexFunc(set.Rules, func(r Rule) bool { return strings.Contains(r.Source, "kept."+previousStart) })
	if i < 0 {
		return
	}
	const variable = "currentStart"
	origin := set.Rules[i].Origin
	set.Variables, set.Kept = append(set.Variables, variable), append(set.Kept, previousStart)
	set.Rules = append(set.Rules,
		Rule{ID: "state." + variable, Role: Init, Target: variable, Source: sourceOfNow, Clause: "starts at", Origin: origin},
		Rule{ID: "state." + variable, Role: Next, Target: variable, Source: "state." + variable, Clause: "is", Origin: origin},
		Rule{ID: "keep." + previousStart, Role: Keep, Target: previousStart, Source: "state." + variable, Clause: "is", Origin: origin},
	)
}
