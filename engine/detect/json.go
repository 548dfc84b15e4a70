package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stopwhen/stopwhen/rules/value"
)

// parseJSON decodes a JSON text, which has one value, with or without a byte order mark before it.
// Objects keep their order, numbers all their digits.
func parseJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	dec.UseNumber()
	v, err := nextValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

// nextValue decodes a value of a depth: 0 is the whole text.
func nextValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("the value has more than %d levels", maxDepth)
	}
	if delim == '[' {
		return nextList(dec, depth+1)
	}
	return nextObject(dec, depth+1)
}

// nextList decodes the rest of a list, whose values have a depth.
func nextList(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := nextValue(dec, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, err
}

// nextObject decodes the rest of an object, whose values have a depth.
func nextObject(dec *json.Decoder, depth int) (any, error) {
	object := value.Object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := nextValue(dec, depth)
		if err != nil {
			return nil, err
		}
		object = append(object, value.Member{Name: name.(string), Value: v})
	}
	_, err := dec.Token()
	return object, err
}
