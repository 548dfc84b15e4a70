package keboola

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// otherwise names the cases whose lists an imported configuration reads differently, although no grade
// says so, with the reason. The guide says the same.
//
// Where a stream is approximate, its note says what differs; where it is exact, the guide does.
var otherwise = map[string]string{
	"keboola/child-for-each-element-of-a-list":                    "a list as a placeholder fails (note)",
	"keboola/cursor-never-moves-back":                             "a fraction is sent as it is (note)",
	"keboola/cycle-is-never-detected":                             "a loop fails (guide)",
	"keboola/empty-string-is-not-data":                            "a scalar at dataField fails (guide)",
	"keboola/false-is-not-data":                                   "a scalar at dataField fails (guide)",
	"keboola/number-is-one-item":                                  "a scalar at dataField fails (guide)",
	"keboola/string-is-one-item":                                  "a scalar at dataField fails (guide)",
	"keboola/zero-is-not-data":                                    "a scalar at dataField fails (guide)",
	"keboola/zero-string-is-not-data":                             "a scalar at dataField fails (guide)",
	"keboola/scalar-response-with-data-field-has-no-data":         "a scalar response fails (guide)",
	"keboola/flag-empty-string-is-false":                          "an empty text as a flag (note)",
	"keboola/flag-null-stops-by-default":                          "null as a flag (note)",
	"keboola/job-has-its-own-pagination":                          "a relative link (note)",
	"keboola/url-query-is-relative-to-the-base":                   "a relative link (note)",
	"keboola/url-params-are-encoded-again":                        "parameters of a link (note)",
	"keboola/limit-stop-takes-a-leading-number":                   "a total that is not a number fails (note)",
	"keboola/limit-stop-takes-a-word-as-zero":                     "a total that is not a number fails (note)",
	"keboola/limit-stop-takes-an-object-as-one":                   "a total that is not a number fails (note)",
	"keboola/limit-stop-takes-true-as-one":                        "a total that is not a number fails (note)",
	"keboola/limit-stop-with-a-list-never-stops":                  "a total that is not a number fails (note)",
	"keboola/login-gives-headers-and-parameters":                  "the parameters of a login (note)",
	"keboola/login-may-return-a-json-scalar":                      "a login that gives a scalar fails (guide)",
	"keboola/login-text-is-not-json":                              "a login whose text is JSON (note)",
	"keboola/param-empty-object-is-left-out":                      "a token that is neither text nor a number fails (guide)",
	"keboola/param-list-is-sent":                                  "a token that is neither text nor a number fails (guide)",
	"keboola/param-object-is-sent":                                "a token that is neither text nor a number fails (guide)",
	"keboola/param-true-is-sent":                                  "a token that is neither text nor a number (guide)",
	"keboola/empty-object-is-one-item":                            "an empty object has no items (guide)",
	"keboola/placeholder-that-is-urlencoded-is-not-encoded-again": "a space in an address (note)",
	"keboola/post-without-params-sends-a-list":                    "the body of a POST without parameters (note)",
	"keboola/query-credentials-are-computed-for-each-request":     "parameters that see each other (note)",
	"keboola/same-items-with-other-metadata-never-stop":           "a loop fails (guide)",
	"keboola/scroll-request-inherits-the-method":                  "a number in a body (note)",
	"keboola/volume-includes-escapes":                             "the volume as PHP counts it (note)",
	"keboola/volume-must-be-exceeded":                             "the volume as PHP counts it (note)",
}

// TestImportedConfigurationsDoTheSame runs the configuration of every case of dialect keboola, and what is
// imported from it, and compares the items, and also the requests if all streams are exact.
func TestImportedConfigurationsDoTheSame(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one request at a time, and package engine requests ahead")
	all, err := fixtures.All()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, c := range all {
		if !isKeboola(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { counts[compare(t, c)]++ })
	}
	t.Log(counts)
	require.Greater(t, counts["same requests"], 60)
	require.Greater(t, counts["same items"], 20)
}

func isKeboola(c *fixtures.Case) bool {
	if c.ConfigName != "config.json" {
		return false
	}
	parsed, err := rules.ParseJSON(diag.NewSource("config.json", string(c.Config)))
	if err != nil {
		return false
	}
	root, _ := value.Members(parsed)
	if inner, wrapped := root.Get("parameters"); wrapped {
		root, _ = value.Members(inner)
	}
	return memberOf(objectAt(root, "api"), "dialect") == string(rules.Keboola)
}

// compare says how a case compares, and fails if the imported configuration does something else than
// its grade promises.
func compare(t *testing.T, c *fixtures.Case) string {
	before := newAPI(t, c)
	original, err := engine.Load("config.json", before.config(), append(before.options(), engine.WithDialect(rules.Keboola))...)
	if err != nil {
		return "refused by the dialect"
	}
	wantErr := before.run(original)

	after := newAPI(t, c)
	files := []importer.File{{Name: "config.json", Text: after.config()}}
	source, err := Read(files, importer.Options{})
	require.NoError(t, err)
	inputs := secrets(t, source, after.config())
	result, err := importer.Write(Format.Name, source)
	require.NoError(t, err)
	worst := importer.Exact
	for _, s := range result.Report.Streams {
		if s.Grade == importer.Refused || s.Grade == importer.Credentials {
			t.Log(s.Notes)
			return string(s.Grade)
		}
		if s.Grade != importer.Exact {
			worst = s.Grade
		}
	}
	var gotErr error
	for _, one := range result.Configs {
		e, err := engine.Load("import.yaml", one.Text, append(after.options(), engine.WithFormat(".yaml", yaml.Parse),
			engine.WithInputs(declared(inputs, one.Text)), engine.WithEnv(variables(inputs)))...)
		require.NoError(t, err, "%s", one.Text)
		require.Empty(t, e.Warnings(), "%s", one.Text)
		if err := after.run(e); err != nil {
			gotErr = err
		}
	}
	if wantErr != nil { // the run of the original fails; so must the other, and what it has read before counts
		return "the run of the original fails"
	}
	same := gotErr == nil && slices.Equal(before.items, after.items) && (worst != importer.Exact || slices.Equal(before.requests, after.requests))
	if _, differs := otherwise[c.Name]; differs {
		require.False(t, same, "it is the same by now")
		return "differs"
	}
	shown := ""
	for _, one := range result.Configs {
		shown += string(one.Text)
	}
	require.NoError(t, gotErr, "%s", shown)
	require.Equal(t, before.items, after.items, "%s\n%s", before.requests, shown)
	if worst != importer.Exact {
		return "same items"
	}
	require.Equal(t, before.requests, after.requests, "%s", shown)
	return "same requests"
}

// variables returns a function that looks variables up: those of the fixtures, and those with the values of secret inputs.
func variables(inputs map[string]any) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if strings.HasPrefix(name, "FIXTURE_") {
			return "secret-of-" + name, true
		}
		for input, v := range inputs {
			if name == strings.ToUpper(input) || name == "API_"+strings.ToUpper(input) {
				return fmt.Sprint(v), true
			}
		}
		return "", false
	}
}

// declared returns the values of the inputs that a configuration has.
func declared(inputs map[string]any, text []byte) map[string]any {
	out := maps.Clone(inputs)
	maps.DeleteFunc(out, func(name string, _ any) bool { return !strings.Contains(string(text), "input."+name) })
	return out
}

// secrets returns the values in the document that became inputs without a default.
func secrets(t *testing.T, source *importer.Source, text []byte) map[string]any {
	parsed, err := rules.ParseJSON(diag.NewSource("", string(text)))
	require.NoError(t, err)
	root, _ := value.Members(parsed)
	out := map[string]any{}
	for _, in := range source.Inputs {
		if in.Default != nil {
			continue
		}
		v, has := find(root, in.Place)
		for i := 0; !has && i < 2; i++ { // what basic reads
			name := strings.TrimPrefix(strings.TrimPrefix(in.Place, "parameters."), "config.")
			v, has = find(root, []string{"config.#", "config."}[i]+name)
		}
		require.True(t, has, "%s", in.Place)
		if o, isObject := value.Members(v); isObject {
			v = "secret-of-" + environment(o)
		}
		v, _ = value.Text(v)
		out[in.Name] = v
	}
	return out
}

// An api plays a case. The parameters of requests may have any order.
type api struct {
	*httptest.Server
	t     *testing.T
	c     *fixtures.Case
	clock *fixtures.Clock

	mu       sync.Mutex
	played   map[int]bool
	requests []string
	items    []string
}

func newAPI(t *testing.T, c *fixtures.Case) *api {
	clocked, err := fixtures.Serve(c)
	require.NoError(t, err)
	t.Cleanup(clocked.Close)
	a := &api{t: t, c: c, clock: clocked.Clock(), played: map[int]bool{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.respond))
	t.Cleanup(a.Close)
	return a
}

func (a *api) expand(text string) string { return strings.ReplaceAll(text, "{base}", a.URL) }

func (a *api) config() []byte { return []byte(a.expand(string(a.c.Config))) }

func (a *api) options() []engine.Option {
	options := []engine.Option{engine.WithClock(a.clock),
		engine.WithEnv(func(name string) (string, bool) { return "secret-of-" + name, strings.HasPrefix(name, "FIXTURE_") })}
	var kept map[string]map[string]any
	if a.c.Kept != nil {
		require.NoError(a.t, json.Unmarshal(a.c.Kept, &kept))
		options = append(options, engine.WithKept(kept))
	}
	return options
}

// run runs a configuration, and notes the items.
func (a *api) run(e *engine.Engine) error {
	_, err := e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		for line := range strings.Lines(string(page.Items.Bytes())) {
			a.items = append(a.items, canonical(strings.ReplaceAll(line, a.URL, "{base}")))
		}
		return nil
	})
	return err
}

// canonical returns JSON as it compares.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// target returns an address as it compares: with its parameters in order.
func target(path, query string) string {
	values, _ := url.ParseQuery(query)
	return path + "?" + values.Encode()
}

func (a *api) respond(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	text := fmt.Sprintf("%s %s %s", r.Method, target(r.URL.EscapedPath(), r.URL.RawQuery), canonical(string(body)))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if strings.HasPrefix(name, "X-") || name == "Authorization" {
			v, _, _ := strings.Cut(r.Header.Get(name), "Signature=") // it depends on the port
			text += fmt.Sprintf(" %s=%s", name, v)
		}
	}
	a.requests = append(a.requests, strings.ReplaceAll(text, a.URL, "{base}"))
	for i, e := range a.c.Exchanges {
		path, query, _ := strings.Cut(a.expand(e.Request.Target), "?")
		wants := e.Request.Body == nil || canonical(a.expand(*e.Request.Body)) == canonical(string(body))
		if a.played[i] && !e.Response.Again || r.Method != e.Request.Method || !wants ||
			target(path, query) != target(r.URL.EscapedPath(), r.URL.RawQuery) {
			continue
		}
		a.played[i] = true
		for _, h := range e.Response.Headers {
			w.Header().Set(h.Name, a.expand(h.Value))
		}
		w.WriteHeader(e.Response.Status)
		_, _ = io.WriteString(w, a.expand(string(e.Response.Body)))
		return
	}
	w.WriteHeader(http.StatusGone)
}
