package compile

import (
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// auditCompiler compiles the rules of the audit. They come from a table and call built-in functions
// only, so they have no errors and are the same in every job of every configuration: a process
// compiles each of them once, and only when a list needs it or is explained. They read no
// values of the responses, so the audit causes no decoding.
type auditCompiler struct {
	mu       sync.Mutex
	shared   *shared
	triggers map[[2]string]*Trigger // by the ID and the source of the rule
}

var sharedAuditCompiler = sync.OnceValue(func() *auditCompiler {
	return &auditCompiler{shared: newShared(nil), triggers: map[[2]string]*Trigger{}}
})

// trigger returns a compiled rule.
func (a *auditCompiler) trigger(rule *rules.Rule) *Trigger {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]string{rule.ID, rule.Source}
	known := a.triggers[key]
	if known == nil {
		known = a.compile(*rule)
		a.triggers[key] = known
	}
	return known
}

func (a *auditCompiler) compile(rule rules.Rule) *Trigger {
	c := compilation{shared: a.shared, set: &rules.Ruleset{}}
	compiled := func(source string) *language.Expression {
		rule := rule
		rule.Source = source
		e, err := c.expression(rule, rules.ScopeAudit)
		if err != nil {
			panic("rule " + rule.ID + ": " + err.Error()) // TestEveryRuleOfTheAuditIsCompiled
		}
		return e
	}
	t := &Trigger{Expression: compiled(rule.Source), Message: c.message(rule)}
	if proof := rule.Audit.Proof.Source(); proof != "" {
		t.Proof = compiled(proof)
	}
	return t
}

// AuditTriggers returns the compiled audit rules of the job.
func (a Analysis) AuditTriggers() []*Trigger {
	var triggers []*Trigger
	for i := range a.job.Ruleset.Rules {
		if rule := &a.job.Ruleset.Rules[i]; rule.Role == rules.RoleAudit {
			triggers = append(triggers, AuditTrigger(rule))
		}
	}
	return triggers
}

// AuditTrigger returns the compiled form of a rule of the audit, which is the same in every job.
func AuditTrigger(rule *rules.Rule) *Trigger { return sharedAuditCompiler().trigger(rule) }

// Weight returns the weight of a finding of a rule of the audit.
func (t *Trigger) Weight(m *language.Machine, c *rules.Context) rules.Weight {
	if t.Proof != nil {
		if proven, err := t.Proof.EvalBool(m, c); err == nil && proven {
			return rules.WeightEvidence
		}
	}
	return rules.WeightHint
}
