package compile

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
)

// Prover returns what proves facts about the expressions of the job.
func (j *Job) Prover() language.Prover { return language.Prover{Set: j.Set} }

// WhyNever says why a condition can never be true; empty: it can.
func (j *Job) WhyNever(c *Condition) string {
	if j.Prover().Condition(c.Expression) != language.Never {
		return ""
	}
	if j.comparesAbsentLimit(c) {
		return "no page size is set (limit)"
	}
	return "it is never true"
}

// comparesAbsentLimit reports whether a condition reads the page size, although there is none.
func (j *Job) comparesAbsentLimit(c *Condition) bool {
	none := j.Set.Limit == nil && j.Set.LimitBy == ""
	return none && slices.ContainsFunc(c.Reads, func(r language.Read) bool { return r.Is("limit") })
}

// Unreached says of each rule that is never the reason to stop why not.
func (j *Job) Unreached() map[*Condition]string {
	why, best := map[*Condition]string{}, map[string]*Condition{}
	bounds := map[*Condition]language.Bound{}
	for _, s := range j.Stops {
		if why[s] = j.WhyNever(s); why[s] != "" {
			continue
		}
		b, ok := j.Prover().Bound(s.Expression)
		if !ok {
			continue
		}
		bounds[s] = b
		if had := best[b.Of]; had == nil || b.At < bounds[had].At {
			best[b.Of] = s
		}
	}
	for s, b := range bounds {
		if first := best[b.Of]; first != s && !s.HasAlternative() {
			why[s] = fmt.Sprintf("%s stops at %s already", first.Rule.ID, bounds[first])
		}
	}
	return why
}
