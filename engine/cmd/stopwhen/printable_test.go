package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// hostile is a text that would turn a terminal red, hide what follows, reverse it and
// forge a line.
const hostile = "\x1b[31m\u009b31m\x7f\u202e\u200b\nFORGED\r"

// hostileAPI puts hostile texts wherever a response has texts.
func hostileAPI(t *testing.T) *httptest.Server {
	quoted, _ := json.Marshal(hostile)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Note", "\u009b31m\u202e")
		switch {
		case strings.HasSuffix(r.URL.Path, "refused"):
			w.Header().Set("Content-Type", "text/\u202eplain")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, hostile)
		case strings.HasSuffix(r.URL.Path, "broken"):
			fmt.Fprintf(w, `{%s: [1], %s: [2]}`, quoted, strings.Replace(string(quoted), "FORGED", "FORGED too", 1))
		case r.URL.Query().Get("page") == "2":
			fmt.Fprintf(w, `{"data": [%s], "x": %s, "next": null}`, quoted, quoted)
		default:
			fmt.Fprintf(w, `{"data": [{%s: 1}], "x": %s, "next": "users?page=2&x=%%0a"}`, quoted, quoted)
		}
	}))
	t.Cleanup(api.Close)
	return api
}

func TestTextsFromOutsideDoNotReachATerminalRaw(t *testing.T) {
	api, dir := hostileAPI(t), t.TempDir()
	quoted, _ := json.Marshal(hostile)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	config := func(endpoint, more string) string {
		return fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "response.url", "urlKey": "next",
			"stopRules": [{"name": %s, "when": "body.x == 'never' or header('X-Note') == 'never'"},
				{"name": "end", "when": "body.next == nil", "message": "the end: {body.x} {header('X-Note')}"}]%s}},
			"config": {"jobs": [{"id": %s, "endpoint": %q, "dataField": "data"}]}}`, api.URL, quoted, more, quoted, endpoint)
	}
	good := write("good.json", config("users", ""))
	noField := write("nofield.json", strings.Replace(config("broken", ""), `, "dataField": "data"`, "", 1))
	named := write("named.json", config("users", fmt.Sprintf(`, "nextRequest": {"params": {%s: "1"}, "headers": {%s: "2"}}`, quoted, quoted)))
	trace := filepath.Join(dir, "trace.json")
	har := filepath.Join(dir, "har.json")
	for _, args := range [][]string{
		{"run", good, "-v", "--trace", trace}, {"run", good, "-v", "--log-format", "json"}, {"run", good, "--trace", "-", "--out", filepath.Join(dir, "out")},
		{"run", write("refused.json", config("refused", ""))}, {"run", noField}, {"run", noField, "--log-format", "json"},
		{"trace", trace}, {"record", good, har}, {"replay", har, good},
		{"explain", good}, {"explain", named}, {"explain", good, "--format", "json"}, {"explain", good, "--format", "mermaid"},
		{"check", write("mistake.json", config("users", fmt.Sprintf(`, %s: 1`, quoted)))},
		{"check", write("syntax.json", `{"api": "`+strings.Trim(hostile, "\n\r")+`", `)},
		{"check", filepath.Join(dir, hostile)}, {"run", good, "--set", hostile}, {hostile}, {"run", good, "--fixture", hostile},
	} {
		t.Run(strings.Join(append(args[:1:1], filepath.Base(args[len(args)-1])), " "), func(t *testing.T) {
			var stdout, stderr strings.Builder
			run(args, strings.NewReader(""), &stdout, &stderr)
			printed := stderr.String()
			if args[0] != "run" || strings.Contains(strings.Join(args, " "), "--trace -") { // items are as the API sent them
				printed += stdout.String()
			}
			require.NotEmpty(t, printed)
			for _, r := range printed {
				require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r), "%q in %q", r, printed)
			}
			for line := range strings.Lines(printed) {
				require.False(t, strings.HasPrefix(strings.TrimLeft(line, " |"), "FORGED"), printed)
			}
		})
	}
}

// Files are printed, too (cat, less, jq -r): in those that are JSON the characters have
// the escapes of JSON, and the texts are what the API sent.
func TestFilesHaveControlCharactersEscaped(t *testing.T) {
	api, dir := hostileAPI(t), t.TempDir()
	config := filepath.Join(dir, "c.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum",
		"stopRules": [{"name": "end", "when": "page == 2 or body.x == 'never'", "message": "the end: {body.x}"}]}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL), 0o600))
	var stderr strings.Builder
	files := []string{"trace.json", "result.json", "run.har"}
	require.Zero(t, run([]string{"run", config, "--out", filepath.Join(dir, "out"), "--trace", filepath.Join(dir, files[0]),
		"--result", filepath.Join(dir, files[1]), "--record", filepath.Join(dir, files[2])}, strings.NewReader(""), &strings.Builder{}, &stderr), stderr.String())
	for _, name := range files {
		text := readText(t, filepath.Join(dir, name))
		for _, r := range text {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r), "%s: %q in %q", name, r, text)
		}
		require.Contains(t, text, `\u009b31m`, name)
	}
	var result struct{ Jobs []struct{ Message string } }
	require.NoError(t, json.Unmarshal([]byte(readText(t, filepath.Join(dir, files[1]))), &result))
	require.Contains(t, result.Jobs[0].Message, "\u202e")
}
