package detect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/value"
)

// parseJSON decodes a JSON text, with or without a byte order mark. Objects keep their
// order, numbers all their digits.
func parseJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	dec.UseNumber()
	v, err := nextValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("there is more after the value")
	}
	return v, nil
}

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
		list := []any{}
		for dec.More() {
			v, err := nextValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	object := value.Object{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := nextValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object, value.Member{Name: name.(string), Value: v})
	}
	_, err = dec.Token()
	return object, err
}
