package language

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
)

// A lackCheck finds out whether a rule loses items because a given value, such as a kept value or an input, is nil.
type lackCheck struct {
	// spares reports whether another value of the rule does not lose the items that its value v loses. If v itself spares
	// them, the check is passed.
	spares func(c *rules.Context, v, other any) bool

	// format is the error, given the source of the value that is nil and what follows from it.
	format string
}

var (
	filterCheck = &lackCheck{ // an item does not pass
		func(_ *rules.Context, _, other any) bool { return other == true },
		"%[1]s is nil, so that the item does not pass%[2]s: write %[1]s == nil or …, or %[1]s != nil and … to leave out such items",
	}
	valuesCheck = &lackCheck{ // the list of the values of a variable is shorter
		func(_ *rules.Context, v, other any) bool { return countKnown(other) > countKnown(v) },
		"%[1]s is nil, so that values are left out%[2]s: write %[1]s == nil or …, or %[1]s != nil and … to leave them out",
	}
	stopCheck = &lackCheck{ // a rule ends the list
		func(_ *rules.Context, _, other any) bool { return other == false },
		"%[1]s is nil, so that the list ends here%[2]s: write %[1]s != nil and …",
	}
	addressCheck = &lackCheck{ // there is no address of a next request; without one, the first request keeps that of the job
		func(c *rules.Context, _, other any) bool { return c.Page == 0 || !IsNoAddress(orNone(other)) },
		"%[1]s is nil, so that the list ends here%[2]s: write %[1]s == nil or …",
	}
	variableCheck = &lackCheck{ // a variable of the state decides which items the job obtains
		func(_ *rules.Context, v, other any) bool {
			_, lacks := other.(lack)
			return !lacks && !equal(&meter{}, v, other)
		},
		"%[1]s is nil, and its comparison decides the value%[2]s: write %[1]s == nil or …, or %[1]s != nil and …",
	}
)

// countKnown returns the number of elements of a list, without those that are the lack of a kept value: a kept list that is nil is
// empty, as in the first run.
func countKnown(list any) (n int) {
	elements, _ := list.([]any)
	for _, e := range elements {
		if lacking, lacks := e.(lack); !lacks || !lacking.isKept {
			n++
		}
	}
	return n
}

// IsNoAddress reports whether the value of a rule for an address says that there is none.
func IsNoAddress(v any) bool { return v == nil || v == "" }

// checkLacks evaluates the expression, whose value has just become v, under each [supposition]. It returns an error if a value
// under one of them spares items that v loses.
func (e *Expression) checkLacks(m *Machine, c *rules.Context, v any) error {
	if !m.meter.lacks || e.check == nil || e.check.spares(c, v, v) {
		return nil
	}
	for s, n := (&supposition{}), 0; n < maxSuppositions; n++ {
		m.meter.reset(m.Context)
		m.meter.page, m.meter.supposes = c, s
		other, err := e.code.run(m)
		switch {
		case err == nil && len(s.sites) > 0 && e.check.spares(c, v, other): // a supposition under which the expression fails says nothing
			return &RuleError{e.Rule, fmt.Errorf(e.check.format, s.first.source, s.first.consequence())}
		case !s.next():
			return nil
		}
	}
	return nil
}
