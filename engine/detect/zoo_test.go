package detect_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var update = flag.Bool("update", false, "rewrite testdata, which docs/DETECT.md shows")

// TestEveryAPI runs detect on every API of the zoo. What it writes obtains exactly the
// items of the case, or it says that it doubts it.
func TestEveryAPI(t *testing.T) {
	table := &strings.Builder{}
	table.WriteString("| API | result | items | pagination | doubts |\n|---|---|--:|---|---|\n")
	grades := attemptAll(t, try, func(a *attempt) {
		api, _, _ := strings.Cut(a.Case.Title, ": ")
		pagination := a.pagination()
		if pagination != "" {
			pagination = "`" + cell(pagination) + "`"
		}
		doubts := cell(strings.Join(a.Result.Findings.Doubts, " "))
		fmt.Fprintf(table, "| %s | %s | %d of %d | %s | %s |\n", cell(api), a.Grade, a.Items, a.Wanted, pagination, doubts)
	})
	require.Greater(t, grades[recognized], 50)
	requireGolden(t, "testdata/apis.md", counts(grades)+"\n\n"+table.String())
}

// TestEveryRecording runs detect on recordings of the hand-written configurations.
func TestEveryRecording(t *testing.T) {
	grades := attemptAll(t, record, func(a *attempt) { require.Empty(t, a.Requests) })
	require.Greater(t, grades[recognized], 40)
	requireGolden(t, "testdata/recordings.md", counts(grades)+"\n")
}

// attemptAll tries detect on every API of the zoo and counts the grades.
func attemptAll(t *testing.T, try func(context.Context, *fixtures.Case) (*attempt, error), each func(*attempt)) map[grade]int {
	t.Helper()
	cases, err := fixtures.All()
	require.NoError(t, err)
	grades := map[grade]int{}
	for _, c := range cases {
		if !strings.HasPrefix(c.Name, "zoo/") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			a, err := try(t.Context(), c)
			require.NoError(t, err)
			grades[a.Grade]++
			t.Log(a.summary())
			t.Log(a.pagination())
			t.Log(strings.Join(a.Requests, "\n"))
			t.Log(strings.Join(a.Result.Findings.Doubts, "\n"))
			require.NotEqual(t, wrong, a.Grade, a.Config)
			require.LessOrEqual(t, len(a.Requests), detect.MaxRequests)
			require.False(t, a.Leaked, a.Config)
			require.Zero(t, a.FailedTests, a.Config)
			each(a)
		})
	}
	return grades
}

func counts(grades map[grade]int) string {
	return fmt.Sprintf("%d recognized, %d recognized with doubt, %d not recognized, %d wrong without a doubt.",
		grades[recognized], grades[doubted], grades[notRecognized], grades[wrong])
}

// cell returns a text for a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// requireGolden compares a text with a file, or writes the file with -update.
func requireGolden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(golden), text, "go test ./engine/detect -update rewrites the file")
}

// A grade says how well an API was recognized.
type grade string

// The grades. The configuration is run against the API: it obtains all items, or not.
const (
	recognized    grade = "recognized"            // all items, and nothing is doubted
	doubted       grade = "recognized with doubt" // all items, and doubts are stated
	notRecognized grade = "not recognized"        // not all items, and doubts say so
	wrong         grade = "wrong"                 // not all items, and no doubt: a defect
)

// An attempt is what detect made of a case.
type attempt struct {
	Case   *fixtures.Case
	Grade  grade
	Result *detect.Result
	Err    error // of detect

	Requests      []string // of detect
	Items, Wanted int      // obtained by the configuration, and expected
	RunErr        error    // of the run
	Config        string
	FailedTests   int
	Leaked        bool // a secret is in the configuration
	env           map[string]string
	path          []string // segments of the path of the request
}

// try runs detect on a case, and then the configuration that it wrote.
func try(ctx context.Context, c *fixtures.Case) (*attempt, error) {
	server, err := fixtures.ServeLeniently(c)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	a := &attempt{Case: c, Wanted: lines(c.Items)}
	request, env := requestOf(server)
	a.env, a.path = variables(request), strings.Split(request.URL, "/")
	a.Result, a.Err = detect.Detect(ctx, request, detect.Options{})
	a.Requests = server.Requests()
	server.Restart()
	if a.Err != nil || a.Result.YAML == nil {
		a.Grade = notRecognized
		return a, nil
	}
	a.Config = server.Neutral(string(a.Result.YAML))
	a.run(ctx, env)
	return a, nil
}

// lines returns the number of lines of a golden section.
func lines(section *string) int {
	if section == nil {
		return 0
	}
	return strings.Count(*section, "\n")
}

// requestOf returns the request for the first page as a user would type it, and the
// values of its credentials.
func requestOf(server *fixtures.LenientServer) (detect.Request, []string) {
	first := server.First()
	r := detect.Request{URL: server.URL() + first.Target, Method: first.Method, Header: http.Header{}}
	var secrets []string
	for _, h := range first.Headers {
		r.Header.Set(h.Name, h.Value)
		_, secret, _ := strings.Cut(h.Value, " ")
		if h.Name == "Authorization" {
			secrets = append(secrets, secret)
			if decoded, err := base64.StdEncoding.DecodeString(secret); err == nil {
				secrets = append(secrets, string(decoded))
			}
		}
	}
	if first.Body != nil {
		r.Body = []byte(*first.Body)
	}
	return r, secrets
}

// variables returns the parameters of a request by the names of environment variables
// that they may get.
func variables(r detect.Request) map[string]string {
	env := map[string]string{}
	add := func(name, text string) {
		env[strings.ToUpper(name)], env["API_"+strings.ToUpper(name)] = text, text
	}
	if u, err := url.Parse(r.URL); err == nil {
		for name, values := range u.Query() {
			add(name, values[0])
		}
	}
	var body map[string]any
	if json.Unmarshal(r.Body, &body) == nil {
		for name, v := range body {
			add(name, fmt.Sprint(v))
		}
	}
	return env
}

// run runs the configuration and grades its items.
func (a *attempt) run(ctx context.Context, secrets []string) {
	for _, secret := range secrets {
		a.Leaked = a.Leaked || len(secret) > 6 && strings.Contains(string(a.Result.YAML), secret)
	}
	lookup := func(name string) (string, bool) { return cmp.Or(a.env[name], "secret"), true }
	inputs := map[string]any{}
	for _, name := range a.Result.Inputs { // it has the place of a segment of the path
		for _, segment := range a.path {
			if len(segment) >= 20 && !strings.Contains(string(a.Result.YAML), segment) {
				inputs[name] = segment
			}
		}
	}
	e, err := engine.Load("detected.yaml", a.Result.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithEnv(lookup), engine.WithInputs(inputs))
	if err != nil {
		a.RunErr, a.Grade = err, wrong
		return
	}
	a.FailedTests = e.Test(ctx).Failed()
	var b strings.Builder
	_, err = e.Run(ctx, func(_ context.Context, p *engine.Page) error {
		for item := range p.Items.All() {
			b.Write(item)
			b.WriteByte('\n')
			a.Items++
		}
		return nil
	})
	a.RunErr = err
	exact := err == nil && a.Case.Items != nil && b.String() == *a.Case.Items
	switch doubts := len(a.Result.Findings.Doubts) > 0; {
	case exact && !doubts:
		a.Grade = recognized
	case exact:
		a.Grade = doubted
	case doubts:
		a.Grade = notRecognized
	default:
		a.Grade = wrong
	}
}

// summary describes the attempt on one line.
func (a *attempt) summary() string {
	text := fmt.Sprintf("%s: %d of %d items", a.Grade, a.Items, a.Wanted)
	if err := errors.Join(a.Err, a.RunErr); err != nil {
		text += ": " + err.Error()
	}
	return text
}

// pagination returns the pagination that was written, as JSON; empty: none.
func (a *attempt) pagination() string {
	if a.Result == nil {
		return ""
	}
	api, _ := a.Result.Config.Get("api")
	object, _ := api.(value.Object)
	pagination, ok := object.Get("pagination")
	if !ok {
		return ""
	}
	text, _ := value.Marshal(pagination)
	return string(text)
}

// record runs the configuration of a case and records it, and runs detect on the
// recording.
func record(ctx context.Context, c *fixtures.Case) (*attempt, error) {
	server, err := fixtures.Serve(c)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	var archive bytes.Buffer
	recorder := recording.NewRecorder(&archive, recording.Options{})
	lookup := func(name string) (string, bool) { return "secret-of-" + name, true }
	var kept map[string]map[string]any
	if text := server.Kept(); text != nil {
		if err := json.Unmarshal(text, &kept); err != nil {
			return nil, err
		}
	}
	e, err := engine.Load(c.ConfigName, server.ConfigText(), engine.WithEnv(lookup), engine.WithTransport(recorder),
		engine.WithClock(server.Clock()), engine.WithKept(kept), engine.WithFormat(".yaml", yaml.Parse))
	if err != nil {
		return nil, err
	}
	if _, err := e.Run(ctx, func(context.Context, *engine.Page) error { return nil }); err != nil {
		return nil, err
	}
	if err := recorder.Close(); err != nil {
		return nil, err
	}
	archived, err := recording.Read(&archive)
	if err != nil {
		return nil, err
	}
	requests := len(server.Requests())
	a := &attempt{Case: c, Wanted: lines(c.Items)}
	a.Result, a.Err = detect.FromRecording(ctx, archived, "")
	a.Requests = server.Requests()[requests:]
	lenient, err := fixtures.ServeLeniently(c)
	if err != nil {
		return nil, err
	}
	defer lenient.Close()
	if a.Err != nil || a.Result.YAML == nil {
		a.Grade = notRecognized
		return a, nil
	}
	request, secrets := requestOf(lenient)
	a.env, a.path = variables(request), strings.Split(request.URL, "/")
	a.Result.YAML = bytes.ReplaceAll(a.Result.YAML, []byte(server.URL()), []byte(lenient.URL()))
	a.Config = lenient.Neutral(string(a.Result.YAML))
	a.run(ctx, secrets)
	return a, nil
}
