package evidence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// jobsOf compiles jobs of an API with a pagination.
func jobsOf(t *testing.T, pagination, jobs string) []*compile.Job {
	t.Helper()
	return compiletest.Jobs(t, fmt.Sprintf(`{"api": {"baseUrl": "https://api.test/", "pagination": %s}, "config": {"jobs": [%s]}}`, pagination, jobs))
}

// pages are the bodies of responses, one after another, and a header that all of them have.
type pages struct {
	bodies []string
	header http.Header
	next   int
}

func (p *pages) RoundTrip(r *http.Request) (*http.Response, error) {
	body := p.bodies[min(p.next, len(p.bodies)-1)]
	p.next++
	header := p.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	return &http.Response{
		StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func clientOf(p *pages) *transport.Client {
	return transport.New(transport.Options{Origin: &url.URL{Scheme: "https", Host: "api.test"}, Transport: p})
}

const (
	pageNumber = `{"method": "pagenum"}`
	cursor     = `{"method": "cursor", "idKey": "id", "param": "after"}`
	// cursorToken continues by the token of the body.
	cursorToken = `{"method": "response.param", "responseParam": "next", "queryParam": "after"}`
	users       = `{"endpoint": "users", "dataField": "data"}`
)

func TestSignsOfAnIncompleteListAreFindings(t *testing.T) {
	full := `{"data": [{"id": 1}, {"id": 2}]}`
	large := `{"data": [{"id": 1, "v": "` + strings.Repeat("x", 1<<20) + `"}, {"id": 2}]`
	for _, c := range []struct {
		name, pagination, job string
		bodies                []string
		header                http.Header
		says                  string // a part of the messages
		findings              string // their ids and weights
	}{
		{"an error beside items of more than 1 MiB", pageNumber, users, []string{large + `, "errors": ["shard 3 failed"]}`, `{"data": []}`},
			nil, "body.errors", "audit.errorBody evidence"},
		{"items of more than 1 MiB", pageNumber, users, []string{large + `, "errors": []}`, `{"data": []}`}, nil, "", ""},
		{"a complete list", pageNumber, users, []string{full, `{"data": []}`}, nil, "", ""},
		{"a link", pageNumber, users, []string{full, `{"links": {"next": {"href": "https://api.test/users?cursor=abc"}}, "data": []}`}, nil,
			"body.links.next points to another page", "audit.token evidence"},
		{"the Link header", pageNumber, users, []string{full, `{"data": []}`},
			http.Header{"Link": {`<https://api.test/users?cursor=abc>; rel="next"`}}, "the Link header points to another page", "audit.token evidence"},
		{"pages under the key total, as in jqGrid", pageNumber, users,
			[]string{`{"total": 3, "records": 5, "data": [{"id": 1}, {"id": 2}]}`, `{"total": 3, "records": 5, "data": []}`}, nil,
			"body.records is 5", "audit.total evidence"},
		{"all pages under the key total", pageNumber, users,
			[]string{`{"total": 2, "records": 3, "data": [{"id": 1}, {"id": 2}]}`, `{"total": 2, "records": 3, "data": [{"id": 3}]}`,
				`{"total": 2, "records": 3, "data": []}`}, nil, "", ""},
		{"a header with JSON", pageNumber, users, []string{full, `{"data": []}`}, http.Header{"X-Pagination": {`{"TotalCount": 7}`}},
			"X-Pagination.TotalCount is 7", "audit.total evidence"},
		{"a header with JSON and all items", pageNumber, users, []string{full, `{"data": []}`},
			http.Header{"X-Pagination": {`{"TotalCount": 2, "HasNext": false}`}}, "", ""},
		{"exceededTransferLimit", pageNumber, users, []string{full, `{"exceededTransferLimit": true, "data": []}`}, nil,
			"body.exceededTransferLimit says", "audit.more evidence"},
		{"a list whose key has the delimiter", pageNumber, `{"endpoint": "users", "dataField": {"path": "a/b", "delimiter": "/"}}`,
			[]string{`{"a/b": [{"id": 1}]}`}, nil, "no response has a/b (dataField); a/b is one key: set a delimiter that it does not have", "audit.missing evidence"},
		{"no list at all", pageNumber, `{"endpoint": "users"}`, []string{`{"a": 1}`}, nil, "set dataField to the path of the items", "audit.missing hint"},
		{"an empty list of warnings", pageNumber, `{"endpoint": "x"}`, []string{`{"result": {"rows": [{"id": 1}]}, "Warnings": []}`}, nil,
			"did you mean result.rows?", "audit.missing evidence"},
		{"an empty list of messages", pageNumber, `{"endpoint": "x"}`, []string{`{"messages": [], "result": {"rows": [{"id": 1}]}}`}, nil,
			"did you mean result.rows?", "audit.missing evidence"},
		{"an empty list of errors on two pages", cursorToken, `{"endpoint": "x"}`,
			[]string{`{"errors": [], "result": {"rows": [{"id": 1}]}, "next": "a"}`, `{"errors": [], "result": {"rows": []}}`}, nil,
			"did you mean result.rows?", "audit.missing evidence"},
		{"an empty list of errors, and values", pageNumber, `{"endpoint": "x"}`, []string{`{"errors": [], "result": {"tags": ["a"]}}`}, nil, "", ""},
		{"an empty list of errors, and a total of 0", pageNumber, `{"endpoint": "x"}`,
			[]string{`{"errors": [], "total": 0, "meta": {"fields": {"all": [{"name": "a"}]}}}`}, nil, "", ""},
		{"an empty list of errors that the job lists", pageNumber, `{"endpoint": "runs/1/errors"}`,
			[]string{`{"errors": [], "run": {"steps": [{"id": 1}]}}`}, nil, "", ""},
		{"an empty list of messages that the job lists", pageNumber, `{"endpoint": "channels/1/messages"}`,
			[]string{`{"messages": [], "channel": {"members": [{"id": 1}]}}`}, nil, "", ""},
		{"an empty list of errors that dataField names", pageNumber, `{"endpoint": "x", "dataField": "errors"}`,
			[]string{`{"errors": [], "run": {"steps": [{"id": 1}]}}`}, nil, "", ""},
		{"an empty list of users", pageNumber, `{"endpoint": "x"}`, []string{`{"users": [], "group": {"owners": [{"id": 1}]}}`}, nil, "", ""},
		{"one of several lists", pageNumber, `{"endpoint": "users", "dataField": [{"path": "data"}, {"path": "more"}]}`,
			[]string{full, `{"data": []}`}, nil, "no response has more (dataField)", "audit.missing hint"},
		{"a page that returns", pageNumber, users, []string{full, `{"data": [{"id": 3}]}`, full, `{"data": []}`}, nil,
			"page 3 has the same 2 items as page 1", "audit.repeated hint, audit.ignoredParam hint"},
		{"one item that has changed", pageNumber, users, []string{`{"data": [{"id": 1, "n": 1}, {"id": 2}]}`,
			`{"data": [{"id": 1, "n": 2}, {"id": 3}]}`, `{"data": []}`}, nil, "", ""},
		{"an error of a page after one with nulls", pageNumber,
			`{"endpoint": "users", "dataField": [{"path": "data"}, {"path": "more"}]}`,
			[]string{`{"data": [null, null], "more": []}`, `{"data": [{"id": 1}], "more": [], "message": "Rate limit exceeded"}`,
				`{"data": [], "more": []}`}, nil, "the body of page 2 reports an error", "audit.errorBody evidence"},
		{"a list that has moved", pageNumber, users, []string{full, `{"items": [{"id": 3}]}`, `{}`}, nil, "a list at body.items", "audit.moved evidence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := jobsOf(t, c.pagination, c.job)[0]
			loop := runtime.Loop{Client: clientOf(&pages{bodies: c.bodies, header: c.header})}
			result, err := loop.Run(t.Context(), job, func(context.Context, *runtime.Page) error { return nil })
			require.NoError(t, err)
			var messages, findings []string
			for _, f := range result.Findings {
				messages, findings = append(messages, f.Message), append(findings, f.ID+" "+string(f.Weight))
			}
			require.Equal(t, c.findings, strings.Join(findings, ", "))
			require.Contains(t, strings.Join(messages, "\n"), c.says)
		})
	}
}

// TestATrailerWithAnErrorIsEvidence sends the headers after the body that servers add when they fail in the middle of it.
func TestATrailerWithAnErrorIsEvidence(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"X-Stream-Error", "context deadline exceeded", "its trailer X-Stream-Error is context deadline exceeded"},
		{"Upstream-Error", "reset", "its trailer Upstream-Error is reset"},
		{"Grpc-Status", "14", "its trailer Grpc-Status is 14"},
		{"Grpc-Status", "0", ""},
		{"X-Stream-Error", "", ""},
		{"X-Checksum", "5f", ""},
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", c.name)
			fmt.Fprint(w, `{"data": [{"id": 1}, {"id": 2}]}`)
			w.Header().Set(c.name, c.value)
		}))
		origin, err := url.Parse(api.URL)
		require.NoError(t, err)
		job := compiletest.Jobs(t, `{"api": {"baseUrl": "`+api.URL+`/"}, "config": {"jobs": [`+users+`]}}`)[0]
		loop := runtime.Loop{Client: transport.New(transport.Options{Origin: origin})}
		result, err := loop.Run(t.Context(), job, func(context.Context, *runtime.Page) error { return nil })
		api.Close()
		require.NoError(t, err)
		if c.want == "" {
			require.Empty(t, result.Findings, "%s: %s", c.name, c.value)
			continue
		}
		require.Len(t, result.Findings, 1)
		require.Equal(t, rules.WeightEvidence, result.Findings[0].Weight)
		require.Contains(t, result.Findings[0].Message, c.want)
	}
}

// A job that continues after a page notices what it would have noticed.
func TestACheckpointHasWhatWasNoticed(t *testing.T) {
	bodies := []string{`{"total": 9, "data": [{"id": 1}, {"id": 2}]}`, `{"data": [{"id": 2}, {"id": 3}]}`,
		`{"data": [{"id": 1}, {"id": 2}]}`, `{"data": []}`}
	job := jobsOf(t, pageNumber, users)[0]
	run := func(from int, resume json.RawMessage) (runtime.Result, []json.RawMessage) {
		loop := runtime.Loop{Client: clientOf(&pages{bodies: bodies, next: from})}
		if resume != nil {
			loop.Resume = map[string]json.RawMessage{job.ID(): resume}
		}
		var checkpoints []json.RawMessage
		result, err := loop.Run(t.Context(), job, func(_ context.Context, page *runtime.Page) error {
			checkpoint, err := page.Checkpoint()
			checkpoints = append(checkpoints, checkpoint)
			return err
		})
		require.NoError(t, err)
		return result, checkpoints
	}
	want, checkpoints := run(0, nil)
	require.NotEmpty(t, want.Findings)
	for i, checkpoint := range checkpoints[:3] {
		got, _ := run(i+1, checkpoint)
		require.Equal(t, want.Findings, got.Findings, "after page %d", i+1)
	}
}

func TestOdditiesOfAPageAreWarnings(t *testing.T) {
	for _, c := range []struct{ name, pagination, body, want string }{
		{"a limit that is ignored", `{"method": "offset", "limit": 1}`, `{"data": [{"id": 1}, {"id": 2}]}`, "more than the limit of 1"},
		{"a flag that is text", `{"method": "pagenum", "nextPageFlag": {"field": "more", "stopOn": false, "ifNotSet": true}}`,
			`{"data": [{"id": 1}], "more": "false"}`,
			`is the text \"false\"`},
		{"a flag that is absent", `{"method": "pagenum", "nextPageFlag": {"field": "hasMor", "stopOn": false, "ifNotSet": false}}`,
			`{"data": [{"id": 1}], "hasMore": true}`,
			"did you mean body.hasMore?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			loop := runtime.Loop{
				Client: clientOf(&pages{bodies: []string{c.body, `{"data": [], "more": false}`}}),
				Log:    slog.New(slog.NewJSONHandler(&log, nil)),
			}
			_, err := loop.Run(t.Context(), jobsOf(t, c.pagination, users)[0], func(context.Context, *runtime.Page) error { return nil })
			require.NoError(t, err)
			require.Contains(t, log.String(), c.want)
		})
	}
}

// Items stay bytes: a body is decoded as a whole only where a list is missing. Decoding takes several allocations for
// each item.
func TestAPageWithItemsIsNotDecoded(t *testing.T) {
	fixtures.SkipUnderRace(t, "it counts allocations")
	for _, of := range []string{users, `{"endpoint": "users"}`} {
		job := jobsOf(t, pageNumber, of)[0]
		allocations := func(items int) float64 {
			page := `{"data": [` + strings.Repeat(`{"id": 1, "name": "a", "tags": ["b", "c"]}, `, items) + `{"id": 2}]}`
			return testing.AllocsPerRun(5, func() {
				loop := runtime.Loop{Client: clientOf(&pages{bodies: []string{page, `{"data": []}`}})}
				_, err := loop.Run(t.Context(), job, func(context.Context, *runtime.Page) error { return nil })
				require.NoError(t, err)
			})
		}
		require.Less(t, allocations(2000), allocations(1000)+500, of)
	}
}

func TestASeenHasWhatNoListHad(t *testing.T) {
	job := jobsOf(t, pageNumber, users)[0]
	var s evidence.Seen
	require.True(t, s.Empty())
	require.Nil(t, s.Finding(job))
	s.Add(&evidence.Seen{Had: []string{"dataField"}, Lacked: []evidence.Absence{{Key: "a", Text: "body.a"}, {Key: "b", Text: "body.b"}}})
	s.Add(&evidence.Seen{Lacked: []evidence.Absence{{Key: "a", Text: "body.a"}, {Key: "c", Text: "body.c"}}})
	require.Contains(t, s.Finding(job).Message, "body.a, nor body.b, nor body.c")
	s.Add(&evidence.Seen{Had: []string{"b", "c"}})
	require.Contains(t, s.Finding(job).Message, "body.a")
	require.NotContains(t, s.Finding(job).Message, "body.b")
	s.Add(&evidence.Seen{Had: []string{"a"}})
	require.Nil(t, s.Finding(job))
	require.False(t, s.Empty())
}

func TestAPresenceHasThePathsThatNoItemHad(t *testing.T) {
	all := jobsOf(t, pageNumber,
		users+`, {"id": "child", "endpoint": "users/{u.id}/{u.name}", "dataField": "data", "for": {"u": {"items": "users", "when": "u.active"}}}`)
	child := all[slices.IndexFunc(all, func(job *compile.Job) bool { return job.Parent != nil })]
	jobs := map[string]*compile.Job{child.ID(): child}
	p := &evidence.MissingPaths{}
	require.Nil(t, p.Finding(child, 0, nil, nil), "no item was read")
	p.Note(child, map[string]any{"id": 1})
	require.Contains(t, p.Finding(child, 0, nil, nil).Message, "no item of users has ")

	saved := p.Save()
	restored, merged := &evidence.MissingPaths{}, &evidence.MissingPaths{}
	restored.Merge(saved, jobs)
	require.Equal(t, saved, restored.Save())
	merged.Note(child, map[string]any{"name": "x", "active": true})
	merged.Merge(saved, jobs)
	require.Nil(t, merged.Finding(child, 0, nil, nil), "the items together have all paths")
	merged.Merge(map[string][][]string{"other": nil}, jobs)
	require.Equal(t, map[string][][]string{"child": {}}, merged.Save())
}
