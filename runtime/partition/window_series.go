package partition

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// A windowSeries divides an interval of times or numbers into windows. Its JSON form is the part of a
// checkpoint that determines the remaining windows.
type windowSeries struct {
	From saved.Value[any] `json:"from"` // a time, an int or a float64
	To   saved.Value[any] `json:"to"`
	Next int              `json:"next"`           // index of the next window
	Step string           `json:"step,omitempty"` // length of a window, if an expression has given it

	source rules.Window
}

// newWindows returns the windows between two values of expressions. It returns an error if the
// values do not form an interval.
func newWindows(source rules.Window, from, to any) (*windowSeries, error) {
	from, err := windowBound("from", from)
	if err == nil {
		to, err = windowBound("to", to)
	}
	if err != nil {
		return nil, err
	}
	source = source.OfDays() // its step may be computed
	begin, ofTime := from.(time.Time)
	end, alsoTime := to.(time.Time)
	if ofTime != alsoTime {
		return nil, fmt.Errorf("from is %s, and to is %s", kindOfBound(from), kindOfBound(to))
	}
	for _, length := range []struct {
		name string
		span times.Span
	}{{"step", source.Step}, {"overlap", source.Overlap}, {"granularity", source.Granularity}, {"smallest", source.Smallest}} {
		if length.span != (times.Span{}) && length.span.IsTime() != ofTime {
			return nil, fmt.Errorf("%s is %s, but from is %s", length.name, length.span, kindOfBound(from))
		}
	}
	if source.Computed && source.Step != (times.Span{}) && source.Step.Less(source.Granularity) {
		return nil, fmt.Errorf("step is %s, which is less than the granularity of %s", source.Step, source.Granularity)
	}
	if err := source.CheckUnits(); err != nil {
		return nil, err
	}
	if ofTime { // an expression may format the bounds, so all of them are in one time zone
		from, to = source.Granularity.Begin(begin), end.In(begin.Location())
	}
	w := &windowSeries{From: saved.Value[any]{Value: from}, To: saved.Value[any]{Value: to}, source: source}
	if step := source.Step; step != (times.Span{}) && !(before(from, moved(step, from, 1)) && before(to, moved(step, to, 1))) {
		return nil, fmt.Errorf("step is %s, which is too small for numbers like %s", step, showBound(to))
	}
	if before(to, from) {
		return nil, &backwardsError{from, to}
	}
	return w, nil
}

// A backwardsError says that windows end before they begin.
type backwardsError struct{ from, to any }

func (e *backwardsError) Error() string {
	return fmt.Sprintf("the windows run backwards: from %s to %s", showBound(e.from), showBound(e.to))
}

// windowBound converts the bound with a name to a time or a number.
func windowBound(name string, v any) (any, error) {
	switch v := v.(type) {
	case time.Time, int, float64:
		return saved.Reread(v)
	case json.Number:
		return roundedBound(name, v)
	case string:
		if t, err := times.Parse(v); err == nil {
			return t, nil
		}
	case nil:
		return nil, fmt.Errorf("%s of the windows is nil", name)
	}
	return nil, fmt.Errorf("%s of the windows: want a time or a number, got %s (%s)", name, value.KindOf(v), value.Preview(v))
}

// roundedBound converts a number with more digits than a float has, rounded down as from and up as to, so that the windows
// have the value itself.
func roundedBound(name string, n json.Number) (any, error) {
	f, err := n.Float64()
	if err != nil || strings.ContainsAny(n.String(), "eE") {
		return f, err
	}
	exact, _ := new(big.Rat).SetString(n.String())
	switch order := times.Exact(f).Cmp(exact); {
	case name == "from" && order > 0:
		f = math.Nextafter(f, math.Inf(-1))
	case name == "to" && order < 0:
		f = math.Nextafter(f, math.Inf(1))
	}
	return f, nil
}

func kindOfBound(v any) string {
	if _, ok := v.(time.Time); ok {
		return "a time"
	}
	return "a number"
}

func showBound(v any) string {
	text, _ := runtime.ShortText(v)
	return text
}

// before reports whether bound a is less than bound b.
func before(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, also := b.(time.Time)
		return also && t.Before(u)
	}
	x, isInt := a.(int)
	if y, also := b.(int); isInt && also { // as floats, large ids would be equal
		return x < y
	}
	return number(a) < number(b)
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// next returns the next window. It reports false after the last window.
func (w *windowSeries) next() (any, bool) {
	if w.done() {
		return nil, false
	}
	from, to := w.at(w.Next), w.at(w.Next+1)
	if to != nil && w.source.Granularity != (times.Span{}) {
		to = moved(w.source.Granularity, to, -1)
	}
	if to == nil || before(w.To.Value, to) {
		to = w.To.Value
	}
	if w.Next > 0 && w.source.Overlap != (times.Span{}) {
		from = moved(w.source.Overlap, from, -1)
	}
	w.Next++
	return window(from, to), true
}

// done reports whether no window is left.
func (w *windowSeries) done() bool { return w == nil || !w.has(w.Next) }

// has reports whether there is a window with an index.
func (w *windowSeries) has(i int) bool {
	switch from := w.at(i); {
	case i > 0 && w.source.Step == (times.Span{}):
		return false
	case w.source.Granularity != (times.Span{}): // a window may begin at the end of the last one
		return !before(w.To.Value, from)
	default:
		return before(from, w.To.Value)
	}
}

// at returns the beginning of the window with an index, without the overlap. If there is only one
// window, it returns nil for any other index.
func (w *windowSeries) at(i int) any {
	switch {
	case w.source.Step != (times.Span{}):
		return moved(w.source.Step, w.From.Value, i)
	case i == 0:
		return w.From.Value
	case i == 1:
		return nil
	}
	return w.To.Value
}

// moved returns the bound that is n spans after from.
func moved(s times.Span, from any, n int) any {
	switch from := from.(type) {
	case time.Time:
		return s.After(from, n)
	case int:
		if step, ok := s.Number.(int); ok {
			return from + n*step
		}
	}
	span := new(big.Rat).Mul(times.Exact(s.Number), new(big.Rat).SetInt64(int64(n)))
	sum, _ := span.Add(span, times.Exact(from)).Float64()
	return sum
}

func window(from, to any) map[string]any { return map[string]any{"from": from, "to": to} }

// divide divides a window, the value of the last variable of a job. It reports false if the value
// is not a window or may not be divided.
func divide(job *compile.Job, v any) (first, second any, ok bool) {
	if n := len(job.For); n > 0 {
		if w := job.For[n-1].Window; w != nil && w.Splits {
			return (&windowSeries{source: *w}).halves(v)
		}
	}
	return nil, nil, false
}

// halves divides a window in two. It reports false for a window that is not larger than the
// smallest allowed.
func (w *windowSeries) halves(v any) (first, second any, ok bool) {
	both, _ := v.(map[string]any)
	from, to := both["from"], both["to"]
	closed := w.source.Granularity != (times.Span{})
	if closed { // as if it were half open
		to = moved(w.source.Granularity, to, 1)
	}
	var middle any
	begin, ofTime := from.(time.Time)
	end, alsoTime := to.(time.Time)
	if ofTime && alsoTime {
		middle, ok = middleTime(begin, end, w.source.Smallest)
	} else {
		middle, ok = middleNumber(from, to, w.source.Smallest)
	}
	if !closed || !ok {
		return window(from, middle), window(middle, to), ok
	}
	return window(from, moved(w.source.Granularity, middle, -1)), window(middle, both["to"]), true
}

// middleTime returns the middle of two times, rounded to a multiple of the smallest span after
// from.
func middleTime(from, to time.Time, smallest times.Span) (time.Time, bool) {
	if smallest == (times.Span{}) {
		smallest.Duration = time.Second
	}
	half := to.Sub(from) / 2
	unit := smallest.After(from, 1).Sub(from)
	if to.Sub(from) <= unit {
		return from, false
	}
	if smallest.Months == 0 && smallest.Days > 0 {
		days := max(int(half.Round(time.Hour).Hours())/24/smallest.Days, 1)
		return smallest.After(from, days), true
	}
	if smallest.Months > 0 {
		n := 1
		for smallest.After(from, n+1).Before(from.Add(half)) {
			n++
		}
		return smallest.After(from, n), true
	}
	return from.Add(max(half.Truncate(unit), unit)), true
}

// middleNumber returns the middle of two numbers, rounded to a multiple of the smallest span after
// from. It is an integer if from is an integer and the middle can be one.
func middleNumber(from, to any, smallest times.Span) (any, bool) {
	unit := times.Exact(1)
	if smallest.Number != nil {
		unit = times.Exact(smallest.Number)
	}
	begin, length := times.Exact(from), times.Exact(to)
	length.Sub(length, begin)
	if length.Cmp(unit) <= 0 {
		return from, false
	}
	units := length.Quo(length, unit)
	half := new(big.Int).Quo(units.Num(), new(big.Int).Lsh(units.Denom(), 1))
	if half.Sign() == 0 {
		half.SetInt64(1)
	}
	middle := begin.Add(begin, unit.Mul(unit, new(big.Rat).SetInt(half)))
	if _, isInt := from.(int); isInt && middle.IsInt() {
		return int(middle.Num().Int64()), true
	}
	float, _ := middle.Float64()
	return float, true
}

// maxWindows is the largest number of windows in a checkpoint.
const maxWindows = 1 << 53

// check checks windows that were decoded, and completes them.
func (w *windowSeries) check(source rules.Window) error {
	from, to := w.From.Value, w.To.Value
	for _, v := range []any{from, to} {
		switch v.(type) {
		case time.Time, int, float64:
		default:
			return fmt.Errorf("a bound is neither a time nor a number")
		}
	}
	if source.Computed && w.Step != "" {
		step, err := times.ParseSpan(w.Step)
		if err != nil {
			return err
		}
		source.Step = step
	}
	valid, err := newWindows(source, from, to)
	if err != nil {
		return err
	}
	valid.Next, valid.Step = w.Next, w.Step
	if w.Next < 0 || w.Next > maxWindows {
		return fmt.Errorf("the number of windows is %d", w.Next)
	}
	if w.Next > 0 && !valid.has(w.Next-1) {
		return fmt.Errorf("the number of windows is %d, and there are fewer", w.Next)
	}
	*w = *valid
	return nil
}

// evaluateWindows evaluates the bounds of a variable's windows.
func evaluateWindows(variable *compile.ForVariable, evaluate func(*language.Expression) (any, error)) (*windowSeries, error) {
	from, err := evaluate(variable.From)
	if err != nil {
		return nil, err
	}
	to, err := evaluate(variable.To)
	if err != nil {
		return nil, err
	}
	source, step := *variable.Window, ""
	if variable.Step != nil {
		v, err := evaluate(variable.Step)
		if err != nil {
			return nil, err
		}
		if v = language.JSONForm(v); v != nil && v != "" {
			if source.Step, err = times.ParseSpan(v); err != nil {
				return nil, &language.RuleError{Rule: variable.Step.Rule, Err: err}
			}
			step = source.Step.String()
		}
	}
	w, err := newWindows(source, from, to)
	if err == nil {
		w.Step = step
	}
	if err != nil {
		err = &language.RuleError{Rule: variable.From.Rule, Err: err}
	}
	return w, err
}

// Windows returns what an explanation says about the windows of a variable: the first, the second and the last one,
// and their number, which is at most most. Then the last one is that with this number.
func Windows(v *compile.ForVariable, most int, evaluate func(*language.Expression) (any, error)) (few []map[string]any, n int, err error) {
	w, err := evaluateWindows(v, evaluate)
	if err != nil {
		return nil, 0, err
	}
	for last := map[string]any(nil); ; n++ {
		next, more := w.next()
		switch {
		case more && n < most:
			if last, _ = next.(map[string]any); n < 2 {
				few = append(few, last)
			}
			continue
		case n > 2:
			few = append(few, last)
		}
		return few, n, nil
	}
}
