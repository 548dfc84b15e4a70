package scan

import (
	"errors"
	"fmt"
)

// A SyntaxError says why a document is not one JSON value (RFC 8259).
type SyntaxError struct {
	Offset  int    // in bytes, in the document before its whitespace is removed
	Message string // without the offset
}

// Error returns the message and the offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Message, e.Offset) }

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
type ItemsError struct{ Limit int }

// Error returns the limit.
func (e *ItemsError) Error() string { return fmt.Sprintf("more than %d items", e.Limit) }

// AddOffset returns an error of a document that begins n bytes into a body.
func AddOffset(err error, n int) error {
	if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
		return &SyntaxError{Offset: syntax.Offset + n, Message: syntax.Message}
	}
	if depth := (*DepthError)(nil); errors.As(err, &depth) {
		return &DepthError{offset: depth.offset + n, limit: depth.limit}
	}
	return err
}
