package runtime

import (
	"slices"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An aheadScanner scans responses that arrive ahead of their turn, each in the goroutine that has
// received it: the loop only has to judge and deliver them. The zero aheadScanner scans none.
type aheadScanner struct{ reader *document.Reader }

// aheadScanner returns what scans the responses of the job. Those of another format than JSON
// have to be converted first.
func (r *run) aheadScanner() aheadScanner {
	if r.converter != nil {
		return aheadScanner{}
	}
	return aheadScanner{r.reader}
}

// A scanned is a response that was scanned ahead of its turn.
type scanned struct {
	scan *document.Scan
	head []byte // the first bytes of its body, which the scan changes
}

// scan scans the response of an exchange. It leaves out what may have to be requested again: a
// response that is no page, or that may have been cut off.
func (s aheadScanner) scan(f *inFlight) {
	if s.reader == nil || f.err != nil || !transport.IsPage(f.response.Status) || f.response.Unframed {
		return
	}
	head := slices.Clone(f.response.Head())
	f.scanned = &scanned{s.reader.Scan(documentOf(f.response)), head}
}

// head returns the first bytes of the body as it was received.
func (f fetched) head() []byte {
	if f.scanned != nil {
		return f.scanned.head
	}
	return f.Head()
}

// document returns the response for the reader.
func (f fetched) document() document.Response {
	response := documentOf(f.Response)
	if f.scanned != nil {
		response.Scan = f.scanned.scan
	}
	return response
}

func documentOf(r *transport.Response) document.Response {
	return document.Response{Status: r.Status, Body: r.Body, Window: r.Window}
}
