package document

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Decode decodes a JSON value for rules, to nil, bool, string, []any, map[string]any and numbers.
// An integer is an int, or a [json.Number] with all its digits if it does not fit, and so is a fraction with more digits than a
// float64 has. Any other number is a float64, never negative zero. If a key occurs twice, the last value counts. Decode
// returns an error for text that is not Unicode (see [Reader.Read]), for a number that is too large
// for a float64, such as 1e400, or has more than [value.MaxDigits] digits, and for values that need
// more than [MaxValueBytes].
func Decode(raw []byte) (any, error) {
	s := scan.New(scan.Targets{})
	if err := s.Scan(raw); err != nil {
		return nil, err
	}
	return decode(s.Root.Of(raw), newAllowance(0))
}

// decodeItems decodes every item, as [Decode] does.
func decodeItems(items Items, memory *allowance) ([]any, error) {
	if err := memory.spend(items.Len() * elementBytes); err != nil {
		return nil, err
	}
	out := make([]any, 0, items.Len())
	for raw := range items.All() {
		item, err := decode(raw, memory)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", len(out)+1, err)
		}
		out = append(out, item)
	}
	return out, nil
}

// decode decodes a valid value without whitespace around it. encoding/json would
// validate the value again; it took 2.3 to 3 times as long in BenchmarkDecode, and the decoder of ojg 1.6 to 2 times.
func decode(raw []byte, left *allowance) (any, error) {
	d := decoder{raw: raw, left: left}
	v, _ := d.value(0)
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

// A decoder decodes a valid value. Its methods take the offset at which a value begins, and return
// the offset after it. After an error they return early.
type decoder struct {
	raw  []byte
	left *allowance
	err  error // first error
}

// spend charges the allowance for a value before it is allocated.
func (d *decoder) spend(bytes int) {
	if err := d.left.spend(bytes); err != nil && d.err == nil {
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
	d.spend(objectBytes)
	object := map[string]any{}
	for i = scan.Next(d.raw, i+1); d.err == nil && d.raw[i] != '}'; {
		d.spend(memberBytes)
		key, at := scan.Key(d.raw, i)
		name := d.text(key.Of(d.raw))
		object[name], i = d.value(at)
		i = d.nextElement(i)
	}
	return object, i + 1
}

func (d *decoder) list(i int) ([]any, int) {
	d.spend(listBytes)
	list := []any{}
	for i = scan.Next(d.raw, i+1); d.err == nil && d.raw[i] != ']'; i = d.nextElement(i) {
		d.spend(elementBytes)
		var v any
		v, i = d.value(i)
		list = append(list, v)
	}
	return list, i + 1
}

// nextElement returns the offset of the next element, or of the closing bracket.
func (d *decoder) nextElement(i int) int {
	if d.err != nil {
		return i
	}
	return scan.Next(d.raw, i)
}

func (d *decoder) text(quoted []byte) string {
	if d.spend(textWeight * len(quoted)); d.err != nil {
		return ""
	}
	return string(scan.Unquote(quoted))
}

func (d *decoder) number(raw []byte) any {
	if n, ok := shortInteger(raw); ok {
		return n
	}
	n, err := value.Decoded(json.Number(raw))
	if err != nil && d.err == nil {
		d.err = err
	}
	return n
}

// shortInteger returns the value of raw if it is an unsigned integer of at most 18 digits, as most
// numbers are.
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

// MaxValueBytes is the default of [Options.MaxValueBytes]: the memory, in bytes, for the values of
// one response that rules read. It suffices for about 75,000 items of 20 members. A small response
// that decodes to many values must not exhaust the process.
const MaxValueBytes = 256 << 20

// The memory of values, in bytes, including garbage from growing lists and objects.
const (
	objectBytes  = 320 // with its first members
	memberBytes  = 80
	listBytes    = 48
	elementBytes = 32
	textWeight   = 2 // a text is decoded and copied
)

// maxErrorBytes is the size of the largest error response that is read as a page or shown to rules.
const maxErrorBytes = 8 << 20

// An allowance is the memory that remains for the values of a response.
type allowance struct{ limit, left int }

// newAllowance returns an allowance of limit bytes; 0 means [MaxValueBytes].
func newAllowance(limit int) *allowance {
	limit = cmp.Or(limit, MaxValueBytes)
	return &allowance{limit, limit}
}

// spend charges values before they are allocated. It returns a [*SizeError] if the allowance is
// exhausted.
func (a *allowance) spend(bytes int) error {
	if a.left -= bytes; a.left >= 0 {
		return nil
	}
	a.left = 0
	return &SizeError{
		Message: fmt.Sprintf("the values that rules read need more than %s of memory", wording.Size(a.limit)),
		Hint:    "request smaller pages, let the rules read smaller parts of the response, or raise api.http.maxValueBytes",
	}
}

// checkErrorSize refuses an error response that is too large to be read.
func checkErrorSize(body []byte) error {
	if len(body) <= maxErrorBytes {
		return nil
	}
	return &SizeError{
		Message: fmt.Sprintf("the error response has %d bytes; at most %d MiB are read as a page", len(body), maxErrorBytes>>20),
		Hint:    "let ignoreErrors and onError accept only responses that are small",
	}
}
