package rules

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Span is the length of a window: of time, in which days and months are those of the
// calendar, or a number. The zero Span has no length.
type Span struct {
	Months, Days int
	Duration     time.Duration
	Number       any // an int or a float64 above 0; nil: a span of time
}

var spanText = regexp.MustCompile(`^(\d{1,6})\s*(mo|month|months|y|year|years|w|week|weeks|d|day|days)$`)

// ParseSpan reads a span: a number, or text such as 24h, 7d, 2w, 1mo or 1y.
func ParseSpan(v any) (Span, error) {
	v = computable(v)
	switch n := v.(type) {
	case int:
		if n > 0 {
			return Span{Number: n}, nil
		}
	case float64:
		if n > 0 {
			return Span{Number: n}, nil
		}
	case string:
		if whole, err := strconv.Atoi(n); err == nil && whole > 0 {
			return Span{Number: whole}, nil
		}
		return parseSpanText(n)
	}
	return Span{}, fmt.Errorf("want a length above 0, such as 24h, 7d, 1mo or a number, got %s", found(v))
}

func parseSpanText(text string) (Span, error) {
	if m := spanText.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // it has six digits at most
		switch {
		case n == 0:
		case m[2][0] == 'm':
			return Span{Months: n}, nil
		case m[2][0] == 'y':
			return Span{Months: 12 * n}, nil
		case m[2][0] == 'w':
			return Span{Days: 7 * n}, nil
		default:
			return Span{Days: n}, nil
		}
	} else if d := readDuration(text); d > 0 {
		return Span{Duration: d}, nil
	}
	return Span{}, fmt.Errorf("want a length above 0, such as 24h, 7d, 1mo or a number, got %s", value.Preview(text))
}

// OfTime reports whether the span is one of time.
func (s Span) OfTime() bool { return s.Number == nil }

// After returns the time n spans after another. A month later is the same day of the
// month, or its last day.
func (s Span) After(t time.Time, n int) time.Time {
	if n == 0 { // a time that a change of the clocks repeats must not change
		return t
	}
	if s.Months != 0 {
		first := time.Date(t.Year(), t.Month()+time.Month(n*s.Months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
		t = first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
	}
	if s.Days != 0 {
		t = t.AddDate(0, 0, n*s.Days)
	}
	return plus(t, n, s.Duration)
}

// plus returns t plus n durations, which together may be longer than a duration can be.
func plus(t time.Time, n int, d time.Duration) time.Time {
	if d == 0 {
		return t
	}
	for most := int(math.MaxInt64 / d); n > most; n -= most {
		if t = t.Add(time.Duration(most) * d); t.Year() > 9999 { // no API knows such a time
			return t
		}
	}
	return t.Add(time.Duration(n) * d)
}

// String returns the span as it may be written: "7d", "1mo", "24h0m0s", "1000".
func (s Span) String() string {
	switch {
	case s.Number != nil:
		text, _ := value.Text(s.Number)
		return text
	case s.Months != 0:
		return fmt.Sprintf("%dmo", s.Months)
	case s.Days != 0:
		return fmt.Sprintf("%dd", s.Days)
	}
	return s.Duration.String()
}
