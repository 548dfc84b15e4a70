package checkpoint

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Files is the part of a file system that a [Store] works on. Tests put one in
// its place that loses what was not synced.
type Files interface {
	// Open opens a file for reading and writing, and makes an empty one where there
	// is none and create says so. The error is [os.ErrNotExist] else.
	Open(path string, create bool) (File, error)
	// Rename puts a file in the place of another.
	Rename(from, to string) error
	// SyncFolder makes what was renamed or made in the folder of a file last.
	SyncFolder(path string) error
}

// File is an open file, written at its end.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error // and go on writing there
	Sync() error
}

// System is the machine's file system.
var System Files = system{}

type system struct{}

func (system) Open(path string, create bool) (File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return systemFile{f}, nil
}

func (system) Rename(from, to string) error { return os.Rename(from, to) }

func (system) SyncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(unsupported(folder.Sync()), folder.Close())
}

type systemFile struct{ *os.File }

func (f systemFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f systemFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	_, err := f.Seek(size, io.SeekStart)
	return err
}

func (f systemFile) Sync() error { return unsupported(f.File.Sync()) }

// unsupported passes over file systems that cannot sync; what they lose with the
// power is found by the next run, which refuses.
func unsupported(err error) error {
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
