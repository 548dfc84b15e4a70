package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// records are the flags of a trace and a recording in the directory of a case.
func (s *stateCase) records() []string {
	return []string{"--trace", s.path("trace.json"), "--record", s.path("r.har")}
}

// replays requires the recording to have the whole list, and nothing that is not part of it.
func (s *stateCase) replays(t *testing.T) {
	t.Helper()
	var out strings.Builder
	status := run([]string{"replay", s.path("c.json"), s.path("r.har")}, strings.NewReader(""), &out, &out)
	require.Equal(t, 0, status, out.String())
	require.Contains(t, out.String(), "r.har: 10 exchanges")
	require.Contains(t, out.String(), "10 pages, 18 items")
	require.NotContains(t, out.String(), "not requested")
}

// TestAReplayNamesPagesThatWereRequestedAhead: the recorded run requested pages beyond the end of the
// list. A replay requests each page in its turn, so these are in the recording and not in the replay. Page 4, which
// ends the list, waits for page 5: otherwise a slow machine might request nothing after it.
func TestAReplayNamesPagesThatWereRequestedAhead(t *testing.T) {
	recorded, beyond := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch page := r.URL.Query().Get("page"); page {
		case "1", "2", "3":
			fmt.Fprintf(w, `[{"id": %s}]`, page)
		case "4":
			select {
			case <-beyond:
			case <-recorded:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, `[]`)
		case "5":
			fmt.Fprint(w, `[]`)
			close(beyond)
		default:
			fmt.Fprint(w, `[]`)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	config, har := filepath.Join(dir, "c.json"), filepath.Join(dir, "r.har")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "users"}]}}`, server.URL), 0o600))
	var out bytes.Buffer
	require.Equal(t, 0, run([]string{"record", config, har, "--prefetch", "4"}, nil, &out, &out), out.String())
	close(recorded)
	out.Reset()
	require.Equal(t, 0, run([]string{"replay", config, har}, nil, &out, &out), out.String())
	require.Contains(t, out.String(), "4 pages, 3 items")
	require.Regexp(t, `[0-9]+ exchanges? of the recording (was|were) not requested by this configuration:\n    GET .*page=[5-9]`, out.String())
	require.NotContains(t, out.String(), "not requested:")
}

func TestAFailedRunReplacesNoRecordingAndNoTrace(t *testing.T) {
	for name, flags := range map[string][]string{"without a state": nil, "with a state": {"--state", "state.json"}} {
		t.Run(name, func(t *testing.T) {
			s := newStateCase(t)
			t.Chdir(s.dir)
			args := append(append([]string{"run", "c.json", "--out", "out"}, flags...), s.records()...)
			runStopwhen(t, 0, args...)
			trace, recorded := readText(t, s.path("trace.json")), readText(t, s.path("r.har"))
			info, err := os.Stat(s.path("r.har"))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			s.configure(t, `"method": "pagenum", "firstPage": 11`, "token-1")
			s.broken.Store(true)
			log := runStopwhen(t, 3, args...)
			require.Contains(t, log, "r.har is unchanged: the run has not succeeded, and its recording is in r.har.partial")
			require.Contains(t, log, "trace.json is unchanged: the run has not succeeded, and its trace is in trace.json.partial")
			require.Equal(t, trace, readText(t, s.path("trace.json")))
			require.Equal(t, recorded, readText(t, s.path("r.har")))
			require.Contains(t, readText(t, s.path("r.har.partial")), `"status":403`)
			require.Contains(t, readText(t, s.path("trace.json.partial")), `"status":403`)
		})
	}
}

// TestAFirstFailedRunHasARecordingAndATrace: without a state, nothing needs the partial files.
func TestAFirstFailedRunHasARecordingAndATrace(t *testing.T) {
	s := newStateCase(t)
	s.broken.Store(true)
	runStopwhen(t, 3, append([]string{"run", s.path("c.json"), "--out", s.path("out")}, s.records()...)...)
	require.Contains(t, readText(t, s.path("r.har")), `"status":403`)
	require.Contains(t, readText(t, s.path("trace.json")), `"outcome":"failed"`)
	require.NoFileExists(t, s.path("r.har.partial"))
	require.NoFileExists(t, s.path("trace.json.partial"))
}

func TestARunThatResumesContinuesItsRecording(t *testing.T) {
	s := newStateCase(t)
	s.broken.Store(true)
	s.run(t, 3, s.records()...)
	require.NoFileExists(t, s.path("r.har"))
	require.Contains(t, readText(t, s.path("r.har.partial")), `"status":403`, "a failed part can be looked at")
	s.broken.Store(false)
	s.run(t, 0, s.records()...)
	require.NoFileExists(t, s.path("r.har.partial"))
	s.replays(t)
	s.run(t, 0, s.records()...) // the next increment has a recording of its own
	s.replays(t)
}

// TestARunThatIsKilledContinuesItsRecording kills the run between two pages, after a commit.
func TestARunThatIsKilledContinuesItsRecording(t *testing.T) {
	program, s := binary(t), newStateCase(t)
	args := append([]string{"run", s.path("c.json"), "--state", s.path("state.json"), "--out", s.path("out")}, s.records()...)
	for _, page := range []string{"2", "4", "7"} {
		requested, killed := make(chan struct{}), make(chan struct{})
		request := sync.OnceFunc(func() { close(requested) })
		s.holdPages(func(p string) {
			if p == page {
				request()
				<-killed
			}
		})
		cmd := exec.Command(program, args...)
		require.NoError(t, cmd.Start())
		<-requested
		time.Sleep(2 * noticeTime / 5) // a commit is due
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		close(killed)
		require.FileExists(t, s.path("r.har.partial"))
	}
	s.holdPages(func(string) {})
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, allItems(), s.items(t))
	s.replays(t)
	left, err := filepath.Glob(s.path("*.partial"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestAReplayOfPartitionsSaysHowTheyEnd: partitions end by equal rules, which are listed once, and a
// job that is complete has not failed. This API has the same users for every team.
func TestAReplayOfPartitionsSaysHowTheyEnd(t *testing.T) {
	s := newStateCase(t)
	t.Chdir(s.dir)
	s.write(t, fmt.Sprintf(`{
		"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum", "audit": {"ignore": ["audit.repeated"]}}}, "config": {"jobs": [
		{"id": "teams", "endpoint": "users/{team}", "for": {"team": {"values": ["a", "b", "c"]}}}]}}`, s.api.URL))
	runStopwhen(t, 0, "record", "c.json", "r.har")
	var out, stderr strings.Builder
	require.Equal(t, 0, run([]string{"replay", "c.json", "r.har"}, strings.NewReader(""), &out, &stderr), stderr.String())
	require.Contains(t, out.String(), "job teams: complete: 3 partitions\n    pagenum.empty: count(0) == 0\n    30 pages, 54 items")
	require.NotContains(t, out.String(), "fails")
}
