package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// page returns a response with n items of about 270 bytes: nested objects, escapes,
// long integers.
func page(from, n int) []byte {
	b := bytes.NewBufferString(`{"data":[`)
	for i := from; i < from+n; i++ {
		if i > from {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `{"id":%d,"name":"Item \"%d\" ä","price":%d.50,"tags":["a","b\n","c"],`, i, i, i)
		fmt.Fprintf(b, `"owner":{"id":9007199254740993,"mail":"user%d@example.com","address":{"city":"Pra\u0068a","zip":"%05d"}},`, i, i%99999)
		b.WriteString(`"note":"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod"}`)
	}
	fmt.Fprintf(b, `],"isLast":false,"meta":{"from":%d}}`, from)
	return b.Bytes()
}

// BenchmarkRun measures a run over the loopback interface, including the server: 20
// pages of 1000 items, method offset with nextPageFlag and all three limits of
// forceStop. The benchmark floor fetches the same bodies in the same process and
// discards them.
func BenchmarkRun(b *testing.B) {
	const pages, size = 20, 1000
	bodies := make([][]byte, pages+1)
	bytesOut := 0
	for i := range bodies {
		if i < pages {
			bodies[i] = page(i*size, size)
		} else {
			bodies[i] = []byte(`{"data":[],"isLast":false}`)
		}
		bytesOut += len(bodies[i])
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		body := bodies[offset/size]
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
	defer api.Close()
	e, err := engine.Load("bench.json", []byte(`{"api": {"baseUrl": "`+api.URL+`", "pagination": {"method": "offset", "limit": 1000,
		"nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": false}, "forceStop": {"pages": 1000, "time": 3600, "volume": 100000000000}}},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data"}]}}`))
	require.NoError(b, err)
	b.Run("engine", func(b *testing.B) {
		b.SetBytes(int64(bytesOut))
		b.ReportAllocs()
		for b.Loop() {
			items := 0
			_, err := e.Run(context.Background(), func(_ context.Context, p *engine.Page) error {
				items += p.Items.Len()
				_, err := p.Items.WriteTo(io.Discard)
				return err
			})
			require.NoError(b, err)
			require.Equal(b, pages*size, items)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*(pages+1)), "µs/page")
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(bytesOut))
		for b.Loop() {
			for i := range bodies {
				r, err := http.Get(api.URL + "/items?offset=" + strconv.Itoa(i*size))
				require.NoError(b, err)
				_, err = io.Copy(io.Discard, r.Body)
				require.NoError(b, err)
				_ = r.Body.Close()
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*(pages+1)), "µs/page")
	})
}

// BenchmarkLoad measures reading, lowering and compiling a small configuration of
// one job.
func BenchmarkLoad(b *testing.B) {
	text := []byte(`{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 100,
		"stopRules": ["body.meta.page >= body.meta.pages"]}}, "config": {"jobs": [{"endpoint": "items", "dataField": "data"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		_, err := engine.Load("load.json", text)
		require.NoError(b, err)
	}
}

// BenchmarkLoadManyJobs measures compiling 500 jobs: with the same pagination, and of one page
// each. Of the figures per job, held is the memory that is still in use afterwards.
func BenchmarkLoadManyJobs(b *testing.B) {
	const jobs = 500
	for _, c := range []struct{ name, pagination string }{{"Paged", `, "pagination": {"method": "offset", "limit": 100}`}, {"OfOnePage", ""}} {
		b.Run(c.name, func(b *testing.B) {
			text := bytes.NewBufferString(`{"api": {"baseUrl": "https://api.example.com/"` + c.pagination + `}, "config": {"jobs": [`)
			for i := range jobs {
				if i > 0 {
					text.WriteByte(',')
				}
				fmt.Fprintf(text, `{"endpoint": "items", "dataField": "data", "params": {"customer": %d}}`, i)
			}
			text.WriteString(`]}}`)
			load(b, text.Bytes()) // what all configurations share
			before := heap()
			e := load(b, text.Bytes())
			held := heap() - before
			b.ReportAllocs()
			for b.Loop() {
				load(b, text.Bytes())
			}
			goruntime.KeepAlive(e)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
			b.ReportMetric(float64(held)/jobs, "held-B/job")
		})
	}
}
