package stress

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Change sets a value of a configuration.
type Change struct {
	Path   []string `json:"path"`             // keys from the root, such as api, pagination, limit
	Value  any      `json:"value"`            // new value of the key
	Append bool     `json:"append,omitempty"` // whether the value is appended to the list at the key
	Remove bool     `json:"remove,omitempty"` // whether the key, or the element of a list, is removed
}

// changed returns the suite after changes of its configuration.
func (s *Suite) changed(changes []Change) (*Suite, error) {
	return s.With(Apply(s.Config, changes))
}

// Apply returns the values of a configuration, without the outer key parameters, after changes.
func Apply(config value.Object, changes []Change) value.Object {
	for _, c := range changes {
		config = c.apply(config)
	}
	return config
}

// apply returns a configuration after the change.
func (c Change) apply(config value.Object) value.Object {
	path, v := c.Path, c.Value
	switch {
	case c.Append:
		list, _ := at(config, path).([]any)
		v = append(slices.Clone(list), v)
	case c.Remove:
		last := path[len(path)-1]
		path = path[:len(path)-1]
		object := at(config, path)
		list, isList := object.([]any)
		if i, err := strconv.Atoi(last); isList && err == nil && i < len(list) {
			v = slices.Delete(slices.Clone(list), i, i+1)
		} else {
			members, _ := value.Members(object)
			v = members.Without(last)
		}
	}
	changed, _ := place(config, path, v).(value.Object)
	return changed
}

// String writes a change as the path of the key and its value in JSON.
func (c Change) String() string { return c.Text(0) }

// Text writes a change in lines of a width, as far as that is possible. If the width is 0, it
// is one line.
func (c Change) Text(width int) string {
	path := keypath.Format(c.Path[0], c.Path[1:]) + ": "
	switch {
	case c.Remove:
		return path + "remove it"
	case c.Append:
		path += "add "
	}
	return path + layout(c.Value, "", width, utf8.RuneCountInString(path))
}

// layout writes a value in JSON. An object or a list that does not fit on the rest of a line has a line for
// each of its values. used is the number of columns that the line has already.
func layout(v any, indent string, width, used int) string {
	list, isList := v.([]any)
	members, isObject := value.Members(v)
	if !isList && !isObject {
		text, _ := value.Marshal(v)
		return string(text)
	}
	brackets := "[]"
	names := make([]string, len(list))
	if isObject {
		brackets, names, list = "{}", nil, nil
		for _, m := range members {
			name, _ := value.Marshal(m.Name)
			names, list = append(names, string(name)+": "), append(list, m.Value)
		}
	}
	join := func(before, between, indent string, width int) string {
		parts := make([]string, len(list))
		for i, inner := range list {
			parts[i] = names[i] + layout(inner, indent, width, len(names[i])+1)
		}
		return before + strings.Join(parts, between)
	}
	line := brackets[:1] + join("", ", ", "", 0) + brackets[1:]
	if width == 0 || used+len(indent)+utf8.RuneCountInString(line) <= width {
		return line
	}
	inner := "\n" + indent + "  "
	return brackets[:1] + join(inner, ","+inner, indent+"  ", width) + "\n" + indent + brackets[1:]
}
