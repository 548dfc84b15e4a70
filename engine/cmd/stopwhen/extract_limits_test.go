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

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// TestATimeoutKeepsWhatWasObtained runs against an API that serves one page and then
// never responds.
func TestATimeoutKeepsWhatWasObtained(t *testing.T) {
	release := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "2" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	defer api.Close()
	defer close(release)
	config := filepath.Join(t.TempDir(), "users.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "users"}, {"endpoint": "later"}]}}`,
		api.URL), 0o600))
	var stdout, stderr bytes.Buffer
	status := run([]string{"run", config, "--timeout", "2s", "--keep-going"}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, 6, status, stderr.String())
	require.Equal(t, "{\"id\":1}\n", stdout.String())
	require.Contains(t, stderr.String(), "stopwhen: job users, page 2: GET "+api.URL+"/users?page=2: the run took longer than 2s")
	require.NotContains(t, stderr.String(), "job later", "no job starts after the timeout")
}

// TestJobsThatAnotherOneEndedSayWhichOne has one job that is refused while the other
// waits for its response.
func TestJobsThatAnotherOneEndedSayWhichOne(t *testing.T) {
	waiting := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(waiting)
			<-r.Context().Done()
			return
		}
		<-waiting
		w.WriteHeader(http.StatusForbidden)
	}))
	defer api.Close()
	dir := t.TempDir()
	config, result := filepath.Join(dir, "jobs.json"), filepath.Join(dir, "result.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/"}, "config": {"jobs": [{"endpoint": "slow"}, {"endpoint": "refused"}]}}`, api.URL), 0o600))
	var stdout, stderr bytes.Buffer
	status := run([]string{"run", config, "--jobs", "2", "--result", result}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, 3, status, stderr.String())
	text, err := os.ReadFile(result)
	require.NoError(t, err)
	require.Contains(t, string(text), "cancelled because job refused failed")
	require.NotContains(t, string(text)+stderr.String(), "interrupted")
}

// A list may have evidence of two kinds, and both help to find what is missing.
func TestTheLastLineNamesAllEvidence(t *testing.T) {
	evidence := func(ids ...string) (list []engine.Finding) {
		for _, id := range ids {
			list = append(list, engine.Finding{ID: id})
		}
		return list
	}
	require.Equal(t, "is incomplete (audit.begin, audit.total)", doubts(evidence("audit.begin", "audit.total", "audit.total"), "is incomplete"))
	require.Equal(t, "may be incomplete (audit.total) and differs from its contract (audit.contract)",
		doubts(evidence("audit.contract", "audit.total"), "may be incomplete"))
}
