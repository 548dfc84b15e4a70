package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Recorder is a transport that records every exchange, in the order in which
// they end. Several goroutines may use it.
type Recorder struct {
	next     http.RoundTripper
	clock    transport.Clock
	redactor *redact.Redactor
	started  time.Time // start of the run

	mu      sync.Mutex
	w       io.Writer
	text    bytes.Buffer // what is to be written
	entries int
	resumed bool  // whether the next exchange is the first one of a run that resumes
	err     error // the first error of w

	omitted atomic.Int64
}

// MaxBodyBytes is the size of the largest body of a response that a [Recorder] keeps. For a larger body, the
// entry has its size alone, and a replay that needs the body fails.
const MaxBodyBytes = 16 << 20

// Options are the options of a [Recorder]. The zero value is valid.
type Options struct {
	Transport http.RoundTripper // makes the requests; if nil, [transport.Default]
	Clock     transport.Clock   // if nil, [transport.SystemClock]
	Redactor  *redact.Redactor  // hides secrets, also in bodies; nil if there are no secrets
	Creator   string            // version of stopwhen that the archive names as its creator

	// Recorded is the number of exchanges that the writer already has. If it is not 0, the recorder
	// continues their archive, which has no end yet.
	Recorded int
}

// NewRecorder starts or continues an archive on w. It writes each exchange with a
// single Write as soon as the exchange ends, so that the file of a killed run is
// readable.
func NewRecorder(w io.Writer, options Options) *Recorder {
	r := &Recorder{
		clock: cmp.Or(options.Clock, transport.SystemClock), redactor: cmp.Or(options.Redactor, redact.New(nil)), w: w,
		entries: options.Recorded, resumed: options.Recorded > 0,
	}
	if options.Transport == nil {
		options.Transport = transport.Default()
	}
	r.next = transport.Decompressed(options.Transport)
	r.started = r.clock.Now()
	creator, _ := json.Marshal(map[string]string{"name": "stopwhen", "version": options.Creator}) // strings always encode
	if options.Recorded == 0 {
		fmt.Fprintf(&r.text, `{"log":{"version":"1.2","creator":%s,"_started":%q,"pages":[],"entries":[`,
			creator, r.started.Format(time.RFC3339Nano))
	}
	return r
}

// Record returns an engine whose runs the recorder records. They start at the time that the archive has as the start of
// the run, so that now() has the same value in a replay.
func (r *Recorder) Record(e *engine.Engine) *engine.Engine {
	return e.With(engine.WithTransport(r), engine.WithClock(recordedClock{r.clock, r.started}))
}

// recordedClock is the clock of a run that starts at a recorded time.
type recordedClock struct {
	transport.Clock
	started time.Time
}

func (c recordedClock) Started() time.Time { return c.started }

// RoundTrip makes one exchange. It records the exchange when the response body
// has been read to the end or closed. Requests that obtain credentials are not recorded.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if !transport.Recordable(req) {
		return r.next.RoundTrip(req)
	}
	start := r.clock.Now()
	recorded, err := r.request(req)
	if err != nil {
		return nil, err
	}
	e := entry{Started: start.Format(time.RFC3339Nano), Request: recorded}
	resp, err := r.next.RoundTrip(req)
	waited := r.clock.Now().Sub(start)
	if err != nil {
		e.Response.Cookies, e.Response.Headers = []pair{}, []pair{}
		e.end(waited, waited, err, r.redactor)
		r.writeEntry(e)
		return nil, err
	}
	body := &tee{ReadCloser: resp.Body, done: func(body string, size int, err error) {
		if size > MaxBodyBytes {
			r.omitted.Add(1)
			if errors.Is(err, errClosed) { // the body is missing, however much of it was read
				err = nil
			}
		}
		e.Response, e.Unframed = r.response(resp, body, size), transport.EndsWithConnection(resp)
		e.end(waited, r.clock.Now().Sub(start), err, r.redactor)
		r.writeEntry(e)
	}}
	if size := resp.ContentLength; 0 < size && size <= MaxBodyBytes {
		body.read.Grow(int(size))
	}
	resp.Body = body
	return resp, nil
}

// Omitted returns the number of responses whose bodies are not recorded, because they
// have more than [MaxBodyBytes].
func (r *Recorder) Omitted() int { return int(r.omitted.Load()) }

func (e *entry) end(waited, took time.Duration, err error, redactor *redact.Redactor) {
	e.Time = milliseconds(took)
	e.Timings = timings{Wait: milliseconds(waited), Receive: milliseconds(took - waited)}
	if err != nil {
		e.Error = redactor.Text(err.Error())
	}
}

func (r *Recorder) request(req *http.Request) (request, error) {
	address, header := transport.Recorded(req)
	out := request{
		Method: req.Method, URL: r.redactor.Shown(address), HTTPVersion: "HTTP/1.1",
		Cookies: []pair{}, Headers: newPairs(header, r.redactor.Header), Query: []pair{}, HeadersSize: -1, BodySize: 0,
	}
	_, query, _ := strings.Cut(address, "?")
	params, _ := url.ParseQuery(query) // malformed parameters are in the address
	for name, values := range params {
		for _, v := range values {
			shown := strings.TrimPrefix(r.redactor.Shown("?"+name+"="+v), "?"+name+"=")
			out.Query = append(out.Query, pair{r.redactor.Text(name), shown})
		}
	}
	body, err := readBody(req)
	if err != nil || body == nil {
		return out, err
	}
	out.PostData = &postData{MimeType: req.Header.Get("Content-Type"), Text: r.redactor.JSON(string(body))}
	out.BodySize = len(body)
	return out, nil
}

// readBody reads the body of a request and replaces it with an unread copy.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

func (r *Recorder) response(resp *http.Response, body string, size int) response {
	content := newContent(r.redactor.JSON(body), resp.Header.Get("Content-Type"))
	if body == "" {
		content.Size = size // not 0 if the body is left out
	}
	return response{
		Status: resp.StatusCode, StatusText: http.StatusText(resp.StatusCode), HTTPVersion: resp.Proto,
		Cookies: []pair{}, Headers: newPairs(resp.Header, r.redactor.Header), Content: content,
		RedirectURL: r.redactor.Shown(resp.Header.Get("Location")), HeadersSize: -1, BodySize: size,
	}
}

func (r *Recorder) writeEntry(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Resumed, r.resumed = r.resumed, false
	if r.entries > 0 {
		r.text.WriteByte(',')
	}
	r.entries++
	r.text.WriteByte('\n')
	enc := json.NewEncoder(&r.text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e)                 // strings and numbers always encode
	r.text.Truncate(r.text.Len() - 1) // the newline
	r.flushLocked()
}

// flushLocked writes the text that was added to the archive. The caller holds the lock.
func (r *Recorder) flushLocked() {
	if r.err == nil {
		_, r.err = r.w.Write(r.text.Bytes())
	}
	r.text.Reset()
}

// Len returns the number of recorded exchanges.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// CloseIdleConnections closes the idle connections of the transport.
func (r *Recorder) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Close ends the archive and returns the first error of writing it. Exchanges that
// end later are not recorded. Close does not close the writer.
func (r *Recorder) Close() error {
	r.CloseIdleConnections()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.WriteString("\n]}}\n")
	r.flushLocked()
	r.w = io.Discard
	return r.err
}

// tee is a response body that keeps a copy of the bytes that are read from it, unless it has more
// than [MaxBodyBytes].
type tee struct {
	io.ReadCloser
	read strings.Builder
	size int
	done func(body string, size int, err error) // nil after it was called
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if t.size += n; t.size > MaxBodyBytes {
		t.read.Reset()
	} else {
		t.read.Write(p[:n])
	}
	switch {
	case err == io.EOF:
		t.end(nil)
	case err != nil:
		t.end(err)
	}
	return n, err
}

func (t *tee) Close() error {
	t.end(errClosed)
	return t.ReadCloser.Close()
}

func (t *tee) end(err error) {
	if t.done != nil {
		t.done(t.read.String(), t.size, err)
		t.done = nil
	}
}

var errClosed = errors.New("the body was not read to the end")
