package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kills is how often the kill loop kills: 200 times in CI, 10,000 times with
// `go test ./engine/cmd/stopwhen -run KillLoop -kills 10000 -timeout 60m`.
var kills = flag.Int("kills", 200, "how often the kill loop kills")

// The list that the kill loop extracts.
const (
	killPages    = 40
	killPageSize = 50
	killItems    = killPages*killPageSize - 7
)

// TestKillLoop kills the command with SIGKILL at random moments and starts it
// again until the extraction is complete. The output must then have every item
// exactly once and in order, and the trace every page. Then the next extraction
// begins.
func TestKillLoop(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(serveKillPage))
	defer api.Close()
	var want bytes.Buffer
	for id := range killItems {
		fmt.Fprintf(&want, `{"id":%d,"text":"%s"}`+"\n", id, strings.Repeat("x", id%90))
	}
	program := binary(t)
	killed, extractions := 0, 0
	for ; killed < *kills; extractions++ {
		dir := t.TempDir()
		config := filepath.Join(dir, "c.json")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
			"api": {"baseUrl": "%s/", "pagination": {"method": "offset", "limit": %d}},
			"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL, killPageSize), 0o600))
		args := []string{
			"run", config, "-q", "--state", filepath.Join(dir, "state.json"),
			"--out", filepath.Join(dir, "out"), "--trace", filepath.Join(dir, "trace.json"),
		}
		if extractions%2 == 1 {
			args = append(args, "--prefetch", "4")
		}
		for runOrKill(t, program, args) {
			killed++
		}
		got, err := os.ReadFile(filepath.Join(dir, "out", "users.ndjson"))
		require.NoError(t, err)
		if !bytes.Equal(want.Bytes(), got) { // without a difference of megabytes
			t.Fatalf("the output has %d bytes, want %d", len(got), want.Len())
		}
		requireTrace(t, filepath.Join(dir, "trace.json"))
	}
	t.Logf("%d kills in %d extractions of %d items: none lost, none repeated, none incomplete", killed, extractions, killItems)
}

// serveKillPage answers with a page of the list.
func serveKillPage(w http.ResponseWriter, r *http.Request) {
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	time.Sleep(time.Millisecond)
	var b bytes.Buffer
	b.WriteString(`{"data": [`)
	for id := offset; id < min(offset+killPageSize, killItems); id++ {
		if id > offset {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "text": "%s"}`, id, strings.Repeat("x", id%90))
	}
	b.WriteString(`]}`)
	_, _ = w.Write(b.Bytes())
}

// runOrKill runs a program and reports whether it killed it, at a random moment,
// before the program ended.
func runOrKill(t *testing.T, program string, args []string) (killed bool) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		require.NoError(t, err, stderr.String())
		return false
	case <-time.After(5*time.Millisecond + rand.N(60*time.Millisecond)):
		_ = cmd.Process.Kill() // fails if it has just ended
		return <-ended != nil
	}
}

// requireTrace requires a trace to have every page exactly once and in order.
func requireTrace(t *testing.T, path string) {
	t.Helper()
	trace, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(trace)), "\n")
	require.Len(t, lines, killPages)
	for i, line := range lines {
		require.Contains(t, line, fmt.Sprintf(`"page":%d,`, i+1))
	}
}
