package store

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A denial is a permission that the user does not have. The server does not answer the request,
// and tells the connection.
type denial struct {
	subject string
	receive bool // the user may not subscribe to it; otherwise it may not publish to it
}

func (d *denial) Error() string {
	if d.receive {
		return "the NATS user may not subscribe to " + d.subject
	}
	return "the NATS user may not publish to " + d.subject
}

// explain returns the error of the operation that was denied.
func (d *denial) explain(what string) error {
	failed := &failure.Error{Class: failure.Config, Op: "store", Message: what + ": " + d.Error(), Err: d,
		Hint: "give the user this permission, or connect with another user"}
	if _, stream, creates := strings.Cut(d.subject, ".STREAM.CREATE."); creates {
		failed.Message = "nothing has been submitted yet: the stream " + stream + " does not exist, and " + d.Error()
		failed.Hint = "submit a run first, with a user who may create streams"
		failed.Err = errors.Join(d, ErrEmpty)
	}
	return failed
}

var deniedSubject = regexp.MustCompile(`(?i)violation for (publish|subscription) to "([^"]+)"`)

// denialOf returns the denial that a connection is told of, or nil if the error is another one.
func denialOf(err error) *denial {
	found := deniedSubject.FindStringSubmatch(err.Error())
	if found == nil {
		return nil
	}
	return &denial{subject: found[2], receive: strings.EqualFold(found[1], "subscription")}
}

// isAbout reports whether the subject of a denial is one of a stream: of its messages, or of
// requests about it.
func (d *denial) isAbout(stream string) bool {
	messages := workSubject
	if bucket, ok := strings.CutPrefix(stream, bucketStream); ok {
		messages = "$KV." + bucket + "."
	} else if run, ok := strings.CutPrefix(stream, runStream); ok {
		messages = pageSubject + run + "."
	}
	return stream != "" && strings.Contains(d.subject, messages) || slices.Contains(strings.Split(d.subject, "."), stream)
}
