package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// convert reads a value of the configuration as a kind. It returns what is
// wrong in a few words, or "". A nil result means that the value counts as
// missing, which the reference decides for empty ones.
func convert(kind Kind, v any) (any, string) {
	v = computable(v)
	if f, ok := conversions[kind]; ok {
		return f(v)
	}
	return v, ""
}

// PageSize reads the value of a parameter that sets the page size: an int, or nil.
func PageSize(dialect string, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	field, _ := find(paginationFields, "limit")
	kind, _ := field.in(dialect)
	size, problem := convert(kind, v)
	if problem != "" {
		return nil, errors.New("the page size: " + problem)
	}
	return size, nil
}

// computable returns a number without its spelling.
func computable(v any) any {
	if n, ok := v.(json.Number); ok {
		if number, err := value.Number(n); err == nil {
			return number
		}
	}
	return v
}

var conversions = map[Kind]func(any) (any, string){
	Text:       asText(Text),
	Key:        key,
	Path:       asText(Text),
	Flag:       flag,
	Integer:    integer,
	Count:      count,
	Status:     status,
	Seconds:    seconds,
	PerSecond:  perSecond,
	Secret:     asSecret,
	Expression: asText(Expression),
	Wait:       wait,
	Length:     length,
	Moment:     moment,
	Values:     listOrExpression,
	Map:        asObject(Map),
	Paths:      paths,
	Block:      asObject(Block),
	List:       asList(List),
	Blocks:     asList(Blocks),

	phpNumber:  readPHPNumber,
	phpInt:     func(v any) (any, string) { return unless(v == nil, php.Int(v)) },
	phpFlag:    func(v any) (any, string) { return unless(v == nil, php.Bool(v)) },
	phpText:    func(v any) (any, string) { return unless(php.EmptyConfig(v), php.String(v)) },
	phpBytes:   func(v any) (any, string) { return unless(php.EmptyConfig(v), php.Int(v)) },
	phpStrict:  readPHPStrict,
	phpWhole:   readPHPWhole,
	phpSeconds: readPHPSeconds,
	phpBlock:   asObject(Block),
}

func want(kind Kind, v any) string { return fmt.Sprintf("want %s, got %s", kind, found(v)) }

// unless returns v, or nothing if the value is missing.
func unless[T any](missing bool, v T) (any, string) {
	if missing {
		return nil, ""
	}
	return v, ""
}

// found shows a value in a message: a scalar as JSON, anything else by its kind.
func found(v any) string {
	switch v.(type) {
	case nil, []any, Object, map[string]any:
		return value.KindOf(v)
	}
	return value.Preview(v)
}

// oneOf checks a text against the values that a field allows, and returns it in
// their spelling.
func (f Field) oneOf(text string) (string, string) {
	canonical := text
	if f.FoldCase {
		canonical = strings.ToUpper(text)
	}
	if f.Values == nil || slices.Contains(f.Values, canonical) {
		return canonical, ""
	}
	return "", fmt.Sprintf("want %s, got %s", value.OrList(f.Values), found(text))
}

func asText(kind Kind) func(v any) (any, string) {
	return func(v any) (any, string) {
		if s, ok := v.(string); ok && s != "" {
			return v, ""
		}
		return nil, want(kind, v)
	}
}

func key(v any) (any, string) {
	name, problem := asText(Text)(v)
	if problem != "" {
		return nil, problem
	}
	return PathOf(name.(string)), ""
}

func flag(v any) (any, string) {
	if b, ok := v.(bool); ok {
		return b, ""
	}
	return nil, want(Flag, v)
}

func asSecret(v any) (any, string) {
	_, isText := v.(string)
	if _, isObject := value.Members(v); isText || isObject {
		return v, ""
	}
	return nil, want(Secret, v)
}

func asObject(kind Kind) func(v any) (any, string) {
	return func(v any) (any, string) {
		if _, ok := v.(Object); ok {
			return v, ""
		}
		if o, ok := value.Members(v); ok {
			return o, ""
		}
		return nil, want(kind, v)
	}
}

func asList(kind Kind) func(v any) (any, string) {
	return func(v any) (any, string) {
		if _, ok := v.([]any); ok {
			return v, ""
		}
		return nil, want(kind, v)
	}
}

func paths(v any) (any, string) {
	members, ok := value.Members(v)
	if !ok || len(members) == 0 {
		return nil, want(Paths, v)
	}
	if len(members) > maxElements {
		return nil, fmt.Sprintf("want at most %d elements, got %d", maxElements, len(members))
	}
	out := make(Object, len(members))
	for i, m := range members {
		path, isText := m.Value.(string)
		if !isText || path == "" || len(path) > maxPath || m.Name == "" {
			return nil, fmt.Sprintf("want a path as the value of %q, got %s", m.Name, found(m.Value))
		}
		out[i] = Member{Name: m.Name, Value: PathOf(SplitPath(path)...)}
	}
	return out, ""
}

func integer(v any) (any, string) {
	switch v := v.(type) {
	case int:
		return v, ""
	case int64:
		return int(v), ""
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return n, ""
		}
	case float64: // Go and YAML write 1e3 so
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), ""
		}
	}
	return nil, want(Integer, v)
}

func count(v any) (any, string) {
	n, problem := integer(v)
	if problem != "" || n.(int) < 1 {
		return nil, want(Count, v)
	}
	return n, ""
}

func status(v any) (any, string) {
	n, problem := integer(v)
	if problem != "" || n.(int) < 100 || n.(int) > 599 {
		return nil, want(Status, v)
	}
	return n, ""
}

// durationUnits are the words that may follow a number in a duration.
var durationUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour, "d": 24 * time.Hour,
}

// seconds reads a number of seconds, a string that holds one, or a duration in
// words: "90s", "1h30m", "10 minutes", "2 hours 30 minutes".
func seconds(v any) (any, string) {
	var s float64
	switch v := v.(type) {
	case int:
		s = float64(v)
	case float64:
		s = v
	case string:
		if number, err := strconv.ParseFloat(v, 64); err == nil {
			s = number
		} else if d, err := time.ParseDuration(v); err == nil {
			s = d.Seconds()
		} else {
			s = durationInWords(v).Seconds()
		}
	}
	if !(s > 0) || math.IsInf(s, 0) {
		return nil, want(Seconds, v)
	}
	if s == math.Trunc(s) {
		return int(s), ""
	}
	return s, ""
}

// perSecond reads a number per second, or a string that holds one. Less than one per day
// is probably a mistake, and would soon be longer than times can be.
func perSecond(v any) (any, string) {
	n, ok := v.(float64)
	switch v := v.(type) {
	case int:
		n, ok = float64(v), true
	case string:
		number, err := strconv.ParseFloat(v, 64)
		n, ok = number, err == nil
	}
	if !ok || !(n >= 1.0/(24*60*60)) || math.IsInf(n, 0) {
		return nil, want(PerSecond, v)
	}
	return n, ""
}

// length reads the length of a window.
func length(v any) (any, string) {
	if _, err := ParseSpan(v); err != nil {
		return nil, want(Length, v)
	}
	return v, ""
}

// moment reads a bound of windows.
func moment(v any) (any, string) {
	switch v := v.(type) {
	case int, float64:
		return v, ""
	case string:
		if v != "" {
			return v, ""
		}
	}
	return nil, want(Moment, v)
}

// listOrExpression reads the values of a variable.
func listOrExpression(v any) (any, string) {
	text, isText := v.(string)
	if _, isList := v.([]any); isList || isText && text != "" {
		return v, ""
	}
	return nil, want(Values, v)
}

// wait reads an expression, or a number of seconds or a duration, which it returns as
// expressions.
func wait(v any) (any, string) {
	text, isText := v.(string)
	n, problem := seconds(v)
	_, err := strconv.ParseFloat(text, 64)
	switch {
	case problem == "" && isText && err != nil:
		return fmt.Sprintf("duration(%q)", durationOf(n)), ""
	case problem == "":
		return literal(n), ""
	case v == 0, v == 0.0:
		return "0", ""
	case text == "":
		return nil, want(Wait, v)
	}
	return text, ""
}

// maxSeconds is about a century: more seconds do not fit a [time.Duration].
const maxSeconds = 3_000_000_000

// ParseDuration reads a duration above 0 as settings in seconds are written: "90",
// "90s", "1h30m", "10 minutes".
func ParseDuration(text string) (time.Duration, error) {
	v, problem := seconds(text)
	if problem != "" {
		return 0, errors.New(problem)
	}
	return durationOf(v), nil
}

// durationOf returns a number of seconds, as they are read from a setting, as a duration.
// It is 0 for anything else.
func durationOf(v any) time.Duration {
	switch v := v.(type) {
	case int:
		return time.Duration(min(v, maxSeconds)) * time.Second
	case float64:
		return time.Duration(min(v, maxSeconds) * float64(time.Second))
	}
	return 0
}

// durationInWords reads pairs of a number and a unit. It returns 0 if the text
// is anything else.
func durationInWords(text string) time.Duration {
	var sum time.Duration
	words := strings.Fields(text)
	if len(words)%2 != 0 {
		return 0
	}
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseFloat(words[i], 64)
		unit, known := durationUnits[strings.ToLower(words[i+1])]
		if err != nil || !known {
			return 0
		}
		sum += time.Duration(n * float64(unit))
	}
	return sum
}

func readPHPNumber(v any) (any, string) {
	if php.EmptyConfig(v) {
		return nil, ""
	}
	if !php.IsNumeric(v) {
		return nil, want(phpNumber, v)
	}
	return php.Int(v), ""
}

func readPHPWhole(v any) (any, string) {
	switch n := v.(type) {
	case nil:
		return nil, ""
	case int:
		return unless(n == 0, n)
	}
	return nil, want(phpWhole, v)
}

func readPHPStrict(v any) (any, string) {
	if php.EmptyConfig(v) {
		return nil, ""
	}
	return asText(phpStrict)(v)
}

// readPHPSeconds reads what strtotime reads. Text that strtotime cannot read is
// 0 seconds, which the reference reaches after the first page.
func readPHPSeconds(v any) (any, string) {
	if php.EmptyConfig(v) {
		return nil, ""
	}
	switch v := v.(type) {
	case int:
		return v, ""
	case string:
		s, _ := php.StrToTime(v, 0)
		return s, ""
	}
	return nil, want(phpSeconds, v)
}
