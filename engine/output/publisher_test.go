package output

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/fixtures"
)

// flakyAPI serves two lists of four pages, and refuses one request of the run. The fourth
// page has a member that no page before it has.
type flakyAPI struct {
	requests atomic.Int64
	refused  atomic.Int64 // the number of a request
}

func (a *flakyAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := r.URL.Query().Get("page")
	switch {
	case a.requests.Add(1) == a.refused.Load():
		w.WriteHeader(http.StatusForbidden)
	case page == "5":
		fmt.Fprint(w, `[]`)
	case page == "4":
		fmt.Fprintf(w, `[{"id":"%s4","late":true}]`, r.URL.Path[1:])
	default:
		fmt.Fprintf(w, `[{"id":"%s%s"}]`, r.URL.Path[1:], page)
	}
}

func loadFlaky(t *testing.T, url, dataTypes string) *engine.Engine {
	t.Helper()
	a, b, _ := strings.Cut(dataTypes, ",")
	e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "a", "dataType": "%s"}, {"endpoint": "b", "dataType": "%s"}]}}`, url, a, b))
	require.NoError(t, err)
	return e
}

// TestARunThatFailedAnywhereResumes lets every request of a run fail once, and repeats the
// run. At any moment a file is complete or absent, and in the end it has every item once.
func TestARunThatFailedAnywhereResumes(t *testing.T) {
	api := &flakyAPI{}
	server := httptest.NewServer(api)
	defer server.Close()
	for _, dataTypes := range []string{"x,y", "x,x"} {
		for _, format := range Formats() {
			if dataTypes == "x,x" && format != "csv.gz" {
				continue
			}
			f, err := ParseFormat(format)
			require.NoError(t, err)
			for refused := 1; refused <= 10; refused++ {
				if fixtures.Race && refused%5 != 3 { // the goroutines are the same for each request
					continue
				}
				dir := t.TempDir()
				options := PublisherOptions{Options: Options{Format: f}, Dir: dir}
				api.requests.Store(0)
				api.refused.Store(int64(refused))
				err := extract(loadFlaky(t, server.URL, dataTypes), true, options)
				require.ErrorIs(t, err, engine.ErrAPI)
				require.NoFileExists(t, filepath.Join(dir, dataTypes[2:]+"."+format), "its last job has not ended")
				err = extract(loadFlaky(t, server.URL, dataTypes), true, options)
				require.NoError(t, err)
				require.EqualValues(t, 11, api.requests.Load(), "no other request is repeated")
				ids := "a1 a2 a3 a4 b1 b2 b3 b4"
				if dataTypes == "x,y" {
					require.Equal(t, "b1 b2 b3 b4", idsOf(t, filepath.Join(dir, "y."+format)))
					ids = "a1 a2 a3 a4"
				}
				require.Equal(t, ids, idsOf(t, filepath.Join(dir, "x."+format)), "%s after request %d failed", format, refused)
			}
		}
	}
}

// A brokenAPI serves a list of four pages, and fails with its third one until it is mended.
type brokenAPI struct {
	pages []string // numbers of the pages that were requested
	third string   // the third page
}

func (a *brokenAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := r.URL.Query().Get("page")
	a.pages = append(a.pages, page)
	switch page {
	case "3":
		fmt.Fprint(w, a.third)
	case "5":
		fmt.Fprint(w, `{"data": []}`)
	default:
		fmt.Fprintf(w, `{"data": [{"id": "a%s"}]}`, page)
	}
}

// TestARunThatFailsRequestsNoPageAgain: a run that can still write saves all pages before the one on which it fails, although
// the interval of commits has not passed.
func TestARunThatFailsRequestsNoPageAgain(t *testing.T) {
	for name, third := range map[string]string{
		"a body that cannot be read":   `{"data": [`,
		"a page on which a rule fails": `{"data": [{"id": "a3"}], "failed": true}`,
	} {
		for _, format := range []string{"ndjson", "ndjson.gz"} {
			api := &brokenAPI{third: third}
			server := httptest.NewServer(api)
			f, err := ParseFormat(format)
			require.NoError(t, err)
			dir := t.TempDir()
			run := func() error {
				e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "http": {"maxRetries": 0}, "pagination": {"method": "pagenum",
					"stopRules": [{"when": "body.failed", "outcome": "failed"}]}}, "config": {"jobs": [{"endpoint": "a", "dataField": "data"}]}}`, server.URL))
				require.NoError(t, err)
				store, err := checkpoint.Open(filepath.Join(dir, "state"), "test", nil)
				require.NoError(t, err)
				p, err := Open(e, store, PublisherOptions{Options: Options{Format: f}, Dir: dir, noteEveryPage: true})
				require.NoError(t, err)
				_, failed := p.Run(t.Context())
				require.NoError(t, p.Close())
				return failed
			}
			require.Error(t, run(), name)
			require.Equal(t, []string{"1", "2", "3"}, api.pages, name)
			api.third = `{"data": [{"id": "a3"}]}`
			require.NoError(t, run(), name)
			require.Equal(t, []string{"1", "2", "3", "3", "4", "5"}, api.pages, "%s, %s: page 2 was saved", name, format)
			require.Equal(t, "a1 a2 a3 a4", idsOf(t, filepath.Join(dir, "a."+format)), name)
			server.Close()
		}
	}
}

// TestExplainNamesEveryFormat compares what explain says of files with the table of formats, which it cannot import.
func TestExplainNamesEveryFormat(t *testing.T) {
	said := strings.Join(strings.Fields(loadFlaky(t, "https://api.test", "x,y").Explain().String()), " ")
	for _, kind := range Kinds(func(f Format) bool { return f.Kind != NDJSON }) {
		require.Contains(t, said, " --format "+kind+" ")
	}
}

// extract runs an engine, with a state in the directory of its files or without one.
func extract(e *engine.Engine, state bool, options PublisherOptions) error {
	store := checkpoint.Stateless()
	if state {
		var err error
		if store, err = checkpoint.Open(filepath.Join(options.Dir, "state"), "test", e.Fingerprint()); err != nil {
			return err
		}
	}
	defer store.Close()
	p, err := Open(e, store, options)
	if err != nil {
		return err
	}
	_, err = p.Run(context.Background())
	return cmp.Or(err, p.Close())
}

// idsOf returns the ids in a file, in order. All rows of a table have all columns.
func idsOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	r := io.Reader(bytes.NewReader(text))
	switch filepath.Ext(path) {
	case ".gz":
		r, err = gzip.NewReader(r)
	case ".zst":
		r, err = zstdFrames{}.NewReader(r)
	}
	require.NoError(t, err)
	if filepath.Ext(path) == ".parquet" {
		var ids []string
		table := readParquet(t, text)
		require.Equal(t, []string{"id", "late"}, table.columns)
		for _, row := range table.rows {
			ids = append(ids, row["id"].String())
		}
		return strings.Join(ids, " ")
	}
	if strings.Contains(filepath.Base(path), ".csv") {
		records, err := csv.NewReader(r).ReadAll()
		require.NoError(t, err)
		require.Equal(t, []string{"id", "late"}, records[0])
		var ids []string
		for _, record := range records[1:] {
			ids = append(ids, record[0])
		}
		return strings.Join(ids, " ")
	}
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	var ids []string
	for _, part := range strings.Split(string(plain), `"id":"`)[1:] {
		ids = append(ids, part[:2])
	}
	return strings.Join(ids, " ")
}

// TestAJobThatFailedIsNotCommitted: with KeepGoing the file of the other job appears.
func TestAJobThatFailedIsNotCommitted(t *testing.T) {
	api := &flakyAPI{}
	server := httptest.NewServer(api)
	defer server.Close()
	dir := t.TempDir()
	api.refused.Store(5)
	err := extract(loadFlaky(t, server.URL, "x,y").With(engine.WithKeepGoing()), false, PublisherOptions{Dir: dir, Options: Options{Format: Format{Kind: CSV}}})
	require.ErrorIs(t, err, engine.ErrAPI)
	require.NoFileExists(t, filepath.Join(dir, "x.csv"))
	require.Equal(t, "a1 a2 a3 a4", idsOf(t, filepath.Join(dir, "x.csv.partial")), "the header has the late column")
	require.Equal(t, "b1 b2 b3 b4", idsOf(t, filepath.Join(dir, "y.csv")))
}

// TestADirectoryInThePlaceOfAFileIsFoundByOpen: a rename would fail after the last request.
func TestADirectoryInThePlaceOfAFileIsFoundByOpen(t *testing.T) {
	for _, name := range []string{"x.ndjson", "x.ndjson.partial", "trace.json", "trace.json.partial", "r.har", "r.har.partial"} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		store := checkpoint.Stateless()
		_, err := Open(loadFlaky(t, "http://127.0.0.1:9", "x,y"), store, PublisherOptions{
			Dir: dir, TraceFile: filepath.Join(dir, "trace.json"), RecordFile: filepath.Join(dir, "r.har"),
		})
		require.ErrorIs(t, err, engine.ErrIO)
		require.ErrorContains(t, err, filepath.Join(dir, name)+" is a directory, and a file is to be written in its place")
		require.DirExists(t, filepath.Join(dir, name))
		require.NoError(t, store.Close())
	}
}

// TestItemsThatWaitForTheEndArePublished writes two jobs to one file and to one stream, in order and at once.
func TestItemsThatWaitForTheEndArePublished(t *testing.T) {
	server := httptest.NewServer(&flakyAPI{})
	defer server.Close()
	for _, order := range []Order{Sequential, Queued} {
		dir, stream := t.TempDir(), &bytes.Buffer{}
		for _, o := range []PublisherOptions{{Dir: dir}, {Stream: stream}} {
			o.Order, o.Format.Kind = order, CSV
			e := loadFlaky(t, server.URL, "x,x").With(engine.WithParallelJobs(2))
			p, err := Open(e, checkpoint.Stateless(), o)
			require.NoError(t, err)
			_, err = p.Run(t.Context())
			require.NoError(t, err)
		}
		if order == Queued {
			require.Equal(t, "a1 a2 a3 a4 b1 b2 b3 b4", idsOf(t, filepath.Join(dir, "x.csv")))
		}
		require.Equal(t, 9, bytes.Count(stream.Bytes(), newline))
	}
}

// TestARunThatHasNotReportedDoesNotEndItsState: the next run has nothing left to extract, and reports the success.
func TestARunThatHasNotReportedDoesNotEndItsState(t *testing.T) {
	api := &flakyAPI{}
	server := httptest.NewServer(api)
	defer server.Close()
	dir := t.TempDir()
	open := func() (*engine.Engine, *checkpoint.Store) {
		e := loadFlaky(t, server.URL, "x,y")
		store, err := checkpoint.Open(filepath.Join(dir, "state"), "test", e.Fingerprint())
		require.NoError(t, err)
		return e, store
	}
	for _, unreported := range []error{errors.New("the disk is full"), nil} {
		e, store := open()
		p, err := Open(e, store, PublisherOptions{Dir: dir})
		require.NoError(t, err)
		result, err := p.Engine().Run(t.Context(), p.Page)
		require.NoError(t, p.End(result, err))
		require.ErrorIs(t, p.Finish(unreported), unreported)
		require.EqualValues(t, 10, api.requests.Load())
	}
	_, store := open()
	defer store.Close()
	_, ended := store.Follows()
	require.True(t, ended)
}

// TestAListThatShrankMayBeRefused publishes a file in each way in which a program may run, after
// another one with more rows. A file of several jobs is compared as a whole, and a large file only
// if it has clearly more bytes.
func TestAListThatShrankMayBeRefused(t *testing.T) {
	server := httptest.NewServer(&flakyAPI{})
	defer server.Close()
	strict := engine.WithAccept(func(job engine.JobResult) bool { return len(job.Findings) == 0 })
	run := func(p *Publisher) (*engine.Result, error) { return p.Run(t.Context()) }
	pages := func(p *Publisher) (*engine.Result, error) {
		result, err := p.Engine().Run(t.Context(), p.Page)
		err = p.End(result, err)
		return result, errors.Join(err, result.Err())
	}
	for _, test := range []struct {
		name      string
		dataTypes string
		order     Order
		before    string
		run       func(p *Publisher) (*engine.Result, error)
		shrank    bool
	}{
		{"a file of a job", "x,y", Sequential, strings.Repeat("{}\n", 9), run, true},
		{"half as many rows", "x,y", Sequential, strings.Repeat("{}\n", 8), run, false},
		{"a file of two jobs", "x,x", Sequential, strings.Repeat("{}\n", 17), run, true},
		{"a file of two jobs that are interleaved", "x,x", Queued, strings.Repeat("{}\n", 17), run, true},
		{"half as many rows of two jobs", "x,x", Queued, strings.Repeat("{}\n", 16), run, false},
		{"pages that the program passes", "x,y", Sequential, strings.Repeat("{}\n", 9), pages, true},
		{"a large file with few rows", "x,y", Sequential, strings.Repeat(" ", maxCounted) + "\n", run, false},
		{"a large file", "x,y", Sequential, strings.Repeat(strings.Repeat(" ", maxCounted/8)+"\n", 9), run, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.ndjson")
			require.NoError(t, os.WriteFile(path, []byte(test.before), 0o600))
			p, err := Open(loadFlaky(t, server.URL, test.dataTypes).With(strict), checkpoint.Stateless(), PublisherOptions{Dir: dir, Order: test.order})
			require.NoError(t, err)
			result, err := test.run(p)
			require.NoError(t, p.Close())
			if !test.shrank {
				require.NoError(t, err)
				require.Empty(t, result.Jobs[0].Findings)
				return
			}
			require.ErrorIs(t, err, engine.ErrSuspect)
			require.Equal(t, 1, strings.Count(err.Error(), "less than half"), err)
			require.Equal(t, "audit.shrank", result.Jobs[0].Findings[0].ID)
			require.True(t, result.Jobs[0].Refused)
			require.False(t, result.Jobs[1].Refused)
			require.FileExists(t, path+checkpoint.PartialSuffix)
			now, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, test.before, string(now), "the file of the earlier run stays")
		})
	}
}
