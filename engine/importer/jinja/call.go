package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nikolalohinski/gonja/v2/nodes"

	"github.com/stopwhen/stopwhen/rules/times"
)

// called translates a call of a function or a method.
func (t *translator) called(n *nodes.Call) (Expr, error) {
	args, err := t.exprs(n.Args)
	if err != nil {
		return Expr{}, err
	}
	named := map[string]Expr{}
	for _, name := range slices.Sorted(maps.Keys(n.Kwargs)) {
		if named[name], err = t.expr(n.Kwargs[name]); err != nil {
			return Expr{}, err
		}
	}
	switch f := n.Func.(type) {
	case *nodes.Name:
		return t.function(f.Name.Val, args, named)
	case *nodes.GetAttribute:
		e, err := t.expr(f.Node)
		if err != nil {
			return Expr{}, err
		}
		return method(e, f.Attribute, args, named)
	}
	return Expr{}, errors.New("a computed function has no counterpart")
}

// renamed are the functions and methods that are filters of another name.
var renamed = map[string]string{"str": "string", "len": "length", "strip": "trim"}

// arg returns an argument, by its position or its name.
func arg(args []Expr, named map[string]Expr, i int, name string) (Expr, bool) {
	if i < len(args) {
		return args[i], true
	}
	e, ok := named[name]
	return e, ok
}

func (t *translator) function(name string, args []Expr, named map[string]Expr) (Expr, error) {
	first, _ := arg(args, named, 0, "")
	switch name {
	case conditional:
		if len(args) == 2 {
			return t.choice(args[0], args[1], Literal(nil)), nil
		}
		if len(args) == 3 {
			return t.choice(args[0], args[1], args[2]), nil
		}
	case "now_utc":
		return Name("now()", Time), nil
	case "today_utc":
		return Name("now()", Time).method("Truncate", Time, Name(`duration('24h')`, Duration)), nil
	case "today_with_timezone":
		return Name("now()", Time), nil
	case "day_delta":
		return dayDelta(args, named)
	case "duration":
		return durationOf(first)
	case "timestamp":
		return asTime(first).method("Unix", Number), nil
	case "str_to_datetime":
		return asTime(first), nil
	case "format_datetime":
		return formatDatetime(args, named)
	case "max", "min":
		if len(args) > 0 {
			out := call(name, args[0].Kind, args...)
			return out, nil
		}
	case "generate_uuid":
		return Expr{}, errors.New("generate_uuid() has no counterpart here: each request would need a new value")
	case "dict":
		if len(named) == 0 && len(args) == 0 {
			return Expr{Source: "{}", Kind: Object, prec: precMember, dict: named}, nil
		}
	case "int", "float", "str", "string", "len", "abs", "list", "bool":
		if len(args) == 1 {
			return filter(first, cmp.Or(renamed[name], name), nil, nil)
		}
	}
	return Expr{}, fmt.Errorf("the function %s has no counterpart", name)
}

// dayDelta is the time some days from now, with a format.
func dayDelta(args []Expr, named map[string]Expr) (Expr, error) {
	days, ok := arg(args, named, 0, "num_days")
	if !ok {
		return Expr{}, errors.New("day_delta() needs a number of days")
	}
	format, ok := arg(args, named, 1, "format")
	if !ok {
		format = Literal("%Y-%m-%dT%H:%M:%S.%f%z")
	}
	n, known := days.Const.(int)
	date := Name("now()", Time)
	switch {
	case known && n < 0:
		date = before(date, fmt.Sprintf("%dd", -n))
	case known && n > 0:
		date = binary("+", precAdd, Time, date, Name(fmt.Sprintf("duration('%dh')", 24*n), Duration))
	case !known:
		return Expr{}, errors.New("a computed number of days has no counterpart")
	}
	return strftime(date, format)
}

// Length returns a duration of ISO 8601 as a length of the rule language: 7d, 1mo, 90m.
func Length(text string) (string, bool) {
	span, ok := times.ParseISODuration(text)
	switch d := span.Duration; {
	case !ok || span == (times.Span{}):
		return "", ok
	case d == 0:
		return span.String(), true
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour), true
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute), true
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second), true
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond), true
	default:
		return fmt.Sprintf("%dus", d/time.Microsecond), true
	}
}

// durationOf returns the duration of a constant text. Its constant is a length.
func durationOf(e Expr) (Expr, error) {
	text, known := e.Const.(string)
	if parts := e.summands(); !known && len(parts) == 3 && parts[0].Const == "P" && parts[2].Const == "D" {
		days := parts[1].at(precMember)
		days = strings.TrimSuffix(strings.TrimPrefix(days, "text("), ")")
		return Name("duration(text("+days+" * 24) + 'h')", Duration), nil
	}
	if !known {
		return Expr{}, errors.New("a computed duration has no counterpart")
	}
	length, ok := Length(text)
	if !ok {
		return Expr{}, fmt.Errorf("the duration %s has no counterpart", text)
	}
	out := Literal(length)
	out.Kind = Duration
	out.Source = durationSource(length)
	return out, nil
}

// durationSource returns the expression for a length other than months.
func durationSource(length string) string { return "duration('" + hours(length) + "')" }

// hours writes days as hours.
func hours(length string) string {
	if days, ok := strings.CutSuffix(length, "d"); ok {
		n, _ := strconv.Atoi(days)
		return fmt.Sprintf("%dh", 24*n)
	}
	return length
}

// asTime returns a value as a time.
func asTime(e Expr) Expr {
	if e.Kind == Time {
		return e
	}
	if e.time != nil {
		return *e.time
	}
	if m := formattedTime().FindStringSubmatch(e.Source); m != nil {
		out := Name(m[1], Time)
		out.Page = e.Page
		return out
	}
	return call("date", Time, e)
}

// formattedTime matches a time that is written to the second, such as a bound of an interval.
var formattedTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z_]+(?:\.[a-z_]+)*)\.Format\('2006-01-02[T ]15:04:05(?:Z|-0700)?'\)$`)
})

func formatDatetime(args []Expr, named map[string]Expr) (Expr, error) {
	if len(args) == 0 {
		return Expr{}, errors.New("format_datetime() needs a time")
	}
	format, ok := arg(args, named, 1, "format")
	if !ok {
		return Expr{}, errors.New("format_datetime() needs a format")
	}
	if input, has := arg(args, named, 2, "input_format"); has {
		text, _ := input.Const.(string)
		layout, ok := Layout(text)
		if !ok {
			return Expr{}, fmt.Errorf("the format %s has no counterpart", text)
		}
		if layout == "unix" || layout == "unixms" {
			return fromUnix(args[0], format)
		}
		return strftime(call("date", Time, args[0], Literal(layout)), format)
	}
	return strftime(asTime(args[0]), format)
}

// fromUnix writes a number that stands for a time in a form of Python.
func fromUnix(e, format Expr) (Expr, error) {
	text, _ := format.Const.(string)
	layout, ok := Layout(text)
	if !ok {
		return Expr{}, fmt.Errorf("the format %s has no counterpart", text)
	}
	return call("earlier", Text, e, Literal(nil), Literal(layout)), nil
}

// strftime writes a time in a form of Python.
func strftime(e, format Expr) (Expr, error) {
	text, known := format.Const.(string)
	if !known {
		return Expr{}, errors.New("a computed format of times has no counterpart")
	}
	return Formatted(e, text)
}

// Formatted writes a time in a form of Python.
func Formatted(e Expr, format string) (Expr, error) {
	layout, ok := Layout(format)
	if !ok {
		return Expr{}, fmt.Errorf("the format %s has no counterpart", format)
	}
	e = asTime(e)
	if e.back != nil {
		kind := Text
		if layout == "unix" || layout == "unixms" {
			kind = Number
		}
		out := call("earlier", kind, *e.back, Literal(e.lag), Literal(layout))
		if strings.Contains(layout, "05") && e.back.Source == "now()" {
			out.time = &e
		}
		return out, nil
	}
	switch layout {
	case "unix":
		return e.method("Unix", Number), nil
	case "unixms":
		return e.method("UnixMilli", Number), nil
	}
	return e.method("Format", Text, Literal(layout)), nil
}

// layouts are the directives of strftime.
var layouts = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'z': "-0700", 'Z': "MST", 'y': "06", 'b': "Jan",
	'B': "January", 'a': "Mon", 'A': "Monday", 'p': "PM", 'I': "03", 'j': "002", 'e': "_2", '%': "%", 'T': "15:04:05", 'F': "2006-01-02",
}

// Layout returns a format of Python as a layout of Go, or "unix" or "unixms".
func Layout(format string) (string, bool) {
	switch format {
	case "%s":
		return "unix", true
	case "%ms":
		return "unixms", true
	}
	if strings.Contains(format, "%epoch") { // a form of Airbyte
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		switch {
		case format[i] != '%':
			b.WriteByte(format[i])
		case strings.HasPrefix(format[i:], "%_ms"):
			if !strings.HasSuffix(b.String(), ".") {
				return "", false
			}
			b.WriteString("000")
			i += 3
		case i+1 == len(format):
			return "", false
		case format[i+1] == 'f':
			if !strings.HasSuffix(b.String(), ".") {
				return "", false
			}
			b.WriteString("000000")
			i++
		default:
			text, ok := layouts[format[i+1]]
			if !ok {
				return "", false
			}
			b.WriteString(text)
			i++
		}
	}
	return b.String(), b.Len() > 0
}

// method translates a method of a value of Python.
func method(e Expr, name string, args []Expr, named map[string]Expr) (Expr, error) {
	switch name {
	case "get":
		if len(args) == 0 {
			break
		}
		v, err := memberOf(e, args[0])
		if err != nil || len(args) == 1 || args[1].Kind == None || args[1].dict != nil && len(args[1].dict) == 0 {
			return v.given(), err
		}
		if v.Constant {
			if v.Const == nil {
				return args[1], nil
			}
			return v, nil
		}
		return Default(v, args[1]), nil
	case "strftime":
		if len(args) == 1 {
			return strftime(e, args[0])
		}
	case "isoformat":
		return asTime(e).method("Format", Text, Literal("2006-01-02T15:04:05.999999-07:00")), nil
	case "timestamp":
		return asTime(e).method("Unix", Number), nil
	case "format":
		text, known := e.Const.(string)
		if known && len(named) == 0 {
			return interleave(text, []string{"{}"}, args)
		}
	case "replace":
		if len(args) == 2 && args[0].Constant && args[1].Constant {
			return call("replace", Text, e, args[0], args[1]), nil
		}
	case "join":
		if len(args) == 1 {
			return join(args[0], []Expr{e})
		}
	case "items", "keys", "values":
		if name != "items" {
			return call(name, List, e), nil
		}
	}
	return filter(e, cmp.Or(renamed[name], name), args, named)
}

// Default returns a value, or another one if it is nil.
func Default(e, other Expr) Expr {
	if other.Kind == None {
		return e
	}
	if e.Constant {
		if e.Const == nil {
			return other
		}
		return e
	}
	if e.has != nil && !e.has.Constant {
		return e.orUndefined(other)
	}
	if e.has != nil {
		return e
	}
	if filled, ok := e.filled(other); ok || e.isOptional() && other.Constant && other.Const == "" {
		return filled
	}
	if !e.Absent {
		return e
	}
	kind := e.Kind
	if kind == Any {
		kind = other.Kind
	}
	out := Expr{Source: e.at(precMember) + " ?? " + other.at(precMember), Kind: kind, Page: e.Page || other.Page, prec: precChoice,
		Absent: other.Absent}
	if other.Constant && other.True().Const == false || other.list != nil && len(other.list) == 0 {
		out.inner = &e
	}
	return out
}
