package runtime

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A large page that is cut off while it is scanned gives nothing, and the same reader and buffer then
// read the complete page.
func TestALargePageThatIsCutOffGivesNothing(t *testing.T) {
	page, items := largePage(5<<20, false)
	sent := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page[:sent]) // the server closes the connection if this is not all
	}))
	defer api.Close()
	origin, err := url.Parse(api.URL)
	require.NoError(t, err)
	client := transport.New(transport.Options{Origin: origin})
	defer client.Close()
	data := &rules.DataField{Keys: []string{"data"}, Text: "data"}
	reader, buffer := document.NewReader(document.Options{DataField: data}), &spool.Buffer{}
	defer buffer.Release()
	for _, sent = range []int{1, 300 << 10, len(page) - 1, len(page)} {
		response, err := client.Exchange(t.Context(), transport.Call{Method: "GET", URL: api.URL, BodyTarget: transport.BodyTarget{Into: buffer, Reader: reader}})
		if sent < len(page) {
			require.Nil(t, response)
			var fault *failure.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, failure.Transient, fault.Class)
			require.Contains(t, fault.Message, "cut off after "+strconv.Itoa(sent)+" bytes")
			continue
		}
		require.NoError(t, err)
		scan, _ := response.Scan.(*document.Scan)
		reading, err := reader.Read(document.Response{Status: response.Status, Body: response.Body, Mapping: response.Mapping, Scan: scan})
		require.NoError(t, err)
		require.Equal(t, string(items), string(reading.Items.Bytes()))
	}
}
