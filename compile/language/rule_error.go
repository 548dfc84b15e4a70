package language

import (
	"fmt"
	"strconv"

	"github.com/stopwhen/stopwhen/rules"
)

// RuleError says which rule failed while it ran. Every error of an evaluation is of this type.
type RuleError struct {
	Rule rules.Rule
	Err  error
}

// Error names the rule, describes the failure, and says where the rule is written.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %s: %v (%s; %s)", e.Rule.ID, e.Err, e.Rule.Source, e.Rule.Origin)
}

// Placed describes the failure, with the expression and the place where it is written. An expression that
// is only a number is left out, because it would say nothing by itself.
func (e *RuleError) Placed() string {
	if _, err := strconv.ParseFloat(e.Rule.Source, 64); err == nil {
		return fmt.Sprintf("%v (%s)", e.Err, e.Rule.Origin)
	}
	return fmt.Sprintf("%v, in %s (%s)", e.Err, e.Rule.Source, e.Rule.Origin)
}

// Unwrap returns the error without the rule.
func (e *RuleError) Unwrap() error { return e.Err }
