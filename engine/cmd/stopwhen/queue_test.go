package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jobsAPI has three lists of five pages; the first is the slowest. The page of a
// list that is asked for with status fails so.
func jobsAPI(t *testing.T, fail string) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, page := strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query().Get("page")
		time.Sleep(map[string]time.Duration{"a": 5 * time.Millisecond, "b": time.Millisecond}[list])
		switch {
		case list+page == fail:
			w.WriteHeader(http.StatusForbidden)
		case page == "6":
			fmt.Fprint(w, `[]`)
		default:
			fmt.Fprintf(w, `[{"%s":%s}]`, list, page)
		}
	}))
	t.Cleanup(api.Close)
	config := filepath.Join(t.TempDir(), "c.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"endpoint": "a", "dataType": "x"}, {"endpoint": "b", "dataType": "y"}, {"endpoint": "c", "dataType": "x"}]}}`, api.URL)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return config
}

func extracted(t *testing.T, status int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, status, run(append([]string{"run", "-q"}, args...), strings.NewReader(""), &stdout, &stderr), stderr.String())
	return stdout.String()
}

func TestJobsAtOnceWriteAsIfTheyRanAlone(t *testing.T) {
	config := jobsAPI(t, "")
	want := extracted(t, 0, config)
	require.Equal(t, 15, strings.Count(want, "\n"))
	for _, jobs := range []string{"2", "3", "9"} {
		require.Equal(t, want, extracted(t, 0, config, "--jobs", jobs))
		require.Equal(t, want, extracted(t, 0, config, "--jobs", jobs, "--prefetch", "4"))
	}
	read := func(folder, name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return string(text)
	}
	one, many := t.TempDir(), t.TempDir()
	extracted(t, 0, config, "--out", one)
	extracted(t, 0, config, "--out", many, "--jobs", "3")
	for _, name := range []string{"x.ndjson", "y.ndjson"} {
		require.Equal(t, read(one, name), read(many, name), "two jobs share x")
	}
}

// TestAJobThatFailsLosesNothingOfTheOthers: what they had obtained comes out, in
// their order.
func TestAJobThatFailsLosesNothingOfTheOthers(t *testing.T) {
	out := extracted(t, 3, jobsAPI(t, "a5"), "--jobs", "3")
	a, b, c := strings.Count(out, `"a"`), strings.Count(out, `"b"`), strings.Count(out, `"c"`)
	require.Equal(t, 4, a)
	require.Equal(t, 5, b, "it had ended long before")
	require.Equal(t, 5, c)
	require.Less(t, strings.LastIndex(out, `"a"`), strings.Index(out, `"b"`))
	require.Less(t, strings.LastIndex(out, `"b"`), strings.Index(out, `"c"`))
}
