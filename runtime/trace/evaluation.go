package trace

import "errors"

// ErrNoItem is the error of an evaluation that reads an item in a place without one.
var ErrNoItem = errors.New("the expression reads item, and no item is chosen")

// A Place says on which page, and for which of its items, an expression is evaluated.
type Place struct {
	Job  string // id of the job
	Page int    // number of the page of the job, from 1
	Item int    // number of the item on the page, from 1; 0 means no item
}

// An Evaluation is the value of an expression on a page.
type Evaluation struct {
	Value   any      `json:"value"`             // JSON, without secrets; a time is a text
	Because string   `json:"because"`           // the expression with the values that it read
	Missing []string `json:"missing,omitempty"` // paths and headers that it reads and the response does not have
	Notes   []string `json:"notes,omitempty"`   // doubts about the values, such as numbers compared as text
	Err     error    `json:"-"`                 // why it has no value; nil if it has one
}
