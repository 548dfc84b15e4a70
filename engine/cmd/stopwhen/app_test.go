package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestMain(m *testing.M) {
	testscript.Main(withFolder{m}, map[string]func(){
		"stopwhen": main,
	})
}

// run runs the command in this process and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newApp(stdin, stdout, stderr).run(args)
}

// TestScripts runs the scripts in testdata/script, with the command as a release is built. It starts in
// half the time of the program of these tests, which runs as the command under the race detector.
func TestScripts(t *testing.T) {
	path := os.Getenv("PATH")
	if !fixtures.Race {
		path = filepath.Dir(binary(t)) + string(os.PathListSeparator) + path
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": requireStatus,
			"await":  await,
			"hub":    startHub,
			"serve":  serveScript,
		},
		Condition: condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", path)
			env.Setenv("GUARDS", strings.Join(defaultGuards(), ", "))
			env.Setenv("GORACE", "atexit_sleep_ms=20") // the race detector waits for a second at each exit otherwise
			return nil
		},
	})
}

// defaultGuards returns the ids of the guards that are in force by default.
func defaultGuards() []string {
	guards := slices.DeleteFunc(rules.Builtin().Guards(), func(g rules.Guard) bool { return g.Policy == rules.PolicyIgnore })
	return lists.Map(guards, func(g rules.Guard) string { return g.ID })
}

// condition is true for `[race]` in a build with the race detector.
func condition(name string) (bool, error) {
	if name != "race" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return fixtures.Race, nil
}

// requireStatus runs a program and checks its exit status: `status 2 stopwhen check x`.
func requireStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// TestEveryCaseThroughTheCommand runs every case with `stopwhen run --fixture` and
// checks standard output, the exit status and the keys of the trace.
func TestEveryCaseThroughTheCommand(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	cases, err := fixtures.All()
	require.NoError(t, err)
	lines, results := compiled(t, schemaOf[engine.Record]("")()), compiled(t, schemaOf[resultFile]("")())
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			trace, result := t.TempDir()+"/trace.json", t.TempDir()+"/result.json"
			var stdout, stderr bytes.Buffer
			args := []string{"run", "--fixture", c.Name, "--trace", trace, "--result", result, "--log-format", "json"}
			status := run(args, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, c.Exit, status, stderr.String())
			if c.Items != nil && !strings.Contains(*c.Items, "{base}") {
				require.Equal(t, *c.Items, stdout.String())
			}
			if status == exitUsage {
				return
			}
			text, err := os.ReadFile(trace)
			require.NoError(t, err)
			for line := range bytes.Lines(text) {
				var record map[string]any
				require.NoError(t, json.Unmarshal(line, &record))
				requireValid(t, lines, line)
				for _, key := range []string{"job", "page", "request", "status", "count", "bytes", "verdicts", "decision", "stoppedBy"} {
					require.Contains(t, record, key)
				}
			}
			text, err = os.ReadFile(result)
			require.NoError(t, err)
			requireValid(t, results, text)
		})
	}
}

// compiled compiles a schema with an independent reader.
func compiled(t *testing.T, of rules.Object) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(of)
	require.NoError(t, err)
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", schema))
	return c.MustCompile("schema.json")
}

func requireValid(t *testing.T, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(v), string(text))
}

func TestASchemaRefusesAWrongTrace(t *testing.T) {
	for _, text := range []string{`{}`, `[]`, `{"job": 7}`} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		require.Error(t, compiled(t, schemaOf[engine.Record]("")()).Validate(v))
		require.Error(t, compiled(t, schemaOf[resultFile]("")()).Validate(v))
	}
}

func TestExitStatusesAreTheContract(t *testing.T) {
	require.Equal(t, 0, exitStatus(nil))
	contract := map[failure.Class]int{
		"internal": 1, "config": 2, "api": 3, "transient": 4, "response": 5,
		"policy": 6, "io": 7, "state": 8, "suspect": 9, "cancelled": 130,
	}
	for _, class := range failure.Classes() {
		t.Run(string(class), func(t *testing.T) {
			require.Contains(t, contract, class)
			require.Equal(t, contract[class], exitStatus(&engine.Error{Class: class}))
			require.Equal(t, class, classOf(fmt.Errorf("wrapped: %w", &engine.Error{Class: class})))
			delete(contract, class)
		})
	}
	require.Empty(t, contract, "these classes are gone")
}

// folder is where the tests build the command, once for all of them.
var folder string

// withFolder runs the tests with a folder, and removes it.
type withFolder struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (w withFolder) Run() int {
	var err error
	if folder, err = os.MkdirTemp("", "stopwhen"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	return w.m.Run()
}

// build builds the command as a release is built: tests under the race detector have cgo, with
// which all packages would be compiled once more.
var build = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(folder, "stopwhen")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// binary builds the command, unless another test has, and returns its path. It skips a test under the race
// detector, which the command is not built with.
func binary(t *testing.T) string {
	t.Helper()
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	path, err := build()
	require.NoError(t, err)
	return path
}

// endless serves an endless list, one page every few milliseconds, and returns the
// path of its configuration. Requests with the given numbers get status 503.
func endless(t *testing.T, unavailable ...int64) string {
	t.Helper()
	var requests atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		if slices.Contains(unavailable, n) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		time.Sleep(5 * time.Millisecond)
		fmt.Fprintf(w, `{"data": [{"page": %s, "n": %d, "fill": %q}]}`, r.URL.Query().Get("page"), n, strings.Repeat("x", 4096))
	}))
	t.Cleanup(api.Close)
	config := t.TempDir() + "/endless.json"
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
		"api": {"baseUrl": %q, "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "x", "dataField": "data"}]}}`, api.URL), 0o644))
	return config
}

// signals are the signals that end a run, and its exit statuses.
var signals = []struct {
	name   string
	signal syscall.Signal
	status int
}{
	{"SIGINT", syscall.SIGINT, 130},
	{"SIGTERM", syscall.SIGTERM, 143},
	{"SIGHUP", syscall.SIGHUP, 129},
}

// skipIfIgnored skips a test about a signal that the command ignores, because nohup started the test.
func skipIfIgnored(t *testing.T, s syscall.Signal) {
	t.Helper()
	if signal.Ignored(s) {
		t.Skip("the program that runs the tests ignores the signal, as nohup does")
	}
}

func TestSignalsEndTheRunWithinASecondAndKeepCompletePages(t *testing.T) {
	path := binary(t)
	for _, test := range signals {
		t.Run(test.name, func(t *testing.T) {
			skipIfIgnored(t, test.signal)
			cmd := exec.Command(path, "run", endless(t))
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			first := make([]byte, 1)
			_, err = io.ReadFull(stdout, first) // the first page was written
			require.NoError(t, err)
			require.NoError(t, cmd.Process.Signal(test.signal))
			start := time.Now()
			rest, err := io.ReadAll(stdout)
			require.NoError(t, err)
			require.Error(t, cmd.Wait())
			require.Less(t, time.Since(start), 5*time.Second, "a second is promised; the machine may be busy")
			require.Equal(t, test.status, cmd.ProcessState.ExitCode(), stderr.String())
			for line := range bytes.Lines(append(first, rest...)) {
				require.True(t, json.Valid(line), "an incomplete line: %.80s", line)
			}
			require.Contains(t, stderr.String(), "interrupted; the pages written so far are complete")
		})
	}
}

func TestAClosedOutputPipeEndsTheRun(t *testing.T) {
	cmd := exec.Command("sh", "-c", `"$0" run "$1" | head -1 >/dev/null; echo "status ${PIPESTATUS[0]}"`, binary(t), endless(t))
	cmd.Path, cmd.Args[0] = bash(t), "bash"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "status 7\n", string(out))
	require.Contains(t, stderr.String(), "output pipe closed; the extraction is incomplete")
}

func bash(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	return path
}

func TestHelpFitsATerminalOf80Columns(t *testing.T) {
	help := func(t *testing.T, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		require.Equal(t, 0, run(append([]string{"help"}, args...), strings.NewReader(""), &stdout, &stderr), stderr.String())
		return stdout.String()
	}
	commands := regexp.MustCompile(`(?m)^  (\w+) {2,}[A-Z]`).FindAllStringSubmatch(help(t), -1)
	require.GreaterOrEqual(t, len(commands), 21)
	for _, command := range commands {
		t.Run(command[1], func(t *testing.T) {
			for line := range strings.Lines(help(t) + help(t, command[1])) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
			}
		})
	}
}

// serveScript serves the API of a case for the rest of the script, to requests in any
// order, and writes its configuration to a file: `serve orders.txtar` writes orders.json.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve CASE.txtar")
	}
	c, err := fixtures.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	c.AnyOrder = true
	server, err := fixtures.Serve(c)
	ts.Check(err)
	ts.Defer(server.Close)
	name := strings.TrimSuffix(args[0], filepath.Ext(args[0])) + filepath.Ext(c.ConfigName)
	ts.Check(os.WriteFile(ts.MkAbs(name), server.ConfigText(), 0o600))
}
