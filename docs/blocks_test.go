package docs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

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
					engine.WithPlaceholders())
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

// isConfig reports whether a JSON block is a complete configuration.
func isConfig(block string) bool { return strings.Contains(block, "baseUrl") }

// completeConfig completes a member of `api`, or a pagination object.
func completeConfig(block string) string {
	const head, tail = `{"api": {"baseUrl": "https://api.example.com/", `, `}, "config": {"jobs": [{"endpoint": "users"}]}}`
	switch {
	case isConfig(block):
		return block
	case strings.Contains(block, `"authentication"`), strings.Contains(block, `"http"`):
		return head + strings.TrimSpace(block) + tail
	}
	return head + `"pagination": ` + block + tail
}

// TestGoBlocksArePartsOfExamples requires every paragraph of a Go block to be part
// of a file with Example functions, so that it is compiled and run.
func TestGoBlocksArePartsOfExamples(t *testing.T) {
	examples := codeLines(string(goFiles(t, func(name string) bool {
		return strings.HasPrefix(filepath.Base(name), "example") && isTest(name)
	})))
	found := 0
	for _, page := range readPages(t) {
		t.Run(page.path, func(t *testing.T) {
			for _, m := range codeBlock.FindAllStringSubmatch(page.text, -1) {
				if m[1] != "go" {
					continue
				}
				found++
				for paragraph := range strings.SplitSeq(m[2], "\n\n") {
					if !strings.Contains(examples, codeLines(paragraph)) {
						t.Errorf("no Example function contains\n%s", paragraph)
					}
				}
			}
		})
	}
	require.Greater(t, found, 5)
}

// codeLines returns the lines of Go code that are not comments, without
// indentation.
func codeLines(code string) string {
	b := &strings.Builder{}
	b.WriteString("\n")
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// buildCommand builds the command, as a release is built, and returns its path.
func buildCommand(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stopwhen")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../engine/cmd/stopwhen")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}

// TestConsoleBlocksShowWhatIsPrinted runs the commands of the console blocks. A
// command begins with "$ ", and the lines up to the next command are all that it
// prints; "…" is a gap, in a line or between lines.
//
// Commands that begin with "go" run in the repository. The others run in a
// directory that holds the files of testdata/<page> and, as users.json, the last
// complete configuration that the page shows before them. Their requests to
// http://api.example.com reach [serveUsers].
func TestConsoleBlocksShowWhatIsPrinted(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one case after another, as other tests do")
	path := "PATH=" + filepath.Dir(buildCommand(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	env := append(os.Environ(), path, "HTTP_PROXY="+serveUsers(t), "NO_PROXY=")
	commands := 0
	for _, page := range readPages(t) {
		if !strings.Contains(page.text, "```console\n") {
			continue
		}
		t.Run(page.path, func(t *testing.T) {
			dir := t.TempDir()
			if files := filepath.Join("testdata", page.name()); isDir(files) {
				require.NoError(t, os.CopyFS(dir, os.DirFS(files)))
			}
			for _, m := range codeBlock.FindAllStringSubmatch(page.text, -1) {
				switch {
				case m[1] == "json" && isConfig(m[2]):
					require.NoError(t, os.WriteFile(filepath.Join(dir, "users.json"), []byte(m[2]), 0o644))
				case m[1] == "console":
					for _, c := range shownCommands(m[2]) {
						commands++
						output := run(t, c.line, dir, env)
						if !outputPattern(c.output).MatchString(varying.ReplaceAllString(output, "$1$2")) {
							t.Errorf("%s\nprints\n%s\nbut the page shows\n%s", c.line, output, c.output)
						}
					}
				}
			}
		})
	}
	require.Greater(t, commands, 10)
}

// serveUsers returns the address of an HTTP proxy that is also an API: whatever
// the host, it has 240 users and refuses the first request for the last of them.
func serveUsers(t *testing.T) string {
	t.Helper()
	refused := false
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		if from == 200 && !refused {
			refused = true
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var users []string
		for id := from + 1; id <= min(from+100, 240); id++ {
			users = append(users, fmt.Sprintf(`{"id": %d}`, id))
		}
		fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(users, ","))
	}))
	t.Cleanup(api.Close)
	return api.URL
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// shownCommand is a command of a console block, with the output that is shown.
type shownCommand struct{ line, output string }

func shownCommands(block string) []shownCommand {
	var list []shownCommand
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, shownCommand{line: strings.TrimSpace(command)})
		} else {
			list[len(list)-1].output += line
		}
	}
	return list
}

// run runs a command in a shell and returns what it prints. Its exit status may be
// any.
func run(t *testing.T, line, dir string, env []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	if strings.HasPrefix(line, "go ") {
		cmd.Dir = ".."
	} else {
		cmd.Dir, cmd.Env = dir, env
	}
	output, err := cmd.CombinedOutput()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return string(output)
}

// varying matches what differs from run to run: the port of a built-in API, how
// long something took, and the time of day before a log line. Only its groups are
// compared.
var varying = regexp.MustCompile(`(127\.0\.0\.1):\d+|( in )[\d.]+m?s\b|(?m:^\d\d:\d\d:\d\d )`)

// outputPattern matches output that is shown with gaps.
func outputPattern(shown string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(varying.ReplaceAllString(shown, "$1$2"))
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(?:.*\n)*?`)
	return regexp.MustCompile(`^` + strings.ReplaceAll(pattern, "…", ".*") + `$`)
}

var (
	inlineCommand = regexp.MustCompile("`(stopwhen [a-z][^`\n]*)`")
	blockCommand  = regexp.MustCompile(`(?m)^(?:\$ )?(?:go run ./engine/cmd/)?(stopwhen [a-z].*)$`)
	flagName      = regexp.MustCompile(`\s(--?[a-z][a-z-]*)`)
)

// commands returns the commands that a page shows, in its text and in its blocks.
func (p page) commands() []string {
	var lines, list []string
	for _, m := range inlineCommand.FindAllStringSubmatch(p.text, -1) {
		lines = append(lines, m[1])
	}
	for _, block := range codeBlock.FindAllStringSubmatch(p.text, -1) {
		if block[1] != "sh" && block[1] != "console" {
			continue
		}
		for _, m := range blockCommand.FindAllStringSubmatch(block[2], -1) {
			lines = append(lines, m[1])
		}
	}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #")
		list = append(list, strings.Split(line, " && ")...)
	}
	return list
}

// TestCommandsInPagesExist looks up every command that a page shows, and its
// flags, in the help of the command.
func TestCommandsInPagesExist(t *testing.T) {
	fixtures.SkipUnderRace(t, "the work is done by other processes")
	binary := buildCommand(t)
	helps := map[string]string{}
	help := func(name string) string {
		if _, ok := helps[name]; !ok {
			output, err := exec.CommandContext(t.Context(), binary, name, "--help").CombinedOutput()
			require.NoError(t, err)
			helps[name] = string(output)
		}
		return helps[name]
	}
	shown := 0
	for _, page := range readPages(t) {
		t.Run(page.path, func(t *testing.T) {
			for _, command := range page.commands() {
				shown++
				name := strings.Fields(command)[1]
				require.Contains(t, help(name), "stopwhen "+name, command)
				for _, f := range flagName.FindAllStringSubmatch(command, -1) {
					require.Regexp(t, regexp.QuoteMeta(f[1])+`[,\s]`, help(name), command)
				}
			}
		})
	}
	require.Greater(t, shown, 25)
}
