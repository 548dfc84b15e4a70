// Package printable makes texts from outside safe to print: a text of an API or of a
// configuration may hold characters that move the cursor of a terminal, change its
// colours, reverse the direction of text, hide it, or begin a line that looks like
// one of the program's own.
//
// The program escapes such characters where it prints, and nowhere before: values
// stay as they are.
package printable

import (
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unsafe reports whether a character must not be printed: a control character (C0, C1,
// DEL), a separator of lines, or one without width that changes its neighbours.
func unsafe(r rune) bool {
	if ' ' <= r && r <= '~' { // most characters
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Text returns a text that is printed within a line, with unsafe characters escaped as
// in Go: \n, \x1b, \u202e. Bytes that are not UTF-8 are escaped, too.
func Text(text string) string { return escape(text, "") }

// Lines is [Text] for a text of several lines: newlines and tabs stay.
func Lines[T string | []byte](text T) T { return T(escape(string(text), "\n\t")) }

func escape(text, kept string) string {
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if invalid := r == utf8.RuneError && size == 1; invalid || unsafe(r) && !strings.ContainsRune(kept, r) {
			quoted := strconv.QuoteToASCII(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// JSON escapes the unsafe characters in a text that is JSON, which have an escape in
// its strings. The control characters below U+0020 can only stand between values. A text without
// unsafe characters is returned as it is, without a copy.
func JSON[T string | []byte](text T) T {
	var b []byte
	copied := 0
	for i := 0; i < len(text); {
		if i+8 <= len(text) && isPlain(binary.LittleEndian.Uint64([]byte(text[i:i+8]))) {
			i += 8
			continue
		}
		if text[i] <= '~' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		if unsafe(r) {
			b = append(b, text[copied:i]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				b = fmt.Appendf(b, `\u%04x`, unit)
			}
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return text
	}
	return T(append(b, text[copied:]...))
}

// isPlain reports whether none of eight bytes is DEL or begins a character outside ASCII.
func isPlain(word uint64) bool {
	const ones = 0x0101010101010101
	return (word|(word+ones))&(0x80*ones) == 0
}

// Strings makes all strings in the value that a pointer points to safe to print, as [Text] does: in its exported
// fields, its elements, and the names and values of its maps. Interfaces that hold pointers stay as they are.
func Strings(pointer any) { change(reflect.ValueOf(pointer)) }

func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			change(v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() || !v.CanSet() || v.Elem().Kind() == reflect.Pointer { // an error, say, which others may share
			return
		}
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		change(inner)
		v.Set(inner)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				change(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			change(v.Index(i))
		}
	case reflect.Map:
		changeMap(v)
	case reflect.String:
		if v.CanSet() {
			v.SetString(Text(v.String()))
		}
	}
}

func changeMap(m reflect.Value) {
	if m.IsNil() {
		return
	}
	for _, key := range m.MapKeys() {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(key))
		change(value)
		m.SetMapIndex(key, reflect.Value{})
		if key.Kind() == reflect.String {
			key = reflect.ValueOf(Text(key.String())).Convert(key.Type())
		}
		m.SetMapIndex(key, value)
	}
}

// Writer returns a writer that changes every text before it writes it to w. A text
// must not be cut within a character: each Write has complete ones.
func Writer(w io.Writer, change func([]byte) []byte) io.Writer { return writer{w, change} }

type writer struct {
	w      io.Writer
	change func([]byte) []byte
}

func (w writer) Write(p []byte) (int, error) {
	_, err := w.w.Write(w.change(p))
	return len(p), err
}
