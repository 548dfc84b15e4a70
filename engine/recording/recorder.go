package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Recorder is a transport that writes every exchange down. It may be used by
// several goroutines; exchanges stand in the order in which they ended.
type Recorder struct {
	next     http.RoundTripper
	clock    transport.Clock
	redactor *redact.Redactor

	mu      sync.Mutex
	w       io.Writer
	entries int
	err     error // the first of writing
}

// Options say how exchanges are recorded. The zero value is usable.
type Options struct {
	Transport http.RoundTripper // that makes the exchanges; nil: [transport.NewTransport]
	Clock     transport.Clock   // nil: the machine's
	Redactor  *redact.Redactor  // hides secrets, in bodies too; nil: nothing is secret
	Creator   string            // version of the program that is named as the file's creator
}

// NewRecorder begins an archive on w. Each exchange is written in one piece as
// soon as it has ended, so that the file of a run that was killed can be read.
func NewRecorder(w io.Writer, options Options) *Recorder {
	r := &Recorder{next: options.Transport, clock: options.Clock, redactor: options.Redactor, w: w}
	if r.next == nil {
		r.next = transport.NewTransport()
	}
	if r.clock == nil {
		r.clock = transport.SystemClock
	}
	if r.redactor == nil {
		r.redactor = redact.New(nil)
	}
	creator, _ := json.Marshal(map[string]string{"name": "stopwhen", "version": options.Creator})
	r.write(fmt.Appendf(nil, `{"log":{"version":"1.2","creator":%s,"pages":[],"entries":[`, creator))
	return r
}

// RoundTrip makes one exchange. It is written down when its body was read to the
// end, or closed before.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	began := r.clock.Now()
	asked, err := r.request(req)
	if err != nil {
		return nil, err
	}
	e := entry{Started: began.Format(time.RFC3339Nano), Request: asked}
	resp, err := r.next.RoundTrip(req)
	waited := r.clock.Now().Sub(began)
	if err != nil {
		e.Response.Cookies, e.Response.Headers = []pair{}, []pair{}
		e.end(waited, waited, err, r.redactor)
		r.entry(e)
		return nil, err
	}
	resp.Body = &tee{ReadCloser: resp.Body, done: func(body []byte, err error) {
		e.Response = r.response(resp, body)
		e.end(waited, r.clock.Now().Sub(began), err, r.redactor)
		r.entry(e)
	}}
	return resp, nil
}

func (e *entry) end(waited, took time.Duration, err error, redactor *redact.Redactor) {
	e.Time = milliseconds(took)
	e.Timings = timings{Wait: milliseconds(waited), Receive: milliseconds(took - waited)}
	if err != nil {
		e.Error = redactor.String(err.Error())
	}
}

func (r *Recorder) request(req *http.Request) (request, error) {
	out := request{
		Method: req.Method, URL: r.redactor.URL(req.URL.String()), HTTPVersion: "HTTP/1.1",
		Cookies: []pair{}, Headers: pairsOf(req.Header, r.redactor.Header), Query: []pair{}, HeadersSize: -1, BodySize: 0,
	}
	for name, values := range req.URL.Query() {
		for _, v := range values {
			shown := strings.TrimPrefix(r.redactor.URL("?"+name+"="+v), "?"+name+"=")
			out.Query = append(out.Query, pair{name, shown})
		}
	}
	body, err := bodyOf(req)
	if err != nil || body == nil {
		return out, err
	}
	out.PostData = &postData{MimeType: req.Header.Get("Content-Type"), Text: r.redactor.String(string(body))}
	out.BodySize = len(body)
	return out, nil
}

// bodyOf reads the body of a request and puts it back.
func bodyOf(req *http.Request) ([]byte, error) {
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

func (r *Recorder) response(resp *http.Response, body []byte) response {
	return response{
		Status: resp.StatusCode, StatusText: http.StatusText(resp.StatusCode), HTTPVersion: resp.Proto,
		Cookies: []pair{}, Headers: pairsOf(resp.Header, r.redactor.Header),
		Content:     contentOf([]byte(r.redactor.String(string(body))), resp.Header.Get("Content-Type")),
		RedirectURL: r.redactor.URL(resp.Header.Get("Location")), HeadersSize: -1, BodySize: len(body),
	}
}

// entry writes one exchange.
func (r *Recorder) entry(e entry) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e) // texts and numbers can always be encoded
	r.mu.Lock()
	defer r.mu.Unlock()
	separator := ",\n"
	if r.entries == 0 {
		separator = "\n"
	}
	r.entries++
	r.writeLocked(append([]byte(separator), bytes.TrimSuffix(b.Bytes(), []byte("\n"))...))
}

func (r *Recorder) write(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked(p)
}

func (r *Recorder) writeLocked(p []byte) {
	if r.err == nil {
		_, r.err = r.w.Write(p)
	}
}

// Len counts the exchanges that were recorded.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// CloseIdleConnections gives back the connections of the transport.
func (r *Recorder) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Close ends the archive. It returns the first error of writing, if there was
// one. It does not close the writer.
func (r *Recorder) Close() error {
	r.CloseIdleConnections()
	r.write([]byte("\n]}}\n"))
	return r.err
}

// tee keeps what is read of a body.
type tee struct {
	io.ReadCloser
	seen []byte
	done func(body []byte, err error) // nil: it was called
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.seen = append(t.seen, p[:n]...)
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
		t.done(t.seen, err)
		t.done = nil
	}
}

var errClosed = errors.New("the body was not read to its end")
