package document

import (
	"errors"
	"fmt"
)

// A SyntaxError says why a body is not one JSON document (RFC 8259).
type SyntaxError struct {
	Offset  int    // in bytes, in the body as it was sent
	Message string // without the offset
}

// Error returns the message and the offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Message, e.Offset) }

// A DepthError says that a document is nested more deeply than the limit.
// Whether the rest of it is valid is not known.
type DepthError struct {
	Offset int // of the list or object that is too deep, in bytes
	Limit  int
}

// Error returns the limit and the offset.
func (e *DepthError) Error() string {
	return fmt.Sprintf("nested more than %d levels deep at byte %d", e.Limit, e.Offset)
}

// An ItemsError says that a page has more items than the limit.
type ItemsError struct{ Limit int }

// Error returns the limit.
func (e *ItemsError) Error() string { return fmt.Sprintf("more than %d items", e.Limit) }

// addOffset returns an error of a scan that began n bytes into the body.
func addOffset(err error, n int) error {
	if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
		return &SyntaxError{Offset: syntax.Offset + n, Message: syntax.Message}
	}
	if depth := (*DepthError)(nil); errors.As(err, &depth) {
		return &DepthError{Offset: depth.Offset + n, Limit: depth.Limit}
	}
	return err
}
