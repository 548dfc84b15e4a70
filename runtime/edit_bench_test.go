package runtime

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// shaped returns the run of a job with more keys than an endpoint.
func shaped(tb testing.TB, keys string) *listRun { return runOf(tb, "", keys) }

// runOf returns the run of a job, with more keys of the API and of the job.
func runOf(tb testing.TB, api, keys string) *listRun {
	if !strings.Contains(keys, "dataField") {
		keys += `, "dataField": "data"`
	}
	jobs := compiletest.Jobs(tb, `{"api": {"baseUrl": "https://api.test/"`+api+`}, "config": {"jobs": [{"endpoint": "users"`+keys+`}]}}`)
	r := newListRun(tb.Context(), Loop{}, List{Partition: Partition{Job: jobs[0]}}, nil)
	tb.Cleanup(r.close)
	return r
}

// BenchmarkShape measures a page of 1000 items of about 270 bytes, from the arrival of its
// body to the output, with nothing, a filter that reads one field, and fields. The variants
// take turns in every iteration, so that they share the noise of the machine.
func BenchmarkShape(b *testing.B) {
	const items = 1000
	body := bytes.NewBufferString(`{"data":[`)
	for i := range items {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(body, `{"id":%d,"name":"Item \"%d\" ä","price":%d.50,"tags":["a","b\n","c"],`, i, i, i)
		fmt.Fprintf(body, `"owner":{"id":9007199254740993,"mail":"user%d@example.com","address":{"city":"Pra\u0068a","zip":"%05d"}},`, i, i%99999)
		body.WriteString(`"note":"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod"}`)
	}
	body.WriteString(`]}`)
	variants := []struct {
		name, keys string
		written    int
		run        *listRun
		spent      time.Duration
	}{
		{name: "none", written: items},
		{name: "filter", keys: `, "filter": "item.id < 500"`, written: items / 2},
		{name: "copy", keys: `, "fields": {"key": "item.id"}`, written: items},
		{name: "compute", keys: `, "fields": {"key": "item.id + 1"}`, written: items},
		{name: "remove", keys: `, "fields": {"note": null}`, written: items},
	}
	for i := range variants {
		variants[i].run = shaped(b, variants[i].keys)
	}
	var copied []byte
	for b.Loop() {
		for i := range variants {
			v := &variants[i]
			copied = append(copied[:0], body.Bytes()...) // the reader modifies it
			begun := time.Now()
			reading, err := v.run.workspace.reader.Read(document.Response{Status: http.StatusOK, Body: copied})
			require.NoError(b, err)
			page := &Page{Items: reading.Items, Lists: reading.Lists, values: reading.Values}
			require.NoError(b, v.run.editItems(b.Context(), page, nil))
			require.Equal(b, v.written, page.Items.Len())
			_, err = page.Items.WriteTo(io.Discard)
			require.NoError(b, err)
			v.spent += time.Since(begun)
		}
	}
	for _, v := range variants {
		b.ReportMetric(float64(v.spent.Nanoseconds())/float64(b.N*items), v.name+"-ns/item")
	}
}
