// Package failure defines the error that a run ends with: an [Error], whose [Class] decides the
// exit status of the command.
//
// Every layer above imports the package, so that an error keeps its class and its place on the way
// up. The classes and their exit statuses are part of the contract with users and do not change.
package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/panics"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// A Class is a kind of failure. It decides the exit status of the command, and tells whether the
// same run may succeed later.
type Class string

// The classes.
const (
	Internal  Class = "internal"  // a bug in the program
	Config    Class = "config"    // the configuration is invalid
	API       Class = "api"       // the API refused the request permanently
	Transient Class = "transient" // transient errors outlasted the retries; a later run may succeed
	Response  Class = "response"  // an unacceptable response, or a rule that failed on one
	Policy    Class = "policy"    // a safety limit or a guard
	IO        Class = "io"        // output cannot be written
	State     Class = "state"     // saved state is locked, corrupt or belongs to another configuration
	Suspect   Class = "suspect"   // a response says itself that a list is incomplete, or an ending is not accepted
	Cancelled Class = "cancelled" // interrupted
)

// The operations of an [Error] that tell who may have caused it.
const (
	OpRequest      = "request"
	OpAuthenticate = "authenticate"
)

// opRule begins the operation of an error of a rule.
const opRule = "rule "

// OpRule returns the operation of an error of the rule with an id.
func OpRule(id string) string { return opRule + id }

// exitStatuses maps the classes to the exit statuses of failed runs.
var exitStatuses = []struct {
	class  Class
	status int
}{
	{Internal, 1}, {Config, 2}, {API, 3}, {Transient, 4}, {Response, 5}, {Policy, 6}, {IO, 7}, {State, 8}, {Suspect, 9}, {Cancelled, 130},
}

// Classes returns all classes, in the order of their exit statuses.
func Classes() []Class {
	classes := make([]Class, len(exitStatuses))
	for i, row := range exitStatuses {
		classes[i] = row.class
	}
	return classes
}

// ExitStatus returns the exit status of the command for a failure of the class. An unknown class
// has the status of [Internal].
func (c Class) ExitStatus() int {
	for _, row := range exitStatuses {
		if row.class == c {
			return row.status
		}
	}
	return exitStatuses[0].status
}

// ExitStatus returns the exit status for the error that a run ended with: 0 for nil, the status of
// the class for an [*Error], and the status of [Internal] for any other error.
func ExitStatus(err error) int {
	if err == nil {
		return 0
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Class.ExitStatus()
	}
	return Internal.ExitStatus()
}

// An Error says why a run failed. errors.Is matches it with the error of its class, such as
// [ErrTransient]. Other runs and requests may have the same error, so it is not changed after it was
// returned: [Error.With] returns a copy.
type Error struct {
	Class Class
	Job   string // id of the job

	Partition string // values of the variables, such as "order.id=1001"; empty if the job has no partitions

	Page    int    // number of the page being fetched, from 1; 0 outside a page
	Op      string // the operation, such as "request", "read" or "rule offset.short"
	Method  string // HTTP method
	URL     string // URL without credentials
	Status  int    // HTTP status; 0 if there was no response
	Message string // cause in words, without job and place
	Hint    string // remedy, if one is known
	Err     error  // the cause; may be nil

	// CauseBefore reports whether the cause is on pages before this one, or in an item of the parent. A run that continues
	// from a checkpoint of the list would fail again, or leave out items; one from its beginning need not.
	CauseBefore bool

	Remedy remedy.Remedy // the hint, for a front end with its own wording: see [Error.WithRemedy]
}

// Errors for use with errors.Is: each matches any error of its class.
var (
	ErrInternal  = &Error{Class: Internal}
	ErrConfig    = &Error{Class: Config}
	ErrAPI       = &Error{Class: API}
	ErrTransient = &Error{Class: Transient}
	ErrResponse  = &Error{Class: Response}
	ErrPolicy    = &Error{Class: Policy}
	ErrIO        = &Error{Class: IO}
	ErrState     = &Error{Class: State}
	ErrSuspect   = &Error{Class: Suspect}
	ErrCancelled = &Error{Class: Cancelled}
)

// With returns a copy of the error with a change.
func (e *Error) With(change func(*Error)) *Error {
	changed := *e
	change(&changed)
	return &changed
}

// WithHint returns a copy of the error with another hint.
func (e *Error) WithHint(hint string) *Error {
	return e.With(func(e *Error) { e.Hint, e.Remedy = hint, remedy.Remedy{} })
}

// WithRemedy returns a copy of the error whose hint is a remedy in the words of a program: see [remedy.New].
func (e *Error) WithRemedy(format string, args ...any) *Error {
	r := remedy.New(format, args...)
	return e.With(func(e *Error) { e.Hint, e.Remedy = r.String(), r })
}

// Error returns the job and the page, the request, the cause and the hint, on one line.
func (e *Error) Error() string {
	var parts []string
	place := ""
	if e.Job != "" {
		place = "job " + e.Job
		if e.Partition != "" {
			place += " (" + e.Partition + ")"
		}
		if e.Page > 0 {
			place += fmt.Sprintf(", page %d", e.Page)
		}
	}
	if strings.HasPrefix(e.Op, opRule) {
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error for errors.Is of the same class.
func (e *Error) Is(target error) bool {
	class, ok := target.(*Error)
	return ok && class.Class == e.Class && class.Message == "" && class.Job == "" && class.Err == nil
}

// Exited returns the error of work whose goroutine was ended by runtime.Goexit.
func Exited() error {
	return &Error{
		Class: Internal, Op: "run", Message: "a function of the program ended its goroutine with runtime.Goexit",
		Hint: "return an error instead; in a test, call t.FailNow only in the goroutine of the test",
	}
}

// Recovered is for a deferred function. It returns err if value, the result of recover, is nil, and
// otherwise an error of class internal for a panic in a job, which may be "". The cause of that error
// has a method Stack() []byte.
func Recovered(job string, value any, err error) error {
	if value == nil {
		return err
	}
	p := panics.New(value)
	return &Error{Class: Internal, Job: job, Op: "run", Message: p.Error(), Err: p}
}

// ClassFor returns the class for a cause: [Internal] if the cause is a panic, and otherwise the given class.
func ClassFor(err error, class Class) Class {
	if errors.As(err, new(*panics.Error)) {
		return Internal
	}
	return class
}
