package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// schema is the JSON Schema of the values seen in one place. Null is always among its types.
type schema struct {
	types      []string // types in the order in which they were seen
	properties []property
	index      map[string]int // index of each property
	items      *schema        // schema of list elements; nil if all lists were empty
}

type property struct {
	name string
	*schema
}

// learn widens the schema, if necessary, so that a value conforms to it. It reports whether it was
// widened. left is the number of properties that may still be added.
func (s *schema) learn(raw []byte, left *int) (widened bool, err error) {
	switch raw[0] {
	case 'n':
	case 't', 'f':
		widened = s.addType("boolean")
	case '"':
		widened = s.addType("string")
	case '{':
		return s.learnObject(raw, left)
	case '[':
		return s.learnList(raw, left)
	default:
		widened = s.addNumber(raw)
	}
	return widened, nil
}

func (s *schema) addType(name string) bool {
	if slices.Contains(s.types, name) {
		return false
	}
	s.types = append(s.types, name)
	return true
}

// addNumber adds the type of a number. An integer also counts as a number.
func (s *schema) addNumber(raw []byte) bool {
	if !bytes.ContainsAny(raw, ".eE") {
		return !slices.Contains(s.types, "number") && s.addType("integer")
	}
	if i := slices.Index(s.types, "integer"); i >= 0 {
		s.types[i] = "number"
		return true
	}
	return s.addType("number")
}

func (s *schema) learnObject(raw []byte, left *int) (bool, error) {
	widened := s.addType("object")
	for key, span := range scan.Members(raw) {
		name := scan.Unquote(key.Of(raw))
		p, known := s.property(name)
		if !known {
			if *left--; *left < 0 {
				return false, &engine.Error{
					Class: failure.IO, Op: "singer",
					Message: fmt.Sprintf("the items have more than %d properties; the next one is %q", maxColumns, name),
					Hint:    "if names of members are data, remove or rename them with fields, or give the stream a schema with output.Options.Catalog",
				}
			}
		}
		more, err := p.learn(span.Of(raw), left)
		if err != nil {
			return false, err
		}
		widened = widened || more || !known
	}
	return widened, nil
}

// property returns the schema of a property, and whether it already existed.
func (s *schema) property(name []byte) (*schema, bool) {
	if i, known := s.index[string(name)]; known {
		return s.properties[i].schema, true
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	s.index[string(name)] = len(s.properties)
	s.properties = append(s.properties, property{string(name), &schema{}})
	return s.properties[len(s.properties)-1].schema, false
}

func (s *schema) learnList(raw []byte, left *int) (bool, error) {
	widened := s.addType("array")
	for _, element := range scan.Members(raw) {
		if s.items == nil {
			s.items, widened = &schema{}, true
		}
		more, err := s.items.learn(element.Of(raw), left)
		if err != nil {
			return false, err
		}
		widened = widened || more
	}
	return widened, nil
}

// size returns the number of properties.
func (s *schema) size() int {
	n := len(s.properties)
	for _, p := range s.properties {
		n += p.size()
	}
	if s.items != nil {
		n += s.items.size()
	}
	return n
}

// text returns the schema as JSON, with its properties in the order in which they appeared.
func (s *schema) text() []byte {
	text, _ := value.Marshal(s.object()) // cannot fail for lists and texts
	return text
}

func (s *schema) object() value.Object {
	o := value.ObjectOf("type", append([]string{"null"}, s.types...))
	if slices.Contains(s.types, "object") {
		properties := make(value.Object, len(s.properties))
		for i, p := range s.properties {
			properties[i] = value.Member{Name: p.name, Value: p.object()}
		}
		o = o.With("properties", properties)
	}
	if slices.Contains(s.types, "array") {
		items := value.Object{}
		if s.items != nil {
			items = s.items.object()
		}
		o = o.With("items", items)
	}
	return o
}

// parseSchema parses the result of text.
func parseSchema(raw []byte) *schema {
	s := &schema{}
	for key, span := range scan.Members(raw) {
		member := span.Of(raw)
		switch string(scan.Unquote(key.Of(raw))) {
		case "type":
			_ = json.Unmarshal(member, &s.types)
			s.types = s.types[1:] // the types after "null"
		case "properties":
			for name, property := range scan.Members(member) {
				one, _ := s.property(scan.Unquote(name.Of(member)))
				*one = *parseSchema(property.Of(member))
			}
		case "items":
			if isNested(member) {
				s.items = parseSchema(member)
			}
		}
	}
	return s
}
