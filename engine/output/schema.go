package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// schema is the JSON Schema of the values that were seen in one place. Null is always
// among its types.
type schema struct {
	types      []string // in the order in which they were seen
	properties []property
	index      map[string]int // of a property
	items      *schema        // of lists; nil: all were empty
}

type property struct {
	name string
	*schema
}

// learn widens the schema, so that a value conforms to it. It reports whether it was
// necessary; left is how many more properties there may be.
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

// addNumber adds the type of a number. An integer is a number, too.
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
	err := members(raw, func(m member) error {
		p, known := s.property(m.name)
		if !known {
			if *left--; *left < 0 {
				return &engine.Error{
					Class: failure.IO, Op: "singer",
					Message: fmt.Sprintf("the items have more than %d properties; the next one is %q", maxColumns, m.name),
					Hint:    "if names of members are data, remove or rename them with fields, or give the stream a schema with --singer-catalog",
				}
			}
		}
		more, err := p.learn(m.value, left)
		widened = widened || more || !known
		return err
	})
	return widened, err
}

// property returns the schema of a property, and whether it was there before.
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
	err := elements(raw, func(element []byte) error {
		if s.items == nil {
			s.items, widened = &schema{}, true
		}
		more, err := s.items.learn(element, left)
		widened = widened || more
		return err
	})
	return widened, err
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

// MarshalJSON returns the schema with its properties in the order in which they appeared.
func (s *schema) MarshalJSON() ([]byte, error) { return s.appendTo(nil), nil }

func (s *schema) appendTo(b []byte) []byte {
	b = append(b, `{"type":["null"`...)
	for _, name := range s.types {
		b = append(append(append(b, `,"`...), name...), '"')
	}
	b = append(b, ']')
	if slices.Contains(s.types, "object") {
		b = append(b, `,"properties":{`...)
		for i, p := range s.properties {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quoted(p.name)...), ':')
			b = p.appendTo(b)
		}
		b = append(b, '}')
	}
	if slices.Contains(s.types, "array") {
		b = append(b, `,"items":`...)
		if s.items == nil {
			b = append(b, "{}"...)
		} else {
			b = s.items.appendTo(b)
		}
	}
	return append(b, '}')
}

// parseSchema reads what MarshalJSON has written.
func parseSchema(raw []byte) *schema {
	s := &schema{}
	_ = members(raw, func(m member) error {
		switch string(m.name) {
		case "type":
			_ = elements(m.value, func(name []byte) error {
				if t := string(text(name)); t != "null" {
					s.types = append(s.types, t)
				}
				return nil
			})
		case "properties":
			_ = members(m.value, func(p member) error {
				one, _ := s.property(p.name)
				*one = *parseSchema(p.value)
				return nil
			})
		case "items":
			if !isEmpty(m.value) {
				s.items = parseSchema(m.value)
			}
		}
		return nil
	})
	return s
}

// quoted returns a text as JSON, without escapes that HTML would need.
func quoted(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // cannot fail for a string
	return bytes.TrimSuffix(b.Bytes(), newline)
}
