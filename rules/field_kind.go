package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Kind is the kind of a value of the configuration.
type Kind int

// The kinds.
const (
	KindAny            Kind = iota // any value
	KindText                       // a non-empty string
	KindFlag                       // true or false
	KindCount                      // a whole number above 0, or a string that holds it
	KindInteger                    // a whole number, or a string that holds it
	KindStatus                     // an HTTP status
	KindPath                       // dot-separated keys; `\.` is a dot in a key, a number indexes a list
	KindKey                        // a key in the root of the response, taken literally
	KindSeconds                    // seconds above 0, or a duration: "90s", "10 minutes"
	KindPerSecond                  // a rate: how many per second, which may be below 1
	KindSecret                     // a string, or {"env": "NAME"}
	KindMap                        // an object with any keys
	KindPaths                      // an object of paths
	KindBlock                      // an object with the keys of Fields
	KindBlocks                     // a list of objects with the keys of Fields
	KindList                       // a list
	KindExpression                 // an expression
	KindWait                       // an expression for a duration, or a duration such as "30s"
	KindLength                     // the length of a window: 24h, 7d, 1mo, or a number
	KindLengthOrSource             // a length, or an expression for a length
	KindLag                        // KindLengthOrSource, and a length of zero is none
	KindMomentOrSource             // the beginning or the end of windows: a date, a number, or an expression
	KindValues                     // a list, or an expression for a list
	KindPathList                   // a path, or a list of paths
	KindNested                     // a pagination object; its keys depend on its method

	// Values of these kinds are read like the reference implementation reads
	// them (dialect keboola).
	phpNumber  // numeric, cast to int, not 0
	phpInt     // cast to int; null is missing
	phpFlag    // cast to bool; null is missing
	phpText    // a scalar cast to string; an empty string is missing
	phpStrict  // a non-empty string; an empty value is missing
	phpSet     // a non-empty string; null is missing
	phpWhole   // an int; an empty value is missing
	phpBytes   // cast to int; an empty value is missing
	phpSeconds // an int, or text for strtotime; an empty value is missing
	phpBlock   // an object; any other value is missing
)

// A kindRow is a row of the table of kinds.
type kindRow struct {
	name   string                 // its name in messages and in the reference
	read   func(any) (any, error) // converts a value; nil accepts any value. A nil result counts as missing
	schema Object                 // if it is nil, [Field.kindSchema] derives it from other columns of the field
	sample any                    // a value of the kind
	env    bool                   // {"env": "NAME"} may stand for a value
	goType string                 // the Go type of a field; if it is empty, other columns of the field decide
}

// kinds is the table of kinds.
var kinds = [...]kindRow{
	KindAny:  {name: "any value", sample: "name"},
	KindText: {name: "a non-empty string", read: readNonEmpty, sample: "name", env: true, goType: "string"},
	KindFlag: {
		name: "true or false", read: readAs[bool],
		schema: typed("boolean"), sample: true, env: true, goType: "bool",
	},
	KindCount: {
		name: "a whole number above 0", read: wholeFrom(1, math.MaxInt),
		schema: anyOf(typed("integer").With("minimum", 1), typed("string").With("pattern", `^0*[1-9][0-9]*$`)),
		sample: 1, env: true, goType: "int",
	},
	KindInteger: {
		name: "a whole number", read: readInteger,
		schema: anyOf(typed("integer"), typed("string").With("pattern", `^[+-]?[0-9]+$`)), sample: 1, env: true, goType: "int",
	},
	KindStatus: {
		name: "an HTTP status", read: wholeFrom(100, 599),
		schema: anyOf(typed("integer").With("minimum", 100).With("maximum", 599), typed("string").With("pattern", `^[1-5][0-9][0-9]$`)),
		sample: 200, env: true, goType: "int",
	},
	KindPath: {name: "a path like a.b", read: readPathText, sample: "name", env: true, goType: "string"},
	KindKey:  {name: "the name of a key", read: readKey, sample: "name", env: true, goType: "string"},
	KindSeconds: {
		name: `seconds above 0, or a duration like "90s" or "10 minutes"`, read: readSeconds,
		schema: positiveSchema, sample: 1, env: true, goType: "time.Duration",
	},
	KindPerSecond: {
		name: "a number above 0, and at least one per day (0.0000116)", read: readPerSecond,
		schema: positiveSchema, sample: 1, env: true, goType: "float64",
	},
	KindSecret: {
		name: `a string or {"env": "NAME"}`, read: readTextOrObject,
		schema: anyOf(typed("string"), reference("expr")), sample: "name", env: true, goType: "string",
	},
	KindMap: {name: "an object", read: readObject, sample: Object{}},
	KindPaths: {
		name: "an object of paths", read: readPaths,
		schema: pathsSchema, sample: value.ObjectOf("name", "path"), goType: "map[string]string",
	},
	KindBlock:      {name: "an object", read: readObject},
	KindBlocks:     {name: "a list of objects", read: readAs[[]any]},
	KindList:       {name: "a list", read: readAs[[]any], sample: []any{}},
	KindExpression: {name: "an expression", read: readNonEmpty, sample: "nil", goType: "string"},
	KindWait: {
		name: `an expression for seconds or a duration, or a duration like "30s"`, read: readWait,
		schema: anyOf(typed("number").With("minimum", 0), someText), sample: "nil", goType: "string",
	},
	KindLength: {
		name: `a length such as 24h, 7d, 1mo or a number`, read: readLength,
		schema: positiveSchema, sample: "1d", goType: "string",
	},
	KindLengthOrSource: {
		name: `a length such as 24h, 7d, 1mo or a number, or an expression for one`, read: readLengthOrSource,
		schema: positiveSchema, sample: "name", goType: "string",
	},
	KindLag: {
		name: `a length such as 24h, 7d, 1mo or a number, 0 for none, or an expression for one`, read: readLag,
		schema: anyOf(typed("number").With("minimum", 0), someText), sample: "name", goType: "string",
	},
	KindMomentOrSource: {
		name: "a date, a number or an expression", read: either(readAs[int], either(readAs[float64], readMoment)),
		schema: anyOf(typed("number"), someText), sample: "name", goType: "string",
	},
	KindValues: {
		name: "a list or an expression", read: either(readAs[[]any], readNonEmpty),
		schema: anyOf(typed("array"), someText), sample: "name", goType: "any",
	},
	KindPathList: {
		name: "a path, or a list of paths", read: readPathList,
		schema: anyOf(someText, typed("array").With("minItems", 1).With("items", someText)), sample: "name", goType: "[]string",
	},
	KindNested: {name: "a pagination object", sample: value.ObjectOf("method", "pagenum"), goType: "Pagination"},

	phpNumber:  {name: "a number other than 0", read: unless(php.EmptyConfig, phpNumeric)},
	phpInt:     {name: "a number", read: unless(isNil, cast(php.Int))},
	phpFlag:    {name: "a boolean", read: unless(isNil, cast(php.Bool))},
	phpText:    {name: "a string", read: unless(php.EmptyConfig, cast(php.String))},
	phpStrict:  {name: "a non-empty string", read: unless(php.EmptyConfig, readNonEmpty)},
	phpSet:     {name: "a non-empty string", read: unless(isNil, readNonEmpty)},
	phpWhole:   {name: "a whole number", read: unless(php.EmptyConfig, readAs[int])},
	phpBytes:   {name: "a number", read: unless(php.EmptyConfig, cast(php.Int))},
	phpSeconds: {name: `seconds, or a time like "10 minutes"`, read: unless(php.EmptyConfig, phpTime)},
	phpBlock:   {name: "an object", read: readObject},
}

// The schemas that several kinds have.
var (
	someText       = typed("string").With("minLength", 1)
	positiveSchema = anyOf(typed("number").With("exclusiveMinimum", 0), someText)
	pathsSchema    = typed("object").With("minProperties", 1).With("additionalProperties", someText)
)

// String describes the kind as messages and the reference do: "a whole number above 0".
func (k Kind) String() string { return kinds[k].name }

// GoType returns the type of a field in Go that has a value of the kind. It is empty if the
// fields of the kind decide.
func (k Kind) GoType() string { return kinds[k].goType }

// errKind says that a value is of another kind.
var errKind = errors.New("a value of another kind")

// convert reads a value of the configuration as a kind. The error describes the mistake in
// a few words. A nil result means that the value counts as missing.
func convert(kind Kind, v any) (any, error) {
	v = withoutSpelling(v)
	read := kinds[kind].read
	if read == nil {
		return v, nil
	}
	converted, err := read(v)
	if errors.Is(err, errKind) {
		return nil, fmt.Errorf("want %s, got %s", kind, describe(v))
	}
	return converted, err
}

// PageSize reads the value of a parameter that sets the page size: an int, or nil.
func PageSize(dialect Dialect, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	size, err := convert(limitKind(dialect), v)
	if err != nil {
		return nil, fmt.Errorf("the page size: %w", err)
	}
	return size, nil
}

// limitKind returns the kind of a page size.
func limitKind(dialect Dialect) Kind {
	field, _ := fieldNamed(paginationFields, "limit")
	kind, _ := field.kindAndDefault(dialect)
	return kind
}

// withoutSpelling returns a number as an int or a float64, and any other value unchanged.
func withoutSpelling(v any) any {
	if n, ok := v.(json.Number); ok {
		if number, err := value.Number(n); err == nil {
			return number
		}
	}
	return v
}

// describe shows a value in a message: a scalar as JSON, anything else by its kind.
func describe(v any) string {
	switch v.(type) {
	case nil, []any, Object, map[string]any:
		return value.KindOf(v)
	}
	return value.Preview(v)
}

// oneOf checks a text against the values that a field allows, and returns it in
// their spelling.
func (f Field) oneOf(text string) (string, error) {
	canonical := text
	if f.FoldCase {
		canonical = strings.ToUpper(text)
	}
	if f.Values == nil || slices.Contains(f.Values, canonical) {
		return canonical, nil
	}
	return "", fmt.Errorf("want %s, got %s", wording.OrList(f.Values), describe(text))
}

// readAs accepts a value of the type T.
func readAs[T any](v any) (any, error) {
	if _, ok := v.(T); ok {
		return v, nil
	}
	return nil, errKind
}

func readNonEmpty(v any) (any, error) {
	if s, ok := v.(string); ok && s != "" {
		return v, nil
	}
	return nil, errKind
}

// dateLike matches dates, and subtractions that nobody means: 2026-13-01 is 2012.
var dateLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+-\d+-\d+([T ].*)?$`) })

// readMoment reads a date or an expression.
func readMoment(v any) (any, error) {
	if text, _ := v.(string); dateLike().MatchString(text) {
		if _, err := times.Parse(text); err != nil {
			return nil, err
		}
	}
	return readNonEmpty(v)
}

// readPathText reads the text of a path. Any text is a path, so the error names the kind Text.
func readPathText(v any) (any, error) {
	if _, err := readNonEmpty(v); err != nil {
		return nil, fmt.Errorf("want a non-empty string, got %s", describe(v))
	}
	return v, nil
}

func readKey(v any) (any, error) {
	name, err := readPathText(v)
	if err != nil {
		return nil, err
	}
	return keypath.Join(name.(string)), nil
}

func readTextOrObject(v any) (any, error) {
	_, isText := v.(string)
	if _, isObject := value.Members(v); isText || isObject {
		return v, nil
	}
	return nil, errKind
}

func readObject(v any) (any, error) {
	if _, ok := v.(Object); ok {
		return v, nil // as it is, without another allocation
	}
	if o, ok := value.Members(v); ok {
		return o, nil
	}
	return nil, errKind
}

// readPathList reads a path, or a list of paths, as a list of paths.
func readPathList(v any) (any, error) {
	if _, isText := v.(string); isText {
		v = []any{v}
	}
	list, isList := v.([]any)
	if !isList {
		return nil, errKind
	}
	if len(list) == 0 || len(list) > maxKeyPaths {
		return nil, fmt.Errorf("want 1 to %d paths, got %d", maxKeyPaths, len(list))
	}
	out := make([]string, len(list))
	for i, element := range list {
		path, _ := element.(string)
		switch keys := keypath.Split(path); {
		case len(keys) == 0 || len(path) > maxPath:
			return nil, fmt.Errorf("want the path of a member of the items, such as id, got %s", describe(element))
		default:
			out[i] = keypath.Join(keys...)
		}
		if slices.Contains(out[:i], out[i]) {
			return nil, fmt.Errorf("the path %s is named twice", out[i])
		}
	}
	return out, nil
}

// maxKeyPaths is the largest number of paths in a key.
const maxKeyPaths = 16

func readPaths(v any) (any, error) {
	members, ok := value.Members(v)
	if !ok || len(members) == 0 {
		return nil, errKind
	}
	if len(members) > maxElements {
		return nil, fmt.Errorf("want at most %d elements, got %d", maxElements, len(members))
	}
	out := make(Object, len(members))
	for i, m := range members {
		path, isText := m.Value.(string)
		if !isText || path == "" || len(path) > maxPath || m.Name == "" {
			return nil, fmt.Errorf("want a path as the value of %q, got %s", m.Name, describe(m.Value))
		}
		out[i] = Member{Name: m.Name, Value: keypath.Join(keypath.Split(path)...)}
	}
	return out, nil
}

func readInteger(v any) (any, error) {
	switch v := v.(type) {
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return n, nil
		}
	case float64: // 1e3 is a float64 in Go and in YAML
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), nil
		}
	}
	return nil, errKind
}

// wholeFrom reads a whole number in a range.
func wholeFrom(low, high int) func(any) (any, error) {
	return func(v any) (any, error) {
		n, err := readInteger(v)
		if err != nil || n.(int) < low || n.(int) > high {
			return nil, errKind
		}
		return n, nil
	}
}

// readPerSecond reads a rate per second, or a string that holds a number. A rate below one per day is
// probably a mistake, and the wait that follows from it might not fit a [time.Duration].
func readPerSecond(v any) (any, error) {
	n, ok := v.(float64)
	switch v := v.(type) {
	case int:
		n, ok = float64(v), true
	case string:
		number, err := strconv.ParseFloat(v, 64)
		n, ok = number, err == nil
	}
	if !ok || !(n >= 1.0/(24*60*60)) || math.IsInf(n, 0) {
		return nil, errKind
	}
	return n, nil
}

// readLength reads the length of a window.
func readLength(v any) (any, error) {
	if _, err := times.ParseSpan(v); err != nil {
		return nil, errKind
	}
	return v, nil
}

// readLengthOrSource reads a length, or the source of an expression: any text that is no duration of ISO 8601 and does not begin
// with a digit.
func readLengthOrSource(v any) (any, error) {
	text, isText := v.(string)
	if _, isLength := times.ParseISODuration(text); isText && text != "" && (text[0] < '0' || text[0] > '9') && !isLength {
		return text, nil
	}
	return readLength(v)
}

// readLag is readLengthOrSource for a length that may be zero, which it returns as nil.
func readLag(v any) (any, error) {
	if lag, err := times.ParseLag(v); err == nil && lag == (times.Span{}) && v != "" {
		return nil, nil
	}
	return readLengthOrSource(v)
}

// either tries the first function, then the second.
func either(first, second func(any) (any, error)) func(any) (any, error) {
	return func(v any) (any, error) {
		if read, err := first(v); err == nil {
			return read, nil
		}
		return second(v)
	}
}

// readWait reads an expression, or a number of seconds or a duration, which it returns as
// expressions.
func readWait(v any) (any, error) {
	switch n, err := readSeconds(v); {
	case err == nil && isDuration(v):
		return fmt.Sprintf("duration(%q)", durationOf(n)), nil
	case err == nil:
		return literal(n), nil
	case v == 0, v == 0.0:
		return "0", nil
	}
	return readNonEmpty(v)
}

// isDuration reports whether a value is a text other than a number.
func isDuration(v any) bool {
	text, isText := v.(string)
	_, err := strconv.ParseFloat(text, 64)
	return isText && err != nil
}

// unless returns a function that reads values, except those that count as missing.
func unless(missing func(any) bool, read func(any) (any, error)) func(any) (any, error) {
	return func(v any) (any, error) {
		if missing(v) {
			return nil, nil
		}
		return read(v)
	}
}

func isNil(v any) bool { return v == nil }

// cast returns a function that accepts any value, and converts it as PHP does.
func cast[T any](convert func(any) T) func(any) (any, error) {
	return func(v any) (any, error) { return convert(v), nil }
}

func phpNumeric(v any) (any, error) {
	if !php.IsNumeric(v) {
		return nil, errKind
	}
	return php.Int(v), nil
}

// phpTime reads a text as strtotime does. Text that strtotime cannot read is 0 seconds, which the
// reference reaches after the first page.
func phpTime(v any) (any, error) {
	if text, ok := v.(string); ok {
		s, _ := php.StrToTime(text, 0)
		return s, nil
	}
	return readAs[int](v)
}
