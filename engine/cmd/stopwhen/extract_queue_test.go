package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// serveJobs serves three lists of five pages and returns the path of a
// configuration with a job for each. Before it answers a request, such as "a1" for
// the first page of list a, it calls before, which returns the status.
func serveJobs(t *testing.T, before func(request string) (status int)) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, page := strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query().Get("page")
		w.WriteHeader(before(list + page))
		if len(page) > 1 || page >= "6" {
			fmt.Fprint(w, `[]`)
			return
		}
		fmt.Fprintf(w, `[{"%s":%s}]`, list, page)
	}))
	t.Cleanup(api.Close)
	config := filepath.Join(t.TempDir(), "c.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"endpoint": "a", "dataType": "x"}, {"endpoint": "b", "dataType": "y"}, {"endpoint": "c", "dataType": "x"}]}}`, api.URL)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return config
}

func inOrder(string) int { return http.StatusOK }

// bOvertakesA delays list a until page 3 of list b is requested.
func bOvertakesA() func(request string) int {
	overtaken := make(chan struct{})
	var once sync.Once
	return func(request string) int {
		switch request {
		case "a1":
			<-overtaken
		case "b3":
			once.Do(func() { close(overtaken) })
		}
		return http.StatusOK
	}
}

// extract runs a configuration, checks its exit status and returns its output.
func extract(t *testing.T, status int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, status, run(append([]string{"run", "-q"}, args...), strings.NewReader(""), &stdout, &stderr), stderr.String())
	return stdout.String()
}

func TestParallelJobsWriteTheSameOutputAsSequentialJobs(t *testing.T) {
	want := extract(t, 0, serveJobs(t, inOrder))
	require.Equal(t, 15, strings.Count(want, "\n"))
	for _, jobs := range []string{"2", "3", "9"} {
		t.Run(jobs+" jobs", func(t *testing.T) {
			require.Equal(t, want, extract(t, 0, serveJobs(t, bOvertakesA()), "--jobs", jobs))
			require.Equal(t, want, extract(t, 0, serveJobs(t, bOvertakesA()), "--jobs", jobs, "--prefetch", "4"))
		})
	}
	t.Run("files", func(t *testing.T) {
		sequential, parallel := t.TempDir(), t.TempDir()
		extract(t, 0, serveJobs(t, inOrder), "--out", sequential)
		extract(t, 0, serveJobs(t, bOvertakesA()), "--out", parallel, "--jobs", "3")
		for _, name := range []string{"x.ndjson", "y.ndjson"} { // two jobs share x
			want, err := os.ReadFile(filepath.Join(sequential, name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(parallel, name))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), name)
		}
	})
}

// TestAFailedJobKeepsTheItemsOfTheOthers lets the first job fail on page 5 after
// the others have ended.
func TestAFailedJobKeepsTheItemsOfTheOthers(t *testing.T) {
	var others sync.WaitGroup
	others.Add(2)
	out := extract(t, 3, serveJobs(t, func(request string) int {
		switch request {
		case "b6", "c6":
			others.Done()
		case "a5":
			others.Wait()
			return http.StatusForbidden
		}
		return http.StatusOK
	}), "--jobs", "3")
	require.Equal(t, 4, strings.Count(out, `"a"`))
	require.Equal(t, 5, strings.Count(out, `"b"`))
	require.Equal(t, 5, strings.Count(out, `"c"`))
	require.Less(t, strings.LastIndex(out, `"a"`), strings.Index(out, `"b"`))
	require.Less(t, strings.LastIndex(out, `"b"`), strings.Index(out, `"c"`))
}
