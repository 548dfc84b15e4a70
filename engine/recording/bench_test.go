package recording_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// BenchmarkRecorder records pages of 1000 items, as the command writes them.
func BenchmarkRecorder(b *testing.B) {
	var page strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&page, `,{"id":%d,"name":"Item \"%d\"","mail":"user%d@example.com","city":"Zürich",`+
			`"text":"Lorem ipsum dolor sit amet, consectetur adipiscing elit","tags":["a","b"],"price":%d.5}`, i, i, i, i)
	}
	body := "[" + page.String()[1:] + "]"
	r := recording.NewRecorder(printable.Writer(io.Discard, printable.JSON), recording.Options{
		Transport: transport(func(*http.Request) (*http.Response, error) {
			resp := answer(http.StatusOK, body, "Content-Type", "application/json")
			resp.ContentLength = int64(len(body))
			return resp, nil
		}),
	})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		resp, err := r.RoundTrip(request(http.MethodGet, "https://api.test/items?page=1", ""))
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(b, err)
	}
}
