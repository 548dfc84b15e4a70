package document

import (
	"errors"
	"fmt"
)

// A syntaxError says why a body is not one JSON document (RFC 8259).
type syntaxError struct {
	offset  int    // in bytes, in the body as it was sent
	message string // without the offset
}

// Error returns the message and the offset.
func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.message, e.offset) }

// A DepthError says that a document is nested more deeply than the limit.
// Whether the rest of it is valid is not known.
type DepthError struct {
	offset int // of the list or object that is too deep, in bytes
	limit  int
}

// NewDepthError returns the error for a list or an object at an offset that is nested more
// deeply than limit.
func NewDepthError(offset, limit int) *DepthError { return &DepthError{offset, limit} }

// Error returns the limit and the offset.
func (e *DepthError) Error() string {
	return fmt.Sprintf("nested more than %d levels deep at byte %d", e.limit, e.offset)
}

// An ItemsError says that a page has more items than the limit.
type ItemsError struct{ limit int }

// Error returns the limit.
func (e *ItemsError) Error() string { return fmt.Sprintf("more than %d items", e.limit) }

// A SizeError says that a response needs more memory than is allowed.
type SizeError struct {
	Message string
	Hint    string // how to avoid it
}

// Error returns the message.
func (e *SizeError) Error() string { return e.Message }

// addOffset returns an error of a scan that began n bytes into the body.
func addOffset(err error, n int) error {
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) {
		return &syntaxError{offset: syntax.offset + n, message: syntax.message}
	}
	if depth := (*DepthError)(nil); errors.As(err, &depth) {
		return &DepthError{offset: depth.offset + n, limit: depth.limit}
	}
	return err
}
