package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// carryOver computes the values for the next run when the list is complete.
func (r *listRun) carryOver(page *Page) error {
	if r.state.Result.Outcome != rules.Complete {
		return nil
	}
	values, lacking, err := r.job.KeptValues(&r.workspace.machine, r.pageContext(), r.state.KeptSoFar.Value, page.Page)
	if err != nil {
		return r.pageError(failure.Response, err)
	}
	if r.hadItems() && (len(r.job.For) == 0 || r.job.KeepFor != nil) { // otherwise, another partition may have a value
		r.keptStays = r.job.Analysis().Repeats(r.pageContext(), values, lacking)
	}
	if len(r.job.Keeps) > 0 && len(r.job.For) > 0 && r.job.KeepFor == nil {
		r.watcher.CountKept(lacking, r.hadItems())
	}
	if r.keptStays == "" {
		r.warnOfNil(lacking)
	}
	for _, e := range lacking {
		if _, known := values[e.Rule.Target]; !known && r.hadItems() { // the next run must know that the list had items
			values[e.Rule.Target] = nil
		}
	}
	if values != nil {
		own, _ := saved.NewConcealer(r.Secrets, r.Redactor, nil).ConcealValue(values).(map[string]any)
		r.state.Result.Kept = compile.NestKept(own, r.concealedKey(r.keepKey))
	}
	return nil
}

// keepSoFar returns the values for the next run that are about the items of all pages, up to this page.
func (r *listRun) keepSoFar() (map[string]any, error) {
	values, err := r.job.KeptSoFar(&r.workspace.machine, r.pageContext(), r.state.KeptSoFar.Value)
	if err == nil {
		values, err = saved.RoundTripAll(rules.ContextKept, values)
	}
	if err != nil {
		return nil, r.pageError(failure.Response, err)
	}
	return values, nil
}

// hadItems reports whether the list had items, which the filter may have left out.
func (r *listRun) hadItems() bool { return r.obtained() > 0 || r.pageContext().Count > 0 }

// NothingKept says what follows from a value for the next run that is nil, and was nil in the run before.
const NothingKept = "it is not saved, so the next run starts without it, as this one did"

// warnOfNil warns of values for the next run that are nil. A value about items may be nil if the list
// has no items.
func (r *listRun) warnOfNil(lacking []*language.Expression) {
	for _, e := range lacking {
		if len(r.job.For) > 0 { // the other partitions may have it: package partition warns if none has
			return
		}
		if compile.AccumulatesItems(e) && !r.hadItems() {
			continue
		}
		consequence := NothingKept
		if r.keptBefore[e.Rule.Target] != nil {
			consequence = "the previous value is kept, and the next run has it again"
		}
		r.warn("nil "+e.Rule.ID, fmt.Sprintf("%s is nil or empty after the last page: %s", e.Rule.ID, consequence))
	}
}

// Concealer returns a concealer that can also reveal the secrets that the client fetches.
func (l *Loop) Concealer(ctx context.Context) *saved.Concealer {
	return saved.NewConcealer(l.Secrets, l.redactor(), func(name string) (string, bool, error) { return l.Client.Secret(ctx, name) })
}

// KeepKey is [compile.Job.KeepKey]. It hides the parts of secrets within the key.
func (l *Loop) KeepKey(m *language.Machine, job *compile.Job, partition *rules.Context) (string, error) {
	key, err := job.KeepKey(m, partition)
	if err == nil && job.Analysis().MayDerive(job.KeepFor) {
		l.redactor().HideFragments(key)
	}
	return key, err
}

// concealedKey returns the key under which values are kept: a key with a secret is replaced by its hash.
func (l *Loop) concealedKey(key string) string {
	if l.redactor().Contains(key) {
		return hashOf(key)
	}
	return key
}

func hashOf(key string) string {
	return "sha256:" + value.SHA256(key)
}

// selectKept returns the values that a job kept in the previous run for a key, which may have been a secret in that
// run and not in this one, or the reverse.
func (l *Loop) selectKept(job *compile.Job, key string) map[string]any {
	kept := compile.SelectKept(l.KeptBefore[job.ID()], l.concealedKey(key))
	if kept == nil && key != "" {
		if kept = compile.SelectKept(l.KeptBefore[job.ID()], key); kept == nil {
			kept = compile.SelectKept(l.KeptBefore[job.ID()], hashOf(key))
		}
	}
	return kept
}

// RevealKept returns the values that a job kept in the previous run for a key of [compile.Job.KeepKey], with
// the present secrets. A value that contains a secret that has changed is refused.
func (l *Loop) RevealKept(ctx context.Context, job *compile.Job, key string) (map[string]any, error) {
	kept := l.selectKept(job, key)
	if kept == nil {
		return nil, nil
	}
	concealer := l.Concealer(ctx)
	revealed, err := concealer.RevealValue(kept)
	if err == nil {
		revealed, err = value.DecodedAll(revealed)
	}
	if err != nil {
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			if _, wrong := concealer.RevealValue(kept[name]); wrong != nil {
				err = fmt.Errorf("%s: %w", name, wrong)
				break
			}
		}
		return nil, &failure.Error{Class: failure.State, Job: job.ID(), Op: "kept", Err: err,
			Message: "the values of the previous run cannot be used: " + err.Error(), Hint: "start from the beginning, without them"}
	}
	values, _ := revealed.(map[string]any)
	return values, nil
}
