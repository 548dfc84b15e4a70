package language

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// length returns the number of characters of a string, or of elements.
func length(m *meter, a []any) (any, error) {
	switch v := fieldsOf(a[0]).(type) {
	case string:
		m.spend(len(v))
		return utf8.RuneCountInString(v), nil
	case []any, map[string]any, rules.Object:
		return memberCount(v), nil
	}
	return nil, fmt.Errorf("len takes a string, a list or an object, got %s", Described(a[0]))
}

// asString returns a value as the expression language prints it.
func asString(m *meter, a []any) (any, error) {
	v := fieldsOf(a[0])
	if text, ok := v.(string); ok {
		return text, nil
	}
	m.growText(v)
	return fmt.Sprint(value.Plain(v)), nil
}

func trim(m *meter, a []any) (any, error) {
	text := a[0].(string)
	if len(a) == 1 {
		m.spend(len(text))
		return strings.TrimSpace(text), nil
	}
	characters := a[1].(string)
	m.spend(product(len(text), max(1, len(characters))))
	return strings.Trim(text, characters), nil
}

// trimmed returns a function that removes one end of a string, which is a space if it is left out.
func trimmed(f func(text, end string) string) func(*meter, []any) (any, error) {
	return func(m *meter, a []any) (any, error) {
		end := optional(a, 1, " ")
		m.spend(len(end))
		return f(a[0].(string), end), nil
	}
}

// optional returns an argument that may be left out.
func optional[T any](a []any, i int, otherwise T) T {
	if i >= len(a) {
		return otherwise
	}
	return a[i].(T)
}

// changed returns a function that changes a string. The result may be longer: some letters
// have a longer counterpart in the other case.
func changed(f func(string) string) func(*meter, []any) (any, error) {
	return func(m *meter, a []any) (any, error) {
		text := a[0].(string)
		m.grow(2 * len(text))
		return f(text), nil
	}
}

// searchedFor returns a function that looks for a string in another.
func searchedFor[T int | bool](f func(text, part string) T) func(*meter, []any) (any, error) {
	return func(m *meter, a []any) (any, error) {
		text, part := a[0].(string), a[1].(string)
		m.spend(len(text) + len(part))
		return f(text, part), nil
	}
}

// splitWith returns split, or splitAfter, which keeps the separators.
func splitWith(separators bool) func(*meter, []any) (any, error) {
	return func(m *meter, a []any) (any, error) {
		text, separator := a[0].(string), a[1].(string)
		limit := optional(a, 2, -1)
		m.spend(len(text) + len(separator))
		parts := strings.Count(text, separator) + 1
		if limit >= 0 {
			parts = min(parts, limit)
		}
		m.grow(product(parts, 48)) // of two lists, and the strings
		list := []any{}
		split := strings.SplitN
		if separators {
			split = strings.SplitAfterN
		}
		for _, part := range split(text, separator, limit) {
			list = append(list, part)
		}
		return list, nil
	}
}

func replaceAll(m *meter, a []any) (any, error) {
	text, from, to, limit := a[0].(string), a[1].(string), a[2].(string), optional(a, 3, -1)
	m.spend(len(text) + len(from))
	found := strings.Count(text, from)
	if limit >= 0 {
		found = min(found, limit)
	}
	if found == 0 {
		return text, nil
	}
	m.grow(len(text) + product(found, len(to)))
	return strings.Replace(text, from, to, limit), nil
}

func repeat(m *meter, a []any) (any, error) {
	text, times := a[0].(string), a[1].(int)
	if times < 0 {
		return nil, fmt.Errorf("repeat cannot repeat a string %d times", times)
	}
	m.grow(product(len(text), times))
	return strings.Repeat(text, times), nil
}

// join joins strings, and numbers as they are sent. It ignores nil.
func join(m *meter, a []any) (any, error) {
	list, glue := a[0].([]any), optional(a, 1, "")
	texts := make([]string, 0, min(len(list), maxBytes/16))
	for i, v := range list {
		text, ok := value.Text(v)
		switch {
		case v == nil:
			continue
		case !ok:
			return nil, fmt.Errorf("join takes strings and numbers; element %d is %s", i, Described(v))
		}
		m.grow(16 + len(text) + len(glue))
		texts = append(texts, text)
	}
	return strings.Join(texts, glue), nil
}

func toBase64(m *meter, a []any) (any, error) {
	text := a[0].(string)
	m.grow(2 * base64.StdEncoding.EncodedLen(len(text)))
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

func fromBase64(m *meter, a []any) (any, error) {
	text := a[0].(string)
	m.grow(2 * len(text))
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("fromBase64: not base64: %s", value.Preview(text))
	}
	return string(decoded), nil
}

// toJSON returns JSON without white space, as APIs and signatures want it. The function of the expression
// language indents it.
func toJSON(m *meter, a []any) (any, error) {
	v := fieldsOf(a[0])
	m.growText(v)
	text, err := value.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("toJSON: %s cannot be written as JSON", KindOf(a[0]))
	}
	return string(text), nil
}

// fromJSON decodes JSON with all the digits of its numbers.
func fromJSON(m *meter, a []any) (any, error) {
	text := a[0].(string)
	m.grow(product(len(text), 8))
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: the value is followed by more text")
	}
	return value.DecodedAll(out)
}

func duration(m *meter, a []any) (any, error) {
	text := a[0].(string)
	m.spend(len(text))
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("duration: want text like 90s, 5m or 1h30m, got %s", value.Preview(text))
	}
	return d, nil
}

// layoutsOf returns the forms of times in which date may read a text.
func layoutsOf(text string) []string {
	return append([]string{time.TimeOnly, dayLayout}, times.Layouts(text)...)
}

const dayLayout = "20060102"

// date reads a time: date(text), date(text, layout), date(text, layout, zone), each
// with a zone of timezone before it or not. A number without a layout is a time of Unix.
func date(m *meter, a []any) (any, error) {
	zone, hasZone := a[0].(*time.Location)
	if hasZone {
		a = a[1:]
	}
	if len(a) == 0 {
		return nil, errors.New("date takes the text of a date after the time zone")
	}
	if t, ok := a[0].(time.Time); ok {
		return t, nil
	}
	text, ok := a[0].(string)
	if isNumber(a[0]) {
		text, ok = value.Text(a[0])
		if _, err := time.Parse(dayLayout, text); err == nil && len(a) == 1 {
			return nil, fmt.Errorf("date: the number %s may be a day or seconds since 1970: write date(text(v)) for the day", text)
		} else if len(a) == 1 {
			t, _ := timeOf(a[0])
			return t, nil
		}
	}
	if !ok {
		return nil, fmt.Errorf("date takes a string or a number, got %s", Described(a[0]))
	}
	if text == "" { // many APIs write an absent date so
		return nil, nil
	}
	use := layoutsOf(text)
	if len(a) > 1 {
		use = []string{a[1].(string)}
	}
	if len(a) > 2 {
		zone = must(timezone(m, a[2:])).(*time.Location)
	}
	return parseTime(m, text, use, zone)
}

func parseTime(m *meter, text string, layouts []string, zone *time.Location) (any, error) {
	if zone == nil {
		zone = time.UTC
	}
	for _, layout := range layouts {
		m.spend(len(text) + len(layout))
		if t, err := times.ParseInLayout(layout, text, zone); err == nil {
			return t, nil
		}
	}
	if len(layouts) == 1 {
		return nil, fmt.Errorf("date: %s does not have the layout %s", value.Preview(text), value.Preview(layouts[0]))
	}
	return nil, fmt.Errorf("date: %s is not a date in a usual form; date(text, layout) reads any other", value.Preview(text))
}

// timezone may read a file of the system, which is slow.
func timezone(m *meter, a []any) (any, error) {
	name := a[0].(string)
	m.spend(tickEvery)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("timezone: want a name like Europe/Prague, got %s", value.Preview(name))
	}
	return zone, nil
}
