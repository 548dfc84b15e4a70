package stress

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// respond answers a request at a time. The error says that the request cannot be read, or that
// the model cannot answer with a page that has all that the rules read.
func (a *api) respond(r *http.Request, now time.Time) (*http.Response, error) {
	q, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if a.base == "" {
		address := *r.URL
		address.RawQuery = ""
		a.base = address.String()
	}
	reply := a.answer(q)
	body, err := a.body(reply)
	if err != nil {
		return nil, &failure.Error{Class: failure.Internal, Message: err.Error()}
	}
	response := transport.NewResponse(r, reply.status, a.header(reply), body)
	response.Header.Set("Date", now.Format(http.TimeFormat))
	if reply.cut {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), failing{}))
	}
	return response, nil
}

// failing is the rest of a body whose connection has ended.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// newClock returns a clock whose time is after all times in the lists of the model.
func newClock() transport.VirtualClock {
	return transport.VirtualClock{Time: keyStart.AddDate(1, 0, 0)}
}
