// Package value is the value model that configurations, parameters and decoded
// responses share, with the two conversions that the specification defines on it.
package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value of a configuration, of a parameter or of a decoded response is one of
// nil, bool, string, int, int64, float64, [json.Number] (an integer too long for
// int64), []any, map[string]any and [Object].

// Object is a JSON object that remembers the order of its members: parameters
// are sent in the order in which they were written.
type Object []Member

// Member is one name and value of an [Object].
type Member struct {
	Name  string
	Value any
}

// ObjectOf returns an object of names, each followed by its value.
func ObjectOf(pairs ...any) Object {
	out := make(Object, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, Member{pair[0].(string), pair[1]})
	}
	return out
}

// Get returns the value of name. It reports false if the object does not have it.
func (o Object) Get(name string) (any, bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// With returns a copy in which name has the value: in its old place if the object
// had it, otherwise at the end.
func (o Object) With(name string, value any) Object {
	out := make(Object, len(o), len(o)+1)
	copy(out, o)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, Member{name, value})
}

// Merge returns a copy with the members of over, each as [Object.With] adds it.
func (o Object) Merge(over Object) Object {
	out := make(Object, len(o), len(o)+len(over))
	copy(out, o)
	index := make(map[string]int, len(out))
	for i, m := range slices.Backward(out) { // the first of equal names
		index[m.Name] = i
	}
	for _, m := range over {
		if i, ok := index[m.Name]; ok {
			out[i].Value = m.Value
			continue
		}
		index[m.Name] = len(out)
		out = append(out, m)
	}
	return out
}

// WithPath returns a copy with the value at a path of keys. It makes the objects along the
// path.
func (o Object) WithPath(keys []string, v any) Object {
	if len(keys) == 1 {
		return o.With(keys[0], v)
	}
	had, _ := o.Get(keys[0])
	inner, _ := Members(had)
	return o.With(keys[0], inner.WithPath(keys[1:], v))
}

// Without returns a copy that does not have name.
func (o Object) Without(name string) Object {
	out := make(Object, 0, len(o))
	for _, m := range o {
		if m.Name != name {
			out = append(out, m)
		}
	}
	return out
}

// Overlay returns a value with another one merged deeply into it: an object into an object,
// or into a list if its keys are indexes of that list. Any other value replaces the one
// under it.
func Overlay(under, over any) any {
	above, ok := Members(over)
	if list, isList := under.([]any); isList && ok && len(above) > 0 {
		out := slices.Clone(list)
		for _, m := range above {
			i, err := strconv.Atoi(m.Name)
			if err != nil || i < 0 || i >= len(out) {
				return over
			}
			out[i] = Overlay(out[i], m.Value)
		}
		return out
	}
	below, both := Members(under)
	if !ok || !both {
		return over
	}
	had := make(map[string]any, len(below))
	for _, m := range below {
		had[m.Name] = m.Value
	}
	return below.Merge(Map(above, func(m Member) Member { return Member{Name: m.Name, Value: Overlay(had[m.Name], m.Value)} }))
}

// Gather returns a copy without repeated names: the first member of a repeated name
// has a list of all its values.
func (o Object) Gather() Object {
	var out Object
	index, lists := map[string]int{}, map[string][]any{}
	for _, m := range o {
		i, repeated := index[m.Name]
		if !repeated {
			index[m.Name] = len(out)
			out = append(out, m)
			continue
		}
		if lists[m.Name] == nil {
			lists[m.Name] = []any{out[i].Value}
		}
		lists[m.Name] = append(lists[m.Name], m.Value)
		out[i].Value = lists[m.Name]
	}
	return out
}

// Names returns the names in order.
func (o Object) Names() []string {
	return Map(o, func(m Member) string { return m.Name })
}

// Values returns the values of the members, in their order.
func (o Object) Values() []any {
	return Map(o, func(m Member) any { return m.Value })
}

// Map returns the results of a function for the elements of a list.
func Map[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}

// AppendNew appends an element to a list, unless the list contains it.
func AppendNew[T comparable](list []T, e T) []T {
	if slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}

// MarshalJSON returns the members in order, without escaping HTML.
func (o Object) MarshalJSON() ([]byte, error) { return appendJSON(nil, o) }

// Marshal is [json.Marshal] without the escaping of <, > and &.
func Marshal(v any) ([]byte, error) { return appendJSON(nil, v) }

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
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"'), nil
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
func appendList[T any](b []byte, brackets string, list []T, one func([]byte, T) ([]byte, error)) (_ []byte, err error) {
	b = append(b, brackets[0])
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = one(b, e); err != nil {
			return nil, err
		}
	}
	return append(b, brackets[1]), nil
}

// isPlain reports whether a text is the same in JSON, in quotes.
func isPlain(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// At returns the value at a path of keys, and whether there is one. A key of a list is an index.
func At(v any, keys []string) (any, bool) {
	for _, key := range keys {
		if list, isList := v.([]any); isList {
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			v = list[i]
			continue
		}
		members, _ := Members(v)
		inner, ok := members.Get(key)
		if !ok {
			return nil, false
		}
		v = inner
	}
	return v, true
}

// Members returns the members of an object of either form: those of an [Object] in
// its own order, those of a map by name. It reports false for anything else.
func Members(v any) (Object, bool) {
	switch v := v.(type) {
	case Object:
		return v, true
	case map[string]any:
		out := make(Object, 0, len(v))
		for name, value := range v {
			out = append(out, Member{name, value})
		}
		slices.SortFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		return out, true
	}
	return nil, false
}

// Text returns a scalar as the text that is sent in a URL or a header: a number with
// all its digits, a boolean as true or false. It reports false for nil, lists and
// objects.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return formatFloat(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// Number converts the text of a JSON number without losing a digit of an integer:
// to an int, to a [json.Number] if it is an integer too long for that, or to a
// float64. It fails if a number has more than [MaxDigits] digits, or if a fraction
// is too large for a float64.
func Number(n json.Number) (any, error) {
	if err := CheckDigits(n.String()); err != nil {
		return nil, err
	}
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, nil
	}
	if !strings.ContainsAny(n.String(), ".eE") {
		return n, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %s is too large to compute with", Clip(n.String(), 40))
	}
	return f + 0, nil // -0 becomes 0
}

// Spelled returns a number of a configuration like [Number], but keeps the spelling of
// one whose last decimals are zeros: 1.50 is sent as 1.50.
func Spelled(n json.Number) any {
	v, err := Number(n)
	text := n.String()
	if err != nil || strings.HasSuffix(text, "0") && strings.Contains(text, ".") && !strings.ContainsAny(text, "eE") {
		return n
	}
	return v
}

// MaxDigits is how many digits a number may have that is computed with: the time to
// convert longer ones grows faster than their length.
const MaxDigits = 1000

// CheckDigits refuses the text of a number with more than [MaxDigits] digits. A sign, a
// point and an exponent count as digits.
func CheckDigits[T string | []byte](text T) error {
	if len(text) <= MaxDigits {
		return nil
	}
	return fmt.Errorf("the number %s has %d digits; at most %d can be computed with", Clip(string(text[:MaxDigits]), 40), len(text), MaxDigits)
}

// formatFloat formats a float like JSON encoders do: plain digits in the usual
// range, and an exponent beyond it.
func formatFloat(f float64) string {
	if abs := max(f, -f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Exceeds reports whether a value has more than n bytes, counted as one for every
// value in it and as the length of every text and name. It looks no further than that.
func Exceeds(v any, n int) bool { return remaining(v, n) < 0 }

// remaining returns how many of n bytes remain after a value; a negative number if it
// has more.
func remaining(v any, n int) int {
	n--
	switch v := v.(type) {
	case string:
		return n - len(v)
	case json.Number:
		return n - len(v)
	case []any:
		for i := 0; i < len(v) && n >= 0; i++ {
			n = remaining(v[i], n)
		}
	case Object:
		for i := 0; i < len(v) && n >= 0; i++ {
			n = remaining(v[i].Value, n-len(v[i].Name))
		}
	case map[string]any:
		for name, member := range v {
			if n = remaining(member, n-len(name)); n < 0 {
				break
			}
		}
	}
	return n
}

// KindOf names the JSON kind of a value, for messages: "null", "a boolean",
// "a number", "a string", "a list" or "an object".
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int, int64, float64, json.Number:
		return "a number"
	case []any:
		return "a list"
	case Object, map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a %T", v) // a time or a duration, which only expressions make
}

// Preview returns a value for a message: a scalar as JSON, cut after 60 characters,
// and a list or an object by its size.
func Preview(v any) string {
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	case Object:
		return fmt.Sprintf("object of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("object of %d", len(v))
	}
	const width = 60
	if text, ok := v.(string); ok {
		v = Clip(text, width) // a long text is not encoded in full
	}
	text, err := Marshal(v)
	if err != nil {
		return Clip(fmt.Sprint(v), width)
	}
	return Clip(string(text), width)
}

// Clip returns the first n characters of a text, and marks the cut if there is more.
// It reads no more of the text than that.
func Clip(text string, n int) string {
	for end := range text {
		if n == 0 {
			return string([]rune(text[:end])) + "…"
		}
		n--
	}
	return text
}

// Truthy is the boolean conversion of the specification (2.2): false, 0, null, the
// string "0" and the empty list are false, and all other values are true, including
// "no" and "".
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != "0"
	case []any:
		return len(v) != 0
	}
	return true
}

// Empty reports whether a paging value is empty (3.1): missing, null, "" or false.
// The number 0 is not empty.
func Empty(v any) bool { return v == nil || v == false || v == "" }

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

// Counted returns a number with its noun, which is plural unless the number is 1:
// "3 pages".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Size returns a number of bytes for people: "1.5 MB".
func Size(n int) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if f /= 1000; f < 1000 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// OrList joins words for people: "text, json or mermaid".
func OrList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Wrap breaks a text into lines of at most so many characters, at spaces and at its own line
// ends. A longer word stays whole. Several spaces in a row are kept, since they may be in a
// string of an expression.
func Wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line := ""
		for i, word := range strings.Split(paragraph, " ") {
			if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width && strings.TrimSpace(line) != "" {
				lines = append(lines, line)
				line = word
				continue
			}
			if i > 0 {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}
