package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// WriteFile replaces the file at path with data, or creates it with the given mode. After a crash
// or a loss of power the file holds either its old content or data, never a part of either. A file
// with mode 0600 stays private; any other keeps the permissions that it has.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	removeAbandoned(path)
	r, err := Replace(path, mode, 0)
	if err != nil {
		return err
	}
	return r.Commit(data)
}

// removeAbandoned removes the temporary files of a path that nothing locks. Another process may write
// to such a file, but not for an hour.
func removeAbandoned(path string) {
	for _, left := range Leftovers(path) {
		if info, err := os.Lstat(left); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(left)
		}
	}
}

// Probe checks that a file can be created in the directory of path, and removes what a probe that
// was killed an hour ago has left there.
func Probe(path string) error {
	removeAbandoned(path)
	r, err := Replace(path, private, 0)
	if err != nil {
		return err
	}
	return r.Cancel()
}

// private is the mode of files that only their owner can read.
const private os.FileMode = 0o600

// temporarySuffix ends the name of a temporary file. The whole name consists of the name of the file that
// it will replace, a dot, 16 random hexadecimal digits, and this suffix.
const temporarySuffix = ".new"

// temporaryName matches the names of temporary files. In earlier builds, a name had no digits, or the
// number of a process.
var temporaryName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+?)(\.[0-9a-f]{16}|\.[0-9]+)?\.new$`) })

// Leftovers returns the temporary files that [Replace], a [Store] and [Probe] have created for the
// files at the given paths. If nobody is writing to these files, for example because the caller has
// locked them, a process that was killed has left the temporary files.
func Leftovers(paths ...string) []string {
	names := map[string]map[string]bool{} // by directory
	for _, path := range paths {
		dir, name := filepath.Dir(path), filepath.Base(path)
		if names[dir] == nil {
			names[dir] = map[string]bool{}
		}
		names[dir][name] = true
	}
	var all []string
	for dir, wanted := range names {
		entries, _ := os.ReadDir(dir) // without the directory there are no files
		for _, entry := range entries {
			if m := temporaryName().FindStringSubmatch(entry.Name()); m != nil && wanted[m[1]] && !entry.IsDir() {
				all = append(all, filepath.Join(dir, entry.Name()))
			}
		}
	}
	return all
}

// A Replacement is a temporary file that is about to replace a file in the same directory.
type Replacement struct {
	files           fileSystem
	file            file
	temporary, path string
}

// Replace creates a temporary file for the next content of the file at path, with the given mode,
// and room on the disk for a content of the given size in bytes.
func Replace(path string, mode os.FileMode, room int) (*Replacement, error) {
	r, err := newReplacement(system{}, path, mode)
	if err != nil {
		return nil, err
	}
	if room > 0 {
		_, err = r.file.WriteAt(bytes.Repeat([]byte{' '}, room), 0)
		if err = errors.Join(err, r.file.Sync()); err != nil {
			return nil, errors.Join(err, r.Cancel())
		}
	}
	return r, nil
}

func newReplacement(files fileSystem, path string, mode os.FileMode) (*Replacement, error) {
	temporary := files.Temporary(path)
	f, err := files.Create(temporary, mode)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Path = path // the random name says nothing
	}
	if err != nil {
		return nil, err
	}
	if mode != private {
		files.CopyMode(path, temporary)
	}
	return &Replacement{files, f, temporary, path}, nil
}

// Commit writes data to the temporary file and renames it to the path. If that fails, the file at
// path is unchanged.
func (r *Replacement) Commit(data []byte) error {
	_, err := r.file.WriteAt(data, 0)
	if err == nil {
		err = r.file.Truncate(int64(len(data)))
	}
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		return errors.Join(err, r.Cancel())
	}
	f := r.file
	r.file = nil
	if err = f.Close(); err == nil {
		err = r.files.Rename(r.temporary, r.path)
	}
	if err != nil {
		return errors.Join(err, r.files.Remove(r.temporary))
	}
	return r.files.SyncDir(r.path)
}

// Cancel removes the temporary file. It does nothing after [Replacement.Commit].
func (r *Replacement) Cancel() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return errors.Join(err, r.files.Remove(r.temporary))
}

// replaceFile replaces the private file at path with data.
func replaceFile(files fileSystem, path string, data []byte) error {
	r, err := newReplacement(files, path, private)
	if err != nil {
		return err
	}
	return r.Commit(data)
}

// replaced removes the file at path, if there is one, and creates it.
func replaced(files fileSystem, path string, mode os.FileMode) (file, error) {
	if err := files.Remove(path); err != nil {
		return nil, err
	}
	return files.Create(path, mode)
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
	// Create creates a file with the mode. It refuses an existing file, and a symbolic link.
	Create(path string, mode os.FileMode) (file, error)
	// Temporary returns a new name for a file that will replace the file at path.
	Temporary(path string) string
	// Rename renames a file, replacing the file at the new path.
	Rename(from, to string) error
	// CopyMode copies the permissions of a file, if it exists, to another file.
	CopyMode(from, to string)
	// Remove removes a file. It does nothing if the file does not exist.
	Remove(path string) error
	// Abs returns the absolute form of a path.
	Abs(path string) (string, error)
	// SyncDir makes the entries of the directory of path durable, including new and renamed files.
	SyncDir(path string) error
}

// file is an open file. Write writes at its end.
type file interface {
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

func (system) Create(path string, mode os.FileMode) (file, error) {
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

func (system) Abs(path string) (string, error) { return filepath.Abs(path) }

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
