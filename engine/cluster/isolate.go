package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// suspect runs a task that workers have lost several times without storing a page: it may
// have crashed them. It runs in a process of its own and, if that crashes too, is set aside.
func (a *attempt) suspect(ctx context.Context, lost int) error {
	if a.Isolate == nil {
		if lost <= lostAfter {
			return a.runTask(ctx)
		}
		return a.setAside(ctx, fmt.Sprintf("%d workers have had the task and died, or fell silent, before they stored a page", lost-1))
	}
	text, err := json.Marshal(a.work)
	if err != nil {
		return err
	}
	a.c.log.Warn(fmt.Sprintf("run %s: task %s was lost %d times; it runs in a process of its own", a.work.Run, a.task.ID, lost-1),
		"event", "task_isolated", "run", a.work.Run, "task", a.task.ID)
	for count := 0; ; {
		var output tail
		cmd := a.Isolate(ctx, string(text))
		cmd.Stdout, cmd.Stderr = &output, &output
		failed := cmd.Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		last, err := a.c.store.Last(ctx, a.key)
		switch {
		case err != nil:
			return err
		case last != nil && last.Ends() && last.Sequence != a.work.RetryOf:
			a.stored = true
			return nil
		case !crashed(failed, output.String()):
			return fmt.Errorf("task %s has not ended in a process of its own: %s", a.task.ID, output.String())
		case last != nil && last.Sequence != a.after: // it has stored pages
			if err := a.continueAfter(ctx, last); err != nil {
				return err
			}
			count = 0
		}
		if count++; count >= crashes {
			return a.setAside(ctx, fmt.Sprintf("the task has crashed its process %d times without a new page: %v: %s",
				count, failed, output.String()))
		}
	}
}

// crashed reports whether a process has crashed: a signal has ended it, or the runtime of the
// language. Otherwise it has said what it lacks.
func crashed(err error, output string) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && (exit.ExitCode() < 0 || strings.Contains(output, "panic: ") || strings.Contains(output, "fatal error: "))
}

// setAside stores that the task has failed because it was lost.
func (a *attempt) setAside(ctx context.Context, message string) error {
	err := &engine.Error{Class: failure.Internal, Job: a.task.Job, Op: "task", Message: message}
	return a.end(ctx, a.FailedTask(ctx, a.task, err))
}

// tail keeps the end of what is written to it, on one line.
type tail struct{ text []byte }

const tailBytes = 600

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailBytes {
		t.text = bytes.Clone(t.text[len(t.text)-tailBytes:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	text := t.text[max(0, len(t.text)-tailBytes):]
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "")), " ")
}

// WorkOne runs one task, which [Worker.Isolate] has passed to this process. The process that
// called it keeps the task alive, and removes it from the queue.
func (c *Cluster) WorkOne(ctx context.Context, w Worker, task string) error {
	var work store.Work
	if err := decode([]byte(task), &work); err != nil {
		return &engine.Error{Class: failure.Config, Op: "task", Message: "this is no task: " + err.Error(), Err: err}
	}
	w.Isolate = nil
	p, err := newPool(ctx, c, w)
	if err != nil {
		return err
	}
	defer p.close()
	s, err := p.session(ctx, p.seat("", work.Run, work.Submission))
	if err != nil {
		return err
	}
	defer s.leave()
	return (&attempt{pool: p, session: s, work: &work, isolated: true}).try(ctx)
}
