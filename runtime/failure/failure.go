package failure

import (
	"fmt"
	"strings"
)

// Class says what kind of fault ended a run; it decides the exit status of the
// command, and whether the same run can be expected to succeed later.
type Class string

// The classes.
const (
	Internal  Class = "internal"  // a bug
	Config    Class = "config"    // the configuration is invalid
	API       Class = "api"       // the API refused for good
	Transient Class = "transient" // passing faults outlasted the retries; later it may succeed
	Response  Class = "response"  // an unacceptable response, or a rule that failed on one
	Policy    Class = "policy"    // a safety limit or a guard
	IO        Class = "io"        // output cannot be written
	State     Class = "state"     // saved state is locked, corrupt or of another configuration
	Cancelled Class = "cancelled" // interrupted
)

// Error is why a run failed. errors.Is compares it with [ErrTransient] and its
// like by class.
type Error struct {
	Class   Class
	Job     string // id of the job
	Page    int    // the page that was being obtained, from 1; 0: none
	Op      string // what was being done: "request", "read", "rule offset.short"
	Method  string // of the request
	URL     string // of the request, without credentials
	Status  int    // HTTP status; 0: no response
	Message string // what went wrong, without job and place
	Hint    string // the cure, when one is known
	Err     error  // the cause, when there is one
}

// Errors to compare with by errors.Is.
var (
	ErrInternal  = &Error{Class: Internal}
	ErrConfig    = &Error{Class: Config}
	ErrAPI       = &Error{Class: API}
	ErrTransient = &Error{Class: Transient}
	ErrResponse  = &Error{Class: Response}
	ErrPolicy    = &Error{Class: Policy}
	ErrIO        = &Error{Class: IO}
	ErrState     = &Error{Class: State}
	ErrCancelled = &Error{Class: Cancelled}
)

// Error names job and page, the request, what went wrong and the cure, on one line.
func (e *Error) Error() string {
	var parts []string
	place := ""
	if e.Job != "" {
		place = "job " + e.Job
		if e.Page > 0 {
			place += fmt.Sprintf(", page %d", e.Page)
		}
	}
	if strings.HasPrefix(e.Op, "rule ") {
		place = strings.TrimPrefix(place+", "+e.Op, ", ")
	}
	if place != "" {
		parts = append(parts, place)
	}
	if e.URL != "" {
		parts = append(parts, strings.TrimSpace(e.Method+" "+e.URL))
	}
	switch {
	case e.Message != "":
		parts = append(parts, e.Message)
	case e.Err != nil:
		parts = append(parts, e.Err.Error())
	default:
		parts = append(parts, string(e.Class))
	}
	text := strings.Join(parts, ": ")
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is compares classes, so that errors.Is(err, ErrTransient) holds for every
// transient error.
func (e *Error) Is(target error) bool {
	class, ok := target.(*Error)
	return ok && class.Class == e.Class && class.Message == "" && class.Job == "" && class.Err == nil
}
