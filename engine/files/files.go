// Package files has what all packages that write files have in common. A file that [Write] or a [Replacement] replaces
// has its old content or the new one, whatever ends the process: replace.go. system.go has the operations of the file
// system that this takes; package checkpoint, which writes the rows of a run, uses them, too, and its tests replace
// them by a disk that loses power. files.go has questions about a path, and the errors of writing.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// IsStream reports whether a path names a pipe, a device or a socket, which cannot be replaced or
// truncated.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// RefuseDirectory returns an error if a directory is in the place of a file that is to be written,
// which would otherwise be found after the run.
func RefuseDirectory(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &failure.Error{
			Class: failure.IO, Op: "output", Message: path + " is a directory, and a file is to be written in its place",
			Hint: "move it away, or write elsewhere",
		}
	}
	return nil
}

// WriteError gives a write error a class, unless it already has one.
func WriteError(err error) error {
	switch {
	case err == nil, errors.As(err, new(*failure.Error)):
		return err
	case errors.Is(err, syscall.EPIPE):
		return &failure.Error{Class: failure.IO, Message: "output pipe closed; the extraction is incomplete", Err: err}
	}
	return &failure.Error{Class: failure.IO, Message: fmt.Sprintf("cannot write: %v", err), Err: err}
}

// ReadAtMost reads a file. It returns an error, without reading to the end, if the file has more
// than limit bytes.
func ReadAtMost(path string, limit int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, err
}

// Exists reports whether there is a file or a directory at a path. It reports true if that is not known.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
