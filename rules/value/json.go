package value

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		if utf8.ValidString(v) && !strings.Contains(v, "\u2028") && !strings.Contains(v, "\u2029") { // which the encoder escapes
			return AppendText(b, v), nil
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

// AppendText appends a text as a JSON string. All but the characters that a JSON string must escape stay as
// they are, even bytes that are not UTF-8.
func AppendText[T ~string | ~[]byte](b []byte, text T) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(text) {
		escaped := escapes[text[i]]
		if escaped == "" {
			continue
		}
		b = append(append(b, text[start:i]...), escaped...)
		start = i + 1
	}
	return append(append(b, text[start:]...), '"')
}

// escapes maps the bytes that a JSON string must escape to their escapes.
var escapes = func() (table [256]string) {
	for c := range ' ' {
		table[c] = fmt.Sprintf(`\u%04x`, c)
	}
	table['\b'], table['\f'], table['\n'], table['\r'], table['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	table['"'], table['\\'] = `\"`, `\\`
	return table
}()

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
