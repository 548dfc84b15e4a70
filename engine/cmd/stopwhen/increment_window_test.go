package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIncrementsOfWindowsAreAddedOnce runs a job in windows of ids from the end of the last
// run to the newest id, three times with --append and --state. A run that fails in the
// middle of its windows resumes there. Every item is in the file exactly once.
func TestIncrementsOfWindowsAreAddedOnce(t *testing.T) {
	var refused, size, requests atomic.Int64 // windows from the id refused on are refused
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/size" {
			fmt.Fprintf(w, `{"size": %d}`, size.Load())
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		to, _ := strconv.Atoi(r.URL.Query().Get("to"))
		if requests.Add(1); from >= int(refused.Load()) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var items []string
		for id := from; id < to; id++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, id))
		}
		fmt.Fprintf(w, `{"total": %d, "data": [%s]}`, len(items), strings.Join(items[:min(len(items), 5)], ","))
	}))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	config, file := filepath.Join(dir, "c.json"), filepath.Join(dir, "out", "ids.ndjson")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "multiple", "scrollers": {
			"windows": {"method": "pagenum", "stopRules": ["count >= 0"], "keep": {"end": "ids.to"}}}}},
		"config": {"jobs": [{"id": "size", "endpoint": "size", "dataField": ".", "emit": false}, {"id": "ids", "endpoint": "ids", "dataType": "ids", "dataField": "data",
			"scroller": "windows",
			"for": {"newest": {"items": "size"}, "ids": {"from": "kept.end ?? 0", "to": "newest.size", "step": 7, "splitWhen": "body.total > count"}},
			"params": {"from": {"expr": "ids.from"}, "to": {"expr": "ids.to"}}}]}}`, api.URL), 0o600))
	run := func(status, end int) {
		size.Store(int64(end))
		runStopwhen(t, status, "run", config, "--out", filepath.Join(dir, "out"), "--append", "--state", filepath.Join(dir, "state"))
	}
	upTo := func(end int) string {
		var b strings.Builder
		for id := range end {
			fmt.Fprintf(&b, "{\"id\":%d}\n", id)
		}
		return b.String()
	}
	requireFile := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}

	refused.Store(1000)
	run(0, 20)
	requireFile(upTo(20))

	refused.Store(40)
	run(3, 60) // after the windows from 20, 27 and 34
	requireFile(upTo(20))

	refused.Store(1000)
	run(0, 60)
	requireFile(upTo(60))

	requests.Store(0)
	run(0, 60)
	requireFile(upTo(60))
	require.Zero(t, requests.Load(), "there is no window between two equal ends")
}
