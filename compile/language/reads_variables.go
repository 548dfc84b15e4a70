package language

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
)

// Variables have the reads of the expressions that give variables of the state their values, by the names of the variables.
type Variables map[string][]Read

// Resolve replaces the reads of variables by the reads that their values depend on. A read stays if its variable depends on
// itself.
func (vars Variables) Resolve(reads []Read) []Read { return vars.resolve(reads, nil) }

// resolve is Resolve for the reads of the variables in seen.
func (vars Variables) resolve(reads []Read, seen []string) (resolved []Read) {
	for _, r := range reads {
		if !r.Is(rules.ContextState) {
			resolved = append(resolved, r)
			continue
		}
		for name, ofValue := range vars {
			switch isRead := len(r.Path) == 0 || r.Path[0] == name; {
			case isRead && slices.Contains(seen, name):
				resolved = append(resolved, r)
			case isRead:
				resolved = append(resolved, vars.resolve(ofValue, append(slices.Clip(seen), name))...)
			}
		}
	}
	return resolved
}
