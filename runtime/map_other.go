//go:build !linux

package runtime

import (
	"errors"
	"os"
)

// canMap tells whether files can be mapped, and parts of a mapping let go of;
// where they cannot, every response is held in memory.
const canMap = false

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

func letGo([]byte, int, int) {}
