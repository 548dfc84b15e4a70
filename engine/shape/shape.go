// Package shape describes the shape of JSON values: the paths in them, with the types, the
// counts and a sample of the values at each path.
//
// A [Shape] grows with the number of different paths, not with the number of values, and both
// the members of an object and the depth are limited, so a hostile value cannot make it large.
package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Type is the type of a JSON value. Integers are numbers without a fraction and an exponent.
type Type string

// The types, in the order in which a shape names them.
const (
	Object  Type = "object"
	List    Type = "list"
	Text    Type = "text"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Null    Type = "null"
)

var types = []Type{Object, List, Text, Integer, Number, Boolean, Null}

// Limits of a shape.
const (
	maxMembers = 500 // members of one object; more are counted
	maxDepth   = 50  // levels; deeper values are only counted
	maxSample  = 200 // characters of a sample
	maxNesting = 10_000
)

// A Shape describes the values at one path. The zero Shape describes no values.
type Shape struct {
	Count   int          // number of values, including nulls
	Types   map[Type]int // number of values of each type
	Format  string       // the format of all texts: "date", "time", "uri" or ""
	Sample  string       // the first scalar that is neither null nor an empty text, as JSON; it may be clipped
	Members []*Member    // members of the objects, in the order in which they were seen
	Unnamed int          // number of members that are not in Members, because there are too many
	Element *Shape       // elements of the lists; nil if no list has one
	Longest int          // number of elements of the longest list

	texts  int // number of texts that are not empty
	places map[string]int
}

// A Member is a member of the objects at one path.
type Member struct {
	Name string
	Shape
}

// Has returns the types of the values, in a fixed order.
func (s *Shape) Has() []Type {
	return slices.DeleteFunc(slices.Clone(types), func(t Type) bool { return s.Types[t] == 0 })
}

// Member returns the shape of a member, or nil if no object has it.
func (s *Shape) Member(name string) *Shape {
	if at, ok := s.places[name]; ok {
		return &s.Members[at].Shape
	}
	return nil
}

// Add adds a JSON value.
func (s *Shape) Add(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := s.read(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// read adds the next value of a decoder.
func (s *Shape) read(dec *json.Decoder, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("the value has more than %d levels", maxNesting)
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			s.see(Object)
			err = s.readMembers(dec, depth)
		} else {
			s.see(List)
			err = s.readElements(dec, depth)
		}
		if err == nil {
			_, err = dec.Token() // the closing delimiter
		}
		return err
	case string:
		s.see(Text)
		s.seeFormat(t)
		s.keep(t, t != "")
	case json.Number:
		s.see(typeOf(t))
		s.keep(t, true)
	case bool:
		s.see(Boolean)
		s.keep(t, true)
	default:
		s.see(Null)
	}
	return nil
}

// readMembers adds the members of an object.
func (s *Shape) readMembers(dec *json.Decoder, depth int) error {
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		into := s.member(token.(string), depth)
		if into == nil {
			s.Unnamed++
			into = &Shape{}
		}
		if err := into.read(dec, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readElements adds the elements of a list.
func (s *Shape) readElements(dec *json.Decoder, depth int) error {
	n := 0
	for ; dec.More(); n++ {
		into := &Shape{}
		if depth < maxDepth {
			if s.Element == nil {
				s.Element = into
			}
			into = s.Element
		}
		if err := into.read(dec, depth+1); err != nil {
			return err
		}
	}
	s.Longest = max(s.Longest, n)
	return nil
}

// member returns the shape of a member, or nil if the object has too many or is too deep.
func (s *Shape) member(name string, depth int) *Shape {
	if found := s.Member(name); found != nil {
		return found
	}
	if len(s.Members) >= maxMembers || depth >= maxDepth {
		return nil
	}
	if s.places == nil {
		s.places = map[string]int{}
	}
	s.places[name] = len(s.Members)
	s.Members = append(s.Members, &Member{Name: name})
	return &s.Members[len(s.Members)-1].Shape
}

// see counts a value.
func (s *Shape) see(t Type) {
	if s.Types == nil {
		s.Types = map[Type]int{}
	}
	s.Count++
	s.Types[t]++
}

// seeFormat narrows the format to one that a text has, too. Empty texts have every format.
func (s *Shape) seeFormat(text string) {
	if text == "" {
		return
	}
	if s.texts++; s.texts == 1 {
		s.Format = formatOf(text)
	} else if s.Format != "" && formatOf(text) != s.Format {
		s.Format = ""
	}
}

// keep keeps a sample.
func (s *Shape) keep(v any, worth bool) {
	if !worth || s.Sample != "" {
		return
	}
	if text, err := value.Marshal(v); err == nil {
		s.Sample = value.Clip(string(text), maxSample)
	}
}

// typeOf returns the type of a number.
func typeOf(n json.Number) Type {
	if _, err := n.Int64(); err == nil || !bytes.ContainsAny([]byte(n), ".eE") {
		return Integer
	}
	return Number
}

// formatOf returns the format of a text.
func formatOf(text string) string {
	if len(text) < len(time.DateOnly) || len(text) > 2048 {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return "date"
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return "time"
	}
	if len(text) > 8 && (text[:7] == "http://" || text[:8] == "https://") {
		return "uri"
	}
	return ""
}
