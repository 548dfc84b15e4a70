package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryStatusComesAbout provokes each exit status of the contract, but for
// those of signals and of bugs.
func TestEveryStatusComesAbout(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	faulty := file("faulty.json", `{"api": {}}`)
	failing := file("failing.json", `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "users"}]},
		"tests": [{"name": "x", "pages": [[]], "expect": {"items": 3}}]}`)
	foreign := file("foreign.state", `{"version": 1}`)
	for _, c := range []struct {
		status int
		args   []string
		says   string
	}{
		{0, []string{"run", "--fixture", "demo/orders"}, "stopped: isLast says that page 3 is the last"},
		{2, []string{"run", faulty}, "baseUrl is missing"},
		{2, []string{"run", "--nope"}, "unknown flag: --nope"},
		{3, []string{"run", "--fixture", "no-last-page/error"}, "status 404"},
		{4, []string{"run", "--fixture", "responses/retries-exhausted"}, "after 2 attempts"},
		{5, []string{"run", "--fixture", "responses/html"}, "<html>"},
		{5, []string{"run", "--fixture", "stop-rules/fails-at-run-time"}, "rule stopRules"},
		{6, []string{"run", "--fixture", "guards/cycle"}, "the API is in a loop"},
		{6, []string{"run", "--fixture", "http/redirect-away-is-refused"}, "leads away from"},
		{7, []string{"run", "--fixture", "demo/orders", "--out", faulty}, "cannot write"},
		{8, []string{"run", "--fixture", "demo/orders", "--state", foreign}, "it is damaged"},
		{9, []string{"run", "--fixture", "force-stop/pages", "--fail-on", "limited"}, "--fail-on"},
		{10, []string{"test", failing}, "1 of 1 test failed"},
	} {
		var stdout, stderr bytes.Buffer
		got := run(c.args, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, c.status, got, "%v: %s", c.args, stderr.String())
		require.Contains(t, stderr.String(), c.says, c.args)
	}
}
