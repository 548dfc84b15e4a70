package document

import (
	"cmp"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/value"
)

// MaxValueBytes is how much memory the values of one response may need that rules
// read, unless [Options.MaxValueBytes] says otherwise: about 75,000 items of 20 members.
// A small response that decodes to many values must not exhaust the process.
const MaxValueBytes = 256 << 20

// What values need in memory, in bytes, including what is left over while lists and
// objects grow.
const (
	objectBytes  = 320 // with the first members
	memberBytes  = 80
	listBytes    = 48
	elementBytes = 32
	textWeight   = 2 // a text is decoded and copied
)

// maxErrorBytes is the size of the largest error response that is read as a page, or
// that rules see.
const maxErrorBytes = 8 << 20

// An allowance is the memory that the values of a response may still use.
type allowance struct{ limit, left int }

// newAllowance returns an allowance; 0 is [MaxValueBytes].
func newAllowance(limit int) *allowance {
	limit = cmp.Or(limit, MaxValueBytes)
	return &allowance{limit, limit}
}

// take pays for values before they are made.
func (a *allowance) take(bytes int) error {
	if a.left -= bytes; a.left >= 0 {
		return nil
	}
	a.left = 0
	return &SizeError{
		Message: fmt.Sprintf("the values that rules read need more than %s of memory", value.Size(a.limit)),
		Hint:    "request smaller pages, let the rules read smaller parts of the response, or raise api.http.maxValueBytes",
	}
}

// checkErrorSize refuses an error response that is too large to be read.
func checkErrorSize(body []byte) error {
	if len(body) <= maxErrorBytes {
		return nil
	}
	return &SizeError{
		Message: fmt.Sprintf("the error response has %d bytes; at most %d MiB are read as a page", len(body), maxErrorBytes>>20),
		Hint:    "let ignoreErrors and onError accept only responses that are small",
	}
}
