package runtime

import (
	"context"
	"fmt"
	"math"

	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// prefetch begins to request pages ahead of their turn, if several may be in flight.
func (r *run) prefetch(ctx context.Context) {
	if r.Ahead.Window < 2 {
		return
	}
	if reason := r.job.Sequential(); reason == "" {
		r.ahead = r.newQueue(ctx)
	} else if !r.Ahead.Grows && r.job.Paged() {
		r.Log.Info(fmt.Sprintf("Job '%s' fetches one page at a time: %s", r.name(), r.Redactor.String(reason)),
			"event", "sequential", "job", r.Result.Job)
	}
}

// arrived notes a response that has just arrived: if it is large, another page may be requested
// during the work on it.
func (r *run) arrived(ctx context.Context, response *transport.Response) {
	if large := r.Ahead.Large; r.ahead == nil && large > 0 && len(response.Body) >= large {
		r.ahead = r.newQueue(ctx)
	}
	r.ahead.Arrived(response)
}

func (r *run) newQueue(ctx context.Context) *ahead.Queue {
	list := ahead.List{
		Job: r.job, Binding: r.binding, Context: &r.Context.Value, Client: r.Client, Clock: r.Clock, Reader: r.reader,
		Encode: r.sender.encode, MayFollow: r.mayFollow,
	}
	if r.converter != nil { // the responses have to be converted first
		list.Reader = nil
	}
	return ahead.NewQueue(ctx, list, r.Ahead)
}

// mayFollow reports whether a page may be requested before the page with a number was read.
// The first page is read before, since it may say how long the list is.
func (r *run) mayFollow(page int) bool {
	if r.lastPage == 0 && r.Context.Value.Page > 0 {
		r.lastPage = r.knownEnd()
	}
	return page < r.lastPage
}

// knownEnd returns the number of the last page, as far as the rules and the total of the first
// page say it.
func (r *run) knownEnd() int {
	end := r.job.MaxPages()
	if end == 0 {
		end = math.MaxInt
	}
	first := r.Noticed.FirstTotal
	if perPage, _ := r.Context.Value.Limit.(int); first != nil && first.Total > 0 && perPage > 0 {
		end = min(end, (first.Total+perPage-1)/perPage)
	}
	return end
}

// head returns the first bytes of the body as it was received.
func (f fetched) head() []byte {
	if f.flight != nil && f.flight.Scan != nil {
		return f.flight.Head
	}
	return f.Head()
}

// document returns the response for the reader.
func (f fetched) document() document.Response {
	response := document.Response{Status: f.Status, Body: f.Body, Window: f.Window}
	if f.flight != nil {
		response.Scan = f.flight.Scan
	}
	return response
}
