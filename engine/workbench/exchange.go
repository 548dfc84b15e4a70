package workbench

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// maxBody is the number of bytes of a body that are kept.
const maxBody = 16 << 20

// An exchange is a request and its response, as they were sent.
type exchange struct {
	method, address string
	header          http.Header
	body            []byte
	status          int // 0 without a response
	answered        http.Header
	answer          []byte
	cut             bool // the answer is longer
	err             error
}

// exchangeOf returns a recorded exchange.
func exchangeOf(x recording.Exchange) *exchange {
	out := &exchange{
		method: x.Method, address: x.URL, header: x.Header, body: x.Body,
		status: x.Status, answered: x.ResponseHeader, answer: x.ResponseBody,
	}
	if x.Error != "" {
		out.err = errors.New(x.Error)
	}
	return out
}

// A tap is a transport that keeps the exchanges of another one. Requests for credentials are not kept.
type tap struct {
	next http.RoundTripper

	lock sync.Mutex
	made []*exchange
}

func newTap(next http.RoundTripper) *tap { return &tap{next: transport.Decompressed(next)} }

// RoundTrip makes an exchange.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	if !transport.Recordable(r) {
		return t.next.RoundTrip(r)
	}
	x := &exchange{method: r.Method}
	x.address, x.header = transport.Recorded(r)
	x.header = x.header.Clone()
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		x.body, r.Body = body, io.NopCloser(bytes.NewReader(body))
	}
	t.lock.Lock()
	t.made = append(t.made, x)
	t.lock.Unlock()
	response, err := t.next.RoundTrip(r)
	if err != nil {
		x.err = err
		return nil, err
	}
	x.status, x.answered = response.StatusCode, response.Header.Clone()
	response.Body = &keptBody{ReadCloser: response.Body, exchange: x}
	return response, nil
}

// CloseIdleConnections closes the idle connections of the transport.
func (t *tap) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// taken returns the exchanges since the last call.
func (t *tap) taken() []*exchange {
	t.lock.Lock()
	defer t.lock.Unlock()
	made := t.made
	t.made = nil
	return made
}

// keptBody keeps what is read of a body.
type keptBody struct {
	io.ReadCloser
	exchange *exchange
}

// Read reads from the body.
func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	room := maxBody - len(b.exchange.answer)
	b.exchange.cut = b.exchange.cut || n > room
	b.exchange.answer = append(b.exchange.answer, p[:min(n, room)]...)
	if err != nil && err != io.EOF {
		b.exchange.err = err
	}
	return n, err
}
