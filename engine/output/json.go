package output

import (
	"bytes"
	"encoding/json"
)

// The functions of this file read JSON that was validated before, such as an item. It may
// have whitespace.

// member is a member of an object.
type member struct{ name, value []byte }

// members calls f with every member of an object, in order.
func members(object []byte, f func(member) error) error {
	i := skipSpace(object, 1)
	for i < len(object) && object[i] != '}' {
		end := valueEnd(object, i)
		name := text(object[i:end])
		start := skipSpace(object, skipSpace(object, end)+1) // after the colon
		end = valueEnd(object, start)
		if err := f(member{name, object[start:end]}); err != nil {
			return err
		}
		i = next(object, end)
	}
	return nil
}

// elements calls f with every element of a list, in order.
func elements(list []byte, f func(element []byte) error) error {
	i := skipSpace(list, 1)
	for i < len(list) && list[i] != ']' {
		end := valueEnd(list, i)
		if err := f(list[i:end]); err != nil {
			return err
		}
		i = next(list, end)
	}
	return nil
}

// next returns the start of what follows a value, after the comma if there is one.
func next(raw []byte, end int) int {
	i := skipSpace(raw, end)
	if i < len(raw) && raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the end of the value that starts at i.
func valueEnd(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return stringEnd(raw, i)
	case '{', '[':
		return nestedEnd(raw, i)
	}
	for i < len(raw) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(raw[i])) {
		i++
	}
	return i
}

// nestedEnd returns the end of the object or list that starts at i.
func nestedEnd(raw []byte, i int) int {
	for depth := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(raw)
}

// stringEnd returns the end of the string that starts at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// text returns the text of a string, which is not a copy if nothing is escaped.
func text(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal(raw, &s) // it is valid
	return []byte(s)
}

// isEmpty reports whether an object has no members.
func isEmpty(object []byte) bool { return object[skipSpace(object, 1)] == '}' }
