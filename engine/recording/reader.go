package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Recording is what an archive holds.
type Recording struct {
	Exchanges []Exchange
	Truncated bool // the file ends in the middle: the run that wrote it was killed
}

// Exchange is one request and what came of it.
type Exchange struct {
	Method, URL string
	Header      http.Header
	Body        []byte // of the request; nil: none

	Status         int // 0: no response came
	ResponseHeader http.Header
	ResponseBody   []byte
	Fault          string // what went wrong; empty: the response is whole

	Started time.Time
	Took    time.Duration // until the body was read
}

// Read reads an archive. Browsers and proxies write archives too; what is not
// understood in them is passed over. The error says what is no archive at all.
func Read(r io.Reader) (*Recording, error) {
	out := &Recording{}
	dec := json.NewDecoder(r)
	err := walk(dec, "log", func() error {
		return walk(dec, "entries", func() error { return out.entries(dec) })
	})
	switch {
	case len(out.Exchanges) > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		out.Truncated = true
	case err != nil:
		return nil, fmt.Errorf("not an HTTP archive (HAR): %w", err)
	case len(out.Exchanges) == 0:
		return nil, errors.New("no exchange in this HTTP archive (HAR)")
	}
	return out, nil
}

// walk goes into an object to the member of a name, and leaves the rest out.
func walk(dec *json.Decoder, name string, found func() error) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key == name {
			err = found()
		} else {
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

func expect(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err == nil && token != want {
		err = fmt.Errorf("at byte %d: want %v, got %v", dec.InputOffset(), want, token)
	}
	return err
}

func (r *Recording) entries(dec *json.Decoder) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		var e entry
		if err := dec.Decode(&e); err != nil {
			return err
		}
		x, err := e.exchange()
		if err != nil {
			return fmt.Errorf("entry %d: %w", len(r.Exchanges)+1, err)
		}
		r.Exchanges = append(r.Exchanges, x)
	}
	return expect(dec, ']')
}

func (e entry) exchange() (Exchange, error) {
	x := Exchange{
		Method: e.Request.Method, URL: e.Request.URL, Header: headerOf(e.Request.Headers),
		Status: max(e.Response.Status, 0), ResponseHeader: headerOf(e.Response.Headers), Fault: e.Error,
		Took: time.Duration(max(e.Time, 0) * float64(time.Millisecond)),
	}
	x.Started, _ = time.Parse(time.RFC3339Nano, e.Started)
	if e.Request.PostData != nil {
		x.Body = []byte(e.Request.PostData.Text)
	}
	if x.Status == 0 && x.Fault == "" {
		x.Fault = "no response"
	}
	var err error
	if x.ResponseBody, err = e.Response.Content.body(); err != nil {
		return x, fmt.Errorf("response body: %w", err)
	}
	// The body stands in the archive as it was read, whatever it came as.
	for _, name := range []string{"Content-Encoding", "Content-Length", "Transfer-Encoding"} {
		x.ResponseHeader.Del(name)
	}
	return x, nil
}

func headerOf(pairs []pair) http.Header {
	h := http.Header{}
	for _, p := range pairs {
		h.Add(p.Name, p.Value)
	}
	return h
}
