package ahead

import (
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Flight is the first attempt of a request that was made ahead of its turn.
type Flight struct {
	Call     transport.Call
	Began    time.Time
	Response *transport.Response
	Err      error

	Scan *document.Scan // the response, if it was scanned; nil: it was not
	Head []byte         // with Scan: the first bytes of the body, which the scan changes

	after   int           // bytes that the flight before this one has to have, before this one begins
	arrived int           // bytes of the body as it was sent, if it has arrived; otherwise 0
	done    chan struct{} // is closed at its end; nil: it has not begun
}

// isOf reports whether a flight is that of a call.
func (f *Flight) isOf(call transport.Call) bool {
	return f.Call.Method == call.Method && f.Call.URL == call.URL && string(f.Call.Body) == string(call.Body)
}

// ended reports whether a flight has ended.
func (f *Flight) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// failed reports whether a flight has ended without a page.
func (f *Flight) failed() bool {
	return f.ended() && (f.Err != nil || !transport.IsPage(f.Response.Status))
}

// scan scans the response. It leaves out a response that may have to be requested again: one
// that is no page, or that may have been cut off.
func (f *Flight) scan(reader *document.Reader) {
	if reader == nil || f.Err != nil || !transport.IsPage(f.Response.Status) || f.Response.Unframed {
		return
	}
	f.Head = slices.Clone(f.Response.Head())
	f.Scan = reader.Scan(document.Response{Status: f.Response.Status, Body: f.Response.Body, Window: f.Response.Window})
}
