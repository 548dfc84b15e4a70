package runtime

import (
	"os"
	"syscall"
)

// canMap tells whether files can be mapped, and parts of a mapping let go of.
const canMap = true

func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmap(view []byte) error {
	if view == nil {
		return nil
	}
	return syscall.Munmap(view)
}

// letGo takes a part of a mapping out of memory. What was changed in it is kept:
// the mapping is shared with the file.
func letGo(view []byte, from, to int) {
	page := os.Getpagesize()
	from, to = from/page*page, to/page*page
	if from < to {
		_ = syscall.Madvise(view[from:to], syscall.MADV_DONTNEED) // advice
	}
}
