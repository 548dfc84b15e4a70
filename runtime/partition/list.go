package partition

import (
	"context"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// runList runs the list of a partition, from a position unless it is nil. If rules may split the
// window of the partition, the list is tried: its pages wait in a backlog until the list has ended. If a
// rule splits the window, the outcome is [rules.Split], and no page is delivered.
func (t *tree) runList(ctx context.Context, p runtime.Partition, from position, receiver runtime.Receiver) (runtime.ListResult, error) {
	_, _, divisible := divide(p.Job, lastValue(p))
	tried := divisible && from == nil
	loop := t.walk.Loop
	list := runtime.List{
		Partition: p, From: from, Siblings: len(p.Job.For) > 0, MaySplit: tried, SplitTooLate: divisible && !tried, Omits: t.walk.omits(p.Job),
	}
	if t.quota != nil || !tried && len(t.walk.children(p.Job)) > 0 { // the requests of children come before the next page
		loop.Ahead.Large, loop.Ahead.Delivering = 0, false
	}
	if t.quota != nil && !tried {
		list.Enough = func() bool { return t.leftOut && !t.emits(p.Job) }
	}
	if !tried {
		return loop.RunList(ctx, list, receiver)
	}
	b := newBacklog(0)
	defer b.discard()
	result, err := loop.RunList(ctx, list, func(ctx context.Context, d *runtime.Delivery) (bool, error) {
		_, err := b.keep(ctx, outgoingPage{page: d.Page, sent: d.Sent, emits: true, stack: func() (stack, error) {
			checkpoint, err := d.Checkpoint()
			return stack{{progress: progress{position: checkpoint}}}, err
		}})
		return err == nil, err
	})
	if err == nil && result.Outcome == rules.Split {
		return result, nil
	}
	return t.deliverTried(ctx, b, receiver, result, err)
}

// deliverTried delivers the pages of a partition that was tried. If the receiver refuses a page, the result
// is the result after the last delivered page.
func (t *tree) deliverTried(
	ctx context.Context, b *backlog, receiver runtime.Receiver, result runtime.ListResult, err error,
) (runtime.ListResult, error) {
	var delivered position
	for e, ok := b.removeFirst(); ok; e, ok = b.removeFirst() {
		checkpoint := e.kept[0].position
		d := &runtime.Delivery{
			Page: e.page, Checkpoint: func() (position, error) { return checkpoint, nil }, Result: func() runtime.ListResult { return result },
		}
		failed := b.replay(e, func(o outgoingPage) error {
			d.Sent = o.sent
			ok, err := receiver(ctx, d)
			if ok {
				delivered = checkpoint
			}
			return err
		})
		if failed != nil {
			return runtime.ListResult{Result: resultAt(result.Job, delivered)}, failed
		}
	}
	return result, err
}

// lastValue returns the value of the last variable of a partition, or nil if the job has no
// variables.
func lastValue(p runtime.Partition) any {
	if n := len(p.Job.For); n > 0 {
		return p.Binding[p.Job.For[n-1].Name]
	}
	return nil
}

// emits reports whether the items of a job are written.
func (t *tree) emits(job *compile.Job) bool { return job.Spec().Emits && t.walk.selects(job) }

// eachChildItem calls f for each child and each item that the child runs for. i is the index of the
// child, n counts the items of that child from 0, and v holds the values of the item, as the API sent
// it, that the child reads.
func (t *tree) eachChildItem(
	ctx context.Context, p runtime.Partition, items document.Items, missing *evidence.MissingPaths,
	f func(child *compile.Job, i, n int, v any) error,
) error {
	for i, child := range t.walk.children(p.Job) {
		machine, n := language.Machine{Context: ctx}, 0
		for raw := range items.All() {
			v, err := t.paths[child].Decode(raw)
			if err != nil {
				return t.fault(ctx, runtime.Partition{Job: child, Binding: p.Binding}, err)
			}
			missing.Note(child, v)
			met, err := t.isFor(&machine, p, child, v)
			if err == nil && met {
				err = f(child, i, n, v)
				n++
			}
			if err != nil {
				return t.fault(ctx, runtime.Partition{Job: child, Binding: p.Binding}, err)
			}
		}
	}
	return nil
}

// isFor reports whether a child runs for an item of its parent.
func (t *tree) isFor(m *language.Machine, parent runtime.Partition, child *compile.Job, item any) (bool, error) {
	variable := &child.For[0]
	if variable.When == nil {
		return true, nil
	}
	c, err := t.ruleContext(m.Context, parent.With(child, variable.Name, item), variable.When)
	if err != nil {
		return false, err
	}
	return variable.When.EvalBool(m, c)
}

// valuesOf returns the values of a variable of a job, given the values of the variables before it:
// as a list or as windows.
func (t *tree) valuesOf(ctx context.Context, p runtime.Partition, level int) (list []any, w *windowSeries, err error) {
	variable := &p.Job.For[level]
	evaluate := func(e *language.Expression) (any, error) {
		c, err := t.ruleContext(ctx, p, e)
		if err != nil {
			return nil, err
		}
		return e.Value(&language.Machine{Context: ctx}, c, language.MaxValueBytes)
	}
	switch {
	case variable.Values != nil:
		a := p.Job.Analysis()
		if list, err = evaluateValues(variable.Values, a.MayLackValues(variable), evaluate); a.MayDerive(variable.Values) {
			t.walk.Redactor.HideFragments(list)
		}
	case variable.From != nil:
		w, err = evaluateWindows(variable, evaluate)
		if none, ok := errors.AsType[*backwardsError](err); ok && variable.MayRunBackwards() {
			t.walk.Log.Warn(fmt.Sprintf("Job '%s': %s, so there are none", p.Job.ID(), t.walk.Redactor.Shown(none.Error())),
				"event", "warn", "code", "windows_backwards", "job", p.Job.ID())
			w, err = nil, nil
		}
	default:
		list, err = rereadAll(variable.Constants)
	}
	if err != nil {
		err = t.fault(ctx, p, err)
	}
	return list, w, err
}

// evaluateValues evaluates an expression to the list of values of a variable. Nil is an empty list if that is allowed.
func evaluateValues(e *language.Expression, mayBeNil bool, evaluate func(*language.Expression) (any, error)) ([]any, error) {
	v, err := evaluate(e)
	if err != nil {
		return nil, err
	}
	if v == nil && !mayBeNil {
		return nil, &language.RuleError{Rule: e.Rule, Err: errors.New("the list of values is nil; add ?? [] if it may be missing")}
	}
	list, isList := v.([]any)
	if !isList && v != nil {
		return nil, &language.RuleError{Rule: e.Rule, Err: fmt.Errorf("want a list of values, got %s", language.KindOf(v))}
	}
	if list, err = rereadAll(list); err != nil {
		err = &language.RuleError{Rule: e.Rule, Err: err}
	}
	return list, err
}

// rereadAll returns values as a resumed run reads them.
func rereadAll(values []any) ([]any, error) {
	results := make([]any, len(values))
	for i, v := range values {
		var err error
		if results[i], err = saved.Reread(v); err != nil {
			return nil, err
		}
	}
	return results, nil
}
