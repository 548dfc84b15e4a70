package compile

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// An Analysis answers questions about a job from its rules alone, without a response. The loop asks which pages may be
// requested ahead, the audit what a sign of a missing item is worth, and explain everything. It never changes, and may be
// used by many goroutines at once.
type Analysis struct{ job *Job }

// Analysis returns the analysis of the job. A question is answered each time that it is asked, except for those that the loop asks
// on each page, which compilation answers: see findEnds and findPaging.
func (j *Job) Analysis() Analysis { return Analysis{j} }

// Prover returns a prover of facts about the expressions of the job.
func (a Analysis) Prover() language.Prover { return language.Prover{Set: a.job.Ruleset} }

// Reads reports whether an expression of the job, messages aside, reads a field
// of the context or something in it: "prev" for prev.body.next.
func (a Analysis) Reads(root string) bool {
	return a.job.reads(func(r language.Read) bool { return r.Is(root) || r.Past == root })
}

// NextReads reports whether the next request depends on a field of the context, such
// as items.
func (a Analysis) NextReads(root string) bool {
	met := func(r language.Read) bool { return r.Is(root) }
	return anyReads(a.job.Next, met) || anyReads(a.job.NextParts, met)
}

// RequestsByPosition reports whether the requests name positions in the list: they differ, and read nothing
// of the responses.
func (a Analysis) RequestsByPosition() bool { return a.job.byPosition }

// DerivesPaging reports whether the variables of the state or the parts of requests may have parts of secrets.
func (a Analysis) DerivesPaging() bool { return a.job.derivesPaging }

// findPaging determines the results of [Analysis.RequestsByPosition] and [Analysis.DerivesPaging], of a job whose parents are known.
func (j *Job) findPaging() {
	ofResponse := []string{rules.ContextBody, rules.ContextItems, rules.ContextHeader, rules.ContextLink}
	j.byPosition = len(j.Next) > 0 && !slices.ContainsFunc(ofResponse, j.Analysis().NextReads)
	j.derivesPaging = j.Analysis().MayDerive(slices.Concat(j.Init, j.Next, j.FirstParts, j.NextParts)...)
}

// EndsByCountAlone reports whether the requests depend on no response and begin at the first item, so that only numbers of items
// end the list.
func (a Analysis) EndsByCountAlone() bool {
	computed := func(e *language.Expression) bool { return len(e.Reads) > 0 } // the list may begin in its middle
	return !a.job.Paged() || a.RequestsByPosition() && !slices.ContainsFunc(a.job.Init, computed)
}
