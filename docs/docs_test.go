package docs

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stopwhen/stopwhen/runtime/failure"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var update = flag.Bool("update", false, "rewrite the marked passages")

func TestMarkedPassagesMatchTheCode(t *testing.T) {
	marked := 0
	for _, page := range readPages(t) {
		if !mark.MatchString(page.text) {
			continue
		}
		marked++
		t.Run(page.path, func(t *testing.T) {
			want, err := Fill(page.text)
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(page.path, []byte(want), 0o644))
			}
			require.Equal(t, want, readPage(t, page.path), "out of date: run go test ./docs -update")
		})
	}
	require.GreaterOrEqual(t, marked, 6)
}

func TestFill(t *testing.T) {
	methods, err := methodNames()
	require.NoError(t, err)
	for _, c := range []struct {
		name, page, want, err string
	}{
		{name: "a page without marks stays as it is", page: "<!-- Some comment. --> 3 cases", want: "<!-- Some comment. --> 3 cases"},
		{name: "an outdated passage is replaced", page: "a <!-- methods -->x<!-- /methods --> z",
			want: "a <!-- methods -->" + methods + "<!-- /methods --> z"},
		{name: "an unknown mark is an error", page: "<!-- caes -->3<!-- /caes -->", err: `mark "caes"`},
		{name: "a mark without an end is an error", page: "<!-- cases -->3", err: `mark "cases"`},
		{name: "a mark with another's end is an error", page: "<!-- cases -->3<!-- /apis -->", err: `mark "cases"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Fill(c.page)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

const readmePath = "../README.md"

// A page is a Markdown file, with its path relative to this folder.
type page struct{ path, text string }

// readPages reads the README, the changelog and all pages below docs, in a fixed
// order.
func readPages(t *testing.T) []page {
	t.Helper()
	paths := []string{readmePath, "../CHANGELOG.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	pages := make([]page, len(paths))
	for i, path := range paths {
		pages[i] = page{path, readPage(t, path)}
	}
	return pages
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// links returns the links of a page to files of the repository.
func (p page) links() []struct{ target, fragment string } {
	var out []struct{ target, fragment string }
	for _, m := range link.FindAllStringSubmatch(p.text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		target := p.path
		if m[1] != "" {
			target = filepath.Join(filepath.Dir(p.path), m[1])
		}
		out = append(out, struct{ target, fragment string }{target, m[2]})
	}
	return out
}

func TestLinksHaveTargets(t *testing.T) {
	for _, page := range readPages(t) {
		t.Run(page.path, func(t *testing.T) {
			for _, l := range page.links() {
				_, err := os.Stat(l.target)
				require.NoError(t, err)
				if l.fragment == "" {
					continue
				}
				var anchors []string
				for _, m := range heading.FindAllStringSubmatch(readPage(t, l.target), -1) {
					anchors = append(anchors, anchor(m[1]))
				}
				require.Contains(t, anchors, l.fragment, "%s has no such heading", l.target)
			}
		})
	}
}

func TestReadmeLinksToEveryPage(t *testing.T) {
	var linked []string
	for _, l := range (page{readmePath, readPage(t, readmePath)}).links() {
		linked = append(linked, l.target)
	}
	for _, page := range readPages(t) {
		if page.path != readmePath {
			require.Contains(t, linked, filepath.Join("../docs", page.path))
		}
	}
}

// codeBlock is a fenced block: its language, and its text.
var codeBlock = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

// TestConfigurationsInPagesCompile loads the JSON and YAML blocks and runs the
// tests in them. A complete configuration is loaded as it is; a part of one is put
// into a configuration first.
func TestConfigurationsInPagesCompile(t *testing.T) {
	loaded := 0
	for _, page := range readPages(t) {
		t.Run(page.path, func(t *testing.T) {
			for _, m := range codeBlock.FindAllStringSubmatch(page.text, -1) {
				if m[1] != "json" && m[1] != "yaml" {
					continue
				}
				e, err := engine.Load("block."+m[1], []byte(completeConfig(m[2])), engine.WithFormat(".yaml", yaml.Parse),
					engine.WithEnv(func(string) (string, bool) { return "value", true }))
				require.NoError(t, err, m[2])
				for _, test := range e.Test(t.Context()).Tests {
					require.Empty(t, test.Differences, test.Name)
				}
				loaded++
			}
		})
	}
	require.Greater(t, loaded, 100)
}

// completeConfig completes a member of `api`, or a pagination object.
func completeConfig(block string) string {
	const head, tail = `{"api": {"baseUrl": "https://api.example.com/", `, `}, "config": {"jobs": [{"endpoint": "users"}]}}`
	switch {
	case strings.Contains(block, "baseUrl"):
		return block
	case strings.Contains(block, `"authentication"`), strings.Contains(block, `"http"`):
		return head + strings.TrimSpace(block) + tail
	}
	return head + `"pagination": ` + block + tail
}

// TestGoProgramOfReadmeCompiles requires every line of the README's program to be
// part of an Example function.
func TestGoProgramOfReadmeCompiles(t *testing.T) {
	examples := readPage(t, "../engine/example_test.go")
	found := false
	for _, m := range codeBlock.FindAllStringSubmatch(readPage(t, readmePath), -1) {
		if m[1] != "go" {
			continue
		}
		found = true
		for line := range strings.Lines(m[2]) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				require.Contains(t, examples, line)
			}
		}
	}
	require.True(t, found)
}

// varying is the end of a line that differs from run to run.
var varying = regexp.MustCompile(`127\.0\.0\.1:\d+.*$| in \d+ms$`)

// TestCommandsOfReadmePrintWhatItShows runs the commands that the README shows with
// their output. The shown lines must be printed in the same order; "…" is a gap.
func TestCommandsOfReadmePrintWhatItShows(t *testing.T) {
	ran := 0
	for _, m := range codeBlock.FindAllStringSubmatch(readPage(t, readmePath), -1) {
		if m[1] != "console" {
			continue
		}
		ran++
		command, shown, _ := strings.Cut(m[2], "\n")
		t.Run(command, func(t *testing.T) {
			words := strings.Fields(strings.TrimPrefix(command, "$ "))
			require.Equal(t, []string{"go", "run", "./engine/cmd/stopwhen"}, words[:3])
			cmd := exec.Command("go", words[1:]...)
			cmd.Dir = ".."
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			rest := string(out)
			for line := range strings.Lines(shown) {
				line = varying.ReplaceAllString(strings.TrimSpace(line), "")
				if line == "…" {
					continue
				}
				_, after, printed := strings.Cut(rest, line)
				require.True(t, printed, "no line %q, in this order, in\n%s", line, out)
				rest = after
			}
		})
	}
	require.GreaterOrEqual(t, ran, 2)
}

// goFiles returns the contents of the module's Go files whose names satisfy keep.
func goFiles(t *testing.T, keep func(name string) bool) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || !keep(path) {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	require.NoError(t, err)
	return all.Bytes()
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func isNoTest(name string) bool { return !isTest(name) }

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")

func TestReliabilityNamesExistingTests(t *testing.T) {
	tests := string(goFiles(t, isTest))
	named := testName.FindAllStringSubmatch(readPage(t, "RELIABILITY.md"), -1)
	require.Greater(t, len(named), 50)
	for _, m := range named {
		require.Contains(t, tests, "func "+m[1]+"(")
	}
}

func TestReliabilityStatesTheKillsOfTheKillLoop(t *testing.T) {
	kills := regexp.MustCompile(`flag\.Int\("kills", (\d+),`).FindSubmatch(goFiles(t, isTest))
	require.NotNil(t, kills)
	require.Contains(t, readPage(t, "RELIABILITY.md"), string(kills[1])+" kills in CI")
}

var (
	loggedEvent     = regexp.MustCompile(`(?:[^{]|any\{)"event", "(\w+)"`) // not in a list of attribute names
	documentedEvent = regexp.MustCompile("`(\\w+)`")
)

func TestEventsOfTheLogAreDocumented(t *testing.T) {
	_, section, found := strings.Cut(readPage(t, "guide/traces.md"), "\n## The log\n")
	require.True(t, found)
	var documented, logged []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range documentedEvent.FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, m[1])
		}
	}
	for _, m := range loggedEvent.FindAllSubmatch(goFiles(t, isNoTest), -1) {
		logged = append(logged, string(m[1]))
	}
	require.Greater(t, len(documented), 10)
	require.Subset(t, documented, logged, "guide/traces.md lacks an event")
	require.Subset(t, logged, documented, "guide/traces.md has an event that nothing logs")
}

var statusRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(\\w+)` \\|")

func TestExitStatusesOfErrorClassesAreDocumented(t *testing.T) {
	documented := map[string]int{}
	for _, m := range statusRow.FindAllStringSubmatch(readPage(t, "guide/exit-status.md"), -1) {
		status, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		documented[m[2]] = status
	}
	want := map[string]int{}
	for _, class := range failure.Classes() {
		want[string(class)] = class.ExitStatus()
	}
	require.Equal(t, want, documented)
}

var option = regexp.MustCompile(`(?m)^func (With\w+)\([^)]*(?:\([^)]*\)[^)]*)*\) (?:Run)?Option`)

func TestOptionsOfTheEngineAreDocumented(t *testing.T) {
	page := readPage(t, "guide/embedding.md")
	options := option.FindAllStringSubmatch(readPage(t, "../engine/option.go")+readPage(t, "../engine/extend.go"), -1)
	require.Greater(t, len(options), 17)
	for _, m := range options {
		require.Contains(t, page, "`"+m[1]+"(", "guide/embedding.md lacks an option")
	}
}
