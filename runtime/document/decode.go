package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Decode decodes a JSON value for rules: into nil, bool, string, []any,
// map[string]any and numbers. An integer is an int, or a [json.Number] with all
// its digits if it does not fit; any other number is a float64, never negative
// zero. Of duplicate keys the last counts. Bytes that are not UTF-8 stay in the
// string; a lone surrogate becomes U+FFFD. A number too large for a float64, such
// as 1e400, or with more than [value.MaxDigits] digits is an error, and so are values
// that need more than [MaxValueBytes].
func Decode(raw []byte) (any, error) {
	s := scan.New(scan.Marks{})
	if err := s.Scan(raw, nil); err != nil {
		return nil, err
	}
	return decode(s.Root.Of(raw), newAllowance(0))
}

// decodeItems decodes every item, as [Decode] does.
func decodeItems(items Items, left *allowance) ([]any, error) {
	if err := left.take(items.Len() * elementBytes); err != nil {
		return nil, err
	}
	out := make([]any, 0, items.Len())
	for raw := range items.All() {
		item, err := decode(raw, left)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", len(out)+1, err)
		}
		out = append(out, item)
	}
	return out, nil
}

// decode decodes a valid value without whitespace around it. encoding/json would
// replace invalid UTF-8 and validate the value again; it took 2.3 to 3 times as
// long in BenchmarkDecode, and the decoder of ojg 1.6 to 2 times.
func decode(raw []byte, left *allowance) (any, error) {
	d := decoder{raw: raw, left: left}
	v, _ := d.value(0)
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

// A decoder decodes a valid value. Its methods take the offset at which a value
// begins, and return the offset after it. After an error they return early.
type decoder struct {
	raw  []byte
	left *allowance
	err  error // the first one
}

// take pays for a value before it is made.
func (d *decoder) take(bytes int) {
	if err := d.left.take(bytes); err != nil && d.err == nil {
		d.err = err
	}
}

func (d *decoder) value(i int) (any, int) {
	switch d.raw[i] {
	case '{':
		return d.object(i)
	case '[':
		return d.list(i)
	case '"':
		end := scan.TextEnd(d.raw, i)
		return d.text(d.raw[i:end]), end
	case 't':
		return true, i + len("true")
	case 'f':
		return false, i + len("false")
	case 'n':
		return nil, i + len("null")
	}
	end := scan.ValueEnd(d.raw, i)
	return d.number(d.raw[i:end]), end
}

func (d *decoder) object(i int) (map[string]any, int) {
	d.take(objectBytes)
	object := map[string]any{}
	for i = scan.Next(d.raw, i+1); d.err == nil && d.raw[i] != '}'; {
		d.take(memberBytes)
		key, at := scan.Key(d.raw, i)
		name := d.text(key.Of(d.raw))
		object[name], i = d.value(at)
		i = d.next(i)
	}
	return object, i + 1
}

func (d *decoder) list(i int) ([]any, int) {
	d.take(listBytes)
	list := []any{}
	for i = scan.Next(d.raw, i+1); d.err == nil && d.raw[i] != ']'; i = d.next(i) {
		d.take(elementBytes)
		var v any
		v, i = d.value(i)
		list = append(list, v)
	}
	return list, i + 1
}

// next returns the offset of the next element, or of the closing bracket.
func (d *decoder) next(i int) int {
	if d.err != nil {
		return i
	}
	return scan.Next(d.raw, i)
}

func (d *decoder) text(quoted []byte) string {
	if d.take(textWeight * len(quoted)); d.err != nil {
		return ""
	}
	return string(scan.Unquote(quoted))
}

func (d *decoder) number(raw []byte) any {
	if n, ok := shortInteger(raw); ok {
		return n
	}
	if err := value.CheckDigits(raw); err != nil {
		if d.err == nil {
			d.err = err
		}
		return nil
	}
	if !slices.ContainsFunc(raw, func(c byte) bool { return c == '.' || c == 'e' || c == 'E' }) {
		if n, err := strconv.Atoi(string(raw)); err == nil {
			return n
		}
		return json.Number(raw)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("the number %s is too large to compute with", value.Clip(string(raw), 40))
	}
	return f + 0 // -0 becomes 0
}

// shortInteger returns the number that raw is, if it is an integer of at most 18 digits
// without a sign, as most numbers are.
func shortInteger(raw []byte) (n int, ok bool) {
	if len(raw) > 18 {
		return 0, false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
