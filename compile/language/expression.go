package language

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Expression is one compiled rule. It never changes and may be shared.
type Expression struct {
	Rule  rules.Rule
	Reads []Read // reads in the order of the source

	check *lackCheck // nil if a given value that is nil cannot make the rule lose items
	code  *code
}

// Machine evaluates expressions, one at a time. It keeps its stack between them.
type Machine struct {
	// Context is the context of the run. Once it is cancelled, evaluations fail with its cause.
	// Nil is never cancelled.
	Context context.Context

	// Observe, Note and Given may be nil. Observe sees every value. Note receives warnings about values
	// for the user. Given may supply the value of an expression, which is not evaluated then.
	Observe func(e *Expression, v any)
	Note    func(e *Expression, text string)
	Given   func(e *Expression, c *rules.Context) (v any, ok bool)

	vm    vm.VM
	env   environment
	meter meter
}

// Eval evaluates the expression on a page. All errors are of the type [*RuleError]. They name the rule,
// but neither the job nor the page, which the caller knows.
func (e *Expression) Eval(m *Machine, c *rules.Context) (any, error) {
	m.meter.reset(m.Context)
	if m.Given != nil {
		if v, ok := m.Given(e, c); ok {
			return v, nil
		}
	}
	m.meter.page = c
	v, err := e.code.run(m)
	if err != nil {
		return nil, &RuleError{e.Rule, err}
	}
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

// run returns the value of the program on the page of the meter.
func (c *code) run(m *Machine) (any, error) {
	if c.test != nil {
		if met, ok, err := c.test.eval(&m.meter); ok {
			return met, err
		}
	}
	m.env = environment{m.meter.page, &m.meter}
	v, err := m.vm.Run(c.program, &m.env)
	if err != nil {
		return nil, causeOf(err)
	}
	return fieldsOf(v), nil
}

// memoryMessage is the message of the expression language's own limit on lists. Its error
// can be recognized by nothing else.
const memoryMessage = "memory budget exceeded"

// causeOf returns the error of the function that failed, without the snippet that
// the expression language adds to it. It hides the text of a panic,
// which only a Go programmer understands.
func causeOf(err error) error {
	located, ok := errors.AsType[*file.Error](err)
	switch {
	case !ok:
		return err
	case located.Message == memoryMessage:
		return overBudget("lists of too many elements")
	case located.Prev == nil, errors.As(located.Prev, new(interface{ RuntimeError() })), errors.As(located.Prev, new(*reflect.ValueError)):
		return errors.New("a value has a kind that the expression cannot use; type(…) tells the kind of a value")
	}
	return located.Prev
}

// MaxValueBytes limits the values of rules, such as the values of variables, because they may come from
// a response.
const MaxValueBytes = 16 << 20

// Value evaluates the expression like [Expression.Eval]. A value of more than limit bytes is an error, as is a value that loses
// items because a given value, such as a kept value or an input, is nil.
func (e *Expression) Value(m *Machine, c *rules.Context, limit int) (any, error) {
	v, err := e.Eval(m, c)
	if err != nil {
		return nil, err
	}
	if value.Exceeds(v, limit) {
		return nil, &RuleError{e.Rule, &requests.LengthError{What: "its value", Limit: limit}}
	}
	if err := e.checkLacks(m, c, v); err != nil {
		return nil, err
	}
	return v, nil
}

// Show evaluates the expression for a text. An error is shown in braces.
func (e *Expression) Show(m *Machine, c *rules.Context) string {
	v, err := e.Eval(m, c)
	if err != nil {
		return "{" + errors.Unwrap(err).Error() + "}"
	}
	if text, ok := v.(string); ok {
		return text
	}
	return preview(v)
}

// ReadsAny reports whether the expression reads one of the names of the page context, such as [rules.ContextKept].
func (e *Expression) ReadsAny(names ...string) bool {
	return e.ReadsFunc(func(r Read) bool { return slices.ContainsFunc(names, r.Is) })
}

// ReadsFunc reports whether f holds for any read of the expression.
func (e *Expression) ReadsFunc(f func(Read) bool) bool { return slices.ContainsFunc(e.Reads, f) }

// ShownReads returns the reads as they are shown to the user. They have the complete paths, such as
// items[-1].id, whereas Reads has the values that must be decoded for them, here items.
func (e *Expression) ShownReads() []Read { return e.code.shown() }

// Flags returns the Reads that truthy converts to booleans.
func (e *Expression) Flags() []Read { return e.code.flags }

// EvalBool evaluates a condition like [Expression.Eval]: nil is false, and anything but a boolean is an
// error, as is a condition that loses items because a given value is nil.
func (e *Expression) EvalBool(m *Machine, c *rules.Context) (bool, error) {
	v, err := e.Eval(m, c)
	if err != nil {
		return false, err
	}
	met, ok := v.(bool)
	if !ok && v != nil {
		return false, &RuleError{e.Rule, fmt.Errorf("want true or false, got %s; truthy(…) converts any value to a boolean", KindOf(v))}
	}
	if err := e.checkLacks(m, c, met); err != nil {
		return false, err
	}
	return met, nil
}
