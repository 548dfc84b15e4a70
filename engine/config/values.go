package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Values returns the values of a configuration file with the same content, so that both
// are decoded and checked by the same code. The error is [diag.Diagnostics].
func (c Config) Values() (rules.Object, error) { return object(reflect.ValueOf(c), "") }

// object writes the fields of a struct that have a config tag. Zero values are left out,
// except for keys that the object must have. The members of an inline field become
// members of the object itself.
func object(v reflect.Value, path string) (rules.Object, error) {
	out := rules.Object{}
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("config"), ",")
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct: // in a user's own method
			members, err := object(field, path)
			if err != nil {
				return nil, err
			}
			out = append(out, members...)
		case option == "inline" && !field.IsZero():
			value, err := configValue(field, path)
			if err != nil {
				return nil, err
			}
			out = append(out, value.(rules.Object)...)
		case key != "" && (option == "required" || !field.IsZero()):
			value, err := configValue(field, diag.Join(path, key))
			if err != nil {
				return nil, err
			}
			out = out.WithPath(strings.Split(key, "."), value)
		}
	}
	return out, nil
}

// configValue writes a value of the Go configuration. Values of other types than its own
// are written as encoding/json writes them, except that a [time.Duration], also in maps and
// slices, is a number of seconds.
func configValue(v reflect.Value, path string) (any, error) {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.Seconds(), nil
	case []ForVariable:
		return variables(x, path)
	case Method:
		return variant(v, path, "method", func() string { return x.method() })
	case Auth:
		return variant(v, path, "type", func() string { return x.auth() })
	}
	own := reflect.TypeFor[Config]().PkgPath()
	switch {
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == own:
		return object(v, path)
	case v.Kind() == reflect.Slice && (v.Type().Elem().PkgPath() == own || isPlain(v)):
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = configValue(v.Index(i), diag.Index(path, i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case v.Kind() == reflect.Map && (v.Type().Elem().PkgPath() == own || isPlain(v)):
		members := rules.Object{}
		for _, name := range slices.SortedFunc(slices.Values(v.MapKeys()), compareText) {
			value, err := configValue(v.MapIndex(name), diag.Join(path, name.String()))
			if err != nil {
				return nil, err
			}
			members = append(members, rules.Member{Name: name.String(), Value: value})
		}
		return members, nil
	}
	return anyValue(v.Interface(), path)
}

// isPlain reports whether encoding/json writes a slice as a list of its elements, or a map as an
// object with its keys as they are.
func isPlain(v reflect.Value) bool {
	writesItself := func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	switch t := v.Type(); {
	case v.IsNil() || writesItself(t):
		return false
	case t.Kind() == reflect.Map:
		return t.Key().Kind() == reflect.String && !writesItself(t.Key())
	default:
		return t.Elem().Kind() != reflect.Uint8 // bytes are written in base64
	}
}

func compareText(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }

// variant writes a method or a type of authentication: the key that names it, and its
// settings.
func variant(v reflect.Value, path, key string, name func() string) (any, error) {
	settings := reflect.Indirect(v)
	if !settings.IsValid() {
		return nil, diag.Diagnostics{{Path: path, Message: fmt.Sprintf("the %s is nil", v.Type())}}
	}
	if settings.Kind() != reflect.Struct {
		return nil, diag.Diagnostics{{Path: path, Message: "a file cannot have a " + v.Type().Name()}}
	}
	members, err := object(settings, path)
	return append(rules.Object{{Name: key, Value: name()}}, members...), err
}

// variables writes the variables of a job as an object, in their order.
func variables(list []ForVariable, path string) (any, error) {
	var out rules.Object
	for _, v := range list {
		value, err := object(reflect.ValueOf(v), diag.Join(path, v.Name))
		if err != nil {
			return nil, err
		}
		if _, twice := out.Get(v.Name); twice {
			return nil, diag.Diagnostics{{Path: path, Message: fmt.Sprintf("two variables have the name %q", v.Name)}}
		}
		out = append(out, rules.Member{Name: v.Name, Value: value.Without("name")})
	}
	return out, nil
}

// anyValue writes a value as encoding/json does, members of maps by name, and reads it as
// a configuration file is read.
func anyValue(v any, path string) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, diag.Diagnostics{{Path: path, Message: fmt.Sprintf("cannot be written as JSON: %v", err)}}
	}
	value, err := rules.ParseJSON(diag.NewSource("", string(text)))
	if err != nil {
		return nil, diag.Diagnostics{{Path: path, Message: err.Error()}}
	}
	return value, nil
}
