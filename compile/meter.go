package compile

import (
	"errors"
	"fmt"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// What one evaluation may spend. An expression may come from somebody who is not
// trusted, and the expression language itself limits neither time nor strings.
const (
	maxSteps   = 1_000_000   // elements that predicates are applied to, and calls of an embedder's functions
	maxBytes   = 8 << 20     // of the strings and lists that are made
	maxTime    = time.Second // in total
	maxNesting = 3           // of predicates in one another
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

// A meter counts what an evaluation spends.
type meter struct {
	steps, bytes int
	until        time.Time
}

func (m *meter) reset() { *m = meter{} }

// step counts one element or call. Reading the clock is slow, so only every 64th
// step does.
func (m *meter) step() error {
	m.steps++
	if m.steps > maxSteps {
		return overBudget("more than %d steps through lists", maxSteps)
	}
	if m.steps%64 != 0 {
		return nil
	}
	return m.tick()
}

// tick checks the time since the first tick.
func (m *meter) tick() error {
	switch now := time.Now(); {
	case m.until.IsZero():
		m.until = now.Add(maxTime)
	case now.After(m.until):
		return overBudget("more than %s of time", maxTime)
	}
	return nil
}

// grow counts the bytes of a string or a list before it is made.
func (m *meter) grow(bytes int) error {
	if bytes < 0 || bytes > maxBytes-m.bytes {
		return overBudget("more than %d MiB of strings and lists", maxBytes>>20)
	}
	m.bytes += bytes
	return nil
}

// checkBounds finds code that cannot be limited while it runs: predicates nested too
// deeply, and patterns that are not constant.
func checkBounds(node ast.Node, depth int) error {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.PredicateNode:
		if depth++; depth > maxNesting {
			return at(n, "predicates are nested more than %d deep", maxNesting)
		}
	case *ast.BinaryNode:
		if n.Operator == "matches" {
			if _, err := patternOf(n.Right); err != nil {
				return err
			}
		}
	}
	for _, child := range children(node) {
		if err := checkBounds(*child, depth); err != nil {
			return err
		}
	}
	return nil
}
