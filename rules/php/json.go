package php

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// EncodeJSON is PHP's json_encode: / becomes \/, characters beyond ASCII become
// \uXXXX, and a float gets the fewest digits that identify it (1.0 is 1, 1e25 is
// 1.0e+25).
//
// A [value.Object] is an object of a configuration, which the reference holds as an
// array: it becomes a list if it is empty or its names are 0, 1, 2 in this order. A
// map[string]any is an object of a response and remains an object, ordered by name.
// Values that PHP refuses to encode become 0 (infinity) or \ufffd (bytes that are not
// UTF-8).
func EncodeJSON(v any) []byte { return appendJSON(nil, v) }

func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64, json.Number:
		return appendJSON(dst, plain(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return append(dst, '0')
		}
		return floatJSON(dst, v)
	case string:
		return appendText(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, element)
		}
		return append(dst, ']')
	case value.Object:
		if isList(v) {
			return appendJSON(dst, v.Values())
		}
		return appendObject(dst, v)
	case map[string]any:
		members, _ := value.Members(v)
		return appendObject(dst, members)
	}
	return append(dst, "null"...)
}

// isList reports whether PHP treats an array with these names as a list.
func isList(o value.Object) bool {
	for i, m := range o {
		if m.Name != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

func appendObject(dst []byte, o value.Object) []byte {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, m.Name)
		dst = append(dst, ':')
		dst = appendJSON(dst, m.Value)
	}
	return append(dst, '}')
}

// shortEscapes are the escapes of two bytes.
var shortEscapes = [utf8.RuneSelf]byte{
	'"': '"', '\\': '\\', '/': '/', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
}

func appendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf && shortEscapes[r] != 0:
			dst = append(dst, '\\', shortEscapes[r])
		case r >= ' ' && r < utf8.RuneSelf:
			dst = append(dst, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = appendUnit(dst, r)
		}
	}
	return append(dst, '"')
}

// appendUnit writes a UTF-16 unit as \uXXXX.
func appendUnit(dst []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}
