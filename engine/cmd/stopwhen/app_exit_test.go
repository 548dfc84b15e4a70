package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryExitStatusOccurs provokes each exit status of the contract, except
// those of signals and of internal errors.
func TestEveryExitStatusOccurs(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	invalid := file("invalid.json", `{"api": {}}`)
	failing := file("failing.json", `{
		"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "users"}]},
		"tests": [{"name": "x", "pages": [[]], "expect": {"items": 3}}]}`)
	notAState := file("not-a.state", `{"version": 2}`)
	for _, test := range []struct {
		name   string
		status int
		args   []string
		stderr string
	}{
		{"success", 0, []string{"run", "--fixture", "demo/orders"}, "stopped: isLast says that page 3 is the last"},
		{"invalid configuration", 2, []string{"run", invalid}, "baseUrl is missing"},
		{"unknown flag", 2, []string{"run", "--nope"}, "unknown flag: --nope"},
		{"refused request", 3, []string{"run", "--fixture", "no-last-page/error-fails-with-a-hint"}, "status 404"},
		{"transient errors", 4, []string{"run", "--fixture", "responses/exhausted-retries-fail"}, "after 2 attempts"},
		{"unacceptable response", 5, []string{"run", "--fixture", "responses/html-is-an-error"}, "<html>"},
		{"failed rule", 5, []string{"run", "--fixture", "stop-rules/error-in-a-rule-names-its-place"}, "rule stopRules"},
		{"guard", 6, []string{"run", "--fixture", "guards/cycle-fails"}, "the API is in a loop"},
		{"another origin", 6, []string{"run", "--fixture", "http/redirect-to-another-origin-is-refused"}, "points to an origin other than"},
		{"unwritable output", 7, []string{"run", "--fixture", "demo/orders", "--out", invalid}, "cannot write"},
		{"damaged state", 8, []string{"run", "--fixture", "demo/orders", "--state", notAState}, "it is damaged"},
		{"outcome of --fail-on", 9, []string{"run", "--fixture", "force-stop/pages-one-is-one-request", "--fail-on", "limited"}, "--fail-on"},
		{"failed test", 10, []string{"test", failing}, "1 of 1 test failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, test.status, run(test.args, strings.NewReader(""), &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), test.stderr)
		})
	}
}
