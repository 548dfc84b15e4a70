package compile

import (
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// PartValues are the values of [Job.NextParts], in their order. The request can be made again from them and the
// configuration, even in another process.
type PartValues []any

// Advance evaluates, after a page, the new state and the parts of the next request. All variables are
// evaluated with the old state, and all parts with the new state. It reports false if the rules yield no
// address, which means that the list has ended. The page does not change.
func (j *Job) Advance(m *language.Machine, c *rules.Context) (state map[string]any, parts PartValues, more bool, err error) {
	changed, err := evaluate(j.Next, m, c)
	if err != nil {
		return nil, nil, false, err
	}
	state = make(map[string]any, len(c.State))
	maps.Copy(state, c.State)
	maps.Copy(state, changed)
	parts, more, err = evaluateParts(j.NextParts, m, c, state)
	return state, parts, more, err
}

// resolvesAgainstResponse reports whether the next address is resolved against
// that of the response.
func (j *Job) resolvesAgainstResponse() bool {
	isURL := func(p *language.Expression) bool { return p.Rule.Role == rules.RoleURL }
	return !j.Ruleset.Dialect.Switches().RelativeToBase && slices.ContainsFunc(j.Parts, isURL)
}

// evaluate returns the values of variables by their names.
func evaluate(expressions []*language.Expression, m *language.Machine, c *rules.Context) (map[string]any, error) {
	values := make(map[string]any, len(expressions))
	for _, e := range expressions {
		v, err := e.Value(m, c, language.MaxValueBytes)
		if err != nil {
			return nil, err
		}
		values[e.Rule.Target] = v
	}
	return values, nil
}
