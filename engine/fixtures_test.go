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
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

var update = flag.Bool("update", false, "rewrite the golden sections of the fixtures; read the diff")

// TestFixtures plays every case over real HTTP and compares its sections: requests,
// items, verdicts, log and the end of the run.
func TestFixtures(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one request at a time, and the tests below request ahead")
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) { play(t, c, *update) })
	}
}

// TestNamesOfManyAPIs plays lists whose only pages have the names of about 190 APIs for a sign of missing items, and
// complete lists that end under the same names. They have too many jobs to be split after every page, as the cases are.
func TestNamesOfManyAPIs(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one request at a time")
	for _, name := range []string{"suspect", "complete"} {
		c, err := fixtures.ReadFile("testdata/names-that-are-" + name + ".txtar")
		require.NoError(t, err)
		play(t, c, *update)
	}
}

func allCases(t *testing.T) []*fixtures.Case {
	t.Helper()
	cases, err := fixtures.All()
	require.NoError(t, err)
	return cases
}

func serve(t *testing.T, c *fixtures.Case) *fixtures.Server {
	t.Helper()
	server, err := fixtures.Serve(c)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

// play plays a case and compares its sections, or rewrites them.
func play(t *testing.T, c *fixtures.Case, rewrite bool) {
	t.Helper()
	server := serve(t, c)
	got := runCase(c, server, unchanged, deliver)
	require.Empty(t, server.Problems(), "the run ended with: %s", got.err)
	requireGolden(t, c, got, rewrite)
}

// TestFixturesWithPrefetch plays every case with four requests in flight. The result
// must be the same. The server refuses requests that the case does not have, as an
// API does beyond its last page.
func TestFixturesWithPrefetch(t *testing.T) {
	playAhead(t, engine.WithPrefetch(4))
}

// TestFixturesWithOverlap plays every case with the next request sent while a page is
// delivered, also a small one.
func TestFixturesWithOverlap(t *testing.T) {
	playAhead(t, engine.WithOverlapOfAllPages())
}

// playAhead plays every case with an option that requests pages ahead.
func playAhead(t *testing.T, option engine.RunOption) {
	t.Helper()
	var beyond, played int
	for i, c := range allCases(t) {
		if !mayPrefetch(c) || fixtures.Race && i%8 > 0 { // the goroutines are the same in each case
			continue
		}
		played++
		t.Run(c.Name, func(t *testing.T) {
			anyOrder := *c
			anyOrder.AnyOrder = true
			server := serve(t, &anyOrder)
			var pages, requests atomic.Int64
			seen := map[engine.EventKind]*atomic.Int64{engine.EventPage: &pages, engine.EventRequest: &requests}
			observed := engine.WithObserver(observerFunc(func(e engine.Event) { seen[e.Kind].Add(1) }), slices.Collect(maps.Keys(seen))...)
			got := runCase(c, server, func(e *engine.Engine) *engine.Engine { return e.With(option, observed) }, deliver)
			if c.Exit == 0 && !strings.Contains(string(c.Config), "splitWhen") { // a page whose window is split is not delivered
				require.EqualValues(t, strings.Count(got.trace, "\n"), pages.Load())
			}
			require.GreaterOrEqual(t, requests.Load(), pages.Load())
			for _, problem := range server.Problems() {
				require.NotContains(t, problem, "never requested")
				if strings.Contains(problem, "unexpected") {
					beyond++
				}
			}
			requireGolden(t, c, got, false)
		})
	}
	require.Positive(t, beyond, "requests for pages beyond the last")
	require.True(t, fixtures.Race || played > 250, played)
}

// mayPrefetch excludes two kinds of cases that the server cannot play with
// prefetching: on the clock of a case, a prefetched response, or a request that waits
// for a limit, advances the time for the pages before it; and if two jobs make the same
// request, one would receive the response of the other.
func mayPrefetch(c *fixtures.Case) bool {
	answered := map[string]bool{}
	for _, e := range c.Exchanges {
		resets := slices.ContainsFunc(e.Response.Headers, func(h fixtures.Header) bool { return strings.HasSuffix(h.Name, "-Reset") })
		if e.Response.After > 0 || resets || answered[e.Request.String()] {
			return false
		}
		answered[e.Request.String()] = e.Response.Status < 400
	}
	return true
}

// TestAResumedRunGivesTheSameResult interrupts every case after each of its pages
// and resumes it with another engine. Requests, items, trace and result must be
// those of the run that was not interrupted. Both engines are loaded once for a case.
func TestAResumedRunGivesTheSameResult(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	interruptions := 0
	for _, c := range allCases(t) {
		if asksAgain(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			first, err := loadCase(c, fixtures.Play(c), &strings.Builder{})
			if err != nil {
				return // TestFixtures has the error
			}
			second, err := loadCase(c, fixtures.Play(c), &strings.Builder{})
			require.NoError(t, err)
			for pages := 1; ; pages++ {
				got, interrupted := interruptAndResume(t, c, first, second, pages)
				if !interrupted {
					break
				}
				interruptions++
				resumed := *c
				resumed.Log = nil
				requireGolden(t, &resumed, got, false)
			}
		})
	}
	require.Greater(t, interruptions, 300)
}

// asksAgain reports whether a run that is resumed makes other requests than one that is
// not interrupted: it obtains credentials of its own, its pace begins again, or a window
// that was read to its end, to know whether it has to be split, is read on from the page
// that was delivered last.
func asksAgain(c *fixtures.Case) bool {
	return slices.ContainsFunc([]string{"oauth2", "login", "requestsPerSecond", "splitWhen"}, func(key string) bool {
		return bytes.Contains(c.Config, []byte(key))
	})
}

// interruptAndResume interrupts a case after some pages and resumes it with a second engine. It
// reports false if the case has no page after these.
func interruptAndResume(t *testing.T, c *fixtures.Case, one, two *engine.Engine, pages int) (got outcome, interrupted bool) {
	t.Helper()
	server := fixtures.Play(c)
	played := []engine.RunOption{
		engine.WithTransport(transport.Negotiated(server)), engine.WithClock(server.Clock()), engine.WithLogger(slog.New(slog.DiscardHandler)),
	}
	checkpoints := map[string]json.RawMessage{}
	delivered := 0
	first := runEngine(one.With(played...), server, func(page *engine.Page) error {
		checkpoint, err := page.Checkpoint()
		require.NoError(t, err)
		if checkpoint == nil { // the run fails on this page
			delivered = pages + 1
			return nil
		}
		require.NotContains(t, string(checkpoint), "secret-of-")
		checkpoints[page.Root] = bytes.Clone(checkpoint)
		if delivered++; delivered == pages {
			return errors.New("interrupted")
		}
		return nil
	})
	if delivered != pages {
		return outcome{}, false
	}
	got = runEngine(two.With(played...).With(engine.WithResume(checkpoints)), server, deliver)
	require.Empty(t, server.Problems(), "resumed after page %d; the run ended with: %s", pages, got.err)
	got.items, got.trace = first.items+got.items, first.trace+got.trace
	return got, true
}

// obtainsTokens reports whether the configuration of a case obtains tokens.
func obtainsTokens(c *fixtures.Case) bool {
	return tokenTypes.Match(c.Config)
}

var tokenTypes = regexp.MustCompile(`"type": *"(oauth2|login|oauth20\.login)"`)

// TestAReplayedRunGivesTheSameResult records every case and replays it without its
// API. Requests, verdicts, items and the end must be the same.
func TestAReplayedRunGivesTheSameResult(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	replayed := 0
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			server := serve(t, c)
			var file bytes.Buffer
			var recorder *recording.Recorder
			live := runCase(c, server, func(e *engine.Engine) *engine.Engine {
				recorder = recording.NewRecorder(&file, recording.Options{Clock: server.Clock(), Redactor: e.Redactor()})
				return e.With(engine.WithTransport(recorder))
			}, deliver)
			server.Close()
			if recorder == nil || recorder.Len() == 0 {
				return // the configuration is invalid, or no request was made
			}
			if obtainsTokens(c) && live.exit != 0 { // perhaps without a token; a recording holds no such request
				return
			}
			if obtainsTokens(c) && bytes.Contains(c.Config, []byte("now()")) { // a replay takes no time for tokens
				return
			}
			replayed++
			require.NoError(t, recorder.Close())
			require.NotContains(t, file.String(), "secret-of-")
			recorded := bytes.Clone(file.Bytes())
			tape, err := recording.Read(&file)
			require.NoError(t, err)
			require.Len(t, tape.Exchanges, recorder.Len())
			var player *recording.Player
			again := runCase(c, server, func(e *engine.Engine) *engine.Engine {
				player = tape.NewPlayer(e.Redactor())
				if obtainsTokens(c) {
					e = e.With(engine.WithoutTokenRequests())
				}
				return e.With(engine.WithTransport(player), engine.WithClock(player))
			}, deliver)
			live.log, again.log = "", ""
			if undecodable.MatchString(live.err) { // the recording has no body that could be read again
				require.Equal(t, live.exit, again.exit)
				return
			}
			if hiddenLink.Match(recorded) { // in the recording, a link to another token equals one to the same page
				require.Equal(t, live.items, again.items)
				return
			}
			require.Equal(t, live, again)
			require.Empty(t, player.Played().Unplayed)
		})
	}
	require.Greater(t, replayed, 250)
}

// undecodable matches the errors of responses that are compressed in a way that is refused.
var undecodable = regexp.MustCompile(`content encoding|compressed by zstd`)

// hiddenLink matches a link of a Link header whose token is hidden.
var hiddenLink = regexp.MustCompile(`\?token=\*\*\*[^;]{1,20}; rel=`)

// outcome holds the sections of a case as a run gave them.
type outcome struct {
	items, trace, log, keeps string
	err                      string
	exit                     int
}

// requireGolden compares the sections of a case, or rewrites its items and trace.
func requireGolden(t *testing.T, c *fixtures.Case, got outcome, rewrite bool) {
	t.Helper()
	if rewrite {
		path := filepath.Join("..", "fixtures", "cases", c.Name+".txtar")
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for i, file := range archive.Files {
			if text, golden := map[string]string{"items": got.items, "trace": got.trace}[file.Name]; golden {
				archive.Files[i].Data = []byte(text)
			}
		}
		require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
	}
	require.Equal(t, c.Exit, got.exit, "exit status; error: %s", got.err)
	for _, section := range []struct {
		name  string
		want  *string
		got   string
		lines bool // the section lists lines that must occur
	}{
		{"error", c.Error, got.err, true},
		{"items", c.Items, got.items, false},
		{"trace", c.Trace, got.trace, false},
		{"keeps", c.Keeps, got.keeps, false},
		{"log", c.Log, got.log, true},
	} {
		switch {
		case section.want == nil, rewrite && (section.name == "items" || section.name == "trace"):
		case section.lines:
			requireLines(t, section.name, *section.want, section.got)
		default:
			require.Equal(t, *section.want, section.got, section.name)
		}
	}
}

// requireLines requires every line of a section to occur in a text, in this order, and one that
// begins with an exclamation mark not to occur at all.
func requireLines(t *testing.T, section, want, text string) {
	t.Helper()
	rest := text
	for line := range strings.Lines(want) {
		line = strings.TrimSpace(line)
		if absent, ok := strings.CutPrefix(line, "! "); ok {
			require.NotContains(t, text, absent, section)
			continue
		}
		at := strings.Index(rest, line)
		require.GreaterOrEqual(t, at, 0, "%s lacks %q (in this order); it is\n%s", section, line, text)
		rest = rest[at+len(line):]
	}
}

// unchanged runs an engine as the case says.
func unchanged(e *engine.Engine) *engine.Engine { return e }

// deliver accepts every page.
func deliver(*engine.Page) error { return nil }

// runCase runs a case, with the engine that change returns, and returns its sections.
// sink receives every page.
func runCase(c *fixtures.Case, server *fixtures.Server, change func(*engine.Engine) *engine.Engine, sink func(*engine.Page) error) outcome {
	var log strings.Builder
	e, err := loadCase(c, server, &log)
	var out outcome
	if err == nil {
		for _, w := range e.Warnings() {
			log.WriteString(w.Error() + "\n")
		}
		out = runEngine(change(e), server, sink)
	} else {
		out.err, out.exit = server.Neutral(err.Error()), exitStatus(err)
	}
	out.log = server.Neutral(log.String())
	return out
}

// runEngine runs an engine, and returns the sections of its case without the log.
func runEngine(e *engine.Engine, server *fixtures.Server, sink func(*engine.Page) error) outcome {
	var items, trace, keeps strings.Builder
	result, err := e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		items.Write(page.Items.Bytes())
		trace.WriteString(traceLine(page))
		return sink(page)
	})
	for _, job := range result.Jobs {
		for _, name := range slices.Sorted(maps.Keys(job.Kept)) {
			if job.Kept[name] != nil {
				fmt.Fprintf(&keeps, "%s %s = %v\n", job.Job, name, job.Kept[name])
			}
		}
	}
	out := outcome{items: server.Neutral(items.String()), trace: server.Neutral(trace.String()), keeps: server.Neutral(keeps.String())}
	if err != nil {
		out.err, out.exit = server.Neutral(err.Error()), exitStatus(err)
	}
	return out
}

// loadCase loads the configuration of a case as the command does.
func loadCase(c *fixtures.Case, server *fixtures.Server, log *strings.Builder) (*engine.Engine, error) {
	handler := slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})
	options := []engine.Option{
		engine.WithClock(server.Clock()), engine.WithLogger(slog.New(unquoted{handler, &sync.Mutex{}, log})), engine.WithVerdictValues(),
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse),
		engine.WithEnv(func(name string) (string, bool) { return "secret-of-" + name, strings.HasPrefix(name, "FIXTURE_") }),
	}
	if server.Kept() != nil {
		var kept map[string]map[string]any
		if err := json.Unmarshal(server.Kept(), &kept); err != nil {
			return nil, err
		}
		options = append(options, engine.WithKept(kept))
	}
	return engine.Load(c.ConfigName, server.ConfigText(), options...)
}

// unquoted logs messages unchanged; the text handler would quote them.
type unquoted struct {
	slog.Handler
	mu *sync.Mutex
	w  *strings.Builder
}

func (u unquoted) Handle(_ context.Context, r slog.Record) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	fmt.Fprintf(u.w, "%s %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(u.w, " %s", a); return true })
	u.w.WriteString("\n")
	return nil
}

// traceLine is the record of a page in short.
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
	if page.Written != nil {
		fmt.Fprintf(b, ", %d written", *page.Written)
	}
	if page.Decision == engine.Continue {
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
	if errors.As(err, new(engine.Diagnostics)) {
		return 2
	}
	for _, row := range []struct {
		status int
		class  error
	}{
		{2, engine.ErrConfig}, {3, engine.ErrAPI}, {4, engine.ErrTransient}, {5, engine.ErrResponse},
		{6, engine.ErrPolicy}, {7, engine.ErrIO}, {8, engine.ErrState}, {9, engine.ErrSuspect},
	} {
		if errors.Is(err, row.class) {
			return row.status
		}
	}
	return 1
}
