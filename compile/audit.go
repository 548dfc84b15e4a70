package compile

import (
	"sync"

	"github.com/stopwhen/stopwhen/rules"
)

// auditor compiles the rules of the audit. They are those of a table and call built-in
// functions only, so they have no errors and are the same in every job of every
// configuration: a process compiles each of them once, and only when a list has ended
// or is explained. They read nothing of the responses, so that a job needs no more of
// these because of its audit.
type auditor struct {
	mu      sync.Mutex
	sources *sources
	known   map[string]*Condition // by the id of the rule
}

var sharedAuditor = sync.OnceValue(func() *auditor {
	return &auditor{sources: newSources(Builtin()), known: map[string]*Condition{}}
})

// conditions returns those of some rules that are for the audit, compiled.
func (a *auditor) conditions(list []rules.Rule) []*Condition {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*Condition, 0, len(list))
	for _, rule := range list {
		if rule.Role != rules.Audit {
			continue
		}
		if a.known[rule.ID] == nil {
			a.known[rule.ID] = a.compile(rule)
		}
		out = append(out, a.known[rule.ID])
	}
	return out
}

func (a *auditor) compile(rule rules.Rule) *Condition {
	c := compilation{sources: a.sources, set: &rules.Ruleset{}}
	e, err := c.expression(rule, rules.ScopeAudit)
	if err != nil {
		panic("rule " + rule.ID + ": " + err.Error()) // TestEveryRuleOfTheAuditIsCompiled
	}
	return &Condition{Expression: e, Message: c.message(rule)}
}

// Audit returns the rules of the audit, for the last page of a list.
func (j *Job) Audit() []*Condition { return j.audit() }
