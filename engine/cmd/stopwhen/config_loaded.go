package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/fixtures"
)

// loaded is a compiled configuration and, with --fixture, the API that answers it.
type loaded struct {
	*engine.Engine
	name    string
	text    []byte
	server  *fixtures.Server   // nil without --fixture
	kept    keptValues         // values from earlier runs
	forgets bool               // whether the values of keep are not saved
	from    *collectedRun      // the run on many machines whose pages are collected; nil if the engine runs here
	skipped func(*engine.Page) // receives the pages on which skipped partitions failed
}

// A pageSource passes pages to a sink, like [engine.Engine.Run].
type pageSource func(ctx context.Context, e *engine.Engine, sink engine.SinkFunc) (*engine.Result, error)

// pageSource returns the source of the pages: the engine, or a run on many machines.
func (l *loaded) pageSource() pageSource {
	if l.from != nil {
		return l.from.pages
	}
	return func(ctx context.Context, e *engine.Engine, sink engine.SinkFunc) (*engine.Result, error) {
		return e.Run(ctx, sink)
	}
}

// readKept reads the values that an earlier run kept: see [checkpoint.ReadKept]. It does nothing if the
// path is empty.
func (l *loaded) readKept(path string) error {
	if path == "" {
		return nil
	}
	kept, err := checkpoint.ReadKept(path, nil)
	l.kept = kept.Values
	return err
}

func (l *loaded) Close() {
	if l.server != nil {
		l.server.Close()
	}
}

// stdinName is the name of a configuration from standard input in messages.
const stdinName = "stdin"

// keptValues are the values under `keep` that a run saves for the next run, by job and name.
type keptValues = map[string]map[string]any

// warnForgotten warns of jobs whose values for the next run are not saved.
func warnForgotten(logger *slog.Logger, result *engine.Result) {
	for _, job := range result.Jobs {
		if slices.ContainsFunc(slices.Collect(maps.Values(job.Kept)), func(v any) bool { return v != nil }) {
			logger.Warn(fmt.Sprintf("Job '%s': the values of keep are not saved, so the next run starts without them; use --kept FILE", job.Job),
				"event", "warn", "code", "kept_not_saved", "job", job.Job)
		}
	}
}

// continueFrom returns the values from which a run continues, or nil to use the file of --kept.
func (x *extraction) continueFrom(l *loaded, s *runState) (keptValues, error) {
	values := keptValues{}
	maps.Copy(values, l.kept)
	switch {
	case l.from != nil:
		return values, x.checkKept(l, s)
	case x.kept != "":
		return nil, nil
	}
	kept, err := s.store.Kept()
	maps.Copy(values, kept.Values)
	return values, err
}
