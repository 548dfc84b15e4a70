package language

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A cursor is a value that orders items: a time, a number or a text. The zero cursor
// stands for a value that orders nothing.
type cursor struct {
	rank   int // kind of the value; a cursor with a greater rank is greater
	time   time.Time
	number any
	text   string // the value, if it is a text
	layout string // the form of a time that is a text
}

// The ranks of cursors. A text that says that there is no value, such as "N/A", is no cursor.
const (
	noCursor = iota
	textCursor
	numberCursor
	timeCursor
)

// cursorOf reads a value as a cursor. With a layout, it may have that form, and texts are times. A number may be a day: 20260131.
func cursorOf(m *meter, v any, layout string) cursor {
	switch v := v.(type) {
	case time.Time:
		return cursor{rank: timeCursor, time: v, layout: time.RFC3339Nano}
	case string:
		return cursorOfText(m, v, layout)
	}
	if !isNumber(v) {
		return cursor{}
	}
	text, _ := value.Text(v)
	if t, err := times.ParseInLayout(layout, text, time.UTC); err == nil {
		return cursor{rank: timeCursor, time: t, text: text, layout: layout}
	}
	return cursor{rank: numberCursor, number: v}
}

func cursorOfText(m *meter, text, layout string) cursor {
	if text == "" {
		return cursor{}
	}
	layouts := times.Layouts(text)
	if layout != "" && layout != rules.AnyTime && layout != rules.UnixSeconds && layout != rules.UnixMillis {
		layouts = append([]string{layout}, layouts...)
	}
	for _, layout := range layouts {
		m.spend(len(text) + len(layout))
		if t, err := times.ParseInLayout(layout, text, time.UTC); err == nil {
			return cursor{rank: timeCursor, time: t, text: text, layout: layout}
		}
	}
	plain := ticks(text)
	if inThousands().MatchString(plain) {
		plain = strings.ReplaceAll(plain, ",", "")
	}
	if n, err := numberInID(plain); err == nil {
		return cursor{rank: numberCursor, number: n, text: text}
	}
	if layout != "" || saysNoValue(text) {
		return cursor{}
	}
	return cursor{rank: textCursor, text: text}
}

// numberInID is [number], but a text such as 1327e247 is an identifier in hexadecimal digits: programs that write a number with
// an exponent write a point, a sign or few digits.
func numberInID(v any) (any, error) {
	if text, _ := v.(string); len(text) >= minIdentifier && exponent().MatchString(text) {
		return nil, fmt.Errorf("%s is an identifier", text)
	}
	return number(v)
}

var exponent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+[Ee][0-9]+$`) })

// ticks returns the milliseconds in a text of the form /Date(1767261700000)/, in which .NET writes times, or the text.
func ticks(text string) string {
	if found := netTime().FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return text
}

var netTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\\?/Date\((-?\d+)(?:[+-]\d{4})?\)\\?/$`) })

// inThousands matches a number whose digits are in groups: 9,500.
var inThousands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$`) })

// compareTexts compares two texts: by the numbers in them, if they differ in nothing else, so that v10 comes after v9, and
// 2026-W10-1 after 2026-W9-1. Texts of letters and digits that are as long as each other, such as identifiers, are compared
// character by character, as are all others.
func compareTexts(a, b string) int {
	if len(a) == len(b) && !separated().MatchString(a) {
		return strings.Compare(a, b)
	}
	x, y := digitRuns().FindAllString(a, -1), digitRuns().FindAllString(b, -1)
	if len(x) != len(y) || digitRuns().ReplaceAllLiteralString(a, "0") != digitRuns().ReplaceAllLiteralString(b, "0") {
		return strings.Compare(a, b)
	}
	for i := range x {
		one, two := strings.TrimLeft(x[i], "0"), strings.TrimLeft(y[i], "0")
		if order := cmp.Or(len(one)-len(two), strings.Compare(one, two)); order != 0 {
			return order
		}
	}
	return strings.Compare(a, b)
}

var (
	digitRuns = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })
	separated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^0-9A-Za-z]`) })
)

// after reports whether a cursor is greater than another.
func (c cursor) after(other cursor) bool {
	switch {
	case c.rank != other.rank:
		return c.rank > other.rank
	case c.rank == timeCursor:
		return c.time.After(other.time)
	case c.rank == numberCursor:
		return order(c.number, other.number) > 0
	}
	return compareTexts(c.text, other.text) > 0
}

// Newer reports whether a value that is kept for the next run is greater than another one: times as
// times, numbers and texts with a number as numbers, other texts by the numbers in them, and anything else as < compares
// it. If the values cannot be compared, the first counts as greater.
func Newer(a, b any) bool {
	both := []cursor{cursorOf(&meter{}, a, ""), cursorOf(&meter{}, b, "")}
	if both[0].rank == noCursor || both[1].rank == noCursor {
		return less(b, a)
	}
	_ = align(both) // a number is greater than another text; the next run fails if it compares them
	return both[0].after(both[1])
}

// align makes numbers and texts comparable. If all are identifiers of one form, of which some look like numbers, as
// 650000000000000000000001 does beside 65000000000000000000000a, all become texts. Any other text beside numbers is an error.
func align(cursors []cursor) error {
	if slices.ContainsFunc(cursors, func(c cursor) bool { return c.rank == timeCursor }) {
		return nil
	}
	number, other, isOneForm := kindsOf(cursors)
	switch {
	case number.rank == noCursor, other.rank == noCursor:
		return nil
	case isOneForm:
		makeTexts(cursors)
		return nil
	case number.text == "" && !hasDigit(other.text): // such as draft among versions
		return nil
	}
	preview := value.Preview(number.number)
	if number.text != "" {
		preview = value.Preview(number.text)
	}
	return fmt.Errorf("%s is a number and %s is not, so they cannot be compared: values are either all numbers or all other texts; "+
		"name another member of the items, such as the time of a change, or leave these items out",
		preview, value.Preview(other.text))
}

// kindsOf returns a number and another text among cursors, if there are any: rather a number that was a text, and a text
// with a digit. It reports whether all are identifiers of one form.
func kindsOf(cursors []cursor) (number, other cursor, isOneForm bool) {
	isOneForm, length := true, 0
	for _, c := range cursors {
		withDigit := hasDigit(c.text)
		switch {
		case c.rank == noCursor:
			continue
		case c.rank == numberCursor && (number.rank == noCursor || number.text == "" && c.text != ""):
			number = c
		case c.rank == textCursor && (other.rank == noCursor || withDigit && !hasDigit(other.text)):
			other = c
		}
		length = cmp.Or(length, len(c.text))
		isOneForm = isOneForm && withDigit && len(c.text) == length && length >= minIdentifier && !separated().MatchString(c.text)
	}
	return number, other, isOneForm
}

// makeTexts makes texts of all cursors that have a value.
func makeTexts(cursors []cursor) {
	for i := range cursors {
		c := &cursors[i]
		if c.rank = textCursor; c.text == "" {
			c.rank = noCursor
		}
	}
}

// minIdentifier is the length from which texts of letters and digits, all as long as each other, are identifiers of one form.
const minIdentifier = 6

// saysNoValue reports whether a text says that there is no value.
func saysNoValue(text string) bool {
	if hasDigit(text) {
		return false
	}
	return !strings.ContainsFunc(text, unicode.IsLetter) || slices.Contains(noValues, strings.ToLower(strings.TrimSpace(text)))
}

// noValues are texts, in lower case, in place of a value.
var noValues = []string{
	"n/a", "na", "none", "null", "nil", "nan", "unknown", "undefined", "never", "missing", "empty", "tbd", "invalid", "unset", "not set",
	"not available", "infinity", "-infinity",
}

// haveOneForm reports whether two texts, of which one is a number, are identifiers of one form: see [align].
func haveOneForm(number, other string) bool {
	both := []cursor{{rank: numberCursor, text: number}, {rank: textCursor, text: other}}
	return align(both) == nil && both[0].rank == textCursor && both[1].rank == textCursor
}

// Before reports whether a value of an item is from before a bound: a time by more than a day, since a bound may be a
// date, in any time zone; a number by any difference, unless both may be times. The format is that of times: see
// [rules.Cursor]. It reports false for values that cannot be compared.
func Before(v, bound any, format string) bool {
	const slack = 24 * time.Hour
	a, b, ok := cursorsOf(v, bound, format)
	if ok && a.rank == numberCursor && mayBeTime(a.number) && mayBeTime(b.number) {
		a.time, _ = timeOf(a.number)
		b.time, _ = timeOf(b.number)
		a.rank = timeCursor
	}
	switch {
	case !ok:
		return false
	case a.rank == timeCursor:
		return a.time.Before(b.time.Add(-slack))
	}
	return a.rank == numberCursor && order(a.number, b.number) < 0
}

// mayBeTime reports whether a number may count the seconds, milliseconds and so on of Unix up to a time since 2001.
func mayBeTime(n any) bool {
	t, _ := timeOf(n)
	return t.Unix() >= 1e9 && t.Unix() < 1e10
}

// CompareCursors compares a value of an item with a bound, by any difference: it returns -1, 0 or 1. The format is that of
// times, as in [Before]. It reports false for values that cannot be compared.
func CompareCursors(v, bound any, format string) (order int, ok bool) {
	a, b, ok := cursorsOf(v, bound, format)
	switch {
	case ok && a.after(b):
		order = 1
	case ok && b.after(a):
		order = -1
	}
	return order, ok
}

// cursorsOf reads two values as cursors of one rank. It reports false if they cannot be compared.
func cursorsOf(v, bound any, format string) (a, b cursor, ok bool) {
	m := &meter{}
	both := []cursor{cursorOf(m, v, format), cursorOf(m, bound, format)}
	_ = align(both) // otherwise their ranks differ
	a, b = both[0], both[1]
	if isUnix := format == rules.UnixSeconds || format == rules.UnixMillis; isUnix || a.rank != b.rank {
		for _, c := range []*cursor{&a, &b} { // seconds may be compared with a text
			if c.rank == numberCursor {
				c.time, _, _ = timeInNumber(c.number)
				c.rank = timeCursor
			}
		}
	}
	return a, b, a.rank == b.rank && a.rank != noCursor
}

// latestOf returns the greatest value among an earlier value and the values at a path of items, in its
// spelling there. Values that order nothing are left out. A time that only the given layout reads
// is returned in the form of RFC 3339.
func latestOf(args ...any) (any, error) {
	items, _ := args[0].([]any)
	keys, layout := keypath.Split(args[1].(string)), textArgument(args, 3)
	var best any
	if len(args) > 2 {
		best = args[2]
	}
	m := &meter{}
	values, cursors := []any{best}, []cursor{cursorOf(m, best, layout)}
	for _, item := range items {
		v, _, err := fieldAt(item, keys)
		if err != nil {
			return nil, err
		}
		c := cursorOf(m, v, layout)
		if text, _ := v.(string); c.rank < numberCursor && hasUnknownDate(text) {
			return nil, fmt.Errorf("latestOf: %s is a date whose text does not sort by time, and its form is not known: "+
				"say how 2 January 2006 would look, as 02/01/2006 or 01/02/2006, by the format of incremental or the last argument of latestOf",
				value.Preview(v))
		}
		if c.rank != noCursor {
			values, cursors = append(values, v), append(cursors, c)
		}
	}
	if err := align(cursors); err != nil {
		return nil, fmt.Errorf("latestOf: %w", err)
	}
	greatest := cursors[0]
	for i, c := range cursors {
		if c.after(greatest) {
			greatest, best = c, values[i]
			if c.layout == layout && layout != "" && c.rank == timeCursor {
				best = c.time.Format(time.RFC3339Nano)
			}
		}
	}
	if greatest.rank == noCursor {
		return nil, nil
	}
	return best, nil
}

// hasUnknownDate reports whether a text looks like a time, but not like one whose order is that of the texts.
func hasUnknownDate(text string) bool {
	switch {
	case !mayBeDate(text):
		return false
	case yearLast().MatchString(text), wordInDate().MatchString(text):
		return true
	}
	return yearFirst().MatchString(text) && !sortable().MatchString(text)
}

// mayBeDate reports whether a text has digits and the length of a date. It is fast.
func mayBeDate(text string) bool {
	return len(text) >= len("Sep-26") && len(text) <= maxDate && hasDigit(text) && text[0] < utf8.RuneSelf
}

// maxDate is the length of the longest text that may be a date of an unknown form.
const maxDate = 64

// yearLast matches texts that begin with a date whose year does not come first, or may not: 31/12/2025, 12-31-2025,
// 31.12.2025, 31/12/25, 25-12-31, 31 Dec 2025, 31/Dec/2025, 31DEC2025, Dec 31, 2025, Wed Dec 31 10:00:00 EST 2025, Dec 2025,
// DEC2025, 12/2025, Q4 2025.
var yearLast = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[a-z]{3,9}\.?,? )?` +
		`(?:(?:[0-2]\d|3[01])[.-](?:[0-2]\d|3[01])[.-]\d{2}(?: \d|$)` +
		`|(?:\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{4}|/\d{2})|\d{1,2}[ /.-]` + month + `,?[ /.-](?:\d{4}|\d{2})|\d{1,2}` + month + year +
		`|` + month + ` +\d{1,2}(?:,? \d{4}| +\d{1,2}:\d{2}.* \d{4})` +
		`|(?:` + month + `[ -]?|[qh][1-4] ?[ /-]?|[1-4][qh] ?[ /-]?|(?:0?[1-9]|1[0-2])/)` + year + `$)(?:\D|$))`)
})

// wordInDate matches other dates with the year last: 31. Dezember 2025, 31 de diciembre de 2025, Week 52, 2025, Dec-25, 12-2025, and
// times without a date, of twelve hours: 11:00 AM.
var wordInDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:(?:[1-9]|[12]\d|3[01])\.? (?:de )?\p{L}{3,10}\.?,?(?: de)? ` + year + `(?:\D|$)` +
		`|w(?:eek)?[ -]?\d{1,2}[,/ -]+` + year + `$|` + shortMonth + `[-']\d{2}$|(?:0[1-9]|1[0-2])-` + year + `$` +
		`|\d{1,2}:\d{2}(?::\d{2})? ?[ap]\.?m\.?$)`)
})

// These are parts of patterns of dates.
const (
	shortMonth = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`
	month      = shortMonth + `[a-z]{0,6}\.?`
	year       = `(?:19|20)\d{2}`
)

// yearFirst matches texts that are a date whose year comes first, with or without a time of day.
var yearFirst = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{4}[/.-](?:0?[1-9]|1[0-2]|[A-Za-z]{3,9})[/.-](?:[12]\d|3[01]|0?[1-9])(?:[Tt ,]+\d{1,2}:\d{2}.*)?$`)
})

// sortable matches dates that sort as texts, also with a suffix that makes a key of them: 2026-03-01T10:00:00Z#17.
var sortable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{4}[/.-]\d{2}[/.-]\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[Zz])?(?:[#_|].*)?)?$`)
})

// textArgument returns an optional argument that is a text, or "".
func textArgument(args []any, i int) string {
	if len(args) <= i {
		return ""
	}
	text, _ := args[i].(string)
	return text
}

// KeptTime returns the time in a value of an expression under keep. A number counts as a time only if the
// expression passes a layout to latestOf. It reports false for any other value.
func (e *Expression) KeptTime(v any) (t time.Time, ok bool) {
	if isNumber(v) && e.keepsTimes() {
		t, _ = timeOf(v)
		return t, true
	}
	text, isText := v.(string)
	c := cursorOfText(&meter{}, text, rules.AnyTime)
	return c.time, isText && c.rank == timeCursor
}

// keepsTimes reports whether the expression calls latestOf with a form of times.
func (e *Expression) keepsTimes() bool {
	for node := range nodes(e.code.syntax) {
		if call, ok := node.(*ast.CallNode); ok && calleeName(call) == "latestOf" && len(call.Arguments) > 3 {
			return true
		}
	}
	return false
}

// earlier returns a cursor minus a lag, which is a number for numbers and a length of time for times. A
// time keeps its form, unless a form is given. A number that stands for a time is a day and a time of day without separators,
// such as 20260131, or counts seconds or, if it is too large for seconds, milliseconds and so on.
func earlier(args ...any) (any, error) {
	v, layout := args[0], textArgument(args, 2)
	if v == nil {
		return nil, nil
	}
	span, err := times.ParseLag(args[1])
	if err != nil {
		return nil, fmt.Errorf("earlier: %w", err)
	}
	c := cursorOf(&meter{}, v, layout)
	if span.Number != nil {
		if c.rank != numberCursor {
			return nil, fmt.Errorf("earlier: %s is not a number, so %s cannot be subtracted from it", value.Preview(v), span)
		}
		less, err := subtract(&meter{}, c.number, span.Number)
		if err != nil || !strings.HasPrefix(c.text, "0") || digitsAt(c.text) < len(c.text) {
			return less, err
		}
		return padded(less, len(c.text)), nil
	}
	unit := 0
	if c.rank == numberCursor {
		c.time, c.layout, unit = timeInNumber(c.number)
	} else if c.rank != timeCursor {
		return nil, fmt.Errorf("earlier: %s is not a time", value.Preview(v))
	}
	t := span.After(c.time, -1)
	switch {
	case layout == rules.UnixSeconds:
		return int(t.Unix()), nil
	case layout == rules.UnixMillis:
		return int(t.UnixMilli()), nil
	case layout != "" && namesZone(layout):
		return t.UTC().Format(layout), nil
	case layout != "":
		return earlierClock(t).Format(layout), nil
	case unit != 0 && span == (times.Span{}):
		return c.number, nil
	case unit != 0:
		return countOf(t, unit), nil
	}
	if isNumber(v) {
		return number(t.Format(c.layout))
	}
	return t.Format(c.layout), nil
}

// namesZone reports whether times of a layout say their zone, such as Z or +01:00.
func namesZone(layout string) bool {
	east, west := time.FixedZone("A", 3600), time.FixedZone("B", -3600)
	clock := func(zone *time.Location) string { return time.Date(2026, 1, 31, 12, 0, 0, 0, zone).Format(layout) }
	return clock(east) != clock(west) || strings.HasSuffix(layout, "Z") || strings.Contains(layout, "UTC") || strings.Contains(layout, "GMT")
}

// padded returns a number as a text with zeros before it, as identifiers of that length have: they are compared as texts. A number below 0
// is 0.
func padded(n any, length int) any {
	if order(n, 0) < 0 {
		n = 0
	}
	text, _ := value.Text(n)
	if digitsAt(text) < len(text) {
		return n
	}
	return strings.Repeat("0", max(0, length-len(text))) + text
}

// earlierClock returns a time in its own zone or in UTC, whichever has the earlier clock. An API may read a time
// without a zone in either, so nothing after the time is skipped.
func earlierClock(t time.Time) time.Time {
	if _, offset := t.Zone(); offset < 0 {
		return t
	}
	return t.UTC()
}

// compactTime reads a number that is a day of this century or the one before, perhaps with a time of day,
// without separators: 20260131, 20260131120000. It returns the layout, too.
func compactTime(v any) (t time.Time, layout string, ok bool) {
	text, _ := value.Text(v)
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1900 && t.Year() < 2100 {
			return t, layout, true
		}
	}
	return time.Time{}, "", false
}

// timeInNumber returns the time that a number stands for: a day without separators, with its layout, or else a count since 1970,
// with the number of its units in a second.
func timeInNumber(n any) (t time.Time, layout string, unit int) {
	if t, layout, ok := compactTime(n); ok {
		return t, layout, 0
	}
	t, unit = timeOf(n)
	return t, "", unit
}

// timeOf returns the time up to which a number counts from 1970, rounded down to nanoseconds, and how many of its units a
// second has. A float is the number that its shortest spelling says.
func timeOf(n any) (t time.Time, unit int) {
	unit = 1
	for size := math.Abs(float(n)); size >= 1e11 && unit < 1e9; size /= 1e3 { // seconds reach it in the year 5138
		unit *= 1e3
	}
	perUnit := int(time.Second) / unit
	if whole, isInt := n.(int); isInt {
		return time.Unix(int64(whole/unit), int64(whole%unit*perUnit)).UTC(), unit
	}
	text, _ := value.Text(n)
	if len(text) > maxDigits || strings.ContainsAny(text, "eE") {
		text = strconv.FormatFloat(float(n), 'f', -1, 64)
	}
	const farthest = 1 << 55 // no API knows such a time
	seconds, nanoseconds := big.NewInt(farthest), new(big.Int)
	if exact, ok := new(big.Rat).SetString(text); ok {
		nanoseconds.Mul(exact.Num(), big.NewInt(int64(perUnit)))
		nanoseconds.Div(nanoseconds, exact.Denom())
		seconds.DivMod(nanoseconds, big.NewInt(int64(time.Second)), nanoseconds)
	}
	if seconds.CmpAbs(big.NewInt(farthest)) >= 0 {
		return time.Unix(int64(math.Copysign(farthest, float(n))), 0).UTC(), unit
	}
	return time.Unix(seconds.Int64(), nanoseconds.Int64()).UTC(), unit
}

// countOf is the reverse of [timeOf], rounded down to whole units.
func countOf(t time.Time, unit int) any {
	count := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(int64(unit)))
	return shortest(count.Add(count, big.NewInt(int64(t.Nanosecond()/(int(time.Second)/unit)))))
}
