// Package detecttest tries package detect on the cases of well-known APIs, and judges what it
// wrote by the items that the case expects.
package detecttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// Folder is the folder of the cases.
const Folder = "zoo"

// A Grade says how well an API was recognized.
type Grade string

// The grades. The configuration is run against the API: it obtains all items, or not.
const (
	Recognized    Grade = "recognized"            // all items, and nothing is doubted
	Doubted       Grade = "recognized with doubt" // all items, and doubts are stated
	NotRecognized Grade = "not recognized"        // not all items, and doubts say so
	Wrong         Grade = "wrong"                 // not all items, and no doubt: a defect
)

// An Attempt is what detect made of a case.
type Attempt struct {
	Case   *fixtures.Case
	Grade  Grade
	Result *detect.Result
	Err    error // of detect

	Requests      []string // of detect
	Items, Wanted int      // obtained by the configuration, and expected
	RunErr        error    // of the run
	Config        string
	FailedTests   int
	Leaked        bool // a secret is in the configuration
	env           map[string]string
}

// Try runs detect on a case, and then the configuration that it wrote.
func Try(ctx context.Context, c *fixtures.Case) (*Attempt, error) {
	server, err := fixtures.ServeLeniently(c)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	a := &Attempt{Case: c, Wanted: lines(c.Items)}
	request, env := RequestOf(server)
	a.env = variables(request)
	a.Result, a.Err = detect.Detect(ctx, request, detect.Options{})
	a.Requests = server.Requests()
	server.Restart()
	if a.Err != nil || a.Result.YAML == nil {
		a.Grade = NotRecognized
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

// RequestOf returns the request for the first page as a user would type it, and the
// values of its credentials.
func RequestOf(server *fixtures.LenientServer) (detect.Request, []string) {
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
func (a *Attempt) run(ctx context.Context, secrets []string) {
	for _, secret := range secrets {
		a.Leaked = a.Leaked || len(secret) > 6 && strings.Contains(string(a.Result.YAML), secret)
	}
	lookup := func(name string) (string, bool) { return cmp.Or(a.env[name], "secret"), true }
	e, err := engine.Load("detected.yaml", a.Result.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithEnv(lookup))
	if err != nil {
		a.RunErr, a.Grade = err, Wrong
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
		a.Grade = Recognized
	case exact:
		a.Grade = Doubted
	case doubts:
		a.Grade = NotRecognized
	default:
		a.Grade = Wrong
	}
}

// Summary describes the attempt on one line.
func (a *Attempt) Summary() string {
	text := fmt.Sprintf("%s: %d of %d items", a.Grade, a.Items, a.Wanted)
	if err := errors.Join(a.Err, a.RunErr); err != nil {
		text += ": " + err.Error()
	}
	return text
}

// Pagination returns the pagination that was written, as JSON; empty: none.
func (a *Attempt) Pagination() string {
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

// Record runs the configuration of a case and records it, and runs detect on the
// recording.
func Record(ctx context.Context, c *fixtures.Case) (*Attempt, error) {
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
	a := &Attempt{Case: c, Wanted: lines(c.Items)}
	a.Result, a.Err = detect.FromRecording(ctx, archived, "")
	a.Requests = server.Requests()[requests:]
	lenient, err := fixtures.ServeLeniently(c)
	if err != nil {
		return nil, err
	}
	defer lenient.Close()
	if a.Err != nil || a.Result.YAML == nil {
		a.Grade = NotRecognized
		return a, nil
	}
	request, secrets := RequestOf(lenient)
	a.env = variables(request)
	a.Result.YAML = bytes.ReplaceAll(a.Result.YAML, []byte(server.URL()), []byte(lenient.URL()))
	a.Config = lenient.Neutral(string(a.Result.YAML))
	a.run(ctx, secrets)
	return a, nil
}
