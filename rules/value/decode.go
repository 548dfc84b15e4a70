package value

import (
	"bytes"
	"encoding/json"
)

// Unmarshal is [json.Unmarshal] for values whose numbers keep their digits: in a variable of
// type any, a number is a [json.Number]. What follows the first value is ignored.
func Unmarshal(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
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
