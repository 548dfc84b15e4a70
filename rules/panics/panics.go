// Package panics makes errors of panics in functions of a program that embeds the engine.
package panics

import (
	"fmt"
	"runtime/debug"
)

// An Error is a panic as an error.
type Error struct {
	Text  string // the value of the panic, as text
	Trace []byte // the stack of the goroutine that panicked
}

// New returns the error for a panic. It is for the deferred function that recovers, and value is the
// result of recover.
func New(value any) *Error { return &Error{fmt.Sprintf("panic: %v", value), debug.Stack()} }

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Stack returns the stack of the goroutine that panicked, as [debug.Stack] does.
func (e *Error) Stack() []byte { return e.Trace }
