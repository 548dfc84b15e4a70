package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The files of a hub in its directory, next to those of the server.
const (
	lockName  = "hub.lock"
	probeName = "hub.probe"
)

// probeBytes is the free space that a hub needs to start.
const probeBytes = 1 << 20

// prepareStore creates the directory of a store, locks it for this hub, and checks that
// it can be written.
func prepareStore(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError(dir, err)
	}
	lock := flock.New(filepath.Join(dir, lockName))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, storeError(dir, errors.Join(err, lock.Close()))
	}
	if !locked {
		_ = lock.Close()
		return nil, &failure.Error{
			Class: failure.State, Op: "hub", Message: "the directory " + dir + " is in use by another hub",
			Hint: "end that hub, use it, or start this one with another directory",
		}
	}
	if err := probe(filepath.Join(dir, probeName)); err != nil {
		return nil, storeError(dir, errors.Join(err, lock.Unlock()))
	}
	return lock, nil
}

// probe writes a file, and removes it again.
func probe(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, probeBytes))
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(path))
}

// storeError describes why the directory of a store cannot be used.
func storeError(dir string, err error) error {
	failed := &failure.Error{Class: failure.IO, Op: "hub", Message: "cannot use the directory " + dir + ": " + err.Error(), Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		failed.Message = "the disk of the directory " + dir + " is full"
		failed.Hint = "free some space, or use a directory on another disk"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		failed.Message = dir + " is not a directory"
	case errors.Is(err, fs.ErrPermission):
		failed.Message = "the directory " + dir + " cannot be written: permission denied"
		failed.Hint = "use another directory, or run the hub as the user that owns it"
	}
	return failed
}
