package recording_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/printable"
)

type sameAnswer []byte

func (a sameAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(a)), ContentLength: int64(len(a)), Request: req,
	}, nil
}

func BenchmarkRecorder(b *testing.B) {
	var page strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&page, `,{"id":%d,"name":"Item \"%d\"","mail":"user%d@example.com","city":"Zürich","text":"Lorem ipsum dolor sit amet, consectetur adipiscing elit","tags":["a","b"],"price":%d.5}`, i, i, i, i)
	}
	body := sameAnswer("[" + page.String()[1:] + "]")
	r := recording.NewRecorder(printable.Writer(io.Discard, printable.JSON), recording.Options{Transport: body})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://example.com/items?page=1", nil)
		require.NoError(b, err)
		resp, err := r.RoundTrip(req)
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(b, err)
	}
}
