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

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// TestMessagesNameFlags reads the texts of all packages. The command must replace every name of the
// Go API in them, except those that only a program meets.
func TestMessagesNameFlags(t *testing.T) {
	name := regexp.MustCompile(`\b(With[A-Z]|(checkpoint|detect|output|Cluster|CollectOptions|Engine|PublisherOptions|Run|Submission)\.[A-Z])\w+`)
	onlyPrograms := regexp.MustCompile(`With(Format|Function|Guard|MaxPages|Method)`)
	a, set, replaced := newApp(nil, nil, nil), token.NewFileSet(), 0
	for _, root := range []string{"../../../rules", "../../../runtime", "../../../engine"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if d.IsDir() && d.Name() == "cmd" {
				return fs.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(literal.Value)
				if name.MatchString(text) && !onlyPrograms.MatchString(text) {
					replaced++
					require.NotRegexp(t, name, a.inFlags(strings.ReplaceAll(text, "%s", "r1")+"r1)"), "%s", set.Position(literal.Pos()))
				}
				return true
			})
			return err
		}))
	}
	require.Greater(t, replaced, 30)
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

	result.Jobs[0].Error = &trace.Fault{Message: "x is not set", Hint: `set it with WithInputs(map[string]any{"x": VALUE})`}
	newApp(nil, nil, nil).translate(&result)
	require.Equal(t, "set it with --set x=VALUE", result.Jobs[0].Error.Hint)
	require.Equal(t, "WithJobs", result.Jobs[0].Job)
}
