package main

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// checkStdout checks that standard output is open for writing. A program that is
// started with a closed standard output finds /dev/null there, open for reading and
// writing, because the runtime of Go opens it; a shell that redirects to /dev/null opens
// it for writing only. Some programs that start others, such as Python with DEVNULL, open
// it like the runtime, so the two cannot be told apart. So only a run that moves a
// position on is refused, since the next one would not request the items again.
func (a *app) checkStdout(use string, moves bool) error {
	file, ok := a.stdout.(*os.File)
	if !ok {
		return nil
	}
	flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return outputError(err)
	}
	closed := &engine.Error{
		Class: failure.IO, Message: "standard output is closed, or it is /dev/null, opened for reading and writing",
		Hint: "write the items to a directory with --out DIR, or discard them with --out /dev/null",
	}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		closed.Message = "standard output is open for reading only"
		return closed
	case unix.O_RDWR:
		if !isNullFile(file) || isShared(file) {
			return nil
		}
		if moves {
			return closed
		}
		a.discarded = use
	}
	return nil
}

// isNullFile reports whether a file is the null device.
func isNullFile(file *os.File) bool {
	own, _ := file.Stat()
	null, _ := os.Stat(os.DevNull)
	return os.SameFile(own, null)
}

// isShared reports whether standard input or standard error is the same open file, as
// for a service, whose parent has opened it.
func isShared(file *os.File) bool {
	const kcmpFile = 0
	pid := uintptr(os.Getpid())
	for _, other := range []uintptr{0, 2} {
		order, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, file.Fd(), other, 0)
		if errno == 0 && order == 0 {
			return true
		}
	}
	return false
}
