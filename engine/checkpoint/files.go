package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile replaces the file at path with data. After a crash or a loss of
// power the file holds either its old content or data, never a part of either.
// Only its owner can read it.
func WriteFile(path string, data []byte) error {
	// Nothing locks the path, so every process writes its own temporary file.
	temporary := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	defer os.Remove(temporary) // fails harmlessly after the rename
	return replaceFile(system{}, temporary, path, data)
}

// private is the mode of files that only their owner can read.
const private os.FileMode = 0o600

// replaceFile writes data to a temporary file in the directory of path and
// renames it to path.
func replaceFile(files fileSystem, temporary, path string, data []byte) error {
	f, err := files.Open(temporary, private)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := files.Rename(temporary, path); err != nil {
		return err
	}
	return files.SyncDir(path)
}

// maxStateBytes is the maximum size of a state file.
const maxStateBytes = 256 << 20

// errTooLarge is the error for a file that is too large for a state.
var errTooLarge = fmt.Errorf("it has more than %d bytes", maxStateBytes)

// readFile returns the content of a state file.
func readFile(files fileSystem, path string) ([]byte, error) {
	f, err := files.Open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxStateBytes {
		return nil, errTooLarge
	}
	return io.ReadAll(io.NewSectionReader(f, 0, size))
}

// fileSystem is the part of a file system that a [Store] uses. Tests replace it with a file system
// that loses unsynced data.
type fileSystem interface {
	// Open opens a file for reading and for writing at its end. If the file does
	// not exist, Open creates it with the mode or, if the mode is 0, returns
	// [os.ErrNotExist].
	Open(path string, mode os.FileMode) (file, error)
	// Rename renames a file, replacing the file at the new path.
	Rename(from, to string) error
	// CopyMode copies the permissions of a file, if it exists, to another file.
	CopyMode(from, to string)
	// Remove removes a file. It does nothing if the file does not exist.
	Remove(path string) error
	// SyncDir makes the entries of the directory of path durable, including new and renamed files.
	SyncDir(path string) error
}

// file is an open file that is written only at its end.
type file interface {
	io.Writer
	io.ReaderAt // returns io.EOF at the end
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error // the next write follows the new end
	Sync() error
}

// system is the file system of the operating system.
type system struct{}

func (system) Open(path string, mode os.FileMode) (file, error) {
	flags := os.O_RDWR
	if mode != 0 {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, mode)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return systemFile{f}, nil
}

func (system) Rename(from, to string) error { return os.Rename(from, to) }

func (system) CopyMode(from, to string) {
	if model, err := os.Stat(from); err == nil {
		_ = os.Chmod(to, model.Mode().Perm()) // some file systems have no permissions
	}
}

func (system) Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (system) SyncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(dir.Sync()), dir.Close())
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

func (f systemFile) Sync() error { return ignoreUnsupported(f.File.Sync()) }

// ignoreUnsupported drops the error of a file system that cannot sync. If such a
// file system loses committed data in a power failure, the next run notices and
// refuses to resume.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
