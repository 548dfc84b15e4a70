package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
)

// echoes are the forms in which an API may repeat a secret.
var echoes = []struct {
	name string
	of   func(secret string) string
}{
	{"plain", func(s string) string { return s }},
	{"in a sentence", func(s string) string { return "the key " + s + " may not" }},
	{"query", url.QueryEscape},
	{"path", url.PathEscape},
	{"lower-case percent escapes", func(s string) string {
		return regexp.MustCompile("%[0-9A-F]{2}").ReplaceAllStringFunc(url.QueryEscape(s), strings.ToLower)
	}},
	{"every byte percent-encoded", func(s string) string {
		return regexp.MustCompile("..").ReplaceAllString(hex.EncodeToString([]byte(s)), "%$0")
	}},
	{"twice in a URL", func(s string) string { return url.QueryEscape(url.QueryEscape(s)) }},
	{"JSON", quotedJSON},
	{"JSON of PHP", func(s string) string {
		ascii := regexp.MustCompile(`[^ -~]`).ReplaceAllStringFunc(quotedJSON(s), func(c string) string { return fmt.Sprintf(`\u%04x`, []rune(c)[0]) })
		return strings.ReplaceAll(ascii, "/", `\/`)
	}},
	{"JSON in JSON", func(s string) string { return quotedJSON(quotedJSON(s)) }},
	{"HTML", html.EscapeString},
	{"HTML of numbers", func(s string) string {
		return regexp.MustCompile(`.`).ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf("&#%d;", []rune(c)[0]) })
	}},
	{"HTML of hexadecimal numbers", func(s string) string {
		return regexp.MustCompile(`.`).ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf("&#x%X;", []rune(c)[0]) })
	}},
	{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"base64 of user and password", func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+s)) }},
	{"base64 for URLs", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
	{"hexadecimal digits", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"after much text", func(s string) string { return strings.Repeat("x ", 25) + s }},
	{"at the edge of an excerpt", func(s string) string { return strings.Repeat(" ", 1010) + s }},
}

func quotedJSON(text string) string {
	out, _ := json.Marshal(text) // a string can always be encoded
	return string(out[1 : len(out)-1])
}

// echoConfig shows what the API repeats wherever a configuration can.
const echoConfig = `{"api": {"baseUrl": %q, %s "pagination": {"method": "response.url", "urlKey": "next", "includeParams": true,
	"state": {"seen": {"init": "''", "next": "body.note"}, "names": {"next": "body.names"}}, "keep": {"note": "body.note", "sent": "sent.url"},
	"stopRules": [
		{"name": "never", "when": "body.note == 'never' or sent.url == 'never' or header('X-Echo') == 'never' or state.seen == 'never'"},
		{"name": "end", "when": "body.next == nil", "message": "ended with {body.note}, {sent.url} and {header('X-Echo')}"}]}},
	"inputs": {%s}, "config": {"jobs": [{"id": "j", "endpoint": "users", "dataField": "data", %s}]}}`

// echoAPI repeats a text in links, bodies, names and headers. Its third page is the
// last or, at /fails, an error.
func echoAPI(t *testing.T, echo string) *httptest.Server {
	t.Helper()
	pages := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.ContainsAny(echo, "\r\n") {
			w.Header().Set("X-Echo", echo)
		}
		pages++
		if pages%3 == 0 && strings.HasPrefix(r.URL.Path, "/fails/") {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, echo)
			return
		}
		body := map[string]any{"data": []any{}, "note": echo, "names": map[string]any{echo: echo}}
		if pages%3 != 0 {
			body["next"] = fmt.Sprintf("?page=%d&echo=%s", pages+1, url.QueryEscape(echo))
			body["data"] = []int{pages}
		}
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(api.Close)
	return api
}

// outputs collects all that a run prints, saves and reports, by its kind.
type outputs struct {
	mu   sync.Mutex
	text map[string]*strings.Builder
}

func (o *outputs) add(kind, format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text[kind] == nil {
		o.text[kind] = &strings.Builder{}
	}
	fmt.Fprintf(o.text[kind], format+"\n", args...)
}

// Observe notes what an observer, such as that of OpenTelemetry, can see.
func (o *outputs) Observe(_ context.Context, e engine.Event) {
	o.add("events", "%+v %v", e, e.Err)
	if e.Exchange != nil {
		o.add("events", "%+v", *e.Exchange)
	}
	if e.Record != nil {
		o.add("events", "%+v %s", *e.Record, e.Record.Request.Body)
	}
	if e.Result != nil {
		o.add("events", "%+v", *e.Result)
	}
}

// runForOutputs runs a configuration and returns its outputs.
func runForOutputs(t *testing.T, file string, options ...engine.Option) *outputs {
	t.Helper()
	out := &outputs{text: map[string]*strings.Builder{}}
	var log, jsonLog, tape bytes.Buffer
	e := load(t, []byte(file), append(options, engine.WithVerdictValues(), engine.WithObserver(out), engine.WithClock(instant{}))...)
	for _, warning := range e.Warnings() {
		out.add("diagnostics", "%v", warning)
	}
	explanation, err := json.Marshal(e.Explain())
	require.NoError(t, err)
	out.add("explain", "%s %s %s", e.Explain(), e.Explain().Mermaid(), explanation)
	recorder := recording.NewRecorder(&tape, recording.Options{Redactor: e.Redactor()})
	debug := &slog.HandlerOptions{Level: slog.LevelDebug}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, debug), slog.NewJSONHandler(&jsonLog, debug)} {
		result, err := e.With(engine.WithLogger(slog.New(handler)), engine.WithTransport(recorder)).Run(t.Context(),
			func(_ context.Context, page *engine.Page) error {
				record, err := json.Marshal(page.Record)
				require.NoError(t, err)
				out.add("trace", "%s", record)
				checkpoint, err := page.Checkpoint()
				out.add("state", "%s", checkpoint)
				return err
			})
		out.add("error", "%v", err)
		text, marshalErr := json.Marshal(result)
		require.NoError(t, marshalErr)
		out.add("result and kept values", "%s", text)
		require.Len(t, result.Jobs, 1)
		require.Equal(t, 2, result.Jobs[0].Items, "%v", err)
	}
	require.NoError(t, recorder.Close())
	out.add("recording", "%s", tape.String())
	out.add("log", "%s%s", log.String(), jsonLog.String())
	for line := range strings.Lines(jsonLog.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	return out
}

func TestSecretsDoNotAppearInAnyOutput(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	secrets := map[string]string{
		"ordinary": `7f3aMARK+x/é w&"q<>`, "long": strings.Repeat("7f3aMARK-", 130), "words": "7f3aMARK secret words", "short": "q7Z",
		"with escapes": `7f3aMARK%2f\u00e9&amp;`,
	}
	places := append([]struct{ name, api, job, inputs string }{
		{name: "a token that is fetched"}, {name: "an option"},
		{name: "an address", api: `user`},
	}, secretPlaces...)
	for i, place := range places {
		if strings.Contains(place.api, `"pagination"`) {
			place.api, place.job = "", ""
		}
		for kind, secret := range secrets {
			if strings.Contains(place.name, "looks like one") && kind == "short" {
				continue // too short to look like one
			}
			for _, echo := range echoes {
				if kind == "short" && regexp.MustCompile("base64|hexadecimal digits").MatchString(echo.name) {
					continue // documented: short secrets are not hidden there
				}
				if kind == "long" && echo.name != "plain" && echo.name != "at the edge of an excerpt" {
					continue
				}
				if i > 2 && (kind != "ordinary" || !slices.Contains([]string{"plain", "query", "base64 of user and password"}, echo.name)) {
					continue // how a secret came into the configuration does not change how it is found
				}
				t.Run(place.name+"/"+kind+"/"+echo.name, func(t *testing.T) {
					checkOutputs(t, place, secret, echo.of(secret))
				})
			}
		}
	}
}

func checkOutputs(t *testing.T, place struct{ name, api, job, inputs string }, secret, echo string) {
	t.Helper()
	options := []engine.Option{engine.WithEnv(func(string) (string, bool) { return secret, true })}
	switch place.name {
	case "a token that is fetched":
		options = append(options, engine.WithAuth(config.TokenFunc(func(context.Context) (string, error) { return secret, nil })))
	case "an option":
		options = append(options, engine.WithAuth(config.AuthQuery{Name: "own", Value: secret}))
	}
	if place.inputs != "" {
		options = append(options, engine.WithInputs(map[string]any{"own": secret}))
	}
	job := `"params": {"a": 1}`
	if place.job != "" {
		job = strings.ReplaceAll(place.job, "%[1]s", quotedJSON(secret))
	}
	for _, folder := range []string{"/works/", "/fails/"} {
		base, more := echoAPI(t, echo).URL+folder, ""
		if place.api == "user" {
			base = strings.Replace(base, "http://", "http://"+url.UserPassword("u", secret).String()+"@", 1)
		} else if place.api != "" {
			more = strings.ReplaceAll(place.api, "%[1]s", quotedJSON(secret)) + ","
		}
		out := runForOutputs(t, fmt.Sprintf(echoConfig, base, more, place.inputs, job), options...)
		for _, kind := range []string{"explain", "trace", "state", "error", "result and kept values", "recording", "log", "events"} {
			require.NotNil(t, out.text[kind], kind)
		}
		for _, kind := range []string{"trace", "recording", "log"} {
			require.Contains(t, out.text[kind].String(), "***", kind)
		}
		for kind, text := range out.text {
			for _, form := range []string{secret, echo, "7f3aMARK", quotedJSON(echo)} {
				if len(secret) < 4 {
					require.NotRegexp(t, `\b`+regexp.QuoteMeta(secret)+`\b`, text.String(), kind)
					break
				}
				require.NotContains(t, text.String(), form, kind)
			}
		}
	}
}
