package engine

import (
	"errors"

	"github.com/stopwhen/stopwhen/runtime"
)

// ExitStatuses is the exit status that the command gives a run that ended with
// an [*Error] of a class.
var ExitStatuses = map[runtime.Class]int{
	runtime.ClassInternal:  1,
	runtime.ClassConfig:    2,
	runtime.ClassAPI:       3,
	runtime.ClassTransient: 4,
	runtime.ClassResponse:  5,
	runtime.ClassPolicy:    6,
	runtime.ClassIO:        7,
	runtime.ClassState:     8,
	runtime.ClassCancelled: 130,
}

// exitStatus is the status for how a run ended.
func exitStatus(err error) int {
	var run *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &run):
		return ExitStatuses[run.Class]
	}
	return ExitStatuses[runtime.ClassInternal]
}
