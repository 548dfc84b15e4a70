package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

const (
	previousStart = "previousStart" // the name under which a job keeps the time of its beginning for the next run
	startVariable = "currentStart"  // the variable of the state that holds it
)

// keepStart adds the rule that saves when a job began, if another rule of the job reads that time.
func (l *lowerer) keepStart(set *Ruleset) {
	if !l.switches.Functions { // which read the times of runs
		return
	}
	asks := func(source string) int {
		return slices.IndexFunc(set.Rules, func(r Rule) bool { return strings.Contains(r.Source, source) })
	}
	previous := asks("kept." + previousStart)
	i := max(previous, asks("state."+startVariable))
	origin := Origin{Path: diag.Join(set.Job.path, "children")}
	if i >= 0 {
		origin = set.Rules[i].Origin
	}
	if set.Job.keepsStart {
		i, previous = 0, 0
	}
	if i < 0 {
		return
	}
	set.StateNames = append(set.StateNames, startVariable)
	set.Rules = append(set.Rules,
		Rule{ID: "state." + startVariable, Role: RoleInit, Target: startVariable, Source: sourceOfNow, Clause: "starts at", Origin: origin},
		Rule{ID: "state." + startVariable, Role: RoleNext, Target: startVariable, Source: "state." + startVariable, Clause: "is", Origin: origin},
	)
	if previous < 0 {
		return
	}
	set.KeptNames = append(set.KeptNames, previousStart)
	set.Rules = append(set.Rules, Rule{
		ID: "keep." + previousStart, Role: RoleKeep, Target: previousStart, Source: "state." + startVariable, Clause: "is", Origin: origin,
	})
}
