package scan

import (
	"encoding/binary"
	"iter"
	"math/bits"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// The functions in this file read valid documents: they check nothing.

// A Kind is the kind of a JSON value, as messages name it.
type Kind string

// The kinds of JSON values.
const (
	Object  Kind = "an object"
	List    Kind = "a list"
	String  Kind = "a string"
	Number  Kind = "a number"
	Boolean Kind = "a boolean"
	Null    Kind = "null"
)

// KindOf returns the kind of a value without whitespace before it.
func KindOf(raw []byte) Kind {
	switch raw[0] {
	case '{':
		return Object
	case '[':
		return List
	case '"':
		return String
	case 't', 'f':
		return Boolean
	case 'n':
		return Null
	}
	return Number
}

// A Span is the location of a value in a document, after compaction if the scan
// compacts it. The zero Span is absent: no value is empty.
type Span struct{ Start, End int }

// Present reports whether there is a value.
func (s Span) Present() bool { return s.End > s.Start }

// Of returns the value. It is not a copy.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// A Walk reads a valid document that was scanned without noting its values.
type Walk struct {
	Data     []byte
	Measured Span           // a value whose end is known, if present
	Mapping  *spool.Mapping // mapping of a document in a file; one part of it at a time is in memory
}

// Members iterates over the members of the object, or the elements of the list, that begins
// at i: their keys, with quotes and escapes, and their values. The keys of elements are
// absent.
func (w Walk) Members(i int) iter.Seq2[Span, Span] {
	return func(yield func(key, value Span) bool) {
		isObject := w.Data[i] == '{'
		for i := Next(w.Data, i+1); w.Data[i] != '}' && w.Data[i] != ']'; {
			key, start := Span{}, i
			if isObject {
				key, start = Key(w.Data, i)
			}
			value := Span{start, w.End(start)}
			if !yield(key, value) {
				return
			}
			w.Mapping.Pass(value.End, value.End)
			i = Next(w.Data, value.End)
		}
	}
}

// Members iterates over the members of an object.
func Members(raw []byte) iter.Seq2[Span, Span] { return Walk{Data: raw}.Members(0) }

// knows reports whether the end of the value at i is known.
func (w Walk) knows(i int) bool { return i == w.Measured.Start && w.Measured.Present() }

// End returns the offset after the value that begins at i.
func (w Walk) End(i int) int {
	if w.knows(i) {
		return w.Measured.End
	}
	known := w.Measured
	if !known.Present() {
		known.Start = -1
	}
	return valueEnd(w.Data, i, known, w.Mapping)
}

// Next returns the offset of the next member or element, or of the closing bracket. i is
// the offset after the opening bracket or after a value.
func Next(data []byte, i int) int {
	if i = SkipSpace(data, i); data[i] == ',' {
		i = SkipSpace(data, i+1)
	}
	return i
}

// Key returns the key at i, and the offset of its value.
func Key(data []byte, i int) (key Span, value int) {
	end := TextEnd(data, i)
	return Span{i, end}, SkipSpace(data, SkipSpace(data, end)+1) // the colon
}

// TextEnd returns the offset after the string that begins at i.
func TextEnd(data []byte, i int) int {
	i++
	for {
		for i+8 <= len(data) {
			if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		for i < len(data) && data[i] != '"' && data[i] != '\\' {
			i++
		}
		if i >= len(data) || data[i] == '"' {
			return min(i+1, len(data))
		}
		i += 2
	}
}

// SkipSpace returns the offset after the whitespace at i, in any document.
func SkipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
		for i+8 <= len(data) && binary.LittleEndian.Uint64(data[i:]) == ' '*everyByte {
			i += 8
		}
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isDigit(c byte) bool { return c-'0' <= 9 }

// ValueEnd returns the offset after the value that begins at i.
func ValueEnd(data []byte, i int) int { return valueEnd(data, i, Span{Start: -1}, nil) }

// valueEnd is ValueEnd for a document in a file. It holds one part of it in memory. It does not read
// the value at known, whose Start is -1 if there is none.
func valueEnd(data []byte, i int, known Span, mapping *spool.Mapping) int {
	for depth := 0; i < len(data); {
		switch structure[data[i]] {
		case isQuote:
			i = TextEnd(data, i)
			if depth == 0 {
				return i
			}
			continue
		case isOpen:
			if i == known.Start {
				if i = known.End; depth == 0 {
					return i
				}
				continue
			}
			depth++
		case isClose:
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case isComma, isBlank:
			if depth == 0 {
				return i
			}
			mapping.Pass(i, i)
		}
		i++
	}
	return i
}

// structure classifies the bytes of a document outside strings; other bytes are 0.
var structure = [256]byte{
	'"': isQuote,
	'{': isOpen, '[': isOpen,
	'}': isClose, ']': isClose,
	',': isComma,
	' ': isBlank, '\n': isBlank, '\r': isBlank, '\t': isBlank,
}

// The classes of structure.
const (
	isQuote = iota + 1
	isOpen
	isClose
	isComma
	isBlank
)
