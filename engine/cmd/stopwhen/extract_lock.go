package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// lockSuffix is the additional ending of the file that a run locks while it writes to a file.
const lockSuffix = ".lock"

// maxLocks bounds the files that a run locks. Two runs of one configuration have their
// first files in common, and open files are few. The rows of a file that is not locked are not
// published if another run has replaced them.
const maxLocks = 16

// lockItems creates the directory of the items, and locks its first files for this run.
func (x *extraction) lockItems(l *loaded, s *runState) error {
	if err := os.MkdirAll(x.out, 0o777); err != nil {
		return files.WriteError(err)
	}
	probed := filepath.Join(x.out, ".stopwhen")
	if err := probe(probed); err != nil {
		return err
	}
	n, written := 0, []string{probed}
	for _, f := range output.Destinations(l.Engine, x.out, x.items.Format) {
		if files.IsStream(f.Path) {
			continue
		}
		written = append(written, f.Path+checkpoint.RedoSuffix)
		if n == maxLocks {
			continue
		}
		if err := s.lock(f.Path, f.Path, "--out"); err != nil {
			return err
		}
		n++
	}
	files.RemoveLeftovers(written...)
	return nil
}

// lock locks a file for this run. name and flags are for messages: the name of the file, and the
// flags that choose another one.
func (s *runState) lock(path, name, flags string) error {
	lock, err := tryLock(path + lockSuffix)
	if err != nil {
		return files.WriteError(err)
	}
	if lock == nil {
		return inUse(name, flags)
	}
	s.locks = append(s.locks, lock)
	files.RemoveLeftovers(path)
	return nil
}

// lockKept locks the file of --kept for this run.
func (x *extraction) lockKept(s *runState) error {
	if x.keptPath == "" {
		return nil
	}
	if err := s.lock(x.keptPath, x.kept, "--kept"); err != nil {
		return err
	}
	files.RemoveLeftovers(x.keptPath + checkpoint.RedoSuffix)
	return nil
}

// completeKept completes the publication that a run with the file of --kept has begun, before the values
// are read for a run on other machines.
func completeKept(path string) error {
	if path == "" || !files.Exists(filepath.Dir(path)) {
		return nil
	}
	file, err := resolve(path)
	if err != nil {
		return files.WriteError(err)
	}
	if !files.Exists(file + checkpoint.RedoSuffix) {
		return nil
	}
	lock, err := tryLock(file + lockSuffix)
	if err != nil {
		return files.WriteError(err)
	}
	if lock == nil {
		return inUse(path, "--kept")
	}
	_, err = checkpoint.CompletePublication(file)
	return errors.Join(err, os.Remove(lock.Path()), lock.Unlock())
}

func inUse(name, flags string) error {
	return &engine.Error{
		Class: failure.State, Op: "lock", Message: name + " is in use by another run",
		Hint: "wait until that run ends, or use another " + flags,
	}
}

// unlock releases the locks. It removes the lock files of items, but not the lock file of a state. A lock
// file that a killed run has left is not locked, and is used again.
func (s *runState) unlock() {
	for i, lock := range s.locks {
		if i > 0 || s.path == "" {
			_ = os.Remove(lock.Path()) // some systems cannot remove an open file
		}
		_ = lock.Unlock()
	}
}

// tryLock locks a file, which is created if it does not exist. It returns nil if another process
// holds the lock.
func tryLock(path string) (*flock.Flock, error) {
	for {
		lock := flock.New(path)
		locked, err := lock.TryLock()
		if err != nil || !locked {
			return nil, errors.Join(err, lock.Close())
		}
		info, err := lock.Stat()
		if err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		if named, err := os.Stat(path); err == nil && os.SameFile(info, named) {
			return lock, nil
		}
		if err := lock.Close(); err != nil { // the previous holder has just removed the file
			return nil, err
		}
	}
}
