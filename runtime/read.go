package runtime

import (
	"cmp"
	"net/http"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// read turns a response into a page, and sets the context that rules see. It does not change the
// state if the response is unacceptable.
func (r *listRun) read(request requests.Request, f fetchResult) (*Page, error) {
	r.workspace.head = append(r.workspace.head[:0], f.Head()...) // the reader modifies the body
	size := f.Size
	if err := r.convert(f.Response); err != nil {
		return nil, r.responseError(f, size, err)
	}
	reading, err := r.workspace.reader.Read(documentOf(f.Response))
	if err != nil {
		return nil, r.responseError(f, size, err)
	}
	reading.Original = r.converter.Original()
	r.state.Signs.Value = nil
	shown, c := r.sender.shownCall(request, f.call), r.pageContext()
	record := r.newRecord(request, f, shown)
	r.describePage(reading, f)
	c.Sent = r.sender.sentFacts(request, shown)
	r.remember()
	requestDigest := digestOf(shown)
	record.RepeatOf = r.watcher.Notice(evidence.Page{
		Reading: reading, Header: f.Header, Trailer: f.Trailer, Sent: shown, Request: requestDigest, Waited: request.After > 0,
		Landed: r.landed(f), Moves: func() bool { return r.nextRequestMoves(requestDigest) },
	})
	record.Page, record.Count, record.Bytes = c.Page, c.Count, c.Bytes
	return &Page{
		Items: reading.Items, Lists: r.setTypes(reading.Lists), Record: record, members: reading.Members, values: reading.Values,
	}, nil
}

// landed returns the address after redirects, without its secrets, or "" if there was none.
func (r *listRun) landed(f fetchResult) string {
	if f.URL == f.call.URL {
		return ""
	}
	return redact.Parameters(r.Redactor.Text(f.URL))
}

// describePage sets the part of the context that describes a page and the list up to it.
func (r *listRun) describePage(reading document.Reading, f fetchResult) {
	c := r.pageContext()
	r.nextPage(c, f.Response, f.sentAt)
	c.Body, c.Count, c.Bytes = reading.Body, reading.Items.Len(), reading.Bytes
	c.Items, c.Values = reading.Decoded, nil
	if reading.Values != nil && reading.Decoded == nil {
		c.Values = reading.Values
	}
	c.Total.Pages++
	c.Total.Items += c.Count
	c.Total.Bytes += c.Bytes
	c.Total.Seconds = r.elapsed()
}

// nextPage makes the context of the last page that of a response to the next request, without its body and its items.
func (r *listRun) nextPage(c *rules.Context, response *transport.Response, sentAt time.Time) {
	c.Page++
	c.Prev = r.state.Last.Value
	c.Status, c.Header, c.Link = response.Status, response.HeaderValue, response.Link
	c.Now = func() time.Time { return sentAt }
}

// remember adds the page to the state, for the rules on later pages.
func (r *listRun) remember() {
	c := r.pageContext()
	r.state.Last.Value = r.past(r.workspace.readsPrev)
	if c.First == nil && r.workspace.readsFirst == r.workspace.readsPrev {
		c.First = r.state.Last.Value
	} else if c.First == nil {
		c.First = r.past(r.workspace.readsFirst)
	}
	r.state.Result.Pages++
	r.state.Result.Bytes += c.Bytes
}

// setTypes sets the type of the items of each list.
func (r *listRun) setTypes(lists []document.TypedItems) []document.TypedItems {
	for i := range lists {
		lists[i].DataType = cmp.Or(lists[i].DataType, r.job.Spec().DataType)
	}
	return lists
}

// newRecord returns the record of a page with the facts that are known before it is judged, given its shown request.
func (r *listRun) newRecord(request requests.Request, f fetchResult, shown trace.Request) trace.Record {
	return trace.Record{
		Job: r.job.ID(), Partition: r.shownBinding(), Request: r.sender.recorded(request, shown),
		Status: f.Status, Decision: trace.Continue, StoppedBy: []string{}, Attempts: f.Attempts,
		At: f.sentAt.Sub(r.started).Milliseconds(), Millis: r.Clock.Now().Sub(f.sentAt).Milliseconds(),
		Version: trace.RecordVersion, Waits: trace.WaitsOf(f.waits, r.Redactor), Restarts: r.current.restarts,
	}
}

// shownBinding returns a copy of the values of the variables without secrets, or nil if the
// partition has no variables.
func (r *listRun) shownBinding() map[string]any {
	if len(r.list.Partition.Binding) == 0 {
		return nil
	}
	shown := r.sender.redactedCopy(r.list.Partition.Binding, func(text string) string { return redact.Parameters(r.Redactor.Text(text)) })
	binding, _ := shown.(map[string]any)
	return binding
}

// convert replaces the body of a response in another format by its conversion to JSON.
func (r *listRun) convert(response *transport.Response) error {
	if r.converter == nil {
		return nil
	}
	r.workspace.converted[0], r.workspace.converted[1] = r.workspace.converted[1], r.workspace.converted[0]
	buffer := r.workspace.converted[0]
	buffer.ReadBy(nil)
	if response.Status < http.StatusBadRequest {
		buffer.ReadBy(r.workspace.reader.ScansArriving())
	}
	done, err := r.converter.Convert(bodyOf(response, response.Body), buffer)
	if err != nil || !done {
		return err
	}
	if response.Body, response.Mapping, err = buffer.Body(); err == nil {
		response.Scan, _ = buffer.Consumed()
		r.workspace.bodies[0].Release() // a retry or the next page reuses it
	}
	return err
}

// documentOf returns a response as input for a reader.
func documentOf(response *transport.Response) document.Response {
	scan, _ := response.Scan.(*document.Scan)
	return document.Response{Status: response.Status, Body: response.Body, Mapping: response.Mapping, Scan: scan}
}

// bodyOf returns a response as input for a conversion. data is the body, or the beginning of it.
func bodyOf(response *transport.Response, data []byte) format.Body {
	return format.Body{
		Status: response.Status, ContentType: response.Header.Get("Content-Type"), Data: data, Mapping: response.Mapping,
		Unframed: response.Unframed,
	}
}

// digestOf returns the digest of a request.
func digestOf(sent trace.Request) document.Digest {
	return document.DigestOf(sent.Body, document.DigestOf([]byte(sent.Method+" "+sent.URL), document.Digest{}))
}

// nextRequestMoves reports whether the next request will differ from the request with the given digest, or will repeat it after a
// wait, as a poll.
func (r *listRun) nextRequestMoves(requestDigest document.Digest) bool {
	c := r.state.Context.Value
	_, parts, more, err := r.job.Advance(&r.workspace.machine, &c)
	if err != nil || !more {
		return false
	}
	next, err := r.builder.Apply(parts, r.state.Base)
	return err == nil && (next.After > 0 || digestOf(r.sender.shown(next)) != requestDigest)
}
