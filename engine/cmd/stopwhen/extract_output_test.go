package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// serveMany serves one item to each of many jobs and returns the path of their
// configuration. Two jobs share each file if shared is set.
func serveMany(t *testing.T, jobs int, shared bool) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `[{"path":%q}]`, r.URL.Path)
	}))
	t.Cleanup(api.Close)
	list := make([]string, jobs)
	for i := range list {
		dataType := i
		if shared {
			dataType = i % (jobs / 2)
		}
		list[i] = fmt.Sprintf(`{"endpoint": "job%d", "dataType": "type%d"}`, i, dataType)
	}
	config := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [%s]}}`,
		api.URL, strings.Join(list, ",")), 0o600))
	return config
}

func TestMoreOutputsThanFilesThatMayBeOpen(t *testing.T) {
	program, sh := binary(t), bash(t)
	for _, test := range []struct {
		name   string
		shared bool
		flags  string
	}{
		{"one after another", false, ""},
		{"with a state", false, "--state s"},
		{"appended", false, "--append"},
		{"parallel", false, "--jobs 8 --state s"},
		{"parallel, two jobs for each file", true, "--jobs 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			const jobs = 200
			config := serveMany(t, jobs, test.shared)
			cmd := exec.Command(sh, "-c", `ulimit -n 128 && exec "$0" run "$1" -q --out out --trace trace.json `+test.flags, program, config)
			cmd.Dir = t.TempDir()
			output, err := cmd.CombinedOutput()
			require.NoError(t, err, string(output))
			rows := 0
			files, err := filepath.Glob(filepath.Join(cmd.Dir, "out", "*.ndjson"))
			require.NoError(t, err)
			for _, file := range files {
				rows += strings.Count(readText(t, file), "\n")
			}
			require.Equal(t, jobs, rows)
		})
	}
}

// TestASignalEndsARunThatNobodyReads fills a pipe. One signal must end the run, also if
// standard error goes to the same pipe.
func TestASignalEndsARunThatNobodyReads(t *testing.T) {
	program, config := binary(t), endless(t)
	for _, test := range []struct {
		name string
		args []string
		both bool
	}{
		{"items", nil, false},
		{"items and log", []string{"-v"}, true},
		{"trace", []string{"--out", "data", "--trace", "-"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command(program, append([]string{"run", config}, test.args...)...)
			cmd.Dir = t.TempDir()
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			cmd.Stdout = w
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if test.both {
				cmd.Stderr = w
			}
			require.NoError(t, cmd.Start())
			require.NoError(t, w.Close())
			time.Sleep(2 * time.Second) // the pipe fills
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			ended := make(chan bool)
			go func() { _ = cmd.Wait(); close(ended) }()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				_ = cmd.Process.Kill()
				t.Fatal("the run goes on")
			}
			require.Equal(t, 143, cmd.ProcessState.ExitCode())
			if !test.both {
				require.Contains(t, stderr.String(), "interrupted; the output is no longer being read, so its last page is incomplete")
			}
		})
	}
}

// TestARefusedRunChangesNothing: neither a run whose state is refused nor one whose state
// is in use may truncate the files of the run before.
func TestARefusedRunChangesNothing(t *testing.T) {
	s := newStateCase(t)
	record := []string{"--trace", s.path("trace.json"), "--record", s.path("r.har"), "--result", s.path("result.json")}
	s.broken.Store(true)
	s.run(t, 3, record...)
	before := map[string]string{}
	for _, name := range []string{"trace.json.partial", "r.har.partial", "result.json", "out/users.ndjson.partial"} {
		before[name] = readText(t, s.path(name))
		require.NotEmpty(t, before[name])
	}
	s.configure(t, `"method": "pagenum", "pageParam": "p"`, "token-1")
	require.Contains(t, s.run(t, 8, record...), "requests changed")
	for name, text := range before {
		require.Equal(t, text, readText(t, s.path(name)), name)
	}

	s.configure(t, `"method": "pagenum"`, "token-1")
	l := &loaded{}
	a := &extraction{loader: loader{app: newApp(nil, nil, nil)}}
	a.state, a.out = s.path("state.json"), s.path("out")
	require.NoError(t, a.loadInto(l, []string{s.path("c.json")}))
	held, err := a.openState(l, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, os.Symlink(s.path("state.json"), s.path("link.json")))
	for _, state := range []string{"state.json", "link.json"} {
		stderr := runStopwhen(t, 8, append([]string{"run", s.path("c.json"), "--state", s.path(state), "--out", s.path("out")}, record...)...)
		require.Contains(t, stderr, "is in use by another run")
	}
	for name, text := range before {
		require.Equal(t, text, readText(t, s.path(name)), name)
	}
}

func TestAWriteErrorLeavesTheFileOfTheRunBefore(t *testing.T) {
	program, sh := binary(t), bash(t)
	s := newStateCase(t)
	runStopwhen(t, 0, "run", s.path("c.json"), "--out", s.path("out"))
	for _, flags := range []string{"", "--append", "--jobs 2", "--state state.json", "--state state.json --append"} {
		t.Run(flags, func(t *testing.T) {
			for limit := range 3 { // in blocks of 1024 bytes; the list has fewer than 400 bytes
				cmd := exec.Command(sh, "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" run c.json -q --out out %s`, limit, flags), program)
				cmd.Dir = s.dir
				output, err := cmd.CombinedOutput()
				if limit == 0 {
					require.Error(t, err, string(output))
					require.Equal(t, 7, cmd.ProcessState.ExitCode(), string(output))
					require.Equal(t, allItems(), readText(t, s.path("out/users.ndjson")))
				}
			}
			if !strings.Contains(flags, "append") {
				runStopwhen(t, 0, strings.Fields(fmt.Sprintf("run %s -q --out %s", s.path("c.json"), s.path("out")))...)
				require.Equal(t, allItems(), s.items(t))
			}
			_ = os.Remove(s.path("state.json"))
			require.NoError(t, os.WriteFile(s.path("out/users.ndjson"), []byte(allItems()), 0o600))
			_ = os.Remove(s.path("out/users.ndjson.partial"))
		})
	}
}

func TestRowsOfAFailedParallelRunAreInPartialFiles(t *testing.T) {
	dir := t.TempDir()
	var stderr bytes.Buffer
	config := serveJobs(t, func(request string) int {
		if request == "c2" {
			return http.StatusForbidden
		}
		return http.StatusOK
	})
	args := []string{"run", config, "--jobs", "3", "--keep-going", "--out", dir}
	require.Equal(t, 3, run(args, strings.NewReader(""), io.Discard, &stderr), stderr.String())
	require.Equal(t, 5, strings.Count(readText(t, filepath.Join(dir, "y.ndjson")), "\n"), "job b has ended")
	require.NoFileExists(t, filepath.Join(dir, "x.ndjson"), "job c, which shares the file with a, has failed")
	require.Equal(t, 6, strings.Count(readText(t, filepath.Join(dir, "x.ndjson.partial")), "\n"))
	require.Contains(t, stderr.String(), "what was obtained (6 rows) is in x.ndjson.partial")
}

// TestAFailedPageIsNotCommitted lets a rule fail on page 3 of job a while two other jobs go
// on, and runs the same command again until it is complete. The failing page must then be
// in its file once, and every page of every job once in the trace.
func TestAFailedPageIsNotCommitted(t *testing.T) {
	for _, flags := range []string{"--jobs 3", "--jobs 3 --prefetch 4", "--jobs 3 --keep-going", "--keep-going", "--jobs 3 --keep-going --append"} {
		t.Run(flags, func(t *testing.T) {
			for range 5 {
				var failing atomic.Bool
				failing.Store(true)
				dir := t.TempDir()
				config := serveFailingPage(t, &failing)
				args := append(strings.Fields(flags), "--state", filepath.Join(dir, "s"), "--out", dir, "--trace", filepath.Join(dir, "t"))
				runStopwhen(t, 5, append([]string{"run", config}, args...)...)
				failing.Store(false)
				runStopwhen(t, 0, append([]string{"run", config}, args...)...)
				trace := readText(t, filepath.Join(dir, "t"))
				for _, job := range []string{"a", "b", "c"} {
					var want strings.Builder
					for page := 1; page <= 5; page++ {
						fmt.Fprintf(&want, "{\"%s\":%d}\n", job, page)
						require.Equal(t, 1, strings.Count(trace, fmt.Sprintf(`"job":"%s","page":%d,`, job, page)), trace)
					}
					require.Equal(t, want.String(), readText(t, filepath.Join(dir, job+".ndjson")))
				}
			}
		})
	}
}

// serveFailingPage serves three lists of five pages. While failing is set, page 3 of list a
// has the member bad, on which a rule fails.
func serveFailingPage(t *testing.T, failing *atomic.Bool) (config string) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, page := strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query().Get("page")
		switch {
		case len(page) > 1 || page >= "6":
			fmt.Fprint(w, `{"data": []}`)
		case list == "a" && page == "3" && failing.Load():
			fmt.Fprint(w, `{"data": [{"a":3}], "bad": true}`)
		default:
			fmt.Fprintf(w, `{"data": [{"%s":%s}]}`, list, page)
		}
	}))
	t.Cleanup(api.Close)
	config = filepath.Join(t.TempDir(), "c.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum",
		"stopRules": [{"name": "bad", "when": "body.bad == true", "outcome": "failed"}]}},
		"config": {"jobs": [{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "data"}, {"endpoint": "c", "dataField": "data"}]}}`, api.URL)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return config
}

// TestJobsThatShareStandardOutputKeepTheirValues lets one of three parallel jobs fail: the
// rows of the others have been written, so their values move on.
func TestJobsThatShareStandardOutputKeepTheirValues(t *testing.T) {
	config := serveJobs(t, func(request string) int {
		if request == "b2" {
			return http.StatusForbidden
		}
		return http.StatusOK
	})
	text := strings.Replace(readText(t, config), `"method": "pagenum"`, `"method": "pagenum", "keep": {"pages": "total.pages"}`, 1)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	kept := filepath.Join(t.TempDir(), "kept.json")
	extract(t, 3, config, "--jobs", "3", "--keep-going", "--kept", kept)
	found, err := checkpoint.ReadKept(kept, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]any{"a": {"pages": json.Number("6")}, "c": {"pages": json.Number("6")}}, found.Values)
}

func TestALoopOfLinksIsNoState(t *testing.T) {
	s := newStateCase(t)
	require.NoError(t, os.Symlink("b", s.path("a")))
	require.NoError(t, os.Symlink("a", s.path("b")))
	runStopwhen(t, 7, "run", s.path("c.json"), "--state", s.path("a"), "--out", s.path("out"))
	require.Zero(t, s.requests.Load())
}
