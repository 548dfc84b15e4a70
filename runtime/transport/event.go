package transport

import (
	"context"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// An Event describes part of an exchange: a request that was made, or a wait before one.
type Event struct {
	Kind      EventKind
	Job       string // id of the call's job
	Partition string // partition of the call
	Page      int    // page of the call
	Time      time.Time
	Duration  time.Duration // duration of the exchange, or of the wait that follows

	Method  string
	URL     string // address without secrets
	Attempt int    // from 1
	Status  int    // HTTP status; 0 if there was no response
	Bytes   int64  // size of the decompressed body
	Source  string // for a wait: the header or setting that asked for it, or [SourceBackoff]
	Err     error  // reason why there is no complete response, or why it is retried
}

// EventKind is the kind of an event. Package runtime adds the kinds of events that are not part of an exchange.
type EventKind string

// The kinds of the events of an exchange.
const (
	EventRequest EventKind = "request" // one HTTP request and its response or error
	EventRetry   EventKind = "retry"   // a wait before a request is repeated
	EventWait    EventKind = "wait"    // a wait for a rate limit or, in package runtime, for nextRequest.after
)

// SourceBackoff is the [Event.Source] of a wait before a retry for which the API has not asked.
const SourceBackoff = "backoff"

// observe reports an event of a call.
func (c *Client) observe(ctx context.Context, call Call, e Event) {
	wait := call.OnWait != nil && e.Kind != EventRequest
	if c.options.Observe == nil && !wait {
		return
	}
	e.Job, e.Partition, e.Page, e.Method, e.URL = call.Job, call.Partition, call.Page, call.Method, c.show(call.URL)
	e.Attempt = max(call.attempt, 1)
	e.Err = failure.Redact(e.Err, c.options.Redactor.Text)
	if wait {
		call.OnWait(e)
	}
	if c.options.Observe != nil {
		c.options.Observe(ctx, e)
	}
}
