package engine

import (
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/evidence"
)

// Publishing answers the questions of programs that publish the items of a run as files, such as
// package engine/output: whether the run accepts a list, and whether it has anything left to do.
type Publishing struct{ engine *Engine }

// Publishing returns the answers for programs that publish the items of the engine's runs.
func (e *Engine) Publishing() Publishing { return Publishing{e} }

// Accepts reports whether a run accepts how a rule ended a job: see [WithAccept].
func (p Publishing) Accepts(job JobResult) bool {
	if accept := p.engine.settings.run.accept; accept != nil {
		return accept(job)
	}
	return rules.SwitchesOf(p.engine.cfg.Dialect).AcceptEvidence || len(job.Evidence()) == 0
}

// AuditFile returns the finding of the audit about a file of items that a job replaces, or nil if
// there is none. had is the number of rows of the file, and rows the number of the rows that
// replace them.
func (p Publishing) AuditFile(job, file string, rows, had int64) *Finding {
	compiled := p.engine.byID[job]
	if compiled == nil {
		return nil
	}
	return evidence.AuditFile(compiled, file, rows, had)
}

// AuditContract returns the finding of the audit that the data of a job differ from the contract in a
// file, or nil. drift says how. The finding is evidence if the contract is frozen.
func (p Publishing) AuditContract(job, file, drift string, frozen bool) *Finding {
	compiled := p.engine.byID[job]
	if compiled == nil {
		return nil
	}
	return evidence.AuditContract(compiled, file, p.engine.Redactor().String(drift), frozen)
}

// Ended reports whether the checkpoints of [WithResume] say that every job has ended. A run then
// makes no requests and returns the result of the previous run.
func (p Publishing) Ended() bool {
	for _, job := range p.engine.roots() {
		if !runtime.Checkpoint(p.engine.settings.run.Resume[job.ID()]).Ended() {
			return false
		}
	}
	return true
}
