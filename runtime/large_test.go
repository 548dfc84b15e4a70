package runtime

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// largePage returns a page of more than size bytes, and its items as NDJSON.
func largePage(size int, indented bool) (page, items []byte) {
	var b, lines bytes.Buffer
	b.WriteString(`{"data":[`)
	for n := 0; b.Len() < size; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		if indented {
			fmt.Fprintf(&b, "\n  { \"id\" : %d,\n    \"text\": \"a, b] \\\"%d\\\"\" }", n, n)
		} else {
			fmt.Fprintf(&b, `{"id":%d,"text":"a, b] \"%d\""}`, n, n)
		}
		fmt.Fprintf(&lines, `{"id":%d,"text":"a, b] \"%d\""}`+"\n", n, n)
	}
	b.WriteString(`],"last":true}`)
	return b.Bytes(), lines.Bytes()
}

func TestALargePageIsReadFromAFileAsFromMemory(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, c := range []struct {
		name                 string
		indented, withLength bool
	}{
		{"minified, chunked", false, false}, {"minified, with its length", false, true},
		{"indented, chunked", true, false}, {"indented, with its length", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, items := largePage(5<<20, c.indented)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.withLength {
					w.Header().Set("Content-Length", strconv.Itoa(len(page)))
				}
				_, _ = w.Write(page)
			}))
			defer api.Close()
			origin, err := url.Parse(api.URL)
			require.NoError(t, err)
			client := transport.New(transport.Options{Origin: origin})
			defer client.Close()
			options := document.Options{Paths: [][]string{{"last"}}, DataField: &rules.DataField{Keys: []string{"data"}, Text: "data"}}
			inMemory, err := document.NewReader(options).Read(document.Response{Status: http.StatusOK, Body: bytes.Clone(page)})
			require.NoError(t, err)
			reader, buffer := document.NewReader(options), &spool.Buffer{}
			defer buffer.Release()
			for _, arriving := range []bool{true, false, true, false} { // some with buffers that were used before
				call := transport.Call{Method: "GET", URL: api.URL, BodyTarget: transport.BodyTarget{Into: buffer}}
				if arriving {
					call.Reader = reader
				}
				r, err := client.Do(t.Context(), call, nil)
				require.NoError(t, err)
				require.Equal(t, len(page), r.Size)
				require.Equal(t, page[:1024], r.Head())
				require.Equal(t, goruntime.GOOS == "linux", r.Mapping != nil)
				scan, scanned := r.Scan.(*document.Scan)
				require.Equal(t, arriving && r.Mapping != nil, scanned)
				spooled, err := reader.Read(document.Response{Status: r.Status, Body: r.Body, Mapping: r.Mapping, Scan: scan})
				require.NoError(t, err)
				require.Equal(t, inMemory.Content, spooled.Content)
				require.Equal(t, inMemory.ItemsDigest, spooled.ItemsDigest)
				require.Equal(t, map[string]any{"last": true}, spooled.Body)
				require.Equal(t, bytes.Count(items, []byte("\n")), spooled.Items.Len())
				var written bytes.Buffer
				n, err := spooled.Items.WriteTo(&written)
				require.NoError(t, err)
				require.EqualValues(t, len(items), n)
				require.True(t, bytes.Equal(items, written.Bytes()))
				var each bytes.Buffer
				for item := range spooled.Items.All() {
					each.Write(append(item, '\n'))
				}
				require.True(t, bytes.Equal(items, each.Bytes()))
				further, err := spooled.Lookup(document.NewPaths([][]string{{"last"}, {"absent"}}))
				require.NoError(t, err)
				require.Equal(t, map[string]any{"last": true}, further)
				clone := spooled.Items.Clone()
				buffer.Release()
				reader.Close()
				require.True(t, bytes.Equal(items, clone.Bytes()), "a clone outlives the buffer")
			}
		})
	}
}
