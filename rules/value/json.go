package value

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MarshalJSON returns the members in order, without escaping HTML.
func (o Object) MarshalJSON() ([]byte, error) { return appendJSON(nil, o) }

// Marshal is [json.Marshal] without the escaping of <, > and &.
func Marshal(v any) ([]byte, error) { return appendJSON(nil, v) }

// AppendMarshal appends the text of [Marshal].
func AppendMarshal(b []byte, v any) ([]byte, error) { return appendJSON(b, v) }

// appendJSON appends a value as JSON. It writes the usual types itself, since the encoder of the
// standard library reads the result of every MarshalJSON again.
func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case Object:
		return appendList(b, "{}", v, func(b []byte, m Member) ([]byte, error) {
			b, _ = appendJSON(b, m.Name) // a text can always be encoded
			return appendJSON(append(b, ':'), m.Value)
		})
	case []any:
		if v != nil {
			return appendList(b, "[]", v, appendJSON)
		}
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case float64:
		if size := math.Abs(v); size == 0 || 1e-6 <= size && size < 1e21 { // the encoder has exponents for the others
			return strconv.AppendFloat(b, v, 'f', -1, 64), nil
		}
	case string:
		if out, ok := appendText(b, v); ok {
			return out, nil
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...), nil
}

// appendList appends elements, separated by commas, between brackets.
func appendList[T any](b []byte, brackets string, list []T, appendElement func([]byte, T) ([]byte, error)) (_ []byte, err error) {
	b = append(b, brackets[0])
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendElement(b, e); err != nil {
			return nil, err
		}
	}
	return append(b, brackets[1]), nil
}

// appendText appends a text as JSON. It reports false if the text needs an escape other than \" \\ \n \r \t,
// or is not UTF-8; the encoder of the standard library writes such a text.
func appendText(b []byte, text string) ([]byte, bool) {
	b = append(b, '"')
	plain, ascii := 0, true // text[plain:] is not appended yet
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			ascii = ascii && c < utf8.RuneSelf
			continue
		}
		switch c {
		case '\n':
			c = 'n'
		case '\r':
			c = 'r'
		case '\t':
			c = 't'
		case '"', '\\':
		default:
			return nil, false
		}
		b = append(append(b, text[plain:i]...), '\\', c)
		plain = i + 1
	}
	if !ascii && (!utf8.ValidString(text) || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")) {
		return nil, false
	}
	return append(append(b, text[plain:]...), '"'), true
}

// Unmarshal is [json.Unmarshal] for values whose numbers keep their digits: in a variable of
// type any, a number is a [json.Number].
func Unmarshal(text []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(target); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return json.Unmarshal(text, &json.RawMessage{}) // it says what is wrong after the value
	}
	return nil
}

// Canonical returns a JSON text with the members of its objects in the order of their names,
// and without insignificant whitespace.
func Canonical(text []byte) ([]byte, error) {
	var v any
	if err := Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
