package document

import "github.com/stopwhen/stopwhen/runtime/document/scan"

// A DepthError says that a document is nested more deeply than the limit.
type DepthError = scan.DepthError

// An ItemsError says that a page has more items than the limit.
type ItemsError = scan.ItemsError

// A SizeError says that a response needs more memory than is allowed.
type SizeError struct {
	Message string
	Hint    string // how to avoid it
}

// Error returns the message.
func (e *SizeError) Error() string { return e.Message }
