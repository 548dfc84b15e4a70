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

// kills is how often the kill loop kills: 200 in CI, 10,000 with
// `go test ./engine/cmd/stopwhen -run KillLoop -kills 10000 -timeout 60m`.
var kills = flag.Int("kills", 200, "how often the kill loop kills")

// TestKillLoop kills the command with SIGKILL at random moments and starts it
// again, until the extraction is complete: every item must stand exactly once in
// the output, in its order, and so every page in the trace. Then another one.
func TestKillLoop(t *testing.T) {
	const pages, size = 40, 50
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		time.Sleep(time.Millisecond)
		var b bytes.Buffer
		b.WriteString(`{"data": [`)
		for id := offset; id < min(offset+size, pages*size-7); id++ {
			if id > offset {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, `{"id": %d, "text": "%s"}`, id, strings.Repeat("x", id%90))
		}
		fmt.Fprint(&b, `]}`)
		_, _ = w.Write(b.Bytes())
	}))
	defer api.Close()
	var want strings.Builder
	for id := range pages*size - 7 {
		fmt.Fprintf(&want, `{"id":%d,"text":"%s"}`+"\n", id, strings.Repeat("x", id%90))
	}
	program := binary(t)
	killed, extractions, ran := 0, 0, 0
	for killed < *kills {
		folder := t.TempDir()
		config := filepath.Join(folder, "c.json")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "offset", "limit": %d}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL, size), 0o600))
		args := []string{"run", config, "-q", "--state", filepath.Join(folder, "state.json"), "--out", filepath.Join(folder, "out"), "--trace", filepath.Join(folder, "trace.json")}
		if extractions%2 == 1 {
			args = append(args, "--prefetch", "4")
		}
		for done := false; !done; ran++ {
			cmd := exec.Command(program, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				require.NoError(t, err, stderr.String())
				done = true
			case <-time.After(5*time.Millisecond + rand.N(60*time.Millisecond)):
				_ = cmd.Process.Kill()
				<-ended
				killed++
			}
		}
		extractions++
		got, err := os.ReadFile(filepath.Join(folder, "out", "users.ndjson"))
		require.NoError(t, err)
		require.True(t, want.String() == string(got), "%d bytes, want %d", len(got), want.Len())
		trace, err := os.ReadFile(filepath.Join(folder, "trace.json"))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(trace)), "\n")
		require.Len(t, lines, pages)
		for i, line := range lines {
			require.Contains(t, line, fmt.Sprintf(`"page":%d,`, i+1))
		}
	}
	t.Logf("%d kills over %d extractions of %d items: none lost, none twice, none torn", killed, extractions, pages*size-7)
}
