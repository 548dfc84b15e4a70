package compile

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// MayDerive reports whether the values of expressions, which may be nil, may have parts of secrets: an expression reads
// an input, a secret value of for, or a variable of for that is computed from one of these.
func (a Analysis) MayDerive(expressions ...*language.Expression) bool {
	return slices.ContainsFunc(expressions, func(e *language.Expression) bool {
		return e != nil && e.ReadsFunc(func(r language.Read) bool {
			return r.Is(rules.ContextInput) || r.Is(rules.ContextPartition) && (len(r.Path) == 0 || a.job.isDerived(r.Path[0]))
		})
	})
}

// isDerived reports whether a variable of the job or of its ancestors may have parts of secrets.
func (j *Job) isDerived(variable string) bool {
	for ; j != nil; j = j.Parent {
		for i := range j.For {
			if v := &j.For[i]; v.Name == variable {
				return v.secret || j.Analysis().MayDerive(v.Values)
			}
		}
	}
	return false
}

// noteSecrets notes which variables have a secret among their constant values.
func (j *Job) noteSecrets(secrets []string) {
	for i := range j.For {
		v := &j.For[i]
		v.secret = slices.ContainsFunc(value.Texts(v.Constants), func(text string) bool { return slices.Contains(secrets, text) })
	}
}
