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
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// productionBlocks returns the code blocks of the page about production in a language.
func productionBlocks(t *testing.T, language string) (blocks []string) {
	t.Helper()
	for _, m := range codeBlock.FindAllStringSubmatch(readPage(t, "guide/production.md"), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	require.NotEmpty(t, blocks, language)
	return blocks
}

// The script of the page is run as it is shown: in the first night, after a refusal, when rows have
// been added, and when nothing is new. Every row is in the file once, also those of a list that keeps no values.
func TestTheNightlyScriptExtractsEveryRowOnce(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	var rows, refusals atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since, _ := strconv.Atoi(r.URL.Query().Get("since_id"))
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		if r.Header.Get("Authorization") != "Bearer s3cret" || offset > 0 && refusals.Add(-1) >= 0 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var page []string
		for id := since + offset + 1; id <= min(since+offset+2, int(rows.Load())); id++ {
			page = append(page, fmt.Sprintf(`{"id": %d}`, id))
		}
		fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(page, ","))
	}))
	defer api.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nightly.sh": productionBlocks(t, "sh")[0],
		"users.env":  "API_TOKEN=s3cret\n",
		"users.json": `{"api": {"baseUrl": "` + api.URL + `/", "authentication": {"type": "bearer", "#token": {"env": "API_TOKEN"}},
			"pagination": {"method": "offset", "limit": 2, "keep": {"last": "greatest(items, 'id', kept.last)"}}},
			"config": {"jobs": [{"endpoint": "users", "dataField": "data", "params": {"since_id": {"expr": "kept.last"}}},
				{"endpoint": "whole", "dataField": "data", "pagination": {"method": "offset", "limit": 2}}]}}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	path := "PATH=" + filepath.Dir(buildCommand(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	for night, c := range []struct{ rows, refusals, status, written int64 }{
		{rows: 5, refusals: 1, status: 3}, // it obtains a page
		{rows: 5, status: 0, written: 5},  // and goes on
		{rows: 8, status: 0, written: 8},
		{rows: 8, status: 0, written: 8}, // nothing is new
		{rows: 9, status: 0, written: 9},
	} {
		rows.Store(c.rows)
		refusals.Store(c.refusals)
		cmd := exec.CommandContext(t.Context(), "sh", "nightly.sh")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), path, "DATA="+dir)
		output, _ := cmd.CombinedOutput()
		log, _ := os.ReadFile(filepath.Join(dir, "run.log"))
		require.Equal(t, int(c.status), cmd.ProcessState.ExitCode(), "night %d: %s%s", night, output, log)
		require.Equal(t, c.status != 0, len(output) > 0, "only a failure is mailed: %s", output)
		var want strings.Builder
		for id := range c.written {
			fmt.Fprintf(&want, "{\"id\":%d}\n", id+1)
		}
		for _, list := range []string{"users", "whole"} {
			text, _ := os.ReadFile(filepath.Join(dir, "data", list+".ndjson"))
			require.Equal(t, want.String(), string(text), "night %d", night)
		}
	}
}

// The other snippets cannot run here. They are read by the programs that are at hand.
func TestTheSnippetsOfProductionAreValid(t *testing.T) {
	for _, text := range productionBlocks(t, "yml") {
		_, err := yaml.Parse(diag.NewSource("snippet.yaml", text))
		require.NoError(t, err, text)
	}
	for _, text := range productionBlocks(t, "python") {
		if python, err := exec.LookPath("python3"); err == nil {
			output, err := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(sys.argv[1])", text).CombinedOutput()
			require.NoError(t, err, string(output))
		}
	}
	unit := regexp.MustCompile(`^(#.*|\[[A-Z][a-z]+\]|[A-Z][A-Za-z]+=\S.*|)$`)
	for _, text := range productionBlocks(t, "ini") {
		for line := range strings.Lines(text) {
			require.Regexp(t, unit, strings.TrimSuffix(line, "\n"))
		}
	}
}
