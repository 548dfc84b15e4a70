package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Write replaces the file at path with data, or creates it with the given mode. After a crash
// or a loss of power the file holds either its old content or data, never a part of either. A file
// with mode 0600 stays private; any other keeps the permissions that it has.
func Write(path string, data []byte, mode os.FileMode) error {
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
	r, err := Replace(path, Private, 0)
	if err != nil {
		return err
	}
	return r.Cancel()
}

// Private is the mode of files that only their owner can read.
const Private os.FileMode = 0o600

// temporarySuffix ends the name of a temporary file. The whole name consists of the name of the file that
// it will replace, a dot, 16 random hexadecimal digits, and this suffix.
const temporarySuffix = ".new"

// temporaryName matches the names of temporary files.
var temporaryName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)\.[0-9a-f]{16}\.new$`) })

// Leftovers returns the temporary files that this package has created for the files at the given paths. If nobody is
// writing to these files, for example because the caller has locked them, a process that was killed has left the
// temporary files.
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

// RemoveLeftovers removes the [Leftovers] of files that the caller has locked. It ignores errors, as the next process tries again.
func RemoveLeftovers(paths ...string) {
	for _, left := range Leftovers(paths...) {
		_ = os.Remove(left)
	}
}

// A Replacement is a temporary file that is about to replace a file in the same directory.
type Replacement struct {
	system          System
	file            File
	temporary, path string
}

// Replace creates a temporary file for the next content of the file at path, with the given mode,
// and room on the disk for a content of the given size in bytes.
func Replace(path string, mode os.FileMode, room int) (*Replacement, error) {
	r, err := ReplaceOn(OS(), path, mode)
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

// ReplaceOn is [Replace] on a file system, without room.
func ReplaceOn(system System, path string, mode os.FileMode) (*Replacement, error) {
	temporary := system.Temporary(path)
	f, err := system.Create(temporary, mode)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Path = path // the random name says nothing
	}
	if err != nil {
		return nil, err
	}
	if mode != Private {
		system.CopyMode(path, temporary)
	}
	return &Replacement{system, f, temporary, path}, nil
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
		err = r.system.Rename(r.temporary, r.path)
	}
	if err != nil {
		return errors.Join(err, r.system.Remove(r.temporary))
	}
	return r.system.SyncDir(r.path)
}

// Cancel removes the temporary file. It does nothing after [Replacement.Commit].
func (r *Replacement) Cancel() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return errors.Join(err, r.system.Remove(r.temporary))
}
