package shape

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Settled is a number of objects: if so many objects have a member, and no object lacks it, every object
// counts as having the member. A shape that was written and read again does not count further.
const Settled = 24

// MarshalJSON writes the types, the formats and the members, and whether members are always present. It
// writes neither samples nor the exact numbers of values.
func (s *Shape) MarshalJSON() ([]byte, error) { return value.Marshal(s.encoded()) }

// Encoded returns the object that MarshalJSON writes.
func (s *Shape) Encoded() value.Object { return s.encoded() }

// optional marks a member that some objects lack.
var optional = value.Member{Name: "optional", Value: true}

// encoded returns the encoding of a shape, with marks after the format.
func (s *Shape) encoded(marks ...value.Member) value.Object {
	o := value.ObjectOf("types", anys(s.Types.Words()))
	if s.Format != "" {
		o = o.With("format", s.Format)
	}
	o = append(o, marks...)
	if s.Objects > 0 && s.Objects < Settled {
		o = o.With("seen", s.Objects)
	}
	if s.Unnamed > 0 {
		o = o.With("open", true)
	}
	if len(s.Members) > 0 {
		members := make(value.Object, len(s.Members))
		for i, m := range s.Members {
			var marks []value.Member
			if m.Count < s.Objects {
				marks = append(marks, optional)
			}
			members[i] = value.Member{Name: m.Name, Value: m.encoded(marks...)}
		}
		o = o.With("members", members)
	}
	if s.Element != nil {
		o = o.With("elements", s.Element.encoded())
	}
	return o
}

func anys(words []string) []any { return lists.Map(words, func(word string) any { return word }) }

// Decode returns the shape that MarshalJSON has written, from its values. It reports mistakes, whose
// places are below a path.
func Decode(v any, path string, found *diag.Collector) *Shape {
	d := decoder{found: found}
	s := &Shape{}
	d.shape(s, v, path, Settled, 0)
	return s
}

// Parse returns the shape that MarshalJSON has written. name is the name of a file, for errors.
func Parse(name, text string) (*Shape, error) {
	source := diag.NewSource(name, text)
	v, err := rules.ParseJSON(source)
	if err != nil {
		return nil, err
	}
	found := diag.NewCollector(source)
	s := Decode(v, "", found)
	return s, found.Diagnostics().Err()
}

type decoder struct{ found *diag.Collector }

// keys are the keys of a shape in a file.
var keys = []string{"types", "format", "optional", "seen", "open", "members", "elements"}

// shape decodes a shape, which has the given number of values.
func (d *decoder) shape(s *Shape, v any, path string, count, depth int) {
	object, ok := value.Members(v)
	if !ok {
		d.found.Errorf(diag.Value(path), "want an object that describes values, got %s", value.KindOf(v))
		return
	}
	if depth > maxDepth+1 {
		d.found.Errorf(diag.Value(path), "shapes within shapes have more than %d levels", maxDepth)
		return
	}
	for _, m := range object {
		if !slices.Contains(keys, m.Name) {
			d.found.Errorf(diag.Key(diag.Join(path, m.Name)), "unknown key %q", m.Name).WithNearest(m.Name, keys)
		}
	}
	d.types(s, object, diag.Join(path, "types"))
	s.Count = count
	if s.Types&(Object|Empty) != 0 {
		s.Objects = d.seen(object, diag.Join(path, "seen"))
	}
	if s.Types&List != 0 {
		s.Lists = count
	}
	d.format(s, object, diag.Join(path, "format"), count)
	if d.flag(object, path, "open") {
		s.Unnamed = 1
	}
	d.members(s, object, diag.Join(path, "members"), depth)
	if elements, ok := object.Get("elements"); ok {
		s.Element = &Shape{}
		d.shape(s.Element, elements, diag.Join(path, "elements"), Settled, depth+1)
	}
}

func (d *decoder) types(s *Shape, object value.Object, path string) {
	v, _ := object.Get("types")
	words, ok := v.([]any)
	if !ok {
		d.found.Errorf(diag.Value(path), "want a list of types").WithHint("the types are " + strings.Join(TypeWords(), ", "))
	}
	for i, word := range words {
		text, _ := word.(string)
		t, known := ParseType(text)
		if !known {
			d.found.Errorf(diag.Value(diag.Index(path, i)), "want a type, got %s", value.Preview(word)).
				WithHint("the types are " + strings.Join(TypeWords(), ", "))
		}
		s.Types |= t
	}
}

// seen returns the number of objects.
func (d *decoder) seen(object value.Object, path string) int {
	v, written := object.Get("seen")
	n, ok := v.(int)
	switch {
	case !written:
		return Settled
	case !ok || n < 1:
		d.found.Errorf(diag.Value(path), "want a number of objects, got %s", value.Preview(v))
		return Settled
	}
	return min(n, Settled)
}

func (d *decoder) format(s *Shape, object value.Object, path string, count int) {
	if s.Types&Text != 0 {
		s.Texts = count
	}
	v, written := object.Get("format")
	text, ok := v.(string)
	if written && (!ok || !slices.Contains(formats, text) || s.Types&Text == 0) {
		d.found.Errorf(diag.Value(path), "want the format of texts, got %s", value.Preview(v)).
			WithHint("the formats are " + strings.Join(formats, ", "))
		return
	}
	s.Format = text
}

func (d *decoder) flag(object value.Object, path, name string) bool {
	v, written := object.Get(name)
	flag, ok := v.(bool)
	if written && !ok {
		d.found.Errorf(diag.Value(diag.Join(path, name)), "want true or false, got %s", value.Preview(v))
	}
	return flag
}

func (d *decoder) members(s *Shape, object value.Object, path string, depth int) {
	v, written := object.Get("members")
	members, ok := value.Members(v)
	switch {
	case !written:
		return
	case !ok || s.Types&Object == 0:
		d.found.Errorf(diag.Value(path), "want the members of objects, got %s", value.KindOf(v))
		return
	}
	for _, m := range members {
		memberPath := diag.Join(path, m.Name)
		if s.Member(m.Name) != nil {
			d.found.Errorf(diag.Key(memberPath), "the member %q is there twice", m.Name)
			continue
		}
		count := s.Objects
		if inner, ok := value.Members(m.Value); ok && d.flag(inner, memberPath, "optional") {
			count--
		}
		d.shape(&s.Members[s.add(m.Name)].Shape, m.Value, memberPath, count, depth+1)
	}
}
