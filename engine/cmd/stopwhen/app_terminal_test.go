package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// onTerminal runs a shell command on a pseudo-terminal of 80 columns and returns
// what it wrote to it.
func onTerminal(t *testing.T, command string) string {
	t.Helper()
	return onTerminalOf(t, 80, command)
}

func onTerminalOf(t *testing.T, columns int, command string) string {
	t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script is not installed")
	}
	if err := exec.Command(script, "-qec", "true", "/dev/null").Run(); err != nil {
		t.Skip("script is not that of util-linux")
	}
	out, err := exec.Command(script, "-qec", fmt.Sprintf("stty cols %d; export TERM=xterm; %s", columns, command), "/dev/null").Output()
	require.NoError(t, err, string(out))
	return string(out)
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTheLogHasColoursOnATerminalUnlessNoColorIsSet(t *testing.T) {
	path := binary(t)
	require.Regexp(t, colour, onTerminal(t, "env -u NO_COLOR "+path+" run --fixture demo/orders"))
	require.NotRegexp(t, colour, onTerminal(t, "NO_COLOR=1 "+path+" run --fixture demo/orders"))
	require.NotRegexp(t, colour, onTerminal(t, "env -u NO_COLOR "+path+" run --fixture demo/orders 2>&1 | cat"))
}

func TestTheProgressLineDoesNotMixWithLogLines(t *testing.T) {
	path, config := binary(t), endless(t, 40)
	command := "export NO_COLOR=1; " + path + " run " + config + " --max-pages 60 >/dev/null; true"
	out := onTerminal(t, command)
	require.Regexp(t, `x: \d+ pages, \d+ items, .* items/s`, out)
	for _, at := range []int{strings.Index(out, "WRN retrying"), strings.LastIndex(out, "INF ")} { // while the line is shown, and after it
		require.Positive(t, at, out)
		before := out[:at-len("15:04:05 ")]
		require.Regexp(t, "[\r\n]$", before, "a log line begins at the first column")
		cleared := strings.TrimSuffix(before, "\r")
		cleared = cleared[strings.LastIndexAny(cleared, "\r\n")+1:]
		require.NotContains(t, cleared, "items/s", "the progress line is cleared before")
	}
	for _, quiet := range []string{"-q", "-v", "--no-progress", "--log-format json"} {
		t.Run(quiet, func(t *testing.T) {
			require.NotContains(t, onTerminal(t, strings.Replace(command, " run ", " run "+quiet+" ", 1)), "items/s")
		})
	}
}

// TestItemsOnATerminalAreApartFromTheProgressLine also checks that the line keeps the
// number of pages on a narrow terminal.
func TestItemsOnATerminalAreApartFromTheProgressLine(t *testing.T) {
	path, config := binary(t), endless(t)
	out := onTerminalOf(t, 40, "export NO_COLOR=1; timeout --foreground -s INT 1.5 "+path+" run "+config+"; true")
	require.Regexp(t, `x: \d+ pages?, \d+ items?`, out)
	items := 0
	for line := range strings.Lines(out) {
		at := strings.Index(line, `{"page":`)
		if at < 0 {
			continue
		}
		items++
		before := line[strings.LastIndex(line[:at], "\r")+1 : at]
		require.Empty(t, before, "an item begins at the first column")
		cleared := strings.Split(strings.TrimSuffix(line[:at], "\r"), "\r")
		require.Empty(t, strings.TrimSpace(cleared[len(cleared)-1]), "the progress line is cleared before an item")
	}
	require.Positive(t, items)
}

func TestExplainIsAsWideAsTheTerminal(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	path := binary(t)
	for _, width := range []int{40, 60, 110} {
		out := onTerminalOf(t, width, path+" explain --fixture demo/orders")
		longest := 0
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\r\n")
			if words := strings.Fields(line); len(words) > 2 || len(words) > 0 && !strings.Contains(line, "://") {
				longest = max(longest, len(line))
			}
		}
		require.LessOrEqual(t, longest, width)
		require.Greater(t, longest, width-12, "the width is used")
	}
}

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
		{"trace", trace}, {"record", good, har}, {"replay", good, har},
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
	require.Zero(t, run([]string{"run", config, "--fail-on", "none", "--out", filepath.Join(dir, "out"), "--trace", filepath.Join(dir, files[0]),
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
