package value

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// A value of a configuration, of a parameter or of a decoded response is one of
// nil, bool, string, int, int64, float64, [json.Number] (an integer too long for
// int64), []any, map[string]any and [Object].

// Object is a JSON object that remembers the order of its members: parameters
// are sent in the order in which they were written.
type Object []Member

// Member is one name and value of an [Object].
type Member struct {
	Name  string
	Value any
}

// ObjectOf returns an object of names, each followed by its value.
func ObjectOf(pairs ...any) Object {
	out := make(Object, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, Member{pair[0].(string), pair[1]})
	}
	return out
}

// Given returns an object of names, each followed by its value, without values that are empty: "",
// false, nil, and objects and lists without members.
func Given(pairs ...any) Object {
	return slices.DeleteFunc(ObjectOf(pairs...), func(m Member) bool {
		switch v := m.Value.(type) {
		case Object:
			return len(v) == 0
		case []any:
			return len(v) == 0
		}
		return m.Value == nil || m.Value == "" || m.Value == false
	})
}

// Unless returns a text, or "", which [Given] leaves out, if the text is the usual one.
func Unless(usual, text string) string {
	if text == usual {
		return ""
	}
	return text
}

// Get returns the value of name. It reports false if the object does not have it.
func (o Object) Get(name string) (any, bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// Value returns the value of name, or nil.
func (o Object) Value(name string) any { v, _ := o.Get(name); return v }

// With returns a copy in which name has the value: in its old place if the object
// had it, otherwise at the end.
func (o Object) With(name string, value any) Object {
	out := make(Object, len(o), len(o)+1)
	copy(out, o)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, Member{name, value})
}

// Merge returns a copy to which the members of other are added, each as by [Object.With].
func (o Object) Merge(other Object) Object {
	out := make(Object, len(o), len(o)+len(other))
	copy(out, o)
	index := make(map[string]int, len(out))
	for i, m := range slices.Backward(out) { // the first of equal names
		index[m.Name] = i
	}
	for _, m := range other {
		if i, ok := index[m.Name]; ok {
			out[i].Value = m.Value
			continue
		}
		index[m.Name] = len(out)
		out = append(out, m)
	}
	return out
}

// WithPath returns a copy with the value at a path of keys. It makes the objects along the
// path.
func (o Object) WithPath(keys []string, v any) Object {
	if len(keys) == 1 {
		return o.With(keys[0], v)
	}
	had, _ := o.Get(keys[0])
	inner, _ := Members(had)
	return o.With(keys[0], inner.WithPath(keys[1:], v))
}

// Without returns a copy that does not have name.
func (o Object) Without(name string) Object {
	out := make(Object, 0, len(o))
	for _, m := range o {
		if m.Name != name {
			out = append(out, m)
		}
	}
	return out
}

// Overlay returns a value with another one merged deeply into it: an object into an object,
// or into a list if its keys are indexes of that list. Any other value replaces the one
// under it.
func Overlay(base, change any) any {
	changes, ok := Members(change)
	if list, isList := base.([]any); isList && ok && len(changes) > 0 {
		out := slices.Clone(list)
		for _, m := range changes {
			i, err := strconv.Atoi(m.Name)
			if err != nil || i < 0 || i >= len(out) {
				return change
			}
			out[i] = Overlay(out[i], m.Value)
		}
		return out
	}
	members, both := Members(base)
	if !ok || !both {
		return change
	}
	values := make(map[string]any, len(members))
	for _, m := range members {
		values[m.Name] = m.Value
	}
	return members.Merge(lists.Map(changes, func(m Member) Member { return Member{Name: m.Name, Value: Overlay(values[m.Name], m.Value)} }))
}

// Gather returns a copy without repeated names: the first member of a repeated name
// has a list of all its values.
func (o Object) Gather() Object {
	var out Object
	index, lists := map[string]int{}, map[string][]any{}
	for _, m := range o {
		i, repeated := index[m.Name]
		if !repeated {
			index[m.Name] = len(out)
			out = append(out, m)
			continue
		}
		if lists[m.Name] == nil {
			lists[m.Name] = []any{out[i].Value}
		}
		lists[m.Name] = append(lists[m.Name], m.Value)
		out[i].Value = lists[m.Name]
	}
	return out
}

// Names returns the names in order.
func (o Object) Names() []string {
	return lists.Map(o, func(m Member) string { return m.Name })
}

// Values returns the values of the members, in their order.
func (o Object) Values() []any {
	return lists.Map(o, func(m Member) any { return m.Value })
}

// Members returns the members of an object of either form: those of an [Object] in
// its own order, those of a map by name. It reports false for anything else.
func Members(v any) (Object, bool) {
	switch v := v.(type) {
	case Object:
		return v, true
	case map[string]any:
		out := make(Object, 0, len(v))
		for name, value := range v {
			out = append(out, Member{name, value})
		}
		slices.SortFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		return out, true
	}
	return nil, false
}

// At returns the value at a path of keys, and whether there is one. A key of a list is an index.
func At(v any, keys []string) (any, bool) {
	for _, key := range keys {
		if list, isList := v.([]any); isList {
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			v = list[i]
			continue
		}
		members, _ := Members(v)
		inner, ok := members.Get(key)
		if !ok {
			return nil, false
		}
		v = inner
	}
	return v, true
}

// ObjectAt returns the object at a path of keys in v. It returns nil if there is no object at the path.
func ObjectAt(v any, keys ...string) Object {
	v, _ = At(v, keys)
	object, _ := Members(v)
	return object
}

// Plain returns a value with a map in the place of every [Object]. The maps in it are not searched,
// so they must have no objects.
func Plain(v any) any {
	switch v := v.(type) {
	case Object:
		out := make(map[string]any, len(v))
		for _, m := range v {
			out[m.Name] = Plain(m.Value)
		}
		return out
	case []any:
		return lists.Map(v, Plain)
	}
	return v
}

// Texts returns the scalars in a value as text.
func Texts(v any) []string {
	if text, ok := Text(v); ok {
		return []string{text}
	}
	var texts []string
	list, _ := v.([]any)
	object, _ := Members(v)
	for _, e := range slices.Concat(list, object.Values()) {
		texts = append(texts, Texts(e)...)
	}
	return texts
}
