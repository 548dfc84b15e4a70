package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// params reads parameters. A `#` before a name makes its value a secret, at any
// depth.
func (d *decoder) params(s setting) Object {
	return d.paramsOf(s.path(), s.object())
}

func (r *reader) paramsOf(path string, object Object) Object {
	if object == nil {
		return nil
	}
	return lists.Map(object, func(m Member) Member { return r.param(diag.Join(path, m.Name), m) })
}

func (r *reader) param(path string, m Member) Member {
	if name, hidden := strings.CutPrefix(m.Name, "#"); hidden {
		if c, ok := computed(path, m.Value); ok {
			return Member{Name: name, Value: r.computedSecret(path, name, c, true)}
		}
		r.warnOfTemplate(path, m.Value, true)
		text, _ := r.secret(path, m.Value, true)
		return Member{Name: name, Value: text}
	}
	if c, ok := computed(path, m.Value); ok {
		return Member{Name: m.Name, Value: r.computedSecret(path, m.Name, c, false)}
	}
	r.hidePlainSecret(path, m.Name, m.Value)
	return Member{Name: m.Name, Value: r.paramValue(path, m.Value)}
}

// paramValue reads the value of a parameter, or a value in it.
func (r *reader) paramValue(path string, v any) any {
	if _, isReference := envReference(v); isReference {
		text, _ := r.secret(path, v, false)
		return text
	}
	if c, ok := computed(path, v); ok {
		return c
	}
	if list, isList := v.([]any); isList {
		out := make([]any, len(list))
		for i, element := range list {
			out[i] = r.paramValue(diag.Index(path, i), element)
		}
		return out
	}
	if object, ok := value.Members(v); ok {
		if r.dialect.Switches().Functions && len(object) > 0 && slices.Contains(functionKeys, object[0].Name) || isFunction(object) {
			r.diags.Errorf(diag.Value(path), "functions and references have no effect here").
				WithHint(`write {"expr": "…"}, or in dialect keboola put the parameter under params of the jobs`)
		}
		return r.paramsOf(path, object)
	}
	if r.dialect.Switches().Encoding == requests.PHP { // which keeps no spelling
		return withoutSpelling(v)
	}
	r.warnOfTemplate(path, v, true)
	return v
}

// secret reads a scalar as text, or the value of an environment variable where
// the configuration has {"env": "NAME"}. A value that is hidden or comes from the
// environment is never printed.
func (r *reader) secret(path string, v any, hidden bool) (string, bool) {
	text, ok := value.Text(v)
	if variable, isReference := envReference(v); isReference {
		if text, ok = r.envText(variable, path); !ok {
			return "", false
		}
		if !hidden {
			r.hideEnv(strings.TrimPrefix(path[len(diag.Parent(path)):], "."), variable, text)
			return text, true
		}
	} else if _, isObject := value.Members(v); isObject {
		r.diags.Errorf(diag.Value(path), `want a string or {"env": "NAME"}, got an object`)
		return "", false
	}
	if !ok {
		r.diags.Errorf(diag.Value(path), "want %s, got %s", KindSecret, describe(v))
		return "", false
	}
	if hidden {
		r.hide(text)
	}
	return text, true
}
