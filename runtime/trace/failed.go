package trace

import (
	"errors"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// FaultOf describes the error that ended a job, without its secrets; nil for no error.
func FaultOf(err error, secrets *redact.Redactor) *Fault {
	if err == nil {
		return nil
	}
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return &Fault{Message: secrets.String(err.Error())}
	}
	plain := *known
	plain.Hint = ""
	return &Fault{Class: string(known.Class), Message: secrets.String(plain.Error()), Hint: secrets.String(known.Hint)}
}

// WaitsOf returns the waits of an exchange, without secrets.
func WaitsOf(events []transport.Event, secrets *redact.Redactor) []Wait {
	var waits []Wait
	for _, e := range events {
		w := Wait{For: e.Kind, Millis: e.Duration.Milliseconds(), Source: e.Source}
		if e.Kind == transport.EventRetry {
			w.Attempt, w.Status = e.Attempt, e.Status
		}
		if known, ok := errors.AsType[*failure.Error](e.Err); ok {
			w.Cause = secrets.String(known.Message)
		}
		waits = append(waits, w)
	}
	return waits
}
