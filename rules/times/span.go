package times

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Span is the length of a window: a length of time, with days and months of the calendar, or a
// number. The zero Span has no length.
type Span struct {
	Months, Days int
	Duration     time.Duration
	Number       any // an int or a float64 above 0; nil for a span of time
}

// Less reports whether a span is shorter than another span of the same kind.
func (s Span) Less(other Span) bool {
	if s.Number != nil && other.Number != nil {
		return floatOf(s.Number) < floatOf(other.Number)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return s.IsTime() && other.IsTime() && s.After(from, 1).Before(other.After(from, 1))
}

func floatOf(n any) float64 {
	if whole, isInt := n.(int); isInt {
		return float64(whole)
	}
	return n.(float64)
}

var spanText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,6})\s*(mo|month|months|y|year|years|w|week|weeks|d|day|days)$`)
})

var isoDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^P(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?` +
		`(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6}(?:\.\d{1,6})?)S)?)?$`)
})

// ParseISODuration reads a duration of ISO 8601: P7D, P1M, PT90M. It reports false for any other text, and for
// a sum of months and days or hours.
func ParseISODuration(text string) (Span, bool) {
	m := isoDuration().FindStringSubmatch(text)
	if m == nil || text == "P" || strings.HasSuffix(text, "T") {
		return Span{}, false
	}
	var n [7]int
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.Atoi(m[i])
	}
	seconds, _ := time.ParseDuration(m[7] + "s")
	s := Span{Months: n[1]*12 + n[2], Days: n[3]*7 + n[4], Duration: time.Duration(n[5]*3600+n[6]*60)*time.Second + seconds}
	if s.Days > 0 && s.Duration > 0 {
		s.Days, s.Duration = 0, s.Duration+time.Duration(s.Days)*24*time.Hour
	}
	return s, s.Months == 0 || s.Days == 0 && s.Duration == 0
}

// ParseLag is [ParseSpan] for a length that may be zero: nil, an empty text, 0, 0d, 0s or P0D.
func ParseLag(v any) (Span, error) {
	if text, isText := v.(string); isText {
		if s, ok := ParseISODuration(text); ok {
			return s, nil
		}
		if m := spanText().FindStringSubmatch(text); m != nil && strings.Trim(m[1], "0") == "" || text == "" || text == "0" {
			return Span{}, nil
		}
		if d, err := time.ParseDuration(text); err == nil && d == 0 {
			return Span{}, nil
		}
	}
	if v == nil || v == 0 || v == 0.0 {
		return Span{}, nil
	}
	return ParseSpan(v)
}

// ParseSpan reads a span: a number, or text such as 24h, 7d, 2w, 1mo, 1y or P7D.
func ParseSpan(v any) (Span, error) {
	if n, ok := v.(json.Number); ok {
		if number, err := value.Number(n); err == nil {
			v = number
		}
	}
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
	return Span{}, fmt.Errorf("want a length above 0, such as 24h, 7d, 1mo or a number, got %s", value.Preview(v))
}

func parseSpanText(text string) (Span, error) {
	if m := spanText().FindStringSubmatch(text); m != nil {
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
	} else if s, ok := ParseISODuration(text); ok && s != (Span{}) {
		return s, nil
	} else if d := ReadDuration(text); d > 0 {
		return Span{Duration: d}, nil
	}
	return Span{}, fmt.Errorf("want a length above 0, such as 24h, 7d, 1mo or a number, got %s", value.Preview(text))
}

// IsTime reports whether the span is a length of time.
func (s Span) IsTime() bool { return s.Number == nil }

// InDays returns a span of whole times 24 hours as days of the calendar, and any other span unchanged.
func (s Span) InDays() Span {
	const day = 24 * time.Hour
	if s.Duration%day == 0 {
		s.Days, s.Duration = s.Days+int(s.Duration/day), 0
	}
	return s
}

// Divides reports whether a span, whatever its kind, is a whole number of spans of this length wherever it begins.
func (s Span) Divides(longer Span) bool {
	const day = 24 * time.Hour
	switch {
	case s.Number != nil && longer.Number != nil:
		return new(big.Rat).Quo(Exact(longer.Number), Exact(s.Number)).IsInt()
	case s.Number != nil || longer.Number != nil:
		return false
	case s.Months > 0:
		return longer.Days == 0 && longer.Duration == 0 && longer.Months%s.Months == 0
	case s.Days > 0:
		return longer.Duration == 0 && longer.Days%s.Days == 0 && (longer.Months == 0 || s.Days == 1)
	case s.Duration > 0 && longer.Duration > 0:
		return longer.Duration%s.Duration == 0
	}
	return s.Duration > 0 && day%s.Duration == 0
}

// Exact returns the exact value of the decimal spelling of an int or a float64: 0.1 is a tenth, so three steps of 0.1 are 0.3.
// Of a float64 that is not finite, and of any other value, it is 0.
func Exact(n any) *big.Rat {
	if whole, isInt := n.(int); isInt {
		return new(big.Rat).SetInt64(int64(whole))
	}
	float, _ := n.(float64)
	exact, ok := new(big.Rat).SetString(strconv.FormatFloat(float, 'g', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return exact
}

// Begin returns the beginning of the unit of this length in which a time lies: the first day of a month, midnight or, of a
// length that divides a day, so many of it after midnight. For any other length, it returns the time.
func (s Span) Begin(t time.Time) time.Time {
	const day = 24 * time.Hour
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
	switch {
	case s.Months > 0:
		return midnight.AddDate(0, -(int(t.Month())-1)%s.Months, 1-t.Day())
	case s.Days > 0:
		return midnight
	case s.Duration > 0 && day%s.Duration == 0:
		return t.Add(-(t.Sub(midnight) % s.Duration))
	}
	return t
}

// After returns the time n spans after t. A month later is the same day of the
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
	return addTime(t, n, s.Duration)
}

// addTime returns t plus n durations, which together may be longer than a duration can be.
func addTime(t time.Time, n int, d time.Duration) time.Time {
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
