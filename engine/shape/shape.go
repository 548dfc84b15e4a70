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

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Limits of a shape.
const (
	maxMembers = 500 // members of one object, unless a Reader says otherwise; more are counted
	maxDepth   = 50  // levels; deeper values are only counted
	maxSample  = 200 // characters of a sample
)

// A Shape describes the values at one path. The zero Shape describes no values.
type Shape struct {
	Types   Types
	Count   int       // number of values, including nulls
	Objects int       // number of values that are objects
	Lists   int       // number of values that are lists
	Texts   int       // number of values that are texts, without empty ones
	Format  string    // the format of all texts that are not empty, one of formats; "" if they have no format in common
	Sample  string    // the first scalar that is neither null nor an empty text, as JSON; it may be clipped
	Members []*Member // members of the objects, in the order in which they were seen
	Unnamed int       // number of members that are not in Members, because there are too many
	Element *Shape    // elements of the lists; nil if no list has one
	Longest int       // number of elements of the longest list

	places map[string]int
}

// A Member is a member of the objects at one path.
type Member struct {
	Name string
	Shape

	key string // the name as values have it, with quotes and the colon; "" until a value has been read
}

// Member returns the shape of a member, or nil if no object has it.
func (s *Shape) Member(name string) *Shape {
	if at, ok := s.places[name]; ok {
		return &s.Members[at].Shape
	}
	return nil
}

// Add adds a JSON value, with samples.
func (s *Shape) Add(text []byte) error {
	if !json.Valid(text) {
		return errors.New("the value is not valid JSON, or has too many levels")
	}
	r := Reader{Samples: true}
	r.Add(s, bytes.TrimSpace(text))
	return nil
}

// A Reader adds values to shapes.
type Reader struct {
	Samples    bool // whether shapes have samples
	MaxMembers int  // members of one object; 0 means 500
	MaxTotal   int  // members of all objects; 0 means no limit

	// NamesAreData reports whether a name of a member is data, so that the member is only counted. It
	// may be nil.
	NamesAreData func(name []byte) bool

	Total   int    // number of members so far
	Widened bool   // whether a value has added a type or a member
	Beyond  string // the first member beyond a limit; "" if no limit was exceeded
}

// Add adds a valid JSON value, which has no whitespace before it.
func (r *Reader) Add(s *Shape, text []byte) { r.read(s, text, 0, 0) }

// read adds the value that begins at i, at a depth, and returns its end.
func (r *Reader) read(s *Shape, data []byte, i, depth int) (end int) {
	var t Types
	switch data[i] {
	case '{':
		t, end = r.members(s, data, i, depth)
		s.Objects++
	case '[':
		t, end = List, r.elements(s, data, i, depth)
		s.Lists++
	default:
		end = scan.ValueEnd(data, i)
		t = r.scalar(s, data[i:end])
	}
	s.Count++
	if s.Types|t != s.Types {
		s.Types |= t
		r.Widened = true
	}
	return end
}

// scalar adds a scalar to the facts about texts, and returns its type.
func (r *Reader) scalar(s *Shape, text []byte) Types {
	t := TypeOf(text)
	if t&Text != 0 {
		s.noteFormat(text)
	}
	if r.Samples && s.Sample == "" && t != Null && string(text) != `""` {
		s.Sample = sampleOf(text)
	}
	return t
}

// members adds the members of the object that begins at i.
func (r *Reader) members(s *Shape, data []byte, i, depth int) (t Types, end int) {
	t = Empty
	next := 0 // the member that probably comes next, as in the objects before
	for i = scan.Next(data, i+1); data[i] != '}'; i = scan.Next(data, i) {
		t = Object
		var begin int
		if next < len(s.Members) && s.Members[next].begins(data[i:]) {
			begin = scan.SkipSpace(data, i+len(s.Members[next].key))
		} else {
			var key scan.Span
			key, begin = scan.Key(data, i)
			if next = r.place(s, scan.Unquote(key.Of(data)), depth); next < 0 {
				s.Unnamed++
				next = len(s.Members)
				i = scan.ValueEnd(data, begin)
				continue
			}
			if m := s.Members[next]; m.key == "" {
				m.key = string(data[i:begin])
			}
		}
		i = r.read(&s.Members[next].Shape, data, begin, depth+1)
		next++
	}
	return t, i + 1
}

// begins reports whether a text begins with the member, written as before.
func (m *Member) begins(text []byte) bool { return m.key != "" && bytes.HasPrefix(text, []byte(m.key)) }

// elements adds the elements of the list that begins at i.
func (r *Reader) elements(s *Shape, data []byte, i, depth int) (end int) {
	n := 0
	for i = scan.Next(data, i+1); data[i] != ']'; i = scan.Next(data, i) {
		n++
		if depth >= maxDepth {
			i = scan.ValueEnd(data, i)
			continue
		}
		if s.Element == nil {
			s.Element = &Shape{}
			r.Widened = true
		}
		i = r.read(s.Element, data, i, depth+1)
	}
	s.Longest = max(s.Longest, n)
	return i + 1
}

// place returns the place of a member, which it adds if necessary. It is -1 if the object has too many
// or is too deep.
func (r *Reader) place(s *Shape, name []byte, depth int) int {
	if at, ok := s.places[string(name)]; ok {
		return at
	}
	limit := maxMembers
	if r.MaxMembers > 0 {
		limit = r.MaxMembers
	}
	switch {
	case depth >= maxDepth, r.NamesAreData != nil && r.NamesAreData(name):
		return -1
	case len(s.Members) >= limit, r.MaxTotal > 0 && r.Total >= r.MaxTotal:
		if r.Beyond == "" {
			r.Beyond = string(name)
		}
		return -1
	}
	r.Total++
	r.Widened = true
	return s.add(string(name))
}

// add adds a member and returns its place.
func (s *Shape) add(name string) int {
	if s.places == nil {
		s.places = map[string]int{}
	}
	s.places[name] = len(s.Members)
	s.Members = append(s.Members, &Member{Name: name})
	return len(s.Members) - 1
}

// noteFormat keeps the format if a text has it, too. Empty texts have every format.
func (s *Shape) noteFormat(text []byte) {
	if len(text) == len(`""`) {
		return
	}
	if s.Texts++; s.Texts > 1 && s.Format == "" {
		return
	}
	content := text[1 : len(text)-1]
	if bytes.IndexByte(content, '\\') >= 0 {
		content = scan.Unquote(text)
	}
	if s.Texts == 1 {
		s.Format = formatOf(content)
	} else if !HasFormat(content, s.Format) {
		s.Format = ""
	}
}

// sampleOf returns a scalar as JSON, clipped.
func sampleOf(text []byte) string {
	var v any
	if err := value.Unmarshal(text, &v); err != nil {
		return ""
	}
	plain, err := value.Marshal(v)
	if err != nil {
		return ""
	}
	return wording.Clip(string(plain), maxSample)
}

// Union returns the shape of the values of two shapes. The result has no samples, and shares nothing
// with either.
func Union(a, b *Shape) *Shape {
	u := &Shape{
		Types: a.Types | b.Types, Count: a.Count + b.Count, Objects: a.Objects + b.Objects, Lists: a.Lists + b.Lists,
		Texts: a.Texts + b.Texts, Unnamed: a.Unnamed + b.Unnamed, Longest: max(a.Longest, b.Longest), Format: a.Format,
	}
	if a.Texts == 0 || b.Texts > 0 && a.Format != b.Format {
		u.Format = ""
		if a.Texts == 0 {
			u.Format = b.Format
		}
	}
	empty := &Shape{}
	for _, m := range a.Members {
		other := b.Member(m.Name)
		if other == nil {
			other = empty
		}
		u.Members[u.add(m.Name)].Shape = *Union(&m.Shape, other)
	}
	for _, m := range b.Members {
		if a.Member(m.Name) == nil {
			u.Members[u.add(m.Name)].Shape = *Union(empty, &m.Shape)
		}
	}
	switch {
	case a.Element == nil && b.Element == nil:
	case a.Element == nil:
		u.Element = Union(empty, b.Element)
	case b.Element == nil:
		u.Element = Union(a.Element, empty)
	default:
		u.Element = Union(a.Element, b.Element)
	}
	return u
}
