package runtime

import (
	"encoding/json"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// CheckpointVersion is the version of checkpoints as JSON: of lists, and of trees and searches in
// package partition.
const CheckpointVersion = 1

// A Checkpoint is the position of a job, or of one of its lists, as JSON. It is converted from a
// [json.RawMessage] to be read, and is not encoded itself.
type Checkpoint json.RawMessage

// Ended reports whether the checkpoint follows the last page of its job.
func (c Checkpoint) Ended() bool {
	var s struct {
		Version int
		Done    bool
	}
	return json.Unmarshal(c, &s) == nil && s.Version == CheckpointVersion && s.Done
}

// CheckVersion returns an error if the checkpoint is not JSON, or if another version of the program
// wrote it.
func (c Checkpoint) CheckVersion() error {
	var s struct{ Version int }
	err := json.Unmarshal(c, &s)
	if err == nil && s.Version != CheckpointVersion {
		err = fmt.Errorf("it has version %d, this program reads version %d", s.Version, CheckpointVersion)
	}
	return err
}

// CheckList checks the checkpoint of a list of a job. secrets reveals the secrets in it. It reports
// whether the list had ended.
func (c Checkpoint) CheckList(secrets *saved.Concealer, job string) (ended bool, err error) {
	s, err := c.state(secrets, job)
	return s.Done, err
}

// state decodes and checks the state of a list of a job, with the current values of its secrets.
func (c Checkpoint) state(secrets *saved.Concealer, job string) (s state, err error) {
	if err := c.CheckVersion(); err != nil {
		return s, err
	}
	revealed, err := secrets.RevealJSON(json.RawMessage(c))
	if err != nil {
		return s, err
	}
	if err := value.Unmarshal(revealed, &s); err != nil {
		return s, err
	}
	return s, s.check(job)
}

// UnusableCheckpoint returns the error for a checkpoint of a job that cannot be used because of err. job is
// "" if the error names the job.
func UnusableCheckpoint(job string, err error) error {
	return &failure.Error{Class: failure.State, Job: job, Op: "resume", Err: err,
		Message: "the checkpoint cannot be used: " + err.Error(), Hint: "start from the beginning, without it"}
}
