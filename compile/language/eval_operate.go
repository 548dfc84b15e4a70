package language

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The operators for values whose kind is known only when the expression runs. With an absent operand, the
// result is nil or false; integers keep all their digits, text that holds a number is compared with a number
// as a number, and kinds that do not fit together are an error.

type binaryOperator func(m *meter, a, b any) (any, error)

// An operatorRow is a row of the table of operators.
type operatorRow struct {
	apply   binaryOperator
	boolean bool // whether the result is boolean
}

var operators = map[string]operatorRow{
	"==":         {apply: func(m *meter, a, b any) (any, error) { return equal(m, a, b), nil }, boolean: true},
	"!=":         {apply: func(m *meter, a, b any) (any, error) { return !equal(m, a, b), nil }, boolean: true},
	"<":          {apply: compare("<", func(order int) bool { return order < 0 }), boolean: true},
	"<=":         {apply: compare("<=", func(order int) bool { return order <= 0 }), boolean: true},
	">":          {apply: compare(">", func(order int) bool { return order > 0 }), boolean: true},
	">=":         {apply: compare(">=", func(order int) bool { return order >= 0 }), boolean: true},
	"+":          {apply: add},
	"-":          {apply: subtract},
	"*":          {apply: arithmetic("*", integers((*big.Int).Mul), func(a, b float64) float64 { return a * b })},
	"/":          {apply: arithmetic("/", nil, func(a, b float64) float64 { return a / b })},
	"%":          {apply: arithmetic("%", remainder, math.Mod)},
	"**":         {apply: arithmetic("**", nil, math.Pow)},
	"^":          {apply: arithmetic("^", nil, math.Pow)},
	"in":         {apply: in, boolean: true},
	"..":         {apply: rangeOf},
	"contains":   {apply: onText("contains", strings.Contains), boolean: true},
	"startsWith": {apply: onText("startsWith", strings.HasPrefix), boolean: true},
	"endsWith":   {apply: onText("endsWith", strings.HasSuffix), boolean: true},
}

var plus = arithmetic("+", integers((*big.Int).Add), func(a, b float64) float64 { return a + b })

var minus = arithmetic("-", integers((*big.Int).Sub), func(a, b float64) float64 { return a - b })

// add adds numbers, concatenates strings, and adds a duration to a time.
func add(m *meter, a, b any) (any, error) {
	if x, ok := a.(time.Time); ok {
		if y, also := b.(time.Duration); also {
			return x.Add(y), nil
		}
	}
	x, isText := a.(string)
	if y, both := b.(string); isText && both {
		m.grow(len(x) + len(y))
		return x + y, nil
	}
	return plus(m, a, b)
}

// subtract subtracts numbers, a time from a time, and a duration from a time.
func subtract(m *meter, a, b any) (any, error) {
	if x, ok := a.(time.Time); ok {
		switch y := b.(type) {
		case time.Time:
			return x.Sub(y), nil
		case time.Duration:
			return x.Add(-y), nil
		}
	}
	return minus(m, a, b)
}

// rangeOf returns the integers from a to b.
func rangeOf(m *meter, a, b any) (any, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	from, isInteger := toInt(a)
	to, both := toInt(b)
	if !isInteger || !both {
		return nil, mismatch("..", a, b)
	}
	if from > to {
		return []any{}, nil
	}
	length := uint(to) - uint(from) // one less than the number of elements, so that it cannot overflow
	if length >= maxBytes/16 {
		return nil, overBudget("a range of more than %d numbers", maxBytes/16)
	}
	m.grow(16 * (int(length) + 1))
	list := make([]any, length+1)
	for i := range list {
		list[i] = from + i
	}
	return list, nil
}

// compare returns a comparison from its result for an order.
func compare(operator string, result func(order int) bool) binaryOperator {
	return func(m *meter, a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		if x, y, ok := asNumbers(a, b); ok {
			return result(order(x, y)), nil
		}
		switch x := a.(type) {
		case string:
			if y, ok := b.(string); ok {
				m.spend(min(len(x), len(y)))
				if order, ok := orderOfTimes(m, x, y); ok {
					return result(order), nil
				}
				if ordered, err := m.checkTimes(x, y); !ordered {
					return false, err
				}
				m.noteOrder(x, y)
				return result(strings.Compare(x, y)), nil
			}
		case time.Time:
			if y, ok := b.(time.Time); ok {
				return result(x.Compare(y)), nil
			}
		case time.Duration:
			if y, ok := b.(time.Duration); ok {
				return result(cmp.Compare(x, y)), nil
			}
		}
		return nil, &CompareError{mismatch(operator, a, b)}
	}
}

// unitsOfTimes are the units of reading two times, for which many layouts are tried.
const unitsOfTimes = 1 << 12

// orderOfTimes compares two texts that are times in different forms, so that they may sort otherwise as texts: one has a fraction of a
// second, another time zone or another layout. It reports false for all other texts. A meter of nil counts nothing.
func orderOfTimes(m *meter, a, b string) (order int, ok bool) {
	if !times.DifferInForm(a, b) {
		return 0, false
	}
	if m != nil {
		m.sinceTick += unitsOfTimes
	}
	x, err := times.Parse(a)
	if err != nil {
		return 0, false
	}
	y, err := times.Parse(b)
	return x.Compare(y), err == nil
}

// checkTimes reports whether two texts that are not both times can be compared as texts. A time cannot be compared with an empty text
// or a word that says that there is no value, as little as with nil. With a date of an unknown form it cannot be compared without an
// error. It notes that the order of the texts says nothing.
func (m *meter) checkTimes(a, b string) (ordered bool, err error) {
	aMayBe, bMayBe := times.MayBe(a), times.MayBe(b)
	neither := !aMayBe && !bMayBe
	if aMayBe && bMayBe || neither && (!beginsLikeDate(a) || !beginsLikeDate(b)) {
		return true, nil
	}
	m.sinceTick += unitsOfTimes
	t, other := a, b
	if bMayBe {
		t, other = b, a
	}
	switch isTime := !neither && isTimeText(t); {
	case !isTime && hasUnknownDate(t) && hasUnknownDate(other):
		m.note("%s and %s are compared as text, although they are dates whose text does not sort by time; "+readsDates,
			value.Preview(a), value.Preview(b))
	case !isTime:
	case other == "":
		return false, nil
	case saysNoValue(other):
		m.note("%s is no time, so a comparison of it with %s is false", value.Preview(other), value.Preview(t))
		return false, nil
	case hasUnknownDate(other):
		return false, fmt.Errorf("%s is a date whose form is not known, and %s is a time, so they cannot be compared; "+readsDates,
			value.Preview(other), value.Preview(t))
	default:
		m.note("%s is a time and %s is not one that date(…) reads, so they are compared as text", value.Preview(t), value.Preview(other))
	}
	return true, nil
}

// beginsLikeDate reports whether a text begins as a date of an unknown form does. It is fast, and true for some texts that are none.
func beginsLikeDate(text string) bool {
	digits := digitsAt(text)
	rest := text[digits:]
	if rest == "" || digits > 4 || digits == 3 {
		return false
	}
	next, more := rest[0], rest[1:]
	switch {
	case digits == 4:
		return strings.IndexByte("/.-", next) >= 0
	case digits == 0:
		return beginsWithName(rest) || strings.IndexByte("qQhHwW", next) >= 0
	case strings.IndexByte("/.-", next) < 0:
		return strings.IndexByte(" :qQhH", next) >= 0 || beginsWithName(rest)
	}
	switch second := digitsAt(more); second { // 31/12/2025 and 12/2025, but not 12-2025-77
	case 0:
		return strings.HasPrefix(more, " ") || beginsWithName(more)
	case 1, 2:
		return len(more) > second && strings.IndexByte("/.-", more[second]) >= 0
	default:
		return second == 4 && len(more) == second
	}
}

// beginsWithName is [times.BeginsWithName] for a name in small or capital letters.
func beginsWithName(text string) bool {
	return len(text) >= 3 && times.BeginsWithName(strings.ToUpper(text[:1])+strings.ToLower(text[1:3]))
}

// readsDates says how a date of an unknown form is read.
const readsDates = `date(…, "02/01/2006") reads times in a form that shows how 2 January 2006 would look`

func isTimeText(text string) bool {
	_, err := times.Parse(text)
	return err == nil
}

// A CompareError says that the values on the two sides of <, <=, > or >= cannot be compared.
type CompareError struct{ error }

// noteOrder notes that two strings which are numbers, or differ in numbers alone, are compared as text, in which "10" is before "2" and
// v10 before v9.
func (m *meter) noteOrder(a, b string) {
	switch {
	case holdsNumber(a) && holdsNumber(b):
		m.note("%s and %s are compared as text, because both are strings; number(…) makes them numbers", value.Preview(a), value.Preview(b))
	case differInNumbers(a, b):
		m.note("%s and %s are compared as text, although they differ in numbers alone; compare number(…) of a part",
			value.Preview(a), value.Preview(b))
	}
}

// differInNumbers reports whether two texts differ in their numbers alone, of which some have more digits than others, so that the order of
// the texts is not that of the numbers.
func differInNumbers(a, b string) bool {
	if len(a) == len(b) {
		return false
	}
	for a != "" && b != "" {
		x, y := digitsAt(a), digitsAt(b)
		if (x == 0) != (y == 0) || x == 0 && a[0] != b[0] {
			return false
		}
		a, b = a[max(x, 1):], b[max(y, 1):]
	}
	return a == b
}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

// digitsAt returns the number of digits with which a text begins.
func digitsAt(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

func mismatch(operator string, a, b any) error {
	hint := ""
	switch {
	case isNumber(a) != isNumber(b):
		hint = "; number(…) converts a string to a number"
	case isTime(a) != isTime(b):
		hint = "; date(…) converts a string to a time"
	case operator == "in":
		hint = "; contains looks for a part of a string"
	}
	return fmt.Errorf("%s cannot be applied to %s and %s%s",
		operator, Described(a), Described(b), hint)
}

func isTime(v any) bool {
	_, ok := v.(time.Time)
	return ok
}

func onText(operator string, f func(a, b string) bool) binaryOperator {
	return func(m *meter, a, b any) (any, error) {
		if a == nil || b == nil {
			return false, nil
		}
		x, isText := a.(string)
		y, both := b.(string)
		if !isText || !both {
			return nil, mismatch(operator, a, b)
		}
		m.spend(len(x) + len(y))
		return f(x, y), nil
	}
}

// boolean converts an operand of and, or, not and ?: to a boolean; nil is false.
func boolean(v any) (any, error) {
	switch v := v.(type) {
	case nil, lack:
		return false, nil
	case bool:
		return v, nil
	}
	return nil, fmt.Errorf("want true or false, got %s; truthy(…) converts any value to a boolean", Described(v))
}

// less reports whether a is less than b, as < compares them. If they cannot be compared, b counts as
// greater.
func less(a, b any) bool {
	less, err := operators["<"].apply(&meter{}, a, b)
	return err != nil || less == true
}
