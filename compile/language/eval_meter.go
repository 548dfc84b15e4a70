package language

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// The limits of one evaluation. An expression may come from somebody who is not
// trusted, and the expression language itself limits neither time nor strings.
const (
	maxSteps   = 1_000_000   // elements that predicates are applied to, and calls of an embedder's functions
	maxBytes   = 8 << 20     // size of the strings and lists that are made
	maxWork    = 1 << 30     // units of work, of about a nanosecond: a second, or two
	maxTime    = time.Second // time in an embedder's functions
	maxNesting = 3           // depth of nested predicates

	// maxCall limits the units of one operation, which an interruption of the run waits for.
	maxCall = 64 << 20

	// tickEvery is the number of units after which the meter looks for an interruption.
	tickEvery = 16 << 10
)

// The work of an evaluation is counted and not timed, so that an expression does not fail on a
// machine that is busy. A byte that is looked at is one unit.
const (
	stepUnits  = 256 // for each element that a predicate or a function is applied to
	valueUnits = 64  // of a value that is compared
)

// ErrBudget is the error of an expression that spends more than it may.
var ErrBudget = errors.New("the expression exceeds its budget")

func overBudget(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBudget, fmt.Sprintf(format, args...))
}

// environment is the environment of a program: the page's context, and a meter that
// no source can name.
type environment struct {
	*rules.Context
	Meter *meter `expr:"·meter"`
}

const meterName = "·meter"

// A meter counts the cost of an evaluation. Once the cost exceeds its budget, or the run is
// cancelled, the meter panics with an error: the machine of the expression language recovers, as
// it does from its own errors, and [Expression.Eval] returns that error.
type meter struct {
	steps, bytes int
	work         int             // units until the last tick
	sinceTick    int             // units since then
	timeInCalls  time.Duration   // time in an embedder's functions
	ctx          context.Context // context of the run; nil is never cancelled
	page         *rules.Context  // nil outside of an evaluation
	notes        []string
	searches     map[listID]searched // the lists on the right of in
	lacks        bool                // whether a marked read was nil for want of a value that the run is given
	supposes     *supposition        // what the comparisons with a lack are supposed to be; usually nil
}

func (m *meter) reset(ctx context.Context) { *m = meter{ctx: ctx} }

// must returns a value or, as the meter does, ends the evaluation with an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// step counts one element or call.
func (m *meter) step() {
	m.steps++
	if m.steps > maxSteps {
		panic(overBudget("more than %d steps through lists", maxSteps))
	}
	m.spend(stepUnits)
}

// spend counts the units of an operation before its work is done.
func (m *meter) spend(units int) {
	if units > maxCall {
		panic(overBudget("one operation on more than %d MiB", maxCall>>20))
	}
	if m.sinceTick += units; m.sinceTick >= tickEvery {
		m.tick()
	}
}

// tick checks the work, and whether the run was cancelled.
func (m *meter) tick() {
	m.work += m.sinceTick
	m.sinceTick = 0
	if m.ctx != nil && m.ctx.Err() != nil {
		panic(context.Cause(m.ctx))
	}
	if m.work > maxWork {
		panic(overBudget("more work than looking at %d GiB", maxWork>>30))
	}
}

// call counts the time of an embedder's function.
func (m *meter) call(f func()) {
	m.step()
	m.tick()
	began := time.Now()
	f()
	if m.timeInCalls += time.Since(began); m.timeInCalls > maxTime {
		panic(overBudget("more than %s in the functions of the program", maxTime))
	}
}

// grow counts the bytes of a string or a list before it is made.
func (m *meter) grow(bytes int) {
	if bytes < 0 || bytes > maxBytes-m.bytes {
		panic(overBudget("more than %d MiB of strings and lists", maxBytes>>20))
	}
	m.bytes += bytes
	m.spend(bytes)
}

// maxNotes limits the notes of an evaluation.
const maxNotes = 4

// note records a warning about the values for the user, each once.
func (m *meter) note(format string, args ...any) {
	if len(m.notes) == maxNotes {
		return
	}
	m.notes = lists.AppendNew(m.notes, fmt.Sprintf(format, args...))
}

// checkLimits finds code that cannot be limited while it runs: predicates nested too
// deeply, and patterns that are not constant.
func checkLimits(node ast.Node, depth int) error {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.PredicateNode:
		if depth++; depth > maxNesting {
			return faultAt(n, "predicates are nested more than %d deep", maxNesting)
		}
	case *ast.BinaryNode:
		if n.Operator == "matches" {
			if _, err := patternOf(n.Right); err != nil {
				return err
			}
		}
	}
	for _, child := range children(node) {
		if err := checkLimits(*child, depth); err != nil {
			return err
		}
	}
	return nil
}

// product returns a*b, limited to half of the integers, so that a sum of two fits.
func product(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > math.MaxInt/2/b {
		return math.MaxInt / 2
	}
	return a * b
}

// growText counts the bytes of a value as text, or as indented JSON, before it is written.
func (m *meter) growText(v any) { m.growTextAt(v, 0) }

func (m *meter) growTextAt(v any, depth int) {
	size := 24
	switch v := v.(type) {
	case string:
		size = jsonSize(v)
	case json.Number:
		size = len(v)
	case nil, bool, int, int64, float64, time.Duration:
	case time.Time:
		size = 80
	case []any, map[string]any, rules.Object:
		inner, _ := entries(v)
		for name, e := range inner {
			m.grow(jsonSize(name) + 2*(depth+4))
			m.growTextAt(e, depth+1)
		}
		size = 2 * (depth + 2)
	default:
		size = 1024 // a value that is not known, such as a time zone
	}
	m.grow(size)
}

// jsonSize returns the size of a string in JSON, which escapes some characters with six.
func jsonSize(text string) int {
	sum := len(text) + 2
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			sum += 5
		}
	}
	return sum
}
