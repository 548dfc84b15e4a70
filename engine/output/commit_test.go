package output

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// A repeated run continues from its state, which has the position after each page.
type repeated struct {
	dir, config string
	log         strings.Builder
}

func (r *repeated) run(t *testing.T) error {
	t.Helper()
	log := slog.New(slog.NewTextHandler(&r.log, nil))
	e, err := engine.Load("c.json", []byte(r.config), engine.WithLogger(log))
	require.NoError(t, err)
	return extract(e, true, PublisherOptions{Dir: r.dir, Order: Sequential, Log: log, noteEveryPage: true})
}

// rows returns the rows of job a, which an earlier run may have published.
func (r *repeated) rows(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "a.ndjson"))
	require.NoError(t, err)
	return strings.Fields(string(text))
}

// TestAListThatFailsForEarlierPagesBeginsAgain lets an API fail for a while in ways that are only noticed some pages
// later, or in a child. The state of the run must not go on after these pages when the API has recovered.
func TestAListThatFailsForEarlierPagesBeginsAgain(t *testing.T) {
	const complete = 40
	list := func(pages func(offset int) string) func(r *http.Request) string {
		return func(r *http.Request) string {
			offset, _ := strconv.Atoi(r.URL.Query().Get("at"))
			next := "null"
			if offset+2 < complete {
				next = strconv.Itoa(offset + 2)
			}
			return fmt.Sprintf(`{"data": [%s], "next": %s, "request": %q}`, pages(offset), next, r.URL)
		}
	}
	items := func(offset int) string { return fmt.Sprintf(`{"id": %d}, {"id": %d}`, offset, offset+1) }
	const paged = `"pagination": {"method": "response.param", "responseParam": "next", "queryParam": "at", "guards": {"emptyPages": 5}}`
	for name, test := range map[string]struct {
		config    string // of the API and of the jobs
		good, bad func(r *http.Request) string
		fails     error
		want      int
	}{
		"empty pages": {config: paged + `}, "config": {"jobs": [{"id": "a", "endpoint": "a", "dataField": "data"}]`,
			good: list(items), fails: engine.ErrPolicy, want: complete,
			bad: list(func(offset int) string {
				if offset >= 6 {
					return ""
				}
				return items(offset)
			})},
		"the same items": {config: paged + `}, "config": {"jobs": [{"id": "a", "endpoint": "a", "dataField": "data"}]`,
			good: list(items), fails: engine.ErrPolicy, want: complete,
			bad: list(func(offset int) string { return items(min(offset, 6)) })},
		"an error in place of a parent": {
			config: `"pagination": {"method": "single"}}, "config": {"jobs": [{"id": "p", "endpoint": "p", "dataField": "."},
				{"id": "a", "endpoint": "a/{p.id}", "dataField": ".", "for": {"p": {"items": "p"}}}]`,
			good: func(r *http.Request) string {
				if r.URL.Path == "/p" {
					return `[{"id": 1}, {"id": 2}]`
				}
				return `[{"id": "` + r.URL.Path + `"}]`
			},
			bad: func(*http.Request) string { return `{"error": "internal failure"}` }, fails: engine.ErrResponse, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Bool
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := test.good
				if broken.Load() {
					answer = test.bad
				}
				fmt.Fprint(w, answer(r))
			}))
			defer api.Close()
			r := repeated{dir: t.TempDir(), config: `{"api": {"baseUrl": "` + api.URL + `/", ` + test.config + `}}`}
			requireRows := func() {
				t.Helper()
				rows := r.rows(t)
				slices.Sort(rows)
				require.Len(t, slices.Compact(rows), test.want)
			}
			require.NoError(t, r.run(t))
			requireRows()
			broken.Store(true)
			require.ErrorIs(t, r.run(t), test.fails)
			requireRows()
			broken.Store(false)
			require.NoError(t, r.run(t))
			requireRows()
		})
	}
}

// TestAWindowThatIsContinuedAndCannotBeSplitIsRefused has an API that returns at most six items of a window. The window is
// split at six items, but not if an earlier run failed on page 2 and has written page 1.
func TestAWindowThatIsContinuedAndCannotBeSplitIsRefused(t *testing.T) {
	var broken atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := func(name string) int {
			n, err := strconv.Atoi(r.URL.Query().Get(name))
			require.NoError(t, err)
			return n
		}
		from, page := number("from"), number("page")
		if page == 2 && broken.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var items []string
		for id := from + 2*(page-1); id < min(from+2*page, from+6, number("to")); id++ {
			items = append(items, fmt.Sprintf(`{"id": %d}`, id))
		}
		fmt.Fprintf(w, `[%s]`, strings.Join(items, ", "))
	}))
	defer api.Close()
	r := repeated{dir: t.TempDir(), config: `{"api": {"baseUrl": "` + api.URL + `/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"id": "a", "endpoint": "a", "params": {"from": {"expr": "w.from"}, "to": {"expr": "w.to"}},
		"for": {"w": {"from": 0, "to": 12, "step": 12, "splitWhen": "total.items >= 6"}}}]}}`}
	broken.Store(true)
	require.ErrorIs(t, r.run(t), engine.ErrAPI)
	broken.Store(false)
	require.ErrorContains(t, r.run(t), "an earlier run has written pages of the window, which cannot be split any more")
	require.NoFileExists(t, filepath.Join(r.dir, "a.ndjson"))
	require.NoError(t, r.run(t))
	require.Len(t, r.rows(t), 12)
}

// The run that publishes a file says what an earlier run has found about its rows.
func TestFindingsOfAnEarlierRunAreToldAgain(t *testing.T) {
	var broken atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/a":
			fmt.Fprint(w, `{"data": [{"id": 1}], "status": "error"}`)
		case broken.Load():
			w.WriteHeader(http.StatusForbidden)
		default:
			fmt.Fprint(w, `{"data": [{"id": 2}]}`)
		}
	}))
	defer api.Close()
	r := repeated{dir: t.TempDir(), config: `{"api": {"baseUrl": "` + api.URL + `/"},
		"config": {"jobs": [{"id": "a", "endpoint": "{v}", "dataField": "data", "for": {"v": {"values": ["a", "b"]}}}]}}`}
	broken.Store(true)
	require.ErrorIs(t, r.run(t), engine.ErrAPI)
	require.Contains(t, r.log.String(), "audit.errorBody")
	broken.Store(false)
	r.log.Reset()
	require.NoError(t, r.run(t))
	require.Equal(t, 1, strings.Count(r.log.String(), "audit.errorBody"), r.log.String())
	require.Contains(t, r.log.String(), "(found by an earlier run)")
}
