package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A runState holds the outputs of a run and, with --state, the file from which it resumes.
type runState struct {
	store *checkpoint.Store
	path  string // value of --state; may be empty
	log   *slog.Logger
	locks []*flock.Flock
}

// openState locks and reads the state, if there is one.
func (x *extraction) openState(l *loaded, logger *slog.Logger) (*runState, error) {
	s := &runState{path: x.state, log: logger}
	if s.path == "" {
		s.store = checkpoint.Stateless()
		return s, nil
	}
	file, err := resolve(s.path) // so that every name of the file has one lock
	if err != nil {
		return nil, files.WriteError(err)
	}
	if err := s.lock(file, "state "+s.path, "--state and --out"); err != nil {
		return nil, err
	}
	open := checkpoint.Open
	if x.restart {
		open = checkpoint.Restart
	}
	parts := l.Fingerprint()
	if l.from != nil {
		maps.Copy(parts, l.from.parts)
	}
	if s.store, err = open(file, version(), parts); err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

// resolve returns the file that a path names, without symbolic links. The file need
// not exist.
func resolve(path string) (string, error) {
	file, err := filepath.EvalSymlinks(path)
	if err == nil {
		return file, nil
	}
	if target, ok := linkTarget(path); ok && errors.Is(err, fs.ErrNotExist) {
		return resolve(target)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// linked returns the file that a path names if it is a symbolic link, which a rename would replace,
// and otherwise the path.
func linked(path string) (string, error) {
	if _, ok := linkTarget(path); !ok || files.IsStream(path) {
		return path, nil
	}
	file, err := resolve(path)
	return file, files.WriteError(err)
}

// logResume logs how the run continues.
func (s *runState) logResume(l *loaded) {
	switch {
	case s.path == "":
	case !s.store.Resumed():
		s.logChanges(l)
	case l.Ended():
		s.log.Info(fmt.Sprintf("%s: the extraction has ended; no request is made (--restart starts over)", s.path),
			"event", "resume", "complete", true)
	default:
		message := "resuming from " + s.path
		if s.store.DiscardedBytes() > 0 {
			message += fmt.Sprintf("; discarded %s written after the last checkpoint", wording.Size(int(s.store.DiscardedBytes())))
		}
		s.log.Info(message, "event", "resume", "truncated_bytes", s.store.DiscardedBytes())
	}
}

// logChanges logs how the configuration of an increment differs from the configuration of the previous run.
func (s *runState) logChanges(l *loaded) {
	if changed := s.store.Changed(); changed != "" && l.from == nil {
		s.log.Info(fmt.Sprintf("%s: the next increment begins with another configuration: %s changed", s.path, changed),
			"event", "increment", "changed", changed)
	}
	jobs := l.AllJobs()
	kept, _ := s.store.Kept()
	for _, job := range slices.Sorted(maps.Keys(kept.Values)) {
		if !slices.Contains(jobs, job) {
			s.log.Warn(fmt.Sprintf("%s has values that job %s kept, which the configuration does not have; they remain until it is there again",
				s.path, job), "event", "increment", "job", job)
		}
	}
}

// Close closes the files and releases the locks.
func (s *runState) Close() {
	_ = s.store.Close()
	s.unlock()
}
