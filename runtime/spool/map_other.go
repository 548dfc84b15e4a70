//go:build !linux

package spool

import (
	"errors"
	"os"
)

// canMap reports whether files can be mapped and parts of a mapping released. Otherwise every body
// is in memory.
const canMap = false

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

func release([]byte, int, int) {}
