package docs_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/docs"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var update = flag.Bool("update", false, "write the pages of docs/reference anew")

func TestTheReferenceIsWhatTheCodeSays(t *testing.T) {
	methods, err := docs.Methods()
	require.NoError(t, err)
	cookbook, err := docs.Cookbook()
	require.NoError(t, err)
	for path, text := range map[string]string{"reference/config.md": docs.Config(), "reference/context.md": docs.Context(), "reference/methods.md": methods, "cookbook.md": cookbook} {
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		have, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(have), "%s is stale: go test ./docs -update", path)
	}
}

// pages are the README and all pages below docs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths := []string{"../README.md", "../CHANGELOG.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all[path] = string(text)
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	for path, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(path), m[1]))
			require.NoError(t, err, "%s links to %s", path, m[1])
		}
	}
}

var block = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

// TestEveryConfigurationInThePagesCompiles loads the JSON and YAML blocks: whole
// configurations as they are, pagination objects inside one.
func TestEveryConfigurationInThePagesCompiles(t *testing.T) {
	loaded := 0
	for path, text := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			config, name := m[2], "block."+m[1]
			if m[1] != "json" && m[1] != "yaml" {
				continue
			}
			switch {
			case strings.Contains(config, "baseUrl"):
			case strings.Contains(config, `"authentication"`), strings.Contains(config, `"http"`):
				config = `{"api": {"baseUrl": "https://api.example.com/", ` + strings.TrimSpace(config) + `}, "config": {"jobs": [{"endpoint": "users"}]}}`
			default:
				config = `{"api": {"baseUrl": "https://api.example.com/", "pagination": ` + config + `}, "config": {"jobs": [{"endpoint": "users"}]}}`
			}
			e, err := engine.Load(name, []byte(config), engine.WithFormat(".yaml", yaml.Parse), engine.WithEnv(func(string) (string, bool) { return "value", true }))
			require.NoError(t, err, "%s\n%s", path, m[2])
			for _, test := range e.Test(t.Context()).Tests {
				require.Empty(t, test.Differences, "%s: %s", path, test.Name)
			}
			loaded++
		}
	}
	require.Greater(t, loaded, 10)
}

// TestTheGoBlockOfTheReadmeIsAnExample keeps the README's program compiling:
// every line of it stands in an Example function.
func TestTheGoBlockOfTheReadmeIsAnExample(t *testing.T) {
	examples, err := os.ReadFile("../engine/example_test.go")
	require.NoError(t, err)
	readme := pages(t)["../README.md"]
	found := false
	for _, m := range block.FindAllStringSubmatch(readme, -1) {
		if m[1] != "go" {
			continue
		}
		found = true
		for line := range strings.Lines(m[2]) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				require.Contains(t, string(examples), line)
			}
		}
	}
	require.True(t, found)
}

// TestTheCommandsOfTheReadmeDoWhatItSays runs the commands that the README shows
// with their output, and compares it.
func TestTheCommandsOfTheReadmeDoWhatItSays(t *testing.T) {
	readme := pages(t)["../README.md"]
	ran := 0
	for _, m := range block.FindAllStringSubmatch(readme, -1) {
		if m[1] != "console" {
			continue
		}
		command, want, _ := strings.Cut(m[2], "\n")
		words := strings.Fields(strings.TrimPrefix(command, "$ "))
		require.Equal(t, []string{"go", "run", "./engine/cmd/stopwhen"}, words[:3], command)
		cmd := exec.Command("go", words[1:]...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		ran++
		got := string(out)
		for line := range strings.Lines(want) {
			line = strings.TrimSpace(line)
			if line == "" || line == "…" {
				continue
			}
			if len(line) > 9 && line[2] == ':' && line[5] == ':' {
				line = line[9:] // the time of a log line
			}
			line = regexp.MustCompile(`127\.0\.0\.1:\d+| in \d+ms$`).Split(line, 2)[0]
			at := strings.Index(got, line)
			require.GreaterOrEqual(t, at, 0, "%s: no %q (in this order) in\n%s", command, line, out)
			got = got[at+len(line):]
		}
	}
	require.GreaterOrEqual(t, ran, 2)
}

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")

// TestEveryPromiseHasItsTest: the tests that RELIABILITY.md names are there.
func TestEveryPromiseHasItsTest(t *testing.T) {
	var tests strings.Builder
	for _, pattern := range []string{"../*/*_test.go", "../*/*/*_test.go", "../*/*/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range files {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	named := testName.FindAllStringSubmatch(pages(t)["RELIABILITY.md"], -1)
	require.Greater(t, len(named), 50)
	for _, m := range named {
		require.Contains(t, tests.String(), "func "+m[1]+"(", "RELIABILITY.md names a test that is not there")
	}
}

var eventName = regexp.MustCompile(`"event", "(\w+)"`)

// TestEveryEventIsDocumented: the names that the code logs by are those of the
// page about them.
func TestEveryEventIsDocumented(t *testing.T) {
	page := pages(t)["guide/traces.md"]
	found := 0
	for _, pattern := range []string{"../runtime/*.go", "../engine/*.go", "../engine/cmd/stopwhen/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range files {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, m := range eventName.FindAllStringSubmatch(string(text), -1) {
				require.Contains(t, page, "`"+m[1]+"`", "%s logs an event that docs/guide/traces.md does not have", path)
				found++
			}
		}
	}
	require.Greater(t, found, 10)
}
