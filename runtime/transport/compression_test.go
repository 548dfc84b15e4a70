package transport

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// zstded returns a frame of zstd with a checksum.
func zstded(text string, options ...zstd.EOption) string {
	b := &bytes.Buffer{}
	w, err := zstd.NewWriter(b, append([]zstd.EOption{
		zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithWindowSize(32 << 10),
	}, options...)...)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.String()
}

// The frames of zstd are written by hand where no compressor would write them (RFC 8878).
const (
	zstdMagic      = "\x28\xb5\x2f\xfd"
	skippableFrame = "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"

	// Frames with a raw block of two bytes, "[]". The first byte of the header says which
	// fields follow, the second one is the window: 2^(10+b/8), or the size of the content.
	frameOf8MiB       = zstdMagic + "\x00\x68" + "\x11\x00\x00[]"
	frameOf9MiB       = zstdMagic + "\x00\x69" + "\x11\x00\x00[]"
	frameOfASegment   = zstdMagic + "\xa0\x00\x00\x00\x40" + "\x11\x00\x00[]" // of 1 GiB
	frameOfDictionary = zstdMagic + "\x01\x00\x07" + "\x11\x00\x00[]"
)

// send returns a handler that sends a body with the headers of its encoding.
func send(status int, body string, encodings ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, e := range encodings {
			w.Header().Add("Content-Encoding", e)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAPageIsWhatWasCompressed(t *testing.T) {
	const page = `{"data": [1, 2, 3]}`
	large := `["` + strings.Repeat("0123456789", 1<<20) + `"]` // goes to a file
	for _, c := range []struct {
		name, body, want string
		encodings        []string
	}{
		{"gzip", zipped(page), page, []string{"gzip"}},
		{"zstd", zstded(page), page, []string{"zstd"}},
		{"names in capitals", zipped(page), page, []string{"GZIP"}},
		{"an old name", zipped(page), page, []string{"x-gzip"}},
		{"identity", page, page, []string{"identity"}},
		{"a name that is empty", page, page, []string{""}},
		{"identity and gzip", zipped(page), page, []string{"identity, gzip"}},
		{"twice", zipped(zipped(page)), page, []string{"gzip, gzip"}},
		{"the last one first", zstded(zipped(page)), page, []string{"gzip, zstd"}},
		{"several headers", zipped(zstded(page)), page, []string{"zstd", "gzip"}},
		{"three times", zipped(zstded(zipped(page))), page, []string{"gzip,zstd,gzip"}},
		{"members of gzip", zipped(page[:5]) + zipped("") + zipped(page[5:]), page, []string{"gzip"}},
		{"frames of zstd", zstded(page[:5]) + skippableFrame + zstded("") + zstded(page[5:]), page, []string{"zstd"}},
		{"a frame without checksum", zstded(page, zstd.WithEncoderCRC(false)), page, []string{"zstd"}},
		{"the largest window", frameOf8MiB, "[]", []string{"zstd"}},
		{"a large page of gzip", zipped(large), large, []string{"gzip"}},
		{"a large page of zstd", zstded(large), large, []string{"zstd"}},
		{"gzip without a header", zipped(page), page, nil},
		{"zstd without a header", zstded(page), page, nil},
		{"a file of gzip in zstd", zstded(zipped(page)), page, []string{"zstd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := serve(t, send(http.StatusOK, c.body, c.encodings...))
			client, _ := clientFor(t, s.URL)
			r, e := get(t, client, s.URL)
			require.Nil(t, e)
			if string(r.Body) != c.want {
				t.Fatal("the page differs")
			}
			require.EqualValues(t, 1, n.Load())
			if len(c.encodings) > 0 && c.want == page && c.body != page {
				require.Empty(t, r.Header.Values("Content-Encoding"), "the header describes the body, which is decompressed")
				require.Empty(t, r.Header.Values("Content-Length"))
			}
		})
	}
}

func TestABodyThatCannotBeDecompressedIsNotAPage(t *testing.T) {
	const page = `{"data": [1, 2, 3]}`
	for _, c := range []struct {
		name, body, encoding, want string
	}{
		{"text as gzip", page, "gzip", "the response is marked as gzip, but is not gzip"},
		{"zstd as gzip", zstded(page), "gzip", "the response is marked as gzip, but is not gzip"},
		{"text as zstd", page, "zstd", "the response is marked as zstd, but is not zstd"},
		{"gzip as zstd", zipped(page), "zstd", "the response is marked as zstd, but is not zstd"},
		{"gzip once as twice", zipped(page), "gzip, gzip", "the response is marked as gzip, but is not gzip"},
		{"no file of gzip", "\x1f\x8b and more text", "", "the response begins like a gzip file, but is not one"},
		{"bytes after gzip", zipped(page) + "0123456789", "gzip", "the response has other bytes after the end of its gzip content"},
		{"bytes after zstd", zstded(page) + "0123456789", "zstd", "the response has other bytes after the end of its zstd content"},
		{"a window that is too large", frameOf9MiB, "zstd", "the response is compressed by zstd with a window of more than 8 MiB"},
		{"a segment that is too large", frameOfASegment, "zstd", "the response is compressed by zstd with a window of more than 8 MiB"},
		{"a dictionary", frameOfDictionary, "zstd", "the response is compressed by zstd with a dictionary"},
		{"an encoding that was not requested", page, "br", "content encoding br, want gzip, zstd or none"},
		{"one of two", zipped(page), "deflate, gzip", "content encoding deflate, gzip, want gzip, zstd or none"},
		{"four times", page, "gzip, gzip, gzip, gzip", "content encoding gzip, gzip, gzip, gzip, want gzip, zstd or none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := serve(t, send(http.StatusOK, c.body, c.encoding))
			client, _ := clientFor(t, s.URL)
			_, e := get(t, client, s.URL)
			require.NotNil(t, e)
			require.Equal(t, c.want, e.Message)
			require.Equal(t, failure.Response, e.Class)
			require.EqualValues(t, 1, n.Load(), "another attempt would not help")
		})
	}
}

// The bodies are cut where the content that has arrived is complete, and only the framing of
// HTTP tells that there is more.
func TestABodyThatIsCutBetweenMembersOrFramesIsRequestedAgain(t *testing.T) {
	for _, c := range []struct{ name, encoding, body, head string }{
		{"gzip, shorter than its length", "gzip", zipped("[1, "), "HTTP/1.1 200 OK\r\nContent-Length: 500"},
		{"zstd, shorter than its length", "zstd", zstded("[1, "), "HTTP/1.1 200 OK\r\nContent-Length: 500"},
		{"gzip that is a list, shorter than its length", "gzip", zipped("[1]"), "HTTP/1.1 200 OK\r\nContent-Length: 500"},
		{"zstd that is a list, shorter than its length", "zstd", zstded("[1]"), "HTTP/1.1 200 OK\r\nContent-Length: 500"},
		{"gzip, where only the connection ends it", "gzip", zipped("[1, "), "HTTP/1.0 200 OK"},
		{"zstd, where only the connection ends it", "zstd", zstded("[1, "), "HTTP/1.1 200 OK\r\nConnection: close"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const complete = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"
			address, n := serveRaw(t, c.head+"\r\nContent-Encoding: "+c.encoding+"\r\n\r\n"+c.body, complete)
			client, _ := clientFor(t, address)
			r, e := get(t, client, address)
			require.Nil(t, e)
			require.Equal(t, "[]", string(r.Body))
			require.EqualValues(t, 2, n.Load())
		})
	}
}

// A stream has at least a header. A body without one is not empty content, but was cut off, except that a compressor of zstd
// writes no frame for it (TestAResponseWithoutABodyHasNoEncoding).
func TestACompressedBodyWithoutAByteIsCutOff(t *testing.T) {
	for _, c := range []struct{ name, head, body string }{
		{"gzip", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip", ""},
		{"zstd", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: zstd", ""},
		{"zstd, and no byte of its gzip", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip, zstd", zstded("")},
		{"no chunk of gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip", "0\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, _ := serveRaw(t, c.head+"\r\n\r\n"+c.body)
			client, _ := clientFor(t, address)
			_, err := client.Exchange(t.Context(), Call{Method: "GET", URL: address})
			require.ErrorIs(t, err, failure.ErrTransient)
			require.ErrorContains(t, err, "the response was cut off after 0 bytes")
		})
	}
}

// A response without content has no stream of its encoding if its length says so, or if its status is sufficient.
func TestACompressedBodyMayBeEmpty(t *testing.T) {
	for _, c := range []struct {
		name, head, body string
		status           int
	}{
		{"of length 0", "200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0", "", 200},
		{"a stream without content", "200 OK\r\nContent-Encoding: gzip", zipped(""), 200},
		{"a frame without content", "200 OK\r\nContent-Encoding: zstd", zstded(""), 200},
		{"an error", "404 Not Found\r\nContent-Encoding: zstd", "", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, n := serveRaw(t, "HTTP/1.1 "+c.head+"\r\nConnection: close\r\n\r\n"+c.body)
			client, _ := clientFor(t, address)
			r, err := client.Exchange(t.Context(), Call{Method: "GET", URL: address})
			require.NoError(t, err)
			require.Equal(t, c.status, r.Status)
			require.Empty(t, r.Body)
			require.EqualValues(t, 1, n.Load())
		})
	}
}

func TestALengthMarksTheEndOfACompressedBody(t *testing.T) {
	const text = "1\n2"
	for _, c := range []struct {
		name, encoding, body, framing string
		unframed                      bool
	}{
		{"gzip", "gzip", zipped(text), fmt.Sprintf("Content-Length: %d", len(zipped(text))), false},
		{"zstd", "zstd", zstded(text), fmt.Sprintf("Content-Length: %d", len(zstded(text))), false},
		{"plain", "identity", text, fmt.Sprintf("Content-Length: %d", len(text)), false},
		{"twice", "gzip, zstd", zstded(zipped(text)), fmt.Sprintf("Content-Length: %d", len(zstded(zipped(text)))), false},
		{"chunks", "gzip", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(zipped(text)), zipped(text)), "Transfer-Encoding: chunked", false},
		{"gzip without a length", "gzip", zipped(text), "Server: test", true},
		{"plain without a length", "identity", text, "Server: test", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, _ := serveRaw(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: "+c.encoding+"\r\n"+c.framing+"\r\n\r\n"+c.body)
			client, _ := clientFor(t, address)
			r, err := client.Exchange(t.Context(), Call{Method: "GET", URL: address})
			require.NoError(t, err)
			require.Equal(t, text, string(r.Body))
			require.Equal(t, c.unframed, r.Unframed)
		})
	}
}

func TestTheBodyLimitCountsDecompressedBytes(t *testing.T) {
	bomb := strings.Repeat("a", 1<<20)
	for name, body := range map[string]string{
		"gzip": zipped(bomb), "zstd": zstded(bomb), "gzip, gzip": zipped(zipped(bomb)), "gzip, zstd": zstded(zipped(bomb)), "": zipped(bomb),
	} {
		t.Run(name, func(t *testing.T) {
			s, n := serve(t, send(http.StatusOK, body, name))
			c, _ := clientFor(t, s.URL, func(o *Options) { o.MaxBody = 1<<20 - 1 })
			_, e := get(t, c, s.URL)
			require.NotNil(t, e)
			require.Equal(t, failure.Policy, e.Class)
			require.Equal(t, "the response has more than 1048575 bytes, decompressed", e.Message)
			require.EqualValues(t, 1, n.Load())
			c, _ = clientFor(t, s.URL, func(o *Options) { o.MaxBody = 1 << 20 })
			r, e := get(t, c, s.URL)
			require.Nil(t, e)
			require.Len(t, r.Body, 1<<20)
		})
	}
}

func TestAResponseWithoutABodyHasNoEncoding(t *testing.T) {
	for _, c := range []struct {
		name, method string
		answer       http.HandlerFunc
		status       int
	}{
		{"status 204", "GET", status(204, "Content-Encoding", "gzip"), 204},
		{"status 304", "GET", status(304, "Content-Encoding", "br"), 304},
		{"method HEAD", "HEAD", send(200, "", "zstd"), 200},
		{"an empty body", "GET", status(200, "Content-Encoding", "zstd", "Content-Length", "0"), 200},
		{"an empty body of unknown length", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "zstd")
			w.(http.Flusher).Flush()
		}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, c.answer)
			client, _ := clientFor(t, s.URL)
			r, err := client.Exchange(t.Context(), Call{Method: c.method, URL: s.URL})
			require.NoError(t, err)
			require.Equal(t, c.status, r.Status)
			require.Empty(t, r.Body)
		})
	}
}

func TestAnErrorIsReadWhateverItsEncoding(t *testing.T) {
	const reason = `{"error": "no such list"}`
	for _, c := range []struct {
		name     string
		answer   http.HandlerFunc
		requests int
		want     string
	}{
		{"gzip", send(404, zipped(reason), "gzip"), 1, "no such list"},
		{"zstd", send(404, zstded(reason), "zstd"), 1, "no such list"},
		{"an unknown encoding", send(404, "\x0b\x02\x80", "br"), 1, "404"},
		{"an unknown encoding, to be retried", send(503, "\x0b\x02\x80", "br"), 5, "503"},
		{"a wrong header", send(503, "<html>Bad gateway</html>", "gzip"), 5, "503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := serve(t, c.answer)
			client, _ := clientFor(t, s.URL)
			_, e := get(t, client, s.URL)
			require.NotNil(t, e)
			require.Contains(t, e.Error(), c.want)
			require.EqualValues(t, c.requests, n.Load())
		})
	}
}

func TestARedirectMayBeCompressed(t *testing.T) {
	s, n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/there")
		send(http.StatusFound, "not gzip", "gzip")(w, r)
	}, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "zstd, gzip", r.Header.Get("Accept-Encoding"))
		send(http.StatusOK, zstded("[1]"), "zstd")(w, r)
	})
	c, _ := clientFor(t, s.URL)
	r, e := get(t, c, s.URL)
	require.Nil(t, e)
	require.Equal(t, "[1]", string(r.Body))
	require.EqualValues(t, 2, n.Load())
}

// negotiate answers in the first encoding of Accept-Encoding, with the header as the page.
func negotiate(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get("Accept-Encoding")
	page := fmt.Sprintf("%q", header)
	encoding, _, _ := strings.Cut(header, ",")
	switch encoding {
	case "gzip":
		page = zipped(page)
	case "zstd":
		page = zstded(page)
	default:
		encoding = "identity"
	}
	send(http.StatusOK, page, encoding)(w, r)
}

func TestTheEncodingIsNegotiated(t *testing.T) {
	own := &http.Transport{}
	defer own.CloseIdleConnections()
	without := &http.Transport{DisableCompression: true}
	defer without.CloseIdleConnections()
	for _, c := range []struct {
		name      string
		transport http.RoundTripper
		header    http.Header
		want      string
	}{
		{"by default", nil, nil, "zstd, gzip"},
		{"as the configuration says", nil, http.Header{"Accept-Encoding": {"gzip"}}, "gzip"},
		{"as the configuration says in small letters", nil, http.Header{"accept-encoding": {"identity"}}, "identity"},
		{"not for a range, of which an encoding has other bytes", nil, http.Header{"Range": {"bytes=0-"}}, ""},
		{"by the transport of a program", own, nil, "gzip"},
		{"for a program that disables it", without, nil, ""},
		{"as the configuration says, with the transport of a program", own, http.Header{"Accept-Encoding": {"zstd"}}, "zstd"},
		{"for a program that wants it", Negotiated(own), nil, "zstd, gzip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, negotiate)
			client, _ := clientFor(t, s.URL, func(o *Options) { o.Transport = c.transport })
			r, err := client.Do(t.Context(), Call{Method: "GET", URL: s.URL, Header: c.header}, nil)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%q", c.want), string(r.Body))
		})
	}
}

func TestTheEncodingIsNegotiatedOverHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		negotiate(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	own := newTransport()
	own.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	c, _ := clientFor(t, s.URL, func(o *Options) { o.Transport = Negotiated(own) })
	r, e := get(t, c, s.URL)
	require.Nil(t, e)
	require.Equal(t, `"zstd, gzip"`, string(r.Body))
}

func TestAnEncodingThatTheConfigurationRequestsIsNamedInTheHint(t *testing.T) {
	s, _ := serve(t, send(http.StatusOK, "\x0b\x02\x80[]\x03", "br"))
	c, _ := clientFor(t, s.URL)
	_, err := c.Do(t.Context(), Call{Method: "GET", URL: s.URL, Header: http.Header{"Accept-Encoding": {"gzip, br"}}}, nil)
	var e *failure.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Message, "content encoding br")
	require.Contains(t, e.Hint, "remove it")
}

func TestATransportMayDecompressItself(t *testing.T) {
	const page = "[1]"
	answer := func(uncompressed bool, encoding, body string) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Encoding": {encoding}}, ContentLength: -1, Uncompressed: uncompressed,
				Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		})
	}
	for name, transport := range map[string]http.RoundTripper{
		"it says so":  answer(true, "gzip", page),
		"it does not": answer(false, "zstd", zstded(page)),
		"around ours": Decompressed(Negotiated(answer(false, "gzip", zipped(page)))),
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := clientFor(t, "http://api.test/", func(o *Options) { o.Transport = transport })
			r, e := get(t, c, "http://api.test/")
			require.Nil(t, e)
			require.Equal(t, page, string(r.Body))
		})
	}
}

func TestDecompressorsAreReusedForOneBodyAtATime(t *testing.T) {
	s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		page := strings.Repeat(r.URL.Path, 5000)
		if strings.Contains(r.URL.Path, "cut") {
			send(http.StatusOK, zstded(page)[:20], "zstd")(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "0") {
			send(http.StatusOK, zipped(page), "gzip")(w, r)
			return
		}
		send(http.StatusOK, zstded(page), "zstd")(w, r)
	})
	c, _ := clientFor(t, s.URL)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 20 {
				path := fmt.Sprintf("/%d/%d", n, i%2)
				r, err := c.Exchange(t.Context(), Call{Method: "GET", URL: s.URL + path})
				if err != nil || string(r.Body) != strings.Repeat(path, 5000) {
					t.Errorf("%s: another page, or an error: %v", path, err)
				}
				if _, err := c.Exchange(t.Context(), Call{Method: "GET", URL: s.URL + path + "/cut"}); err == nil {
					t.Errorf("%s: the page was cut off, without an error", path)
				}
			}
		})
	}
	group.Wait()
}

func TestAConnectionIsReusedAfterACompressedPage(t *testing.T) {
	for name, body := range map[string]string{"gzip": zipped("[1]"), "zstd": zstded("[1]")} {
		t.Run(name, func(t *testing.T) {
			connections := map[string]bool{}
			s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				connections[r.RemoteAddr] = true
				w.(http.Flusher).Flush() // in chunks: the last one has to be read, too
				send(http.StatusOK, body, name)(w, r)
			})
			c, _ := clientFor(t, s.URL)
			for range 3 {
				_, e := get(t, c, s.URL)
				require.Nil(t, e)
			}
			require.Len(t, connections, 1)
		})
	}
}

// A body may be closed by another goroutine while it is read, as those of net/http.
func TestABodyThatIsClosedEndsAReadThatWaits(t *testing.T) {
	for name, e := range map[string]*encoding{"gzip": allEncodings[0], "zstd": allEncodings[1]} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			body := e.decompress(here)
			done := make(chan error)
			go func() {
				_, err := io.ReadAll(body)
				done <- err
			}()
			_, err := io.WriteString(there, e.magic)
			require.NoError(t, err)
			require.NoError(t, body.Close())
			require.ErrorIs(t, <-done, io.ErrClosedPipe)
		})
	}
}

// A page is announced once, when all of it has arrived, and before it is decompressed: only then
// is there time for another request.
func TestTheArrivalOfAPageIsAnnounced(t *testing.T) {
	small, large := `{"data": [1, 2, 3]}`, random(3*aheadBytes)
	for _, c := range []struct {
		name, body string
		encodings  []string
		status     int
		want       []int // sizes that were announced
	}{
		{"gzip", zipped(small), []string{"gzip"}, 200, []int{len(zipped(small))}},
		{"zstd", zstded(small), []string{"zstd"}, 200, []int{len(zstded(small))}},
		{"one in another", zstded(zipped(small)), []string{"gzip, zstd"}, 200, []int{len(zstded(zipped(small)))}},
		{"large, gzip", zipped(large), []string{"gzip"}, 200, []int{len(zipped(large))}},
		{"large, zstd", zstded(large), []string{"zstd"}, 200, []int{len(zstded(large))}},
		{"exactly as large as what is read ahead", zipped(large)[:aheadBytes], []string{"gzip"}, 200, []int{aheadBytes}},
		{"damaged", "\x1f\x8b" + small, []string{"gzip"}, 200, []int{2 + len(small)}},
		{"not compressed", small, nil, 200, []int{len(small)}},
		{"large, not compressed", large, nil, 200, []int{len(large)}},
		{"an error", small, nil, 404, nil},
		{"a compressed error", zipped(small), []string{"gzip"}, 404, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					w.Header().Set("Content-Encoding", "gzip")
					w.Header().Set("Location", "/page")
					w.WriteHeader(http.StatusTemporaryRedirect)
					_, _ = io.WriteString(w, zipped("moved"))
					return
				}
				send(c.status, c.body, c.encodings...)(w, r)
			})
			client, _ := clientFor(t, s.URL)
			var got []int
			call := Call{Method: "GET", URL: s.URL, BodyTarget: BodyTarget{Into: &spool.Buffer{}}}
			call.Arrived = func(bytes int) {
				if c.encodings != nil && bytes < aheadBytes {
					require.Zero(t, call.Into.Len(), "the page was decompressed before")
				}
				got = append(got, bytes)
			}
			response, err := client.Exchange(t.Context(), call)
			require.Equal(t, c.want, got)
			if err == nil && c.want != nil {
				require.Equal(t, c.want[0], response.Received)
			}
		})
	}
}

// A body that breaks off has not arrived.
func TestABodyThatBreaksOffIsNotAnnounced(t *testing.T) {
	plain := random(2 * aheadBytes)
	for encoding, whole := range map[string]string{"gzip": zipped(plain), "identity": plain} {
		for _, size := range []int{0, 10, aheadBytes, aheadBytes + 1, len(whole) - 1} {
			s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", encoding)
				w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
				_, _ = io.WriteString(w, whole[:size])
			})
			c, _ := clientFor(t, s.URL)
			call := Call{Method: "GET", URL: s.URL}
			call.Arrived = func(int) { t.Error("the body has arrived") }
			_, err := c.Exchange(t.Context(), call)
			require.ErrorIs(t, err, failure.ErrTransient, "%s, %d bytes", encoding, size)
			require.ErrorContains(t, err, "cut off")
		}
	}
}

// random returns a text that cannot be compressed to less than three quarters of its size.
func random(bytes int) string {
	source, b := rand.New(rand.NewPCG(1, 2)), make([]byte, bytes)
	for i := range b {
		b[i] = ' ' + byte(source.IntN(64))
	}
	return string(b)
}

func TestEveryCutOfACompressedBodyIsAnError(t *testing.T) {
	const page = `{"data": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]}`
	for i, whole := range []string{zipped(page), zstded(page)} {
		for size := range len(whole) {
			_, err := io.ReadAll(allEncodings[i].decompress(io.NopCloser(strings.NewReader(whole[:size]))))
			require.Error(t, err, "%s, the first %d bytes", allEncodings[i].name, size)
		}
	}
}

// A damaged body has an error, or its damage is in a part of the header that has no meaning
// for the content.
func FuzzADamagedBodyIsNeverAnotherPage(f *testing.F) {
	f.Add("", false, uint16(0), byte(1), uint16(0))
	f.Add(`{"data": [1, 2, 3]}`, true, uint16(4), byte(4), uint16(0))
	f.Add(strings.Repeat("[[]]", 10_000), true, uint16(30), byte(255), uint16(3))
	f.Add(strings.Repeat("0123456789", 1000), false, uint16(70), byte(16), uint16(8))
	f.Fuzz(func(t *testing.T, page string, isZstd bool, at uint16, flip byte, cut uint16) {
		e, whole := allEncodings[0], zipped(page)
		if isZstd {
			e, whole = allEncodings[1], zstded(page)
		}
		damaged := []byte(whole)
		damaged[int(at)%len(damaged)] ^= flip
		damaged = damaged[:max(1, len(damaged)-int(cut)%len(damaged))]
		got, err := io.ReadAll(e.decompress(io.NopCloser(bytes.NewReader(damaged))))
		if err == nil && string(got) != page {
			t.Fatalf("%d bytes of %s became %d other bytes", len(page), e.name, len(got))
		}
		if string(damaged) == whole && err != nil {
			t.Fatalf("an intact body: %v", err)
		}
	})
}
