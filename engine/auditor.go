package engine

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An Auditor judges lists for programs that publish the items of a run as files, such as package
// engine/output.
type Auditor struct{ engine *Engine }

// Auditor returns the auditor of the engine's runs.
func (e *Engine) Auditor() Auditor { return Auditor{e} }

// Accepts reports whether a run accepts how a rule ended a job: see [WithAccept].
func (a Auditor) Accepts(job JobResult) bool {
	if accept := a.engine.options.run.accept; accept != nil {
		return accept(job)
	}
	return a.AcceptsByDefault(job)
}

// AcceptsByDefault reports whether a run without [WithAccept] accepts how a rule ended a job.
func (a Auditor) AcceptsByDefault(job JobResult) bool {
	return a.engine.cfg.Dialect.Switches().AcceptEvidence || len(job.Evidence()) == 0
}

// AuditFile returns the finding of the audit about a file that a job replaces, or nil. rows is the
// number of rows that the file will have, and before is the number that it has now.
func (a Auditor) AuditFile(job, file string, rows, before int64) *Finding {
	compiled := a.engine.byID[job]
	if compiled == nil {
		return nil
	}
	facts := rules.FileFacts{File: file, Rows: int(rows), Had: int(before)}
	return evidence.AuditJob(compiled, trace.FindingShrank, rules.ListFacts{FileFacts: facts})
}

// AuditMerged returns the finding about rows of a job that are merged by their keys, or nil: partitions have other items with
// one key, and all but the last of these are lost.
func (a Auditor) AuditMerged(job JobResult) *Finding {
	return evidenceOf(job, func(f Finding) bool { return f.ID == trace.FindingAmbiguous })
}

// AuditAdded returns the finding about rows of a job that are added to a file, or nil: the API has sent items of earlier runs
// again, which is evidence if most items are from long before the kept value, and otherwise a hint; or the next run obtains the
// same items again, since a kept value has not moved on; or the list began without the kept values.
func (a Auditor) AuditAdded(job JobResult) *Finding {
	found := evidenceOf(job, func(f Finding) bool {
		return f.ID == trace.FindingSince && job.Known > 0 || f.ID == trace.FindingStays || f.ID == trace.FindingUnsent
	})
	compiled := a.engine.byID[job.Job]
	continues, _ := a.engine.Continues(job.Job, job.Job, a.engine.options.run.KeptBefore[job.Job])
	if found != nil || compiled == nil || job.Known == 0 && (job.Items == 0 || !continues) {
		return found
	}
	return evidence.AuditAgain(compiled, job.Known)
}

// evidenceOf returns the first finding of a job for which f holds, as evidence, or nil.
func evidenceOf(job JobResult, f func(Finding) bool) *Finding {
	i := slices.IndexFunc(job.Findings, f)
	if i < 0 {
		return nil
	}
	found := job.Findings[i]
	found.Weight = rules.WeightEvidence
	return &found
}

// AuditReplaced returns the finding that rows of a job, which are merged by their keys, replace rows with other contents that
// another job has written in the same run, or nil if their number is 0. It is a hint, since the later job may know the items better.
func (a Auditor) AuditReplaced(job, other string, rows int) *Finding {
	compiled := a.engine.byID[job]
	if compiled == nil {
		return nil
	}
	facts := rules.ListFacts{KeyFacts: rules.KeyFacts{Ambiguous: rows, OtherJob: other, KeyPaths: strings.Join(compiled.Spec().Key, ", ")}}
	return evidence.AuditJob(compiled, trace.FindingAmbiguous, facts)
}

// AuditContract returns the finding of the audit about data of a job that differ from the contract in
// a file, or nil. The drift describes the differences. The finding is evidence if the contract is
// frozen.
func (a Auditor) AuditContract(job, file, drift string, frozen bool) *Finding {
	compiled := a.engine.byID[job]
	if compiled == nil {
		return nil
	}
	facts := rules.ListFacts{FileFacts: rules.FileFacts{File: file, Drift: a.engine.Redactor().Text(drift), Frozen: frozen}}
	return evidence.AuditJob(compiled, trace.FindingContract, facts)
}
