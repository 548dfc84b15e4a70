package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// convert reads a value of the configuration as a kind. It returns what is
// wrong in a few words, or "". A nil result says that the value counts as
// absent, as the reference does with empty ones.
func convert(kind Kind, v any) (any, string) {
	if f, ok := conversions[kind]; ok {
		return f(v)
	}
	return v, ""
}

var conversions = map[Kind]func(any) (any, string){
	Text:       text,
	Key:        func(v any) (any, string) { return mapped(v, text, func(s string) string { return PathOf(s) }) },
	Path:       text,
	Flag:       flag,
	Integer:    integer,
	Count:      count,
	Seconds:    seconds,
	Expression: text,
	Map:        object,
	Paths:      paths,
	Block:      object,
	List:       elements,
	Blocks:     elements,

	PHPNumber:  phpNumber,
	PHPInt:     func(v any) (any, string) { return castUnless(v == nil, php.Int(v)) },
	PHPFlag:    func(v any) (any, string) { return castUnless(v == nil, php.Bool(v)) },
	PHPText:    func(v any) (any, string) { return castUnless(php.EmptyConfig(v), php.String(v)) },
	PHPBytes:   func(v any) (any, string) { return castUnless(php.EmptyConfig(v), php.Int(v)) },
	PHPStrict:  phpStrict,
	PHPWhole:   phpWhole,
	PHPSeconds: phpSeconds,
}

func want(kind Kind, v any) string { return fmt.Sprintf("want %s, got %s", kind, found(v)) }

func mapped(v any, read func(any) (any, string), f func(string) string) (any, string) {
	out, fault := read(v)
	if fault != "" {
		return nil, fault
	}
	return f(out.(string)), ""
}

func castUnless[T any](absent bool, v T) (any, string) {
	if absent {
		return nil, ""
	}
	return v, ""
}

func text(v any) (any, string) {
	if s, ok := v.(string); ok && s != "" {
		return s, ""
	}
	return nil, want(Text, v)
}

func flag(v any) (any, string) {
	if b, ok := v.(bool); ok {
		return b, ""
	}
	return nil, want(Flag, v)
}

func object(v any) (any, string) {
	if o, ok := value.Members(v); ok {
		return o, ""
	}
	return nil, want(Map, v)
}

func paths(v any) (any, string) {
	members, ok := value.Members(v)
	if !ok || len(members) == 0 {
		return nil, want(Paths, v)
	}
	out := make(Object, len(members))
	for i, m := range members {
		path, isText := m.Value.(string)
		if !isText || path == "" || m.Name == "" {
			return nil, fmt.Sprintf("want a path as the value of %q, got %s", m.Name, found(m.Value))
		}
		out[i] = Member{Name: m.Name, Value: PathOf(SplitPath(path)...)}
	}
	return out, ""
}

func elements(v any) (any, string) {
	if l, ok := v.([]any); ok {
		return l, ""
	}
	return nil, want(List, v)
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
	n, fault := integer(v)
	if fault != "" || n.(int) < 1 {
		return nil, want(Count, v)
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
			s = inWords(v).Seconds()
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

// inWords reads pairs of number and unit; 0 says that it is none.
func inWords(text string) time.Duration {
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

func phpNumber(v any) (any, string) {
	if php.EmptyConfig(v) {
		return nil, ""
	}
	if !php.IsNumeric(v) {
		return nil, want(PHPNumber, v)
	}
	return php.Int(v), ""
}

func phpWhole(v any) (any, string) {
	switch n := v.(type) {
	case nil:
		return nil, ""
	case int:
		return castUnless(n == 0, n)
	}
	return nil, want(PHPWhole, v)
}

// phpStrict reads a string; what PHP calls empty is absent.
func phpStrict(v any) (any, string) {
	if php.EmptyConfig(v) {
		return nil, ""
	}
	return text(v)
}

// phpSeconds reads what strtotime reads; text that it cannot read is 0 seconds,
// which the reference reaches after the first page.
func phpSeconds(v any) (any, string) {
	if php.EmptyConfig(v) {
		return nil, ""
	}
	switch v := v.(type) {
	case int:
		return v, ""
	case string:
		s, _ := php.StrToTime(v)
		return s, ""
	}
	return nil, want(PHPSeconds, v)
}
