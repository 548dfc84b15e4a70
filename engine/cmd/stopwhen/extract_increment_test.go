package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// growing is an API whose list grows between runs. A run reads what is newer than the
// value that the run before it kept.
type growing struct {
	dir    string
	config string
	size   atomic.Int64 // items that exist
	begins atomic.Int64 // number of the page that was requested first since it was 0
	broken atomic.Int64 // number of the page from which all are refused; 0 for none
}

func newGrowing(t *testing.T) *growing {
	t.Helper()
	g := &growing{dir: t.TempDir()}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since, _ := strconv.Atoi(r.URL.Query().Get("since"))
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		g.begins.CompareAndSwap(0, int64(page))
		if from := int(g.broken.Load()); from > 0 && page >= from {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var items []string
		for id := since + 2*(page-1) + 1; id <= min(since+2*page, int(g.size.Load())); id++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, id))
		}
		fmt.Fprintf(w, `{"data": [%s], "size": %d}`, strings.Join(items, ","), g.size.Load())
	}))
	t.Cleanup(api.Close)
	g.config = filepath.Join(g.dir, "c.json")
	require.NoError(t, os.WriteFile(g.config, fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum", "nextRequest": {"params": {"since": "kept.size"}, "applyToFirst": true},
			"keep": {"size": "body.size"}}},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data"}]}}`, api.URL), 0o600))
	return g
}

func (g *growing) path(name string) string { return filepath.Join(g.dir, name) }

func (g *growing) run(t *testing.T, status int, more ...string) string {
	t.Helper()
	return runStopwhen(t, status, append([]string{"run", g.config, "--out", g.path("out")}, more...)...)
}

// require checks that the file has every item up to the last one, exactly once and in
// order.
func (g *growing) require(t *testing.T, last int) {
	t.Helper()
	var want strings.Builder
	for id := 1; id <= last; id++ {
		fmt.Fprintf(&want, "{\"id\":%d}\n", id)
	}
	require.Equal(t, want.String(), readText(t, g.path("out/items.ndjson")))
}

func TestAJobThatContinuesAddsItsRows(t *testing.T) {
	for _, flags := range [][]string{{"--kept", "kept.json"}, {"--state", "state.json"}, {"--kept", "kept.json", "--state", "state.json"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			g := newGrowing(t)
			t.Chdir(g.dir)
			g.size.Store(5)
			require.NotContains(t, g.run(t, 0, flags...), "rows are added")
			g.require(t, 5)

			g.size.Store(120)
			require.Contains(t, g.run(t, 0, flags...), "rows are added, since job items continues from the values of an earlier run")
			g.require(t, 120)

			g.size.Store(150)
			g.broken.Store(2)
			g.run(t, 3, flags...)
			g.require(t, 120)
			require.FileExists(t, g.path("out/items.ndjson.partial"))
			g.broken.Store(0)
			g.run(t, 0, flags...)
			g.require(t, 150)

			g.run(t, 0, flags...) // nothing is new
			g.require(t, 150)
			entries, err := os.ReadDir(g.path("out"))
			require.NoError(t, err)
			require.Len(t, entries, 1, "no partial file and no record is left")
		})
	}
}

// Another run replaces the file, fails after some pages, or merges into it. A run that continues from kept values
// adds its rows only to the file that has the rows up to these values, also if it resumes.
func TestRowsAreAddedOnlyToTheFileThatTheKeptValuesFollow(t *testing.T) {
	for _, flags := range [][]string{{"--kept", "kept.json"}, {"--state", "state.json"}, {"--kept", "kept.json", "--state", "state.json"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			g := newGrowing(t)
			t.Chdir(g.dir)
			refused := func() {
				t.Helper()
				before := readText(t, g.path("out/items.ndjson"))
				require.Regexp(t, "out/items.ndjson is not as it was when the values of job items were saved in .*"+flags[1]+": another run ",
					g.run(t, 8, flags...))
				require.Equal(t, before, readText(t, g.path("out/items.ndjson")))
			}
			g.size.Store(5)
			g.run(t, 0, flags...)
			g.size.Store(7)
			g.broken.Store(2)
			g.run(t, 3) // it changes the partial file alone
			g.broken.Store(0)
			g.run(t, 0, flags...)
			g.require(t, 7)

			g.size.Store(9)
			rows := readText(t, g.path("out/items.ndjson"))
			g.run(t, 0)
			refused()
			require.Contains(t, g.run(t, 0, "--kept", "other.json", "--append"), "has rows, and job items has no kept values")
			refused()
			require.NoError(t, os.WriteFile(g.path("out/items.ndjson"), []byte(rows), 0o600))
			g.size.Store(12)
			g.broken.Store(2)
			g.run(t, 3, flags...)
			require.NoError(t, os.WriteFile(g.path("out/items.ndjson"), []byte(rows+"{\"id\":8}\n"), 0o600))
			refused()
			g.broken.Store(0)
			require.NoError(t, os.WriteFile(g.path("out/items.ndjson"), []byte(rows), 0o600))
			g.run(t, 0, flags...)
			g.require(t, 12)

			require.NoError(t, os.Remove(g.path("out/items.ndjson")))
			g.size.Store(13)
			require.Contains(t, g.run(t, 0, flags...), "out/items.ndjson does not exist")
			require.Equal(t, "{\"id\":13}\n", readText(t, g.path("out/items.ndjson")))
		})
	}
}

// A file of kept values that has none of a job, because it is new beside a state, does not make the run start at the
// beginning and replace the rows of earlier runs, which the API may not have any more.
func TestAFileOfKeptValuesBesideAStateContinuesFromTheState(t *testing.T) {
	for name, test := range map[string]struct {
		kept  string // before the run; "" if the file does not exist
		flags []string
	}{
		"new file":              {flags: []string{"--format", "ndjson"}},
		"values of another job": {kept: `{"others": {"size": 3}}`, flags: []string{"--format", "ndjson"}},
		"added":                 {flags: []string{"--append"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrowing(t)
			t.Chdir(g.dir)
			state := slices.Concat(test.flags, []string{"--state", "state.json"})
			both := slices.Concat(state, []string{"--kept", "kept.json"})
			if test.kept != "" {
				require.NoError(t, os.WriteFile("kept.json", []byte(test.kept), 0o600))
			}
			g.size.Store(5)
			g.run(t, 0, state...)
			rows := readText(t, "out/items.ndjson")
			g.size.Store(7)
			require.NoError(t, os.WriteFile("out/items.ndjson", []byte(rows+rows), 0o600))
			require.Regexp(t, `out/items.ndjson is not as it was when the values of job items were saved in state .*state.json.*; `+
				`or --restart, without --append, starts over`, g.run(t, 8, both...))
			require.NoError(t, os.WriteFile("out/items.ndjson", []byte(rows), 0o600))

			g.broken.Store(2)
			g.size.Store(12)
			g.run(t, 3, state...) // the run resumes with the file
			g.broken.Store(0)
			log := g.run(t, 0, both...)
			g.require(t, 12)
			require.NotContains(t, log, "has no kept values")
			require.Contains(t, readText(t, "kept.json"), `"size": 12`)
			require.Contains(t, readText(t, "kept.json"), `"$files"`)
			require.Equal(t, test.kept != "", strings.Contains(readText(t, "kept.json"), "others"))

			g.size.Store(15)
			g.run(t, 0, "--kept", "kept.json") // the values were saved there
			g.require(t, 15)

			g.size.Store(17)
			require.NoError(t, os.WriteFile("out/items.ndjson", []byte("{}\n"), 0o600))
			require.Contains(t, g.run(t, 8, both...), "name another file with --kept, and use --restart without --append, to start over")
			g.run(t, 0, "--state", "state.json", "--kept", "other.json", "--restart")
			g.require(t, 17)
		})
	}
}

func TestALimitThatEndsAnIncrementAddsNothingTwice(t *testing.T) {
	for _, flags := range [][]string{{"--kept", "kept.json"}, {"--state", "state.json"}} {
		t.Run(flags[0], func(t *testing.T) {
			g := newGrowing(t)
			t.Chdir(g.dir)
			flags = append(flags, "--max-pages", "3")
			g.size.Store(4)
			g.run(t, 0, flags...)
			g.size.Store(20)
			for range 2 {
				require.Contains(t, g.run(t, 0, flags...), "items.ndjson is unchanged: a list that continues from kept values is incomplete")
				g.require(t, 4)
				require.Equal(t, 6, strings.Count(readText(t, g.path("out/items.ndjson.partial")), "\n"), "the rows are requested again")
			}
			if flags[0] == "--kept" { // a state belongs to the limit
				g.run(t, 0, flags[:2]...)
				g.require(t, 20)
			}
		})
	}
}

func TestJobsThatContinueAndJobsThatStartDoNotShareAFile(t *testing.T) {
	g := newGrowing(t)
	g.size.Store(5)
	kept := g.path("kept.json")
	g.run(t, 0, "--kept", kept)
	text := readText(t, g.config)
	text = strings.Replace(text, `"dataField": "data"}`, `"dataField": "data"}, {"id": "other", "endpoint": "items", "dataField": "data", "dataType": "items"}`, 1)
	require.NoError(t, os.WriteFile(g.config, []byte(text), 0o600))
	require.Contains(t, g.run(t, 2, "--kept", kept),
		"job items continues from kept values, so its rows are added, but job other starts at the beginning (give each job its own dataType")
	g.require(t, 5)
}

// TestAnInterruptedPublicationIsCompletedByTheNextRun puts the record of a publication next to
// its rows, as a crash in the middle leaves it.
func TestAnInterruptedPublicationIsCompletedByTheNextRun(t *testing.T) {
	g := newGrowing(t)
	g.size.Store(5)
	kept := g.path("kept.json")
	g.run(t, 0, "--kept", kept)
	rows := "{\"id\":6}\n{\"id\":7}\n"
	require.NoError(t, os.WriteFile(g.path("out/items.ndjson.partial"), []byte(rows), 0o600))
	require.NoError(t, os.WriteFile(g.path("out/items.ndjson.redo"), fmt.Appendf(nil,
		`{"name": "x", "bytes": %d, "append": true, "base": %d, "kept": {"items": {"size": 7}}, "keptFile": %q}`,
		len(rows), 5*len("{\"id\":1}\n"), kept), 0o600))
	g.size.Store(9)
	require.Contains(t, g.run(t, 0, "--kept", kept), "completed the publication that an earlier run had begun")
	g.require(t, 9)
	require.NoFileExists(t, g.path("out/items.ndjson.redo"))
}

func TestADamagedRecordOfACommitIsRefused(t *testing.T) {
	g := newGrowing(t)
	g.size.Store(5)
	g.run(t, 0)
	require.NoError(t, os.WriteFile(g.path("out/items.ndjson.redo"), []byte("{"), 0o600))
	require.Contains(t, g.run(t, 8), "items.ndjson.redo is damaged or was not written by stopwhen (compare ")
	g.require(t, 5)
}

// TestARunThatHasNotToldItsSuccessIsNotRepeated: the rows are appended, but the command ends
// with an error of its result. The same command must not append them again.
func TestARunThatHasNotToldItsSuccessIsNotRepeated(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	g := newGrowing(t)
	g.size.Store(5)
	state := []string{"--append", "--state", g.path("state.json")}
	for _, flag := range []string{"--result", "--record"} {
		g.run(t, 7, append(state, flag, "/dev/full")...)
	}
	g.require(t, 5)
	require.Contains(t, g.run(t, 0, state...), "the extraction has ended; no request is made")
	g.require(t, 5)
	g.size.Store(7)
	g.run(t, 0, state...)
	g.require(t, 7)
}

// A file that --job would replace is refused, but not if the run that failed has published it itself.
func TestARunOfOneJobThatHasNotToldItsSuccessIsNotRefused(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	g := newGrowing(t)
	config := strings.Replace(readText(t, g.config), `[{"endpoint"`, `[{"id": "other", "endpoint": "others", "dataType": "items"}, {"id": "own", "dataType": "items", "endpoint"`, 1)
	config = regexp.MustCompile(`(?s), "nextRequest".*?"body.size"}`).ReplaceAllLiteralString(config, "")
	require.NoError(t, os.WriteFile(g.config, []byte(config), 0o600))
	g.size.Store(5)
	flags := []string{"--job", "own", "--state", g.path("state.json")}
	g.run(t, 7, append(flags, "--result", "/dev/full")...)
	g.require(t, 5)
	require.Contains(t, g.run(t, 0, flags...), "the extraction has ended; no request is made")
	require.Contains(t, g.run(t, 2, flags...), "items.ndjson may hold items of job other")
	g.require(t, 5)
}

// TestAnIncrementRequestsAPageAgainThatHasGrown: rows that are added after a run has failed may stand on its last page,
// which is not known to be full. The kept value would pass them.
func TestAnIncrementRequestsAPageAgainThatHasGrown(t *testing.T) {
	t.Run("and another job runs after it", func(t *testing.T) {
		g := newGrowing(t)
		both := strings.Replace(readText(t, g.config), `"dataField": "data"}]`, `"dataField": "data"}, {"endpoint": "others", "dataField": "data"}]`, 1)
		require.NoError(t, os.WriteFile(g.config, []byte(both), 0o600))
		flags := []string{"--keep-going", "--state", g.path("state.json")}
		g.size.Store(5)
		g.run(t, 0, flags...)
		g.size.Store(6)
		g.broken.Store(2)
		g.run(t, 3, flags...)
		g.size.Store(20)
		g.broken.Store(0)
		g.run(t, 0, flags...)
		g.require(t, 20)
	})
	for _, c := range []struct {
		size  int   // of the list at which the run fails, which had 5 items before
		from  int   // number of the page that fails
		again int64 // number of the page with which the next run begins
	}{{6, 2, 1}, {7, 2, 1}, {8, 3, 2}, {9, 3, 3}} { // pages have two items
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			g := newGrowing(t)
			g.size.Store(5)
			g.run(t, 0, "--state", g.path("state.json"))
			g.size.Store(int64(c.size))
			g.broken.Store(int64(c.from))
			g.run(t, 3, "--state", g.path("state.json"))
			g.size.Store(20)
			g.broken.Store(0)
			g.begins.Store(0)
			g.run(t, 0, "--state", g.path("state.json"))
			require.Equal(t, c.again, g.begins.Load())
			g.require(t, 20)
		})
	}
}

// TestAnIncrementMayHaveAnotherConfiguration: a state of a complete run holds nothing but
// the kept values.
func TestAnIncrementMayHaveAnotherConfiguration(t *testing.T) {
	g := newGrowing(t)
	t.Chdir(g.dir)
	original := readText(t, g.config)
	change := func(from, to string) {
		t.Helper()
		require.Contains(t, original, from)
		require.NoError(t, os.WriteFile(g.config, []byte(strings.Replace(original, from, to, 1)), 0o600))
	}
	g.size.Store(5)
	g.run(t, 0, "--state", "state.json")

	g.size.Store(9)
	require.Contains(t, g.run(t, 0, "--state", "state.json", "--max-pages", "50"),
		"state.json: the next increment begins with another configuration: rules changed")
	g.require(t, 9)

	g.size.Store(20)
	g.broken.Store(3)
	g.run(t, 3, "--state", "state.json")
	g.broken.Store(0)
	require.Contains(t, g.run(t, 8, "--state", "state.json", "--max-pages", "50"),
		"it belongs to another configuration: rules changed", "an increment that is not complete has one configuration")
	g.run(t, 0, "--state", "state.json")
	g.require(t, 20)

	change(`"endpoint": "items"`, `"id": "items", "endpoint": "items?all=1"`)
	require.Contains(t, g.run(t, 8, "--state", "state.json"),
		"it holds values that job items kept for a list that was requested in another way: ")
	g.require(t, 20)

	change(`"endpoint": "items"`, `"id": "renamed", "endpoint": "items"`)
	require.Contains(t, g.run(t, 0, "--state", "state.json", "--out", "other"),
		"state.json has values that job items kept, which the configuration does not have; they remain until it is there again")
	change(`"endpoint": "items"`, `"endpoint": "items"`)
	g.size.Store(23)
	g.run(t, 0, "--state", "state.json")
	g.require(t, 23)
}

// A limit withholds the rows of orders, and then users are refused. The run that resumes has published no
// orders either.
func TestRowsThatARunHasWithheldAreNotPublishedByTheRunThatResumes(t *testing.T) {
	var refuses atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() && r.URL.Path == "/users" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `[{"id": 1}, {"id": 2}]`)
	}))
	defer api.Close()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [
		{"id": "orders", "endpoint": "orders", "key": "id", "pagination": {"method": "offset", "limit": 2, "forceStop": {"pages": 1}},
			"incremental": {"cursor": "id", "param": "since"}},
		{"id": "users", "endpoint": "users", "key": "id", "pagination": {"method": "single"}}]}}`, api.URL), 0o600))
	args := []string{"run", "c.json", "--out", "out", "--merge", "--state", "state.json", "--contract", "contract.json", "--result", "result.json"}
	refuses.Store(true)
	runStopwhen(t, 3, args...)
	refuses.Store(false)
	runStopwhen(t, 0, args...)
	require.NoFileExists(t, "out/orders.ndjson")
	require.FileExists(t, "out/orders.ndjson.partial")
	require.NotContains(t, readText(t, "contract.json"), "orders")
	require.Contains(t, readText(t, "contract.json"), "users")
	var result struct {
		Outputs []struct {
			File     string
			Complete bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(readText(t, "result.json")), &result))
	require.Len(t, result.Outputs, 2)
	for _, output := range result.Outputs {
		require.Equal(t, output.File == "out/users.ndjson", output.Complete, output.File)
	}
}

// TestATimeoutResumesAndAMaximumOfPagesEnds requires the same command to resume a run that --timeout ended, and
// to begin another after a run that --max-pages ended, which is complete.
func TestATimeoutResumesAndAMaximumOfPagesEnds(t *testing.T) {
	s := newStateCase(t)
	s.slow.Store(int64(400 * time.Millisecond))
	require.Contains(t, s.run(t, 6, "--timeout", "1s"), "users.ndjson.partial")
	s.slow.Store(0)
	require.Contains(t, s.run(t, 0, "--timeout", "1m"), "resuming from")
	require.Equal(t, allItems(), s.items(t))

	for range 2 {
		s.requests.Store(0)
		s.run(t, 0, "--max-pages", "3")
		require.Equal(t, int64(3), s.requests.Load())
		require.Equal(t, allItems()[:6*len("{\"id\":\"1-a\"}\n")], s.items(t), "the pages up to the limit")
	}
}

// TestTwoRunsDoNotWriteTheSameFile holds the first run at its second page.
func TestTwoRunsDoNotWriteTheSameFile(t *testing.T) {
	s := newStateCase(t)
	held, release := make(chan bool), make(chan bool)
	s.holdPages(func(page string) {
		if page == "2" {
			held <- true
			<-release
		}
	})
	ended := make(chan string, 1)
	go func() {
		var stderr bytes.Buffer
		run([]string{"run", s.path("c.json"), "--out", s.path("out")}, strings.NewReader(""), io.Discard, &stderr)
		ended <- stderr.String()
	}()
	<-held
	for _, more := range [][]string{nil, {"--append"}, {"--state", s.path("state.json")}} {
		args := append([]string{"run", s.path("c.json"), "--out", s.path("out")}, more...)
		require.Contains(t, runStopwhen(t, 8, args...), "users.ndjson is in use by another run (wait until that run ends, or use another --out)")
	}
	s.holdPages(func(string) {})
	close(release)
	require.Contains(t, <-ended, "from 1 job")
	require.Equal(t, allItems(), s.items(t))
	require.NoFileExists(t, s.path("out/users.ndjson.lock"))

	require.NoError(t, os.WriteFile(s.path("out/users.ndjson.lock"), nil, 0o600)) // a killed run leaves it
	runStopwhen(t, 0, "run", s.path("c.json"), "--out", s.path("out"))
	require.NoFileExists(t, s.path("out/users.ndjson.lock"))
}

// TestAStopRuleThatIsCompleteMovesTheValues is what the documentation proposes for lists in
// the order of the kept value.
func TestAStopRuleThatIsCompleteMovesTheValues(t *testing.T) {
	g := newGrowing(t)
	text := readText(t, g.config)
	for _, change := range [][2]string{
		{`"keep": {"size": "body.size"}`, `"state": {"last": {"init": "kept.since", "next": "items[-1].id ?? state.last"}},
			"keep": {"since": "items[-1].id ?? state.last"}, "stopRules": [{"name": "enough", "when": "total.pages >= 3"}]`},
		{`"kept.size"`, `"kept.since"`},
	} {
		require.Contains(t, text, change[0])
		text = strings.Replace(text, change[0], change[1], 1)
	}
	require.NoError(t, os.WriteFile(g.config, []byte(text), 0o600))
	g.size.Store(20)
	for _, last := range []int{6, 12, 18, 20, 20} {
		g.run(t, 0, "--state", g.path("state.json"))
		g.require(t, last)
	}
}

// TestIncrementsOfWindowsAreAddedOnce runs a job in windows of ids from the end of the last
// run to the newest id, three times with --append and --state. A run that fails in the
// middle of its windows resumes there. Every item is in the file exactly once.
func TestIncrementsOfWindowsAreAddedOnce(t *testing.T) {
	var refused, size, requests atomic.Int64 // windows from the id refused on are refused
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/size" {
			fmt.Fprintf(w, `{"size": %d}`, size.Load())
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		to, _ := strconv.Atoi(r.URL.Query().Get("to"))
		if requests.Add(1); from >= int(refused.Load()) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var items []string
		for id := from; id < to; id++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, id))
		}
		fmt.Fprintf(w, `{"total": %d, "data": [%s]}`, len(items), strings.Join(items[:min(len(items), 5)], ","))
	}))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	config, file := filepath.Join(dir, "c.json"), filepath.Join(dir, "out", "ids.ndjson")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "multiple", "scrollers": {
			"windows": {"method": "pagenum", "stopRules": ["count >= 0"], "keep": {"end": "ids.to"}}}}},
		"config": {"jobs": [{"id": "size", "endpoint": "size", "dataField": ".", "emit": false}, {"id": "ids", "endpoint": "ids", "dataType": "ids", "dataField": "data",
			"scroller": "windows",
			"for": {"newest": {"items": "size"}, "ids": {"from": "kept.end ?? 0", "to": "newest.size", "step": 7, "splitWhen": "body.total > count"}},
			"params": {"from": {"expr": "ids.from"}, "to": {"expr": "ids.to"}}}]}}`, api.URL), 0o600))
	run := func(status, end int) {
		size.Store(int64(end))
		runStopwhen(t, status, "run", config, "--out", filepath.Join(dir, "out"), "--append", "--state", filepath.Join(dir, "state"))
	}
	upTo := func(end int) string {
		var b strings.Builder
		for id := range end {
			fmt.Fprintf(&b, "{\"id\":%d}\n", id)
		}
		return b.String()
	}
	requireFile := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}

	refused.Store(1000)
	run(0, 20)
	requireFile(upTo(20))

	refused.Store(40)
	run(3, 60) // after the windows from 20, 27 and 34
	requireFile(upTo(20))

	refused.Store(1000)
	run(0, 60)
	requireFile(upTo(60))

	requests.Store(0)
	run(0, 60)
	requireFile(upTo(60))
	require.Zero(t, requests.Load(), "there is no window between two equal ends")
}

// TestValuesOfATreeMoveOnWithAllOfItsJobs: a run of some jobs of a tree with --job leaves the kept
// values as they are, so that a run of all jobs reads every row.
func TestValuesOfATreeMoveOnWithAllOfItsJobs(t *testing.T) {
	for _, flags := range [][]string{{"--kept", "kept.json"}, {"--state", "state.json"}, {"--state", "state.json", "--kept", "kept.json"}} {
		tree := newTree(t, func() {})
		run := func(more ...string) string {
			t.Helper()
			return runStopwhen(t, 0, slices.Concat([]string{"run", "c.json", "--out", "out", "--result", "result.json"}, flags, more)...)
		}
		tree.size.Store(1)
		const stay = "the kept values were not updated, because job %s, which depends on them, was not selected"
		require.Contains(t, run("--job", "lines"), fmt.Sprintf(stay, "orders"))
		require.NotContains(t, readText(t, "result.json"), `"kept"`)
		tree.size.Store(2)
		require.NotContains(t, run(), "not selected")
		tree.require(t, 2, 2)
		require.Contains(t, readText(t, "result.json"), `"last": 2`)

		tree.size.Store(4)
		stderr := run("--job", "lines")
		require.Contains(t, stderr, fmt.Sprintf(stay, "orders"))
		require.Contains(t, stderr, "lines.ndjson is unchanged: job orders, which depends on the same kept values, was not selected")
		require.Equal(t, rowsOf("order", 2, 4, "\n"), readText(t, "out/lines.ndjson.partial"))
		require.Contains(t, run("--job", "orders"), fmt.Sprintf(stay, "lines"))
		require.Contains(t, readText(t, "result.json"), `"last": 2`)
		tree.size.Store(5)
		run()
		tree.require(t, 5, 5)
	}
}

// TestAFileOfKeptValuesBelongsToItsList: the values of another tenant, address or endpoint are
// refused. A file that does not say what its values are about is accepted.
func TestAFileOfKeptValuesBelongsToItsList(t *testing.T) {
	g := newGrowing(t)
	g.size.Store(5)
	kept := g.path("kept.json")
	original := readText(t, g.config)
	g.run(t, 0, "--kept", kept)
	saved := readText(t, kept)
	other := newGrowing(t)
	for _, change := range []struct{ from, to, name string }{
		{`"endpoint": "items"`, `"id": "items", "endpoint": "clients"`, "endpoint"},
		{`"endpoint": "items"`, `"endpoint": "items", "params": {"tenant": "b"}`, "params"},
		{`"dataField": "data"`, `"dataField": "others"`, "dataField"},
		{`"endpoint": "items"`, `"endpoint": "items", "method": "POST", "params": {"tenant": "b"}`, "method and params"},
		{original, readText(t, other.config), "baseUrl"},
	} {
		require.NoError(t, os.WriteFile(g.config, []byte(strings.Replace(original, change.from, change.to, 1)), 0o600))
		require.Contains(t, g.run(t, 8, "--kept", kept), "kept.json holds values that job items kept for a list that was requested in another way: "+
			change.name+" changed, in the configuration or by values of the environment (name another file with --kept, or remove "+kept+" to start over)")
		g.require(t, 5)
		require.Equal(t, saved, readText(t, kept))
	}
	require.NoError(t, os.WriteFile(g.config, []byte(original), 0o600))
	require.NoError(t, os.WriteFile(kept, []byte(`{"items": {"size": 5}}`), 0o600))
	g.size.Store(7)
	g.run(t, 0, "--kept", kept)
	g.require(t, 7)
	g.run(t, 0, "--kept", kept)
	require.Contains(t, readText(t, kept), `"$for": "`)
}

// TestKeptValuesBelongToTheRowsThatWereRequested: if the configuration changes which rows a list has, rows that were
// left out lie before the kept value. The values are refused, and the message names the change. A change without an
// effect on the rows, such as another token, does not count. A file of an earlier build does not say what the details were.
func TestKeptValuesBelongToTheRowsThatWereRequested(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const (
		parent   = `{"endpoint": "items", "dataField": "data"}`
		next     = `"since": "kept.size"`
		child    = `{"id": "lines", "endpoint": "items/{it.id}", "dataField": "data", "for": {"it": {"items": "items"}}}`
		job      = `"dataField": "data"}`
		ofParent = `{"endpoint": "items", "pagination": {"method": "pagenum"}, "dataField": "data"}, ` + child
		noKeep   = `"pagination": {"method": "pagenum"}`
		lines    = `"endpoint": "items/{it.id}",`

		withChild  = parent + `, {"id": "lines", "endpoint": "items/{it.id}", ` + noKeep + `, "dataField": "data", "for": {"it": {"items": "items"}}}`
		grandchild = `, {"id": "a grandchild", "endpoint": "items/{l.id}", ` + noKeep + `, "dataField": "data", "for": {"l": {"items": "lines"}}}`
	)
	for name, c := range map[string]struct {
		at, before, after string // the change: at is a text of the configuration, which before and after replace
		changed           string // the message; empty if the values are accepted
	}{
		"a header": {job, `"headers": {"X-Tenant-Id": "a"}, ` + job, `"headers": {"X-Tenant-Id": "b"}, ` + job, "headers"},
		"a header of all requests": {`"api": {`, `"api": {"http": {"headers": {"X-Tenant-Id": "a"}}, `,
			`"api": {"http": {"headers": {"X-Tenant-Id": "b"}}, `, "headers"},
		"a default header": {`"api": {`, `"api": {"http": {"defaultOptions": {"headers": {"X-Tenant-Id": "a"}}}, `,
			`"api": {"http": {"defaultOptions": {"headers": {"X-Tenant-Id": "b"}}}, `, "headers"},
		"a default parameter": {`"api": {`, `"api": {"http": {"defaultOptions": {"params": {"tenant": "a"}}}, `,
			`"api": {"http": {"defaultOptions": {"params": {"tenant": "b"}}}, `, "params"},
		"a computed header":        {job, `"headers": {"X-T": {"expr": "'a'"}}, ` + job, `"headers": {"X-T": {"expr": "'b'"}}, ` + job, "headers"},
		"a filter that is removed": {job, `"filter": "item.id > 3", ` + job, job, "filter"},
		"another filter":           {job, `"filter": "item.id > 3", ` + job, `"filter": "item.id > 2", ` + job, "filter"},
		"another granularity of windows": {job, `"for": {"w": {"from": 1, "to": 9, "granularity": 1}}, ` + job,
			`"for": {"w": {"from": 1, "to": 9, "granularity": 2}}, ` + job, "granularity"},
		"no granularity of windows": {job, `"for": {"w": {"from": 1, "to": 9, "granularity": 1}}, ` + job,
			`"for": {"w": {"from": 1, "to": 9}}, ` + job, "granularity"},
		"a header and a filter": {job, `"filter": "item.id > 3", ` + job, `"headers": {"X-T": "b"}, ` + job,
			"headers and filter"},
		"a body": {job, `"method": "POST", "body": {"q": {"st": "a"}}, ` + job, `"method": "POST", "body": {"q": {"st": "b"}}, ` + job, "body"},
		"a parameter of nextRequest that is removed": {next, next + `, "st": "'a'"`, next, "nextRequest"},
		"a header of nextRequest":                    {`{"params": {`, `{"headers": {"X-T": "'a'"}, "params": {`, `{"headers": {"X-T": "'b'"}, "params": {`, "nextRequest"},
		"when":                                       {parent, strings.Replace(ofParent, `"items": "items"`, `"items": "items", "when": "it.id > 3"`, 1), ofParent, "for"},
		"a parameter of the parent":                  {parent, strings.Replace(ofParent, noKeep, `"params": {"st": "a"}, `+noKeep, 1), ofParent, "parents"},

		"a filter of a child": {parent, strings.Replace(withChild, lines, `"filter": "item.id > 3", `+lines, 1), withChild, "job lines"},
		"when of a child": {parent, strings.Replace(withChild, `"items": "items"`, `"items": "items", "when": "it.id > 3"`, 1), withChild,
			"job lines"},
		"a parameter of a child": {parent, strings.Replace(withChild, lines, `"params": {"st": "a"}, `+lines, 1), withChild, "job lines"},
		"a header of a child":    {parent, strings.Replace(withChild, lines, `"headers": {"X-T": "a"}, `+lines, 1), withChild, "job lines"},
		"the endpoint of a child": {parent, strings.Replace(withChild, `items/{it.id}`, `items/{it.id}/other`, 1), withChild,
			"job lines"},
		"dataField of a child": {parent, strings.Replace(withChild, `"dataField": "data", "for"`, `"dataField": ".", "for"`, 1), withChild, "job lines"},
		"a filter of a grandchild": {parent, withChild + strings.Replace(grandchild, `"dataField"`, `"filter": "item.id > 3", "dataField"`, 1),
			withChild + grandchild, "job a grandchild"},

		"a child":      {parent, parent, withChild, ""},
		"a grandchild": {parent, withChild, withChild + grandchild, ""},
		"no child":     {parent, withChild, parent, ""},
		"a secret of a child": {parent, strings.Replace(withChild, lines, `"headers": {"#X-Who": "abcdefgh"}, `+lines, 1),
			strings.Replace(withChild, lines, `"headers": {"#X-Who": "ijklmnop", "Authorization": "Bearer a"}, `+lines, 1), ""},
		"fields of a child":   {parent, withChild, strings.Replace(withChild, lines, `"fields": {"n": "item.id"}, `+lines, 1), ""},
		"a token":             {job, `"headers": {"Authorization": "Bearer a"}, ` + job, `"headers": {"Authorization": "Bearer b"}, ` + job, ""},
		"a secret header":     {job, `"headers": {"#X-Who": "abcdefgh"}, ` + job, `"headers": {"#X-Who": "ijklmnop"}, ` + job, ""},
		"a key":               {job, `"headers": {"X-Api-Key": "abcdefgh"}, ` + job, `"headers": {"X-Api-Key": "ijklmnop"}, ` + job, ""},
		"a token of the next": {`{"params": {`, `{"headers": {"X-Auth-Token": "'a'"}, "params": {`, `{"headers": {"X-Auth-Token": "'b'"}, "params": {`, ""},
		"User-Agent":          {job, `"headers": {"User-Agent": "a"}, ` + job, `"headers": {"Accept-Encoding": "gzip"}, ` + job, ""},
		"the case and order":  {job, `"headers": {"X-A": "a", "X-B": "b"}, ` + job, `"headers": {"x-b": "b", "X-A": "a"}, ` + job, ""},
		"fields":              {job, job, `"fields": {"n": "item.id"}, ` + job, ""},
		"the size of a page":  {`"pagenum",`, `"pagenum",`, `"pagenum", "limit": 50, `, ""},
		"paging":              {next, next, next + `, "n": "page"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, flag := range []string{"--kept", "--state"} {
				g := newGrowing(t)
				g.size.Store(5)
				original, file := readText(t, g.config), g.path("file")
				change := func(to string) {
					changed := strings.Replace(original, c.at, to, 1)
					require.Contains(t, original, c.at)
					require.NoError(t, os.WriteFile(g.config, []byte(changed), 0o600))
				}
				change(c.before)
				g.run(t, 0, flag, file)
				saved := readText(t, file)
				change(c.after)
				if c.changed == "" {
					g.run(t, 0, flag, file)
					continue
				}
				stderr := g.run(t, 8, flag, file)
				require.Contains(t, stderr, "kept for other rows of its list: "+c.changed+" changed (name another file")
				require.Contains(t, stderr, map[string]string{"--kept": "or remove " + file + " to start over", "--state": "--restart"}[flag])
				require.Equal(t, saved, readText(t, file))
				if flag == "--state" {
					g.run(t, 0, flag, file, "--restart")
					continue
				}
				earlier := regexp.MustCompile(`("\$for": "[0-9a-f]+) [^"]*`).ReplaceAllString(saved, "$1")
				require.NotEqual(t, saved, earlier)
				require.NoError(t, os.WriteFile(file, []byte(earlier), 0o600))
				g.run(t, 0, flag, file)
			}
		})
	}
}

// TestKeptValuesKnowTenantsOfTheEnvironment: the values that one tenant kept are refused for another one,
// wherever the configuration reads the tenant from the environment. A credential that was
// replaced changes nothing.
func TestKeptValuesKnowTenantsOfTheEnvironment(t *testing.T) {
	const refused = 8
	for name, c := range map[string]struct {
		from, to string // change of the configuration
		status   int    // of a run with another value
	}{
		"a parameter":              {`"endpoint": "items"`, `"endpoint": "items", "params": {"tenant": {"env": "MINE"}}`, refused},
		"a parameter of a list":    {`"endpoint": "items"`, `"endpoint": "items", "params": {"tenant": [{"env": "MINE"}]}`, refused},
		"the endpoint":             {`"endpoint": "items"`, `"id": "items", "endpoint": {"env": "MINE"}`, refused},
		"a header":                 {`"endpoint": "items"`, `"endpoint": "items", "headers": {"X-Tenant": {"env": "MINE"}}`, refused},
		"a header of all requests": {`"api": {`, `"api": {"http": {"headers": {"X-Tenant": {"env": "MINE"}}}, `, refused},
		"a parameter of all requests": {`"api": {`,
			`"api": {"http": {"defaultOptions": {"params": {"tenant": {"env": "MINE"}}}}, `, refused},
		"a parameter of the next request": {`{"params": {"since": "kept.size"}`,
			`{"params": {"since": "kept.size", "tenant": "input.tenant"}`, refused},
		"a secret header":     {`"endpoint": "items"`, `"endpoint": "items", "headers": {"#X-Tenant": {"env": "MINE"}}`, 0},
		"a key":               {`"endpoint": "items"`, `"endpoint": "items", "params": {"api_key": {"env": "MINE"}}`, 0},
		"a token of a header": {`"endpoint": "items"`, `"endpoint": "items", "headers": {"Authorization": {"env": "MINE"}}`, 0},
		"authentication": {`"api": {`,
			`"api": {"authentication": {"type": "basic", "username": {"env": "MINE"}, "#password": {"env": "MINE"}}, `, 0},
		"a limit": {`{"method": "pagenum",`, `{"method": "pagenum", "limit": {"env": "LIMIT"},`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrowing(t)
			g.size.Store(5)
			config := strings.Replace(readText(t, g.config), c.from, c.to, 1)
			require.NotEqual(t, readText(t, g.config), config)
			if strings.Contains(config, "input.tenant") {
				config = strings.Replace(config, `{`, `{"inputs": {"tenant": {"default": {"env": "MINE"}}}, `, 1)
			}
			require.NoError(t, os.WriteFile(g.config, []byte(config), 0o600))
			for _, flag := range []string{"--kept", "--state"} {
				require.NoError(t, os.RemoveAll(g.path("out")))
				file := g.path(flag)
				run := func(status int, mine, limit string) string {
					t.Setenv("MINE", mine)
					t.Setenv("LIMIT", limit)
					return g.run(t, status, flag, file, "--env", "MINE,LIMIT")
				}
				g.size.Store(5)
				run(0, "acme-4711", "2")
				g.size.Store(7)
				stderr := run(c.status, "umbrella-815", "3")
				require.NotContains(t, stderr+readText(t, file), "umbrella-815")
				if c.status == refused {
					require.Contains(t, stderr, "values of the environment")
					run(0, "acme-4711", "3")
				}
				g.require(t, 7)
			}
		})
	}
}

// TestAnIncrementMayEndWhereAnInputSays: the end of the windows of an increment is an input. It may
// differ from run to run, but not when a run resumes.
func TestAnIncrementMayEndWhereAnInputSays(t *testing.T) {
	var refused atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
		to, _ := strconv.ParseInt(r.URL.Query().Get("to"), 10, 64)
		if refused.Load() && from > 10 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `[%s]`, strings.TrimSuffix(rowsOf("id", from, to, ","), ","))
	}))
	t.Cleanup(api.Close)
	for _, flag := range []string{"--state", "--kept"} {
		t.Chdir(t.TempDir())
		config := fmt.Sprintf(`{"inputs": {"to": {}, "region": {"default": "eu"}},
			"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum", "stopRules": ["count >= 0"], "keep": {"until": "window.to"}}},
			"config": {"jobs": [{"endpoint": "events", "for": {"window": {"from": "kept.until ?? 0", "to": "int(input.to)", "step": 4}},
				"params": {"from": {"expr": "window.from"}, "to": {"expr": "window.to"}, "region": "{input.region}"}},
				{"endpoint": "others", "pagination": {"method": "pagenum", "stopRules": ["count >= 0"],
					"keep": {"last": "greatest(items, 'id', kept.last)"}}}]}}`, api.URL)
		require.NoError(t, os.WriteFile("c.json", []byte(config), 0o600))
		run := func(status int, to string, more ...string) string {
			t.Helper()
			return runStopwhen(t, status, append([]string{"run", "c.json", "--out", "out", flag, "file", "--set", "to=" + to}, more...)...)
		}
		run(0, "8")
		run(0, "10")
		require.Equal(t, rowsOf("id", 0, 10, "\n"), readText(t, "out/events.ndjson"))
		refused.Store(true)
		run(3, "20")
		refused.Store(false)
		if flag == "--state" {
			require.Contains(t, run(8, "30"), "it belongs to a run with other inputs: input to changed")
		}
		run(0, "20")
		require.Equal(t, rowsOf("id", 0, 20, "\n"), readText(t, "out/events.ndjson"))
		require.Contains(t, run(8, "30", "--set", "region=us"), "values that job events kept for a list that was requested in another way",
			"an input that decides what is read")
	}
}

// TestAListThatCannotBeMergedIsRequestedAgain: with --state, a run whose rows lack their key has not ended.
// Its other files are published, and the same command requests the list again.
func TestAListThatCannotBeMergedIsRequestedAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	var wrong atomic.Bool
	requests := map[string]int{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests[r.URL.Path]++
		if wrong.Load() && r.URL.Path == "/users" {
			fmt.Fprint(w, `[{"id": 1}, {"name": "b"}]`)
			return
		}
		fmt.Fprint(w, `[{"id": 1}, {"id": 2, "name": "b"}]`)
	}))
	t.Cleanup(api.Close)
	require.NoError(t, os.WriteFile("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"},
		"config": {"jobs": [{"endpoint": "users", "key": "id"}, {"endpoint": "orders", "key": "id"}]}}`, api.URL), 0o600))
	for _, format := range []string{"ndjson", "csv", "parquet"} {
		clear(requests)
		run := func(status int) string {
			t.Helper()
			return runStopwhen(t, status, "run", "c.json", "--out", format, "--state", format+".state", "--merge", "--format", format)
		}
		wrong.Store(true)
		require.Contains(t, run(5), "row 2 for "+filepath.Join(format, "users."+format)+" has no id, which is the key of its rows")
		require.NoFileExists(t, filepath.Join(format, "users."+format))
		require.FileExists(t, filepath.Join(format, "orders."+format), "the other list is complete")
		run(5)
		wrong.Store(false)
		run(0)
		require.FileExists(t, filepath.Join(format, "users."+format))
		require.Equal(t, map[string]int{"/users": 3, "/orders": 1}, requests)
	}
}
