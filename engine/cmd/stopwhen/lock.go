package main

import (
	"errors"
	"os"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// lockSuffix ends the name of the file that a run locks as long as it writes to another
// one.
const lockSuffix = ".lock"

// maxLocks bounds the files that a run locks. Two runs of one configuration have their
// first files in common, and open files are few.
const maxLocks = 16

// lockRows locks a file of items for this run. It is removed again when the run ends; one
// that a killed run has left is not locked, and is used again.
func (o *output) lockRows(path string) error {
	if o.locks >= maxLocks {
		return nil
	}
	lock, err := lockFile(path, path, "--out")
	if err != nil {
		return err
	}
	o.locks++
	o.close = append(o.close, func() error {
		_ = os.Remove(lock.Path()) // some systems cannot remove an open file
		return lock.Unlock()
	})
	return nil
}

// lockFile locks a file, which messages name, for this run. The flags are those that name
// another one.
func lockFile(path, name, flags string) (*flock.Flock, error) {
	lock, err := tryLock(path + lockSuffix)
	if err != nil {
		return nil, outputError(err)
	}
	if lock == nil {
		return nil, &engine.Error{
			Class: failure.State, Op: "lock", Message: name + " is in use by another run",
			Hint: "wait until that run ends, or use another " + flags,
		}
	}
	return lock, nil
}

// tryLock locks a file, which it creates if there is none. It returns nil if another
// process holds the lock.
func tryLock(path string) (*flock.Flock, error) {
	for {
		lock := flock.New(path)
		locked, err := lock.TryLock()
		if err != nil || !locked {
			return nil, errors.Join(err, lock.Close())
		}
		own, err := lock.Stat()
		if err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		if named, err := os.Stat(path); err == nil && os.SameFile(own, named) {
			return lock, nil
		}
		if err := lock.Close(); err != nil { // the run that held it has just removed it
			return nil, err
		}
	}
}
