package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime"
)

var update = flag.Bool("update", false, "rewrite the golden sections of the fixtures; read the diff")

// TestFixtures plays every case over real HTTP: what is requested, what comes
// out, how every page was decided, what the log says, how the run ends.
func TestFixtures(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { play(t, c, *update) })
	}
}

func play(t *testing.T, c *fixtures.Case, rewrite bool) {
	server, err := fixtures.Serve(c)
	require.NoError(t, err)
	defer server.Close()
	got := runCase(c, server, func(e *engine.Engine) *engine.Engine { return e })
	require.Empty(t, server.Problems(), "what the API was asked; the run ended with: %s", got["error"])
	requireGolden(t, c, got, rewrite)
}

// TestFixturesWithPagesAhead plays every case with four pages under way: what
// comes of it must be the same. The server refuses what the case does not have,
// as an API does beyond its last page.
func TestFixturesWithPagesAhead(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	var asked, played int
	for _, c := range cases {
		if !aheadIsSafe(c) {
			continue
		}
		played++
		t.Run(c.Name, func(t *testing.T) {
			anyOrder := *c
			anyOrder.AnyOrder = true
			server, err := fixtures.Serve(&anyOrder)
			require.NoError(t, err)
			defer server.Close()
			got := runCase(c, server, func(e *engine.Engine) *engine.Engine { return e.With(engine.WithPrefetch(4)) })
			for _, problem := range server.Problems() {
				require.NotContains(t, problem, "never requested")
				if strings.Contains(problem, "unexpected") {
					asked++
				}
			}
			requireGolden(t, c, got, false)
		})
	}
	require.Positive(t, asked, "pages beyond the last were asked for")
	require.Greater(t, played, 250)
}

// TestASplitRunIsTheRun stops every case behind every page of it, and goes on
// from there with another engine: requests, items, trace and result must be those
// of the run that was not stopped.
func TestASplitRunIsTheRun(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	splits := 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for at := 1; ; at++ {
				whole, split := splitRun(t, c, at)
				if whole {
					break
				}
				splits++
				for _, section := range []string{"items", "trace", "exit", "error", "keeps"} {
					if want := map[string]*string{"items": c.Items, "trace": c.Trace, "keeps": c.Keeps}[section]; want != nil {
						require.Equal(t, *want, split[section], "%s, split behind page %d", section, at)
					}
				}
				require.Equal(t, fmt.Sprint(c.Exit), split["exit"], "split behind page %d: %s", at, split["error"])
				if c.Error != nil {
					requireLines(t, "error", *c.Error, split["error"])
				}
			}
		})
	}
	require.Greater(t, splits, 300)
}

// splitRun runs a case that is stopped behind so many pages, and goes on. It
// reports true if the case has no more pages.
func splitRun(t *testing.T, c *fixtures.Case, at int) (whole bool, got map[string]string) {
	t.Helper()
	server, err := fixtures.Serve(c)
	require.NoError(t, err)
	defer server.Close()
	positions := map[string]json.RawMessage{}
	pages := 0
	stopped := errors.New("stopped")
	first := runCase(c, server, func(e *engine.Engine) *engine.Engine { return e }, func(page *engine.Page) error {
		token, err := page.Checkpoint()
		require.NoError(t, err)
		if token == nil {
			pages = at + 1 // the run fails on this page: there is nothing behind it
			return nil
		}
		require.NotContains(t, string(token), "secret-of-")
		positions[page.Job] = bytes.Clone(token)
		if pages++; pages == at {
			return stopped
		}
		return nil
	})
	if pages != at {
		return true, nil
	}
	second := runCase(c, server, func(e *engine.Engine) *engine.Engine { return e.With(engine.WithResume(positions)) })
	require.Empty(t, server.Problems(), "split behind page %d; the run ended with: %s", at, second["error"])
	for _, section := range []string{"items", "trace"} {
		second[section] = first[section] + second[section]
	}
	return false, second
}

// aheadIsSafe leaves out two kinds of cases, for reasons of the server: on a
// case's clock, what is asked for ahead passes time for the pages before it; and
// where two jobs ask for the same, one would take the other's answer.
func aheadIsSafe(c *fixtures.Case) bool {
	answered := map[string]bool{}
	for _, e := range c.Exchanges {
		if e.Response.After > 0 || answered[e.Request.String()] {
			return false
		}
		answered[e.Request.String()] = e.Response.Status < 400
	}
	return true
}

// requireGolden compares the sections of a case with what came out.
func requireGolden(t *testing.T, c *fixtures.Case, got map[string]string, rewrite bool) {
	t.Helper()
	sections := map[string]*string{"items": c.Items, "trace": c.Trace, "log": c.Log, "error": c.Error, "keeps": c.Keeps}
	if rewrite {
		path := filepath.Join("..", "fixtures", "cases", c.Name+".txtar")
		require.NoError(t, os.WriteFile(path, c.Update(map[string]string{"items": got["items"], "trace": got["trace"]}), 0o644))
		delete(sections, "items")
		delete(sections, "trace")
	}
	require.Equal(t, fmt.Sprint(c.Exit), got["exit"], "exit status; error: %s", got["error"])
	for name, want := range sections {
		switch {
		case want == nil:
		case name == "log" || name == "error":
			requireLines(t, name, *want, got[name])
		default:
			require.Equal(t, *want, got[name], name)
		}
	}
}

// requireLines wants every line of the section in the text, in this order.
func requireLines(t *testing.T, section, want, text string) {
	rest := text
	for line := range strings.Lines(want) {
		line = strings.TrimSpace(line)
		at := strings.Index(rest, line)
		require.GreaterOrEqual(t, at, 0, "%s lacks %q (in this order); it is\n%s", section, line, text)
		rest = rest[at+len(line):]
	}
}

// TestAReplayedRunIsTheRun records every case and plays it back without its API:
// requests, verdicts, items and the end must be the same.
func TestAReplayedRunIsTheRun(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	replayed := 0
	for _, c := range cases {
		server, err := fixtures.Serve(c)
		require.NoError(t, err)
		var file bytes.Buffer
		var recorder *recording.Recorder
		live := runCase(c, server, func(e *engine.Engine) *engine.Engine {
			recorder = recording.NewRecorder(&file, recording.Options{Clock: server.Clock(), Redactor: e.Redactor()})
			return e.With(engine.WithTransport(recorder))
		})
		server.Close()
		if recorder == nil || recorder.Len() == 0 {
			continue // the configuration has faults, or no request was made
		}
		require.NoError(t, recorder.Close())
		require.NotContains(t, file.String(), "secret-of-", c.Name)
		tape, err := recording.Read(&file)
		require.NoError(t, err, c.Name)
		require.Len(t, tape.Exchanges, recorder.Len(), c.Name)
		var player *recording.Player
		again := runCase(c, server, func(e *engine.Engine) *engine.Engine {
			player = tape.NewPlayer(e.Redactor())
			return e.With(engine.WithTransport(player), engine.WithClock(player))
		})
		for _, section := range []string{"exit", "error", "trace", "items", "keeps"} {
			assert.Equal(t, live[section], again[section], "%s: %s", c.Name, section)
		}
		assert.Empty(t, player.Unplayed(), c.Name)
		replayed++
	}
	require.Greater(t, replayed, 250)
}

// runCase runs a case and gives its sections as they came out. change has the
// last word about how the engine runs; after sees every page.
func runCase(c *fixtures.Case, server *fixtures.Server, change func(*engine.Engine) *engine.Engine, after ...func(*engine.Page) error) map[string]string {
	var items, trace, log, keeps strings.Builder
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	options := []engine.Option{
		engine.WithClock(server.Clock()), engine.WithLogger(slog.New(unquoted{handler, &log})), engine.WithVerdicts(),
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse),
		engine.WithEnv(func(name string) (string, bool) { return "secret-of-" + name, strings.HasPrefix(name, "FIXTURE_") }),
	}
	for i, arg := range c.Args {
		if arg == "--dialect" {
			options = append(options, engine.WithDialect(c.Args[i+1]))
		}
	}
	e, err := engine.Load(c.ConfigName, server.ConfigText(), options...)
	if err == nil {
		for _, w := range e.Warnings() {
			log.WriteString(w.Error() + "\n")
		}
		var kept map[string]map[string]any
		if server.Kept() != nil {
			_ = json.Unmarshal(server.Kept(), &kept)
		}
		var result *engine.Result
		result, err = change(e.With(engine.WithKept(kept))).Run(context.Background(), func(_ context.Context, page *engine.Page) error {
			items.Write(page.Items.Bytes())
			trace.WriteString(traceLine(page))
			for _, f := range after {
				if err := f(page); err != nil {
					return err
				}
			}
			return nil
		})
		for _, job := range result.Jobs {
			for _, name := range slices.Sorted(maps.Keys(job.Kept)) {
				fmt.Fprintf(&keeps, "%s %s = %v\n", job.Job, name, job.Kept[name])
			}
		}
	}
	out := map[string]string{"items": server.Neutral(items.String()), "trace": server.Neutral(trace.String()), "log": server.Neutral(log.String()), "keeps": server.Neutral(keeps.String()), "exit": "0", "error": ""}
	if err != nil {
		out["error"], out["exit"] = server.Neutral(err.Error()), fmt.Sprint(exitStatus(err))
	}
	return out
}

// unquoted logs messages as they are: the text handler would quote them.
type unquoted struct {
	slog.Handler
	w *strings.Builder
}

func (u unquoted) Handle(_ context.Context, r slog.Record) error {
	fmt.Fprintf(u.w, "%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(u.w, " %s", a); return true })
	u.w.WriteString("\n")
	return nil
}

// traceLine is a page's record in short.
func traceLine(page *engine.Page) string {
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "%d %s %s", page.Page, page.Request.Method, page.Request.URL)
	if page.Request.Body != nil {
		fmt.Fprintf(b, " %s", page.Request.Body)
	}
	fmt.Fprintf(b, " -> %d items", page.Count)
	if page.Dropped {
		b.WriteString(" dropped")
	}
	if page.Decision == runtime.Continue {
		b.WriteString(", continue\n")
		return b.String()
	}
	fmt.Fprintf(b, ", stop by %s (%s)", strings.Join(page.StoppedBy, ", "), page.Outcome)
	for _, v := range page.Verdicts {
		if v.Met {
			fmt.Fprintf(b, "; %s", v.Because)
		}
	}
	for i, f := range page.Findings {
		fmt.Fprintf(b, "%s%s", map[bool]string{true: "; suspect: ", false: ", "}[i == 0], f.ID)
	}
	b.WriteString("\n")
	return b.String()
}

// exitStatus is the contract's table from error to exit status.
func exitStatus(err error) int {
	if errors.As(err, new(diag.Diagnostics)) {
		return 2
	}
	for _, row := range []struct {
		status int
		class  error
	}{
		{2, engine.ErrConfig}, {3, engine.ErrAPI}, {4, engine.ErrTransient}, {5, engine.ErrResponse}, {6, engine.ErrPolicy}, {7, engine.ErrIO}, {8, engine.ErrState},
	} {
		if errors.Is(err, row.class) {
			return row.status
		}
	}
	return 1
}
