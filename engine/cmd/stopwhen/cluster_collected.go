package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/output"
)

// A collectedRun is a run on many machines whose pages a command collects.
type collectedRun struct {
	run      string                                      // ID of the run
	natsArgs string                                      // flags with which the next command reaches the same server
	parts    map[string]string                           // parts of the fingerprint that identify the run and how it is collected
	released bool                                        // whether pages of the run are no longer on the server
	check    func(context.Context, *engine.Engine) error // reports an error unless the pages are available
	pages    pageSource
}

// fingerprint returns the parts of a state's fingerprint that identify the run and the way in which
// it is collected.
func (c *collectCommand) fingerprint(run *cluster.Run) map[string]string {
	order := "stored"
	if c.sorted {
		order = "sorted"
	}
	return map[string]string{
		checkpoint.RunPart:    fmt.Sprintf("%s (submission %s)", run.ID(), run.Token()),
		checkpoint.OrderPart:  order,
		checkpoint.FormatPart: c.itemFormat + " " + c.csvNested,
	}
}

// checkSource checks that the pages are available before any file is created. A finished
// collection is not checked.
func (x *extraction) checkSource(l *loaded, s *runState) error {
	if l.from == nil || s.store.Repeats(x.outputPaths(l)) {
		return nil
	}
	ctx, stop := x.catchSignals()
	defer stop()
	return signalError(ctx, l.from.check(ctx, l.With(engine.WithResume(s.store.Jobs()))))
}

// itemPaths returns the files that the items are written to.
func (x *extraction) itemPaths(l *loaded) []string {
	if !x.writesFiles() {
		return nil
	}
	var paths []string
	for _, f := range output.Destinations(l.Engine, x.out, x.items.Format) {
		paths = append(paths, f.Path)
	}
	return slices.DeleteFunc(paths, files.IsStream)
}

// outputPaths returns the files that the pages are written to.
func (x *extraction) outputPaths(l *loaded) []string {
	paths := x.itemPaths(l)
	if path := x.trace; path != "" && path != "-" && !files.IsStream(path) {
		paths = append(paths, filepath.Clean(path))
	}
	return paths
}

// collected reports whether the state says that the run has been collected into the same
// outputs, so that there is nothing to do. A run that has been collected into other outputs, or
// in another order or format, is collected again, but its rows are not added to a file that
// already has them.
func (x *extraction) collected(l *loaded, s *runState) (bool, error) {
	earlier, follows := s.store.Follows()
	switch {
	case l.from == nil || !follows:
		return false, nil
	case s.store.Repeats(x.outputPaths(l)):
		x.logCollected(l, s, earlier)
		return true, nil
	case x.appendRows:
		if err := x.requireOthers(l, earlier); err != nil {
			return false, err
		}
	}
	s.log.Info(fmt.Sprintf("%s: run %s has been collected with other options; it is collected again, from the beginning", s.path, l.from.run),
		"event", "resume", "complete", false)
	return false, nil
}

// logCollected logs that there is nothing to do, and the files that no longer exist.
func (x *extraction) logCollected(l *loaded, s *runState, earlier []string) {
	restart, rewrite := "--restart starts over", "--restart writes it again"
	if l.from.released {
		restart = "its pages are no longer on the server"
		rewrite = "to obtain its rows again, submit the configuration as a new run"
	}
	s.log.Info(fmt.Sprintf("%s: run %s has been collected; nothing is written (%s)", s.path, l.from.run, restart),
		"event", "resume", "complete", true)
	for _, path := range earlier {
		if !files.Exists(path) {
			s.log.Warn(fmt.Sprintf("%s, which that collection wrote, no longer exists (%s)", path, rewrite),
				"event", "output_missing", "file", path)
		}
	}
	x.logUnwritten(l, s.log)
}

// logUnwritten names the outputs that a state does not cover: the result, and a trace that is not
// a file. Only a collection writes them.
func (x *extraction) logUnwritten(l *loaded, log *slog.Logger) {
	fix := "--restart collects the run again"
	if l.from.released {
		fix = "the pages of the run are no longer on the server; stopwhen status " + l.from.run + l.from.natsArgs + " sums it up"
	}
	for _, f := range []struct{ flag, path string }{{"--result", x.result}, {"--trace", x.trace}} {
		switch file := f.path != "-" && !files.IsStream(f.path); {
		case f.path == "" || file && f.flag == "--trace":
		case file && files.Exists(f.path):
			log.Info(fmt.Sprintf("%s: %s remains as it is, since nothing is collected (%s)", f.flag, f.path, fix),
				"event", "output_unchanged", "file", f.path)
		default:
			log.Warn(fmt.Sprintf("%s: nothing is written to %s, since the run has been collected (%s)", f.flag, displayName(f.path), fix),
				"event", "output_missing", "file", f.path)
		}
	}
}

// displayName returns how messages name a file, or standard output.
func displayName(path string) string {
	if path == "-" {
		return "standard output"
	}
	return path
}

// requireOthers refuses to add the rows of a run to a file that already has them.
func (x *extraction) requireOthers(l *loaded, earlier []string) error {
	for _, file := range x.itemPaths(l) {
		same := func(path string) bool { return absolute(path) == absolute(file) }
		if slices.ContainsFunc(earlier, same) {
			return &usageError{fmt.Sprintf("--append: run %s has been collected into %s, which would have its rows twice; "+
				"without --append, the file is replaced", l.from.run, file)}
		}
	}
	return nil
}

// absolute returns the absolute path of a file, or the path itself if that is not known.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// checkKept checks that the file of --kept has the values with which the run began, because the
// values for the next run will replace them.
func (x *extraction) checkKept(l *loaded, s *runState) error {
	continues := slices.IndexFunc(l.Jobs(), func(job string) bool { return len(l.kept[job]) > 0 })
	switch {
	case x.kept == "" && continues >= 0 && x.writesFiles() && !x.appendRows && !x.merge:
		return &usageError{fmt.Sprintf("run %s continues from kept values (job %s), so its rows are added to those of the runs before: "+
			"name the file of stopwhen submit --kept with --kept, or use --append or --merge", l.from.run, l.Jobs()[continues])}
	case x.kept == "", s.store.Resumed():
		return nil
	}
	if _, err := checkpoint.CompletePublication(x.keptPath); err != nil {
		return err
	}
	found, err := checkpoint.ReadKept(x.kept, l.Fingerprint())
	if err != nil {
		return err
	}
	for _, job := range l.Jobs() {
		if !sameJSON(found.Values[job], l.kept[job]) {
			return &usageError{fmt.Sprintf("--kept: the values of job %s in %s are not those that run %s began with, so they would be lost, "+
				"or rows would be there twice; name the file that stopwhen submit --kept had", job, x.kept, l.from.run)}
		}
	}
	return nil
}

// sameJSON reports whether two sets of values are the same JSON.
func sameJSON(a, b map[string]any) bool {
	if len(a)+len(b) == 0 {
		return true
	}
	first, errA := json.Marshal(a)
	second, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}
