package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// values turns a configuration in Go into the values of a configuration file, so
// that both are decoded and checked by the same code.
func (c Config) values() (any, error) {
	api, err := object(reflect.ValueOf(c), "api")
	if err != nil {
		return nil, err
	}
	if c.Auth.compiled() {
		section, err := c.Auth.section()
		if err != nil {
			return nil, err
		}
		api = api.With("authentication", section)
	}
	jobs := make([]any, len(c.Jobs))
	for i, job := range c.Jobs {
		if jobs[i], err = object(reflect.ValueOf(job), diag.Index("config.jobs", i)); err != nil {
			return nil, err
		}
	}
	config := rules.Object{{Name: "jobs", Value: jobs}}
	if c.MaxPartitions != 0 {
		config = rules.SetPath(config, []string{"limits", "partitions"}, c.MaxPartitions)
	}
	root := rules.Object{{Name: "api", Value: api}, {Name: "config", Value: config}}
	if c.Inputs != nil {
		inputs, err := configValue(reflect.ValueOf(c.Inputs), "inputs")
		if err != nil {
			return nil, err
		}
		root = append(root, rules.Member{Name: "inputs", Value: inputs})
	}
	return root, nil
}

// object writes the fields of a struct that have a config tag. Zero values are left
// out, except those that an inner object requires if it has others.
func object(v reflect.Value, path string) (rules.Object, error) {
	if v.Type() == reflect.TypeFor[CustomPaging]() {
		settings, err := anyValue(v.FieldByName("Settings").Interface(), path)
		members, _ := settings.(rules.Object)
		return members, err
	}
	out := rules.Object{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct { // in a user's own method
			inner, err := object(v.Field(i), path)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
		}
		key, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("config"), ",")
		if key == "" || isNil(v.Field(i)) || v.Field(i).IsZero() && (option != "required" || !hasInner(v, key)) {
			continue
		}
		value, err := configValue(v.Field(i), diag.Join(path, key))
		if err != nil {
			return nil, err
		}
		if had, ok := out.Get(key); ok { // two fields for the elements of one list
			value = append(had.([]any), value.([]any)...)
		}
		out = rules.SetPath(out, strings.Split(key, "."), value)
	}
	return out, nil
}

// isNil reports whether an interface holds a nil pointer.
func isNil(v reflect.Value) bool {
	return v.Kind() == reflect.Interface && v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil()
}

// hasInner reports whether a struct has a value for the inner object of a key:
// for nextPageFlag.stopOn whether it has one of nextPageFlag.
func hasInner(v reflect.Value, key string) bool {
	object, _, _ := strings.Cut(key, ".")
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("config")
		if strings.HasPrefix(tag, object+".") && !v.Field(i).IsZero() {
			return true
		}
	}
	return false
}

// configValue writes a value of the Go configuration. Values of other types than
// its own are written as encoding/json writes them.
func configValue(v reflect.Value, path string) (any, error) {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case Paging:
		v = reflect.Indirect(v)
		if !v.IsValid() {
			return nil, Diagnostics{{Path: path, Message: fmt.Sprintf("the %T is nil", x)}}
		}
		settings, err := object(v, path)
		return append(rules.Object{{Name: "method", Value: x.pagingMethod()}}, settings...), err
	case time.Duration:
		return x.Seconds(), nil
	}
	switch {
	case v.Kind() == reflect.Pointer:
		return configValue(v.Elem(), path)
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[Config]().PkgPath():
		return object(v, path)
	case v.Type() == reflect.TypeFor[[]ForVariable]():
		return variables(v.Interface().([]ForVariable), path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = configValue(v.Index(i), diag.Index(path, i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case v.Kind() == reflect.Map && v.Type().Elem().PkgPath() == reflect.TypeFor[Config]().PkgPath():
		members := rules.Object{}
		for _, name := range slices.Sorted(maps.Keys(mapKeys(v))) {
			value, err := configValue(v.MapIndex(reflect.ValueOf(name)), diag.Join(path, name))
			if err != nil {
				return nil, err
			}
			members = append(members, rules.Member{Name: name, Value: value})
		}
		return members, nil
	}
	return anyValue(v.Interface(), path)
}

// variables writes the variables of a job as an object, in their order.
func variables(list []ForVariable, path string) (any, error) {
	var out rules.Object
	for _, one := range list {
		value, err := object(reflect.ValueOf(one), diag.Join(path, one.Name))
		if err != nil {
			return nil, err
		}
		if _, twice := out.Get(one.Name); twice {
			return nil, Diagnostics{{Path: path, Message: fmt.Sprintf("two variables have the name %q", one.Name)}}
		}
		out = append(out, rules.Member{Name: one.Name, Value: value.Without("name")})
	}
	return out, nil
}

func mapKeys(v reflect.Value) map[string]bool {
	keys := map[string]bool{}
	for _, k := range v.MapKeys() {
		keys[k.String()] = true
	}
	return keys
}

// anyValue writes a value as encoding/json does, members of maps by name, and
// reads it as a configuration file is read.
func anyValue(v any, path string) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, Diagnostics{{Path: path, Message: fmt.Sprintf("cannot be written as JSON: %v", err)}}
	}
	value, err := rules.ParseJSON(diag.NewSource("", string(text)))
	if err != nil {
		return nil, Diagnostics{{Path: path, Message: err.Error()}}
	}
	return value, nil
}
