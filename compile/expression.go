package compile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/stopwhen/stopwhen/rules"
)

// Expression is one compiled rule. It never changes and may be shared.
type Expression struct {
	Rule  rules.Rule
	Reads []Read // in the order of the source
	Flags []Read // those of Reads that truthy converts to booleans

	code *code
}

// Machine evaluates expressions, one at a time. It keeps its stack between them.
type Machine struct {
	Observe func(e *Expression, v any)       // sees every value; may be nil
	Note    func(e *Expression, text string) // receives what the user should know of the values; may be nil
	Context context.Context                  // of the run; once it is cancelled, evaluations fail with its cause. nil is never cancelled

	vm    vm.VM
	env   environment
	meter meter
}

// eval evaluates the expression on a page. The error says what went wrong, not
// where: the caller knows the job and the page.
func (e *Expression) eval(m *Machine, page *rules.Context) (any, error) {
	m.meter.reset(m.Context)
	m.meter.page = page
	m.env = environment{page, &m.meter}
	v, err := m.vm.Run(e.code.program, &m.env)
	if err != nil {
		return nil, causeOf(err)
	}
	v = fieldsOf(v)
	if m.Note != nil {
		for _, text := range m.meter.notes {
			m.Note(e, text)
		}
	}
	if m.Observe != nil {
		m.Observe(e, v)
	}
	return v, nil
}

// memoryMessage is the message of the expression language's own limit on lists,
// which has no other mark.
const memoryMessage = "memory budget exceeded"

// causeOf returns the error of the function that failed, without the snippet that
// the expression language adds to it. It hides what only a Go programmer
// understands: the text of a panic.
func causeOf(err error) error {
	located := (*file.Error)(nil)
	switch {
	case !errors.As(err, &located):
		return err
	case located.Message == memoryMessage:
		return overBudget("lists of too many elements")
	case located.Prev == nil, errors.As(located.Prev, new(interface{ RuntimeError() })), errors.As(located.Prev, new(*reflect.ValueError)):
		return errors.New("a value has a kind that the expression cannot use; type(…) tells the kind of a value")
	}
	return located.Prev
}

// EvalBool evaluates a condition: nil is false, anything but a boolean is an
// error.
func (e *Expression) EvalBool(m *Machine, page *rules.Context) (bool, error) {
	v, err := e.eval(m, page)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil
	}
	return false, fmt.Errorf("want true or false, got %s; truthy(…) converts any value to a boolean", kindOf(v))
}

// RuleError says which rule failed while it ran.
type RuleError struct {
	Rule rules.Rule
	Err  error
}

// Error names the rule, what went wrong and where the rule is written.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %s: %v (%s; %s)", e.Rule.ID, e.Err, e.Rule.Source, e.Rule.Origin)
}

// Placed says what went wrong, with the expression and the place where it is written. An
// expression that is a constant is left out: it is in the place, and says nothing by itself.
func (e *RuleError) Placed() string {
	if _, err := strconv.ParseFloat(e.Rule.Source, 64); err == nil {
		return fmt.Sprintf("%v (%s)", e.Err, e.Rule.Origin)
	}
	return fmt.Sprintf("%v, in %s (%s)", e.Err, e.Rule.Source, e.Rule.Origin)
}

// Unwrap returns what went wrong.
func (e *RuleError) Unwrap() error { return e.Err }
