package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// goNames matches names of the Go API that the command has other words for.
var goNames = regexp.MustCompile(`\b(With[A-Z]|(checkpoint|detect|output|Cluster|CollectOptions|Engine|PublisherOptions|Run|Submission)\.[A-Z])\w+`)

// flagName matches a flag in its usage, and in a text.
var flagName = regexp.MustCompile(`--[a-z-]+`)

// TestMessagesNameNoGoNames reads the texts of all packages. Only the table of remedies has names of the Go
// API, except those that only a program meets.
func TestMessagesNameNoGoNames(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	onlyPrograms := regexp.MustCompile(`With(Format|Function|Guard|MaxPages|Method)`)
	read := 0
	for _, root := range []string{"../../../rules", "../../../compile", "../../../runtime", "../../../engine"} {
		eachText(t, root, func(place, text string) {
			read++
			if !strings.Contains(place, "/remedy/") && !onlyPrograms.MatchString(text) {
				require.NotRegexp(t, goNames, text, place)
			}
		})
	}
	require.Greater(t, read, 10_000)
}

// TestRemediesNameFlagsAndCommands: the table of remedies names flags and commands that exist.
func TestRemediesNameFlagsAndCommands(t *testing.T) {
	var commands, flags []string
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		commands = append(commands, c.CommandPath())
		flags = append(flags, flagName.FindAllString(c.LocalFlags().FlagUsages(), -1)...)
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(newApp(nil, nil, nil).rootCommand())
	named := 0
	eachText(t, "../../../rules/remedy", func(place, text string) {
		for _, flag := range flagName.FindAllString(text, -1) {
			named++
			require.Contains(t, flags, flag, place)
		}
		if command := regexp.MustCompile(`^stopwhen [a-z]+`).FindString(text); command != "" {
			named++
			require.Contains(t, commands, command, place)
		}
	})
	require.Greater(t, named, 30)
}

// eachText calls f with the texts in the code below a directory, and the place of each.
func eachText(t *testing.T, root string, f func(place, text string)) {
	set := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && d.Name() == "cmd" {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				f(set.Position(literal.Pos()).String(), text)
			}
			return true
		})
		return err
	}))
}

// TestOnlyMessagesNameFlags: ids and values that look like names of the Go API stay as they are.
func TestOnlyMessagesNameFlags(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"id": "WithEnv"}]`) }))
	defer api.Close()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [{"id": "WithJobs",
		"endpoint": "orders", "pagination": {"method": "single"}, "incremental": {"cursor": "id", "param": "since"}}]}}`, api.URL), 0o600))
	log := runStopwhen(t, 0, "run", "c.json", "--out", "out", "--kept", "kept.json", "--result", "result.json", "--log-format", "json", "-v")
	var result engine.Result
	require.NoError(t, json.Unmarshal([]byte(readText(t, "result.json")), &result))
	require.Equal(t, "WithJobs", result.Jobs[0].Job)
	require.Contains(t, fmt.Sprint(result.Jobs[0].Kept), "WithEnv")
	require.Contains(t, log, `"job":"WithJobs"`)
	require.NotContains(t, log, `"job":"--job"`)
	var value bytes.Buffer
	require.Zero(t, run([]string{"eval", "body[0].id"}, strings.NewReader(`[{"id": "WithEnv"}]`), &value, io.Discard))
	require.Contains(t, value.String(), "\"WithEnv\"")
}
