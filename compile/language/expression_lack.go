package language

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
)

// EvalFilter reports whether the item of the context passes a condition, like [Expression.EvalBool]. It fails if the item
// does not pass because a given value, such as a kept value or an input, is nil.
func (e *Expression) EvalFilter(m *Machine, c *rules.Context) (bool, error) {
	passes, err := e.EvalBool(m, c)
	if passes || err != nil {
		return passes, err
	}
	return false, e.failIf(m, c, func(v any) bool { return v == true },
		"%[1]s is nil, so that the item does not pass%[2]s: write %[1]s == nil or …, or %[1]s != nil and … to leave out such items")
}

// EvalValues returns the values of a variable, like [Expression.Value]. It fails if a kept value or an input that is nil has
// shortened the list.
func (e *Expression) EvalValues(m *Machine, c *rules.Context, limit int) (any, error) {
	v, err := e.Value(m, c, limit)
	if err != nil {
		return nil, err
	}
	list, _ := v.([]any)
	isLonger := func(v any) bool {
		longer, _ := v.([]any)
		n := len(longer)
		for _, e := range longer {
			if lacking, lacks := e.(lack); lacks && lacking.isKept { // a kept list that is nil is empty, as in the first run
				n--
			}
		}
		return n > len(list)
	}
	return v, e.failIf(m, c, isLonger,
		"%[1]s is nil, so that values are left out%[2]s: write %[1]s == nil or …, or %[1]s != nil and … to leave them out")
}

// EvalStop reports whether a stopping rule is met, like [Expression.EvalBool]. It fails if the rule is met because a kept value
// or an input is nil.
func (e *Expression) EvalStop(m *Machine, c *rules.Context) (bool, error) {
	met, err := e.EvalBool(m, c)
	if !met || err != nil {
		return met, err
	}
	err = e.failIf(m, c, func(v any) bool { return v == false },
		"%[1]s is nil, so that the list ends here%[2]s: write %[1]s != nil and …")
	return err == nil, err
}

// EvalAddress returns the address of the next request, like [Expression.Value]. It fails if there is no address, which ends
// the list, because a kept value or an input is nil.
func (e *Expression) EvalAddress(m *Machine, c *rules.Context, limit int) (any, error) {
	v, err := e.Value(m, c, limit)
	isAddress := func(v any) bool { return !IsNoAddress(orNone(v)) }
	if err != nil || isAddress(v) {
		return v, err
	}
	return v, e.failIf(m, c, isAddress, "%[1]s is nil, so that the list ends here%[2]s: write %[1]s == nil or …")
}

// IsNoAddress reports whether the value of a rule for an address says that there is none.
func IsNoAddress(v any) bool { return v == nil || v == "" }

// EvalVariable returns the value of a variable of the state, like [Expression.Value]. If the variable decides which items the
// job obtains, EvalVariable fails if the value depends on a comparison with a kept value or an input that is nil.
func (e *Expression) EvalVariable(m *Machine, c *rules.Context, limit int) (any, error) {
	v, err := e.Value(m, c, limit)
	if err != nil {
		return nil, err
	}
	differs := func(other any) bool {
		_, lacks := other.(lack)
		return !lacks && !equal(&meter{}, v, other)
	}
	return v, e.failIf(m, c, differs,
		"%[1]s is nil, and its comparison decides the value%[2]s: write %[1]s == nil or …, or %[1]s != nil and …")
}

// failIf evaluates the expression, which has just been evaluated, under each [supposition], and returns an error if one of
// the values fits. The format says what the lack does, given its source and what follows from it.
func (e *Expression) failIf(m *Machine, c *rules.Context, fits func(v any) bool, format string) error {
	if !m.meter.lacks {
		return nil
	}
	for s, n := (&supposition{}), 0; n < maxSuppositions; n++ {
		m.meter.reset(m.Context)
		m.meter.page, m.meter.supposes = c, s
		v, err := e.code.run(m)
		switch {
		case err == nil && len(s.sites) > 0 && fits(v): // a supposition under which the expression fails says nothing
			return &RuleError{e.Rule, fmt.Errorf(format, s.first.source, s.first.consequence())}
		case !s.next():
			return nil
		}
	}
	return nil
}
