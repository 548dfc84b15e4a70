package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// A Recording is the content of an archive.
type Recording struct {
	Exchanges []Exchange
	Started   time.Time // start of the run; zero if another program wrote the file
	Truncated bool      // whether the file ends early: the run that wrote it was killed
}

// An Exchange is one request and its response or error.
type Exchange struct {
	Method, URL string
	Header      http.Header
	Body        []byte // nil if there is no body

	Status         int // 0 if there was no response
	ResponseHeader http.Header
	ResponseBody   []byte
	Error          string // what went wrong; empty if the response is complete
	BodyMissing    bool   // whether the archive lacks the body of a response that was complete; Error says so

	Started  time.Time
	Took     time.Duration // time until the body was read
	Resumed  bool          // whether it is the first exchange of a run that resumes the run before
	Unframed bool          // whether only the end of the connection ended the body
}

// The limits of an archive: twice the exchanges of a run with the default limit of pages, and
// 1 GiB.
const (
	maxExchanges    = 200_000
	maxArchiveBytes = 1 << 30
)

// Read reads an archive. Browsers and proxies write archives too; Read ignores
// their additions. It returns an error if r is not an archive, has no exchanges, more
// than 200,000 exchanges, or more than 1 GiB.
func Read(r io.Reader) (*Recording, error) { return read(r, maxArchiveBytes) }

func read(r io.Reader, limit int64) (*Recording, error) {
	out := &Recording{}
	dec := json.NewDecoder(http.MaxBytesReader(nil, io.NopCloser(r), limit))
	err := readMembers(dec, map[string]func() error{"log": func() error {
		return readMembers(dec, map[string]func() error{
			"_started": func() error {
				var text json.RawMessage
				err := dec.Decode(&text)
				_ = json.Unmarshal(text, &out.Started)
				return err
			},
			"entries": func() error { return out.readEntries(dec) },
		})
	}})
	switch {
	case len(out.Exchanges) > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		out.Truncated = true
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, fmt.Errorf("the HTTP archive (HAR) has more than %d bytes", limit)
	case errors.Is(err, errTooMany):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("not an HTTP archive (HAR): %w", err)
	case len(out.Exchanges) == 0:
		return nil, errors.New("the HTTP archive (HAR) has no entries")
	}
	return out, nil
}

var errTooMany = fmt.Errorf("the HTTP archive (HAR) has more than %d exchanges", maxExchanges)

// readMembers reads an object: some members with functions, by their names. It skips the others.
func readMembers(dec *json.Decoder, members map[string]func() error) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if read := members[name]; read != nil {
			err = read()
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

func (r *Recording) readEntries(dec *json.Decoder) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		if len(r.Exchanges) == maxExchanges {
			return errTooMany
		}
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
		Method: e.Request.Method, URL: e.Request.URL, Header: newHeader(e.Request.Headers),
		Status: max(e.Response.Status, 0), ResponseHeader: newHeader(e.Response.Headers), Error: e.Error,
		Took: time.Duration(max(e.Time, 0) * float64(time.Millisecond)), Resumed: e.Resumed, Unframed: e.Unframed,
	}
	x.Started, _ = time.Parse(time.RFC3339Nano, e.Started)
	if e.Request.PostData != nil {
		x.Body = []byte(e.Request.PostData.Text)
	}
	if x.Status == 0 && x.Error == "" {
		x.Error = "no response"
	}
	var err error
	if x.ResponseBody, err = e.Response.Content.body(); err != nil {
		return x, fmt.Errorf("response body: %w", err)
	}
	if x.Error == "" && e.Response.lacksBody() {
		x.BodyMissing, x.Error = true, "the recording does not have the body of this response"
		if size := e.Response.Content.Size; size > 0 {
			x.Error += ", which has " + wording.Counted(size, "byte")
		}
	}
	// An archive holds the decoded body; these headers may describe the encoded one.
	x.ResponseHeader.Del("Content-Encoding")
	x.ResponseHeader.Del("Transfer-Encoding")
	if x.ResponseHeader.Get("Content-Length") != strconv.Itoa(len(x.ResponseBody)) {
		x.ResponseHeader.Del("Content-Length")
	}
	return x, nil
}

func newHeader(pairs []pair) http.Header {
	h := http.Header{}
	for _, p := range pairs {
		h.Add(p.Name, p.Value)
	}
	return h
}
