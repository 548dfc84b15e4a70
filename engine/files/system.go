package files

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// A System is the part of a file system that [Write] and package checkpoint use. Tests replace [OS] with a file system that loses
// unsynced data.
type System interface {
	// Open opens a file for reading and for writing at its end. The error is [os.ErrNotExist] if the file does not exist.
	Open(path string) (File, error)
	// Create creates a file with the mode. It refuses an existing file, and a symbolic link.
	Create(path string, mode os.FileMode) (File, error)
	// Temporary returns a new name for a file that will replace the file at path.
	Temporary(path string) string
	// Rename renames a file, replacing the file at the new path.
	Rename(from, to string) error
	// CopyMode copies the permissions of a file, if it exists, to another file.
	CopyMode(from, to string)
	// Remove removes a file. It does nothing if the file does not exist.
	Remove(path string) error
	// Abs returns the absolute form of a path, without symbolic links in its directory, which must exist.
	Abs(path string) (string, error)
	// SyncDir makes the entries of the directory of path durable, including new and renamed files.
	SyncDir(path string) error
}

// A File is an open file. Write writes at its end.
type File interface {
	io.Writer
	io.WriterAt
	io.ReaderAt // returns io.EOF at the end
	io.Closer
	Size() (int64, error)
	Identity() any             // identifies the file, for Is; nil if that cannot be determined
	Is(identity any) bool      // reports whether it is the file with an identity that is not nil
	Truncate(size int64) error // the next write follows the new end
	Sync() error
}

// OS returns the file system of the operating system.
func OS() System { return system{} }

type system struct{}

func (system) Open(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return systemFile{f}, nil
}

func (system) Create(path string, mode os.FileMode) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

func (system) Temporary(path string) string {
	return fmt.Sprintf("%s.%016x%s", path, rand.Uint64(), temporarySuffix)
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

func (system) Abs(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	return filepath.Join(dir, filepath.Base(abs)), err
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

func (f systemFile) Identity() any {
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}

func (f systemFile) Is(identity any) bool {
	before, known := identity.(os.FileInfo)
	info, err := f.Stat()
	return known && err == nil && os.SameFile(before, info)
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
