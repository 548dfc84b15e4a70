package spool

import (
	"os"
	"syscall"
)

// canMap reports whether files can be mapped and parts of a mapping released.
const canMap = true

// mapFile maps the first size bytes of a file.
func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmap(view []byte) error {
	if view == nil {
		return nil
	}
	return syscall.Munmap(view)
}

// release drops part of a mapping from memory. It keeps changes, since the mapping is shared with
// the file.
func release(view []byte, from, to int) {
	page := os.Getpagesize()
	from, to = from/page*page, to/page*page
	if from < to {
		_ = syscall.Madvise(view[from:to], syscall.MADV_DONTNEED) // advice, which the kernel may ignore
	}
}
