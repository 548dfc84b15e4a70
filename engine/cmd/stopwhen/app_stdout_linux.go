package main

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/stopwhen/stopwhen/engine/files"
)

// stdoutMayBeClosed reports whether standard output may have been closed when the program was started. It
// returns an error if standard output is not open for writing.
func (a *app) stdoutMayBeClosed() (bool, error) {
	file, ok := a.stdout.(*os.File)
	if !ok {
		return false, nil
	}
	flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false, files.WriteError(err)
	}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		return false, stdoutError("standard output is open for reading only")
	case unix.O_RDWR:
		return isNullFile(file) && !isShared(file), nil
	}
	return false, nil
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
