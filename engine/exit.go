package engine

import (
	"errors"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// ExitStatuses is the exit status that the command gives a run that ended with
// an [*Error] of a class.
var ExitStatuses = map[failure.Class]int{
	failure.Internal:  1,
	failure.Config:    2,
	failure.API:       3,
	failure.Transient: 4,
	failure.Response:  5,
	failure.Policy:    6,
	failure.IO:        7,
	failure.State:     8,
	failure.Cancelled: 130,
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
	return ExitStatuses[failure.Internal]
}
