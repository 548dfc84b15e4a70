package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// The flags select more rows than those that cover every behaviour and every method.
var (
	allRows  = flag.String("rows", "", "regular `EXPRESSION` for the names of cases whose verdicts are compared with runs over sockets, instead of a few")
	rowDepth = flag.Int("depth", 1, "number of behaviours at the same time in these rows: 1 or 2")
	rowLike  = flag.Bool("like", false, "whether the models resemble the responses of the cases")
	rowSeed  = flag.Int("seed", 0, "number that varies where behaviours happen in these rows")
)

// A subject is a configuration whose verdicts are compared with runs of the command.
type subject struct {
	name string
	root value.Object // {base} stands for the address of the API
	like bool         // whether the models resemble the responses of the case
}

// TestVerdictsAreTrueOverSockets plays the rows of stress as HTTP servers on the loopback
// interface, and compares the runs of the command with the verdicts. By default, it plays every
// behaviour and every method; -rows . plays all rows of all cases, and prints how many.
//
// The command runs in a bubble of package synctest: while it waits before a retry or a poll, its
// time advances at once. The server is outside of the bubble and closes each connection after its
// response, since a goroutine that reads from a connection stops the time.
func TestVerdictsAreTrueOverSockets(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs the command in one goroutine, as other tests do")
	ignored := make(chan os.Signal, 1) // the goroutine of package signal must not belong to a bubble
	signal.Notify(ignored, syscall.SIGALRM)
	defer signal.Stop(ignored)
	s := newStage(t)
	subjects := coveringSubjects(t)
	if *allRows != "" {
		subjects = matchingSubjects(t, regexp.MustCompile(*allRows), *rowLike)
	}
	for _, one := range subjects {
		t.Run(one.name, func(t *testing.T) { s.play(t, one) })
	}
	t.Log(s.summary())
	if *allRows == "" {
		var missing []string
		for _, b := range append(stress.Behaviours(), stress.PartitionBehaviours()...) {
			if !s.behaviours[b.Name] {
				missing = append(missing, b.Name)
			}
		}
		require.Empty(t, missing, "add configurations to coveringSubjects for which these behaviours make a difference")
	}
}

// coveringSubjects returns configurations with every method, for which every behaviour has a row.
func coveringSubjects(t *testing.T) []subject {
	t.Helper()
	all := append(methodSubjects(),
		listSubject("links to pages of a limited size", "GET", value.ObjectOf("method", "response.url", "urlKey", "next", "limit", 10)),
		listSubject("a key that is not unique", "GET", value.ObjectOf("method", "keyset", "idKey", "updated_at", "param", "since")))
	for name, config := range map[string]string{"trees": configOfTrees, "lines": configOfLines} {
		parsed, err := rules.ParseJSON(diag.NewSource("config.json", config))
		require.NoError(t, err)
		root, _ := value.Members(parsed)
		all = append(all, subject{name: name, root: root})
	}
	all = append(all, matchingSubjects(t, regexp.MustCompile(`^zoo/(66|79)-|^keboola/param-float-is-sent$`), false)...)
	return append(all, matchingSubjects(t, regexp.MustCompile(`^zoo/(11|19)-`), true)...)
}

// methodSubjects returns a configuration for each method, with the settings of its example in the reference.
func methodSubjects() (all []subject) {
	for _, m := range rules.Builtin().Methods(rules.Spec) {
		if m.Example == nil {
			continue
		}
		verb := "GET"
		if len(m.Next.Body) > 0 {
			verb = "POST"
		}
		all = append(all, listSubject("method "+m.Name, verb, append(value.ObjectOf("method", m.Name), m.Example...)))
	}
	return all
}

// listSubject returns a configuration with one job.
func listSubject(name, verb string, pagination value.Object) subject {
	return subject{name: name, root: value.ObjectOf(
		"api", value.ObjectOf("baseUrl", "{base}/", "pagination", pagination),
		"config", value.ObjectOf("jobs", []any{value.ObjectOf("endpoint", "items", "method", verb, "dataField", "items")}),
	)}
}

// configOfTrees has a parent with pages, children of which some may be skipped, and windows of numbers and of times, also in the
// hour that comes twice.
const configOfTrees = `{"api": {"baseUrl": "{base}/", "pagination": {"method": "offset", "limit": 2}}, "config": {"jobs": [
	{"id": "orders", "endpoint": "orders", "dataField": "data"},
	{"id": "lines", "endpoint": "orders/{order.id}/lines", "dataField": "data", "for": {"order": {"items": "orders"}}, "onPartitionError": "skip"},
	{"id": "events", "endpoint": "events", "dataField": "data", "params": {"from": {"expr": "w.from"}, "to": {"expr": "w.to"}},
		"for": {"w": {"from": 0, "to": 4000, "step": 1000}}},
	{"id": "days", "endpoint": "days", "dataField": "data", "params": {"from": {"expr": "w.from"}, "to": {"expr": "w.to"}},
		"for": {"w": {"from": "2026-10-23", "to": "2026-10-27", "step": "24h"}}},
	{"id": "hours", "endpoint": "hours", "dataField": "data", "params": {"from": {"expr": "w.from.Format('2006-01-02 15:04')"}},
		"for": {"w": {"from": "date('2026-10-25 01:30', '2006-01-02 15:04', 'Europe/Berlin')", "step": "30m",
			"to": "date('2026-10-25 03:30', '2006-01-02 15:04', 'Europe/Berlin')"}}}]}}`

// configOfLines has a list whose items are lines.
const configOfLines = `{"api": {"baseUrl": "{base}/", "response": {"format": "ndjson"}, "pagination": {"method": "offset", "limit": 10}},
	"config": {"jobs": [{"endpoint": "lines"}]}}`

// matchingSubjects returns the configurations of cases that are valid.
func matchingSubjects(t *testing.T, names *regexp.Regexp, like bool) []subject {
	t.Helper()
	cases, err := fixtures.All()
	require.NoError(t, err)
	var all []subject
	for _, c := range cases {
		if !names.MatchString(c.Name) || c.Exit == exitUsage {
			continue
		}
		parse := rules.ParseJSON
		if c.ConfigName != "config.json" {
			parse = yaml.Parse
		}
		root, err := parse(diag.NewSource(c.ConfigName, string(c.Config)))
		require.NoError(t, err, c.Name)
		one := subject{name: c.Name, like: like}
		one.root, _ = value.Members(root)
		if inner, wrapped := one.root.Get("parameters"); wrapped {
			one.root, _ = value.Members(inner)
		}
		all = append(all, one)
	}
	return all
}

// A stage is a server that plays one row at a time.
type stage struct {
	*httptest.Server
	api      atomic.Pointer[stress.Server]
	requests atomic.Int64
	home     string // directory of the files of a run

	equal, different int
	listed           map[string]int  // number of rows that were not played, by reason
	behaviours       map[string]bool // names of those that were played
}

func newStage(t *testing.T) *stage {
	s := &stage{home: t.TempDir(), listed: map[string]int{}, behaviours: map[string]bool{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.api.Load().ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// summary says how many rows were played.
func (s *stage) summary() string {
	listed := 0
	b := &strings.Builder{}
	for _, why := range slices.Sorted(maps.Keys(s.listed)) {
		listed += s.listed[why]
		fmt.Fprintf(b, "\n%6d %s", s.listed[why], why)
	}
	return fmt.Sprintf("%d rows: %d played, %d equal, %d not played%s", s.equal+s.different+listed, s.equal+s.different, s.equal, listed, b)
}

// play plays all rows of a subject.
func (s *stage) play(t *testing.T, one subject) {
	e, args := s.load(t, one)
	if e == nil {
		return
	}
	o := stress.Options{WithoutFixes: true, Depth: *rowDepth, Seed: *rowSeed}
	if one.like {
		o.Recording = s.recorded(t, one, e)
	}
	report, err := e.Stress(t.Context(), o)
	require.NoError(t, err)
	for i := range report.Jobs {
		for _, row := range report.Jobs[i].Rows {
			if why := s.row(t, one, e, report, i, row, args); why != "" {
				s.listed[why]++
			}
		}
	}
}

// load loads the configuration of a subject, and returns the flags with which the command runs it.
// It returns nil if there is nothing to play.
func (s *stage) load(t *testing.T, one subject) (*engine.Engine, []string) {
	t.Helper()
	text := s.written(t, withoutCredentials(one.root))
	var args []string
	for _, m := range variable.FindAllStringSubmatch(string(text), -1) {
		t.Setenv(m[1], "value-of-"+m[1])
		args = append(args, "--env", m[1])
	}
	e, err := engine.Load("config.json", text, loading()...)
	require.NoError(t, err)
	return e, args
}

// loading returns the options with which a configuration of a subject is loaded.
func loading() []engine.Option {
	return []engine.Option{
		engine.WithEnv(func(name string) (string, bool) { return "value-of-" + name, true }), engine.WithFormat(".yaml", yaml.Parse),
	}
}

// recorded returns the pages of a case, as if they came from the stage.
func (s *stage) recorded(t *testing.T, one subject, e *engine.Engine) stress.Recorded {
	t.Helper()
	path := filepath.Join(s.home, "case.har")
	_ = os.Remove(path)
	run([]string{"record", "--fixture", one.name, path}, strings.NewReader(""), io.Discard, io.Discard)
	text, err := os.ReadFile(path)
	if err != nil { // the case makes no request
		return stress.Recorded{}
	}
	require.NoError(t, os.WriteFile(path, regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAll(text, []byte(s.URL)), 0o600))
	tape, err := newApp(strings.NewReader(""), io.Discard, io.Discard).readRecording(path)
	require.NoError(t, err)
	return recording.Samples(t.Context(), e, tape)
}

// variable is a reference to an environment variable.
var variable = regexp.MustCompile(`"env":\s*"([A-Z_]+)"`)

// written returns a configuration as text, for the API of the stage.
func (s *stage) written(t *testing.T, root value.Object) []byte {
	t.Helper()
	text, err := value.Marshal(root)
	require.NoError(t, err)
	return bytes.ReplaceAll(text, []byte("{base}"), []byte(s.URL))
}

// withoutCredentials returns a configuration that is not authenticated, as models are.
func withoutCredentials(root value.Object) value.Object {
	api, _ := value.Members(member(root, "api"))
	return root.With("api", api.Without("authentication"))
}

// playable returns the configuration with which the command runs some jobs as the model does: the
// items are written as the API sends them, the responses are JSON, and, if the model has left out the
// limits of the configuration, there are none.
func playable(root value.Object, unbounded bool, change func(job value.Object, i int) value.Object) value.Object {
	api, _ := value.Members(member(root, "api"))
	api = api.Without("response")
	if unbounded {
		api = api.With("pagination", unlimited(member(api, "pagination")))
	}
	config, _ := value.Members(member(root, "config"))
	jobs, _ := member(config, "jobs").([]any)
	jobs = slices.Clone(jobs)
	for i := range jobs {
		job, _ := value.Members(jobs[i])
		if own, has := job.Get("pagination"); has && unbounded {
			job = job.With("pagination", unlimited(own))
		}
		jobs[i] = change(job.Without("response").Without("filter").Without("fields"), i)
	}
	return root.With("api", api).With("config", config.With("jobs", jobs))
}

// alone makes a job run once, with values for its variables.
func alone(job value.Object, variables map[string]any) value.Object {
	job = job.Without("emit").Without("children")
	if member(job, "for") == nil {
		return job
	}
	given := value.Object{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		given = given.With(name, constant(variables[name], member(member(job, "for"), name)))
	}
	return job.With("for", given)
}

// constant returns the settings of a variable that has one value, given its own settings. A window
// is not split, because it is as small as the smallest one.
func constant(v, settings any) value.Object {
	window, ok := v.(map[string]any)
	if !ok {
		return value.ObjectOf("values", []any{v})
	}
	from, to, smallest := window["from"], window["to"], any(1_000_000)
	if begin, ok := from.(time.Time); ok {
		from, to, smallest = begin.Format(time.RFC3339), to.(time.Time).Format(time.RFC3339), "1000d"
	}
	changed := value.ObjectOf("from", from, "to", to)
	if splits := member(settings, "splitWhen"); splits != nil {
		changed = changed.With("splitWhen", splits).With("smallest", smallest)
	}
	return changed
}

// member returns a member of an object, or nil.
func member(object any, name string) any {
	members, _ := value.Members(object)
	v, _ := members.Get(name)
	return v
}

// unlimited returns a pagination without its limits.
func unlimited(v any) any {
	switch v := v.(type) {
	case value.Object:
		kept := value.Object{}
		for _, m := range v {
			if m.Name != "limitStop" && m.Name != "forceStop" {
				kept = append(kept, value.Member{Name: m.Name, Value: unlimited(m.Value)})
			}
		}
		return kept
	case []any:
		var kept []any
		for _, one := range v {
			if member(one, "outcome") != "limited" {
				kept = append(kept, unlimited(one))
			}
		}
		return kept
	}
	return v
}

// An ending is what a row says of a run.
type ending struct {
	Obtained, Missing, Duplicated int
	Requests, Exit                int
	Outcome, Reason               string
	Findings                      []string
}

// endlessPages is the number of pages after which the model ends an endless list.
const endlessPages = 200

// row plays a row, or returns why it is not played.
func (s *stage) row(t *testing.T, one subject, e *engine.Engine, report *stress.Report, index int, row stress.Row, args []string) (why string) {
	job := &report.Jobs[index]
	require.NotEqual(t, exitInternal, row.Exit, "%s of %s", row.Behaviour, job.Job)
	api, tree, at, unbounded := job.Server(row.Behaviour), row.Group == "partitions", index, false
	if jobs := member(member(one.root, "config"), "jobs").([]any); len(jobs) != len(report.Jobs) {
		at = slices.IndexFunc(jobs, func(v any) bool { return member(v, "id") == job.Job || member(v, "endpoint") == job.Job })
	}
	if at < 0 {
		return "the configuration has the job within its parent, so it does not run alone"
	}
	if strings.Contains(row.Behaviour, "linkOther") && e.Explain().Dialect == rules.Keboola {
		return "dialect keboola follows the link to another origin, which the test does not serve"
	}
	args = append([]string{"run", filepath.Join(s.home, "config.json")}, args...)
	for i := range report.Jobs {
		if i == index || tree && e.Job(report.Jobs[i].Job).Root == job.Job {
			unbounded = unbounded || slices.Contains(report.Jobs[i].Model, "The limits of the configuration are left out.")
			args = append(args, "--job", report.Jobs[i].Job)
		}
	}
	mostPages := []string{"pagination", "guards", "maxPages"}
	endless := strings.HasSuffix(row.Why, "and only a guard would end it") // after as many pages as in the model
	root := playable(withoutCredentials(one.root), unbounded, func(given value.Object, i int) value.Object {
		if own, _ := value.Members(member(given, "pagination")); len(own) > 0 && endless {
			given = given.WithPath(mostPages, endlessPages)
		}
		if i == at && !tree {
			return alone(given, api.Variables())
		}
		return given
	})
	if endless {
		root = root.WithPath(append([]string{"api"}, mostPages...), endlessPages)
	}
	config, _ := value.Members(member(root, "config"))
	bounded := tree && member(config, "limits") == nil // by the model
	if bounded {
		root = root.With("config", config.With("limits", value.ObjectOf("partitions", 40)))
	}
	require.NoError(t, os.WriteFile(args[1], s.written(t, root), 0o600))
	s.api.Store(api)
	s.requests.Store(0)
	items, result, status, log := s.run(t, args)
	got := ending{Requests: int(s.requests.Load()), Exit: status, Outcome: "complete"}
	got.Obtained, got.Missing, got.Duplicated = api.Tally(items)
	for _, ended := range result.Jobs {
		if ended.Outcome != "complete" && !(bounded && ended.Reason == "limits.partitions") || !tree {
			got.Outcome, got.Reason = string(ended.Outcome), ended.Reason
		}
		if got.Reason == "partitions" && !tree { // the result of a job with variables is that of all partitions
			got.Reason = row.Reason
		}
		for _, f := range ended.Findings {
			if f.ID != "audit.ceiling" { // the rows do not count it
				got.Findings = append(got.Findings, f.ID)
			}
		}
	}
	want := ending{row.Obtained, row.Missing, row.Duplicated, row.Requests, row.Exit, row.Outcome, row.Reason, row.Findings}
	slices.Sort(got.Findings) // those about all partitions come last
	want.Findings = slices.Sorted(slices.Values(want.Findings))
	s.behaviours[row.Behaviour] = true
	if got.Missing > 0 {
		usual := job.Rows[slices.IndexFunc(job.Rows, func(r stress.Row) bool {
			return r.Behaviour == "ordinary" && !tree || r.Behaviour == "partitions"
		})].Findings
		telling := slices.ContainsFunc(got.Findings, func(id string) bool { return !slices.Contains(usual, id) })
		silent := got.Exit == 0 && got.Outcome == "complete" && !telling
		require.Equal(t, silent, row.Verdict == stress.Silent, "the verdict is %s, %s of %s: %+v", row.Verdict, row.Behaviour, job.Job, got)
	}
	if fmt.Sprint(got) == fmt.Sprint(want) {
		s.equal++
		return ""
	}
	s.different++
	t.Errorf("%s of %s: the verdict is %s, %+v (%s); the run has %+v:\n%s", row.Behaviour, job.Job, row.Verdict, want, row.Why, got, log)
	return ""
}

// run runs the command in a bubble, and returns the items that it writes, the result, the exit status
// and the log.
func (s *stage) run(t *testing.T, args []string) (items [][]byte, result engine.Result, status int, log string) {
	t.Helper()
	saved := filepath.Join(s.home, "result.json")
	_ = os.Remove(saved)
	var stdout, stderr bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(began))
		status = run(append(args, "--result", saved), strings.NewReader(""), &stdout, &stderr)
	})
	if text, err := os.ReadFile(saved); err == nil {
		require.NoError(t, json.Unmarshal(text, &result))
	}
	return slices.Collect(bytes.Lines(stdout.Bytes())), result, status, stderr.String()
}

// began is when each run begins, which is after all times in the lists of the model.
var began = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
