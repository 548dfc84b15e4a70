package studio_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/session"
	"github.com/stopwhen/stopwhen/engine/workbench/studio"
)

// A page calls a desk as the page in the browser does.
type page struct {
	t    *testing.T
	desk *studio.Desk
}

// openPage returns a page for a configuration in a file.
func openPage(t *testing.T, name, text string, options ...engine.Option) *page {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	bench := workbench.New(options...)
	return &page{t, &studio.Desk{Session: session.New(bench, session.Live(http.DefaultTransport)), Path: path, Live: true}}
}

// call makes a call and returns its result as text, and decodes it.
func (p *page) call(method string, params map[string]any, into any) string {
	p.t.Helper()
	encoded, err := json.Marshal(params)
	require.NoError(p.t, err)
	result, err := p.desk.Call(p.t.Context(), method, encoded)
	require.NoError(p.t, err)
	text, err := json.Marshal(result)
	require.NoError(p.t, err)
	if into != nil {
		require.NoError(p.t, json.Unmarshal(text, into))
	}
	return string(text)
}

func (p *page) file() string {
	p.t.Helper()
	text, err := os.ReadFile(p.desk.Path)
	require.NoError(p.t, err)
	return string(text)
}

// api answers with two pages that hold a token of their own and repeat the one of the request.
func api(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=cookie-of-the-session")
		items := `{"id": 1, "name": "<img src=x onerror=alert(1)>"}, {"id": 2, "access_token": "token-of-an-item"}`
		if r.URL.Query().Get("offset") != "0" {
			items = `{"id": 3}`
		}
		_, _ = w.Write([]byte(`{"data": [` + items + `], "seen": "` + r.Header.Get("X-Api-Key") + " " + r.URL.Query().Get("key") + `"}`))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestSecretsNeverReachThePage(t *testing.T) {
	server := api(t)
	config := `{"api": {"baseUrl": "` + server.URL + `/", "pagination": {"method": "offset", "limit": 2},
  "authentication": {"type": "basic", "username": "user-of-the-api", "#password": "password-in-the-text"},
  "http": {"headers": {"X-Api-Key": {"env": "API_KEY"}}}},
 "config": {"jobs": [{"endpoint": "users", "dataField": "data", "params": {"#key": "parameter-in-the-text"}}]}}`
	environment := engine.WithEnv(func(name string) (string, bool) { return "value-of-" + name, name == "API_KEY" })
	p := openPage(t, "users.json", config, environment)
	secrets := []string{"password-in-the-text", "parameter-in-the-text", "value-of-API_KEY", "cookie-of-the-session", "token-of-an-item"}
	var seen strings.Builder

	var opened studio.Opened
	seen.WriteString(p.call("open", nil, &opened))
	about := map[string]any{"name": opened.Name, "text": opened.Text}
	var made struct {
		Run struct {
			ID    string
			Pages []struct{ Count int }
		}
		Recording struct{ ID string }
	}
	seen.WriteString(p.call("run", about, &made))
	require.Len(t, made.Run.Pages, 2, "the request has the secrets, although the text of the page has not: %s", seen.String())
	about["recording"] = made.Recording.ID
	for _, method := range []string{"diagnostics", "explain", "replay", "stress", "tests", "withoutSecrets", "sampleTest"} {
		seen.WriteString(p.call(method, about, nil))
	}
	for number := range made.Run.Pages {
		detail := p.call("page", map[string]any{"run": made.Run.ID, "number": number + 1}, nil)
		require.Contains(t, detail, `"body":`)
		seen.WriteString(detail)
	}
	seen.WriteString(p.call("items", map[string]any{"run": made.Run.ID, "job": "users"}, nil))
	for _, secret := range secrets {
		require.NotContains(t, seen.String(), secret)
	}

	p.call("save", map[string]any{"text": opened.Text}, nil)
	require.Equal(t, config, p.file(), "the file keeps its secrets")
	p.call("saveRecording", map[string]any{"recording": made.Recording.ID}, nil)
	archive, err := os.ReadFile(strings.TrimSuffix(p.desk.Path, ".json") + ".har")
	require.NoError(t, err)
	for _, secret := range secrets[:4] {
		require.NotContains(t, string(archive), secret)
	}
}

func TestSecretsOfATextWithAMistakeDoNotReachThePage(t *testing.T) {
	const config = "api:\n  baseUrl: https://user:password-in-the-url@api.example.com/\n" +
		"  authentication: {type: bearer, '#token': \"token \\\" in the text\"\n"
	p := openPage(t, "users.yaml", config)
	var opened studio.Opened
	text := p.call("open", nil, &opened)
	require.NotContains(t, text, "password-in-the-url")
	require.NotContains(t, text, "in the text")
	edited := opened.Text + "}\n"
	p.call("save", map[string]any{"text": edited}, nil)
	require.Equal(t, config+"}\n", p.file())
}

func TestMarksKeepThePositionsOfATextInPlace(t *testing.T) {
	const config = `{"api": {"baseUrl": "https://api.example.com/"}, ` +
		`"config": {"jobs": [{"endpoint": "a", "params": {"#key": "abcdefgh"}, "dataFild": "x"}]}}`
	p := openPage(t, "a.json", config)
	var opened studio.Opened
	p.call("open", nil, &opened)
	require.Contains(t, opened.Text, `"#key": "•1••••••"`)
	var found []workbench.Diagnostic
	p.call("diagnostics", map[string]any{"name": opened.Name, "text": opened.Text}, &found)
	require.Len(t, found, 1)
	line := []rune(opened.Text)
	require.Equal(t, `"dataFild"`, string(line[found[0].Range.Start.Character:found[0].Range.End.Character]))
}

func TestMarksThatAClientEscapesAreSecretsInTheFile(t *testing.T) {
	const config = `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{"endpoint": "a", "params": {"#key": "abcdefgh"}}]}}`
	p := openPage(t, "a.json", config)
	var opened studio.Opened
	p.call("open", nil, &opened)
	params, err := json.Marshal(map[string]any{"text": opened.Text})
	require.NoError(t, err)
	escaped := strings.NewReplacer("•", `\u2022`, "1", `\u0031`).Replace(string(params))
	_, err = p.desk.Call(t.Context(), "save", json.RawMessage(escaped))
	require.NoError(t, err)
	require.Equal(t, config, p.file())
}

const plain = `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{"endpoint": "a"}]}}`

func TestAFileThatHasChangedIsNotOverwrittenWithoutAWord(t *testing.T) {
	p := openPage(t, "a.json", plain)
	p.call("open", nil, nil)
	require.NoError(t, os.WriteFile(p.desk.Path, []byte(plain+"\n"), 0o600))

	require.Contains(t, p.call("save", map[string]any{"text": "{}"}, nil), `"conflict":"Another program has written it`)
	require.Equal(t, plain+"\n", p.file())
	require.JSONEq(t, `{}`, p.call("save", map[string]any{"text": "{}", "force": true}, nil))
	require.Equal(t, "{}", p.file())
	require.JSONEq(t, `{}`, p.call("save", map[string]any{"text": "[]"}, nil), "the file is as it was saved")

	require.NoError(t, os.Remove(p.desk.Path))
	require.Contains(t, p.call("save", map[string]any{"text": "{}"}, nil), `"conflict":"It was removed`)
	require.NoFileExists(t, p.desk.Path)
}

func TestOnlySavingWritesAndOnlyTheTwoFiles(t *testing.T) {
	server := api(t)
	p := openPage(t, "a.json", strings.ReplaceAll(plain, "https://api.example.com", server.URL))
	var opened studio.Opened
	p.call("open", nil, &opened)
	var made struct{ Recording struct{ ID string } }
	p.call("run", map[string]any{"name": "../../b.json", "text": opened.Text}, &made)
	names := func() []string {
		entries, err := os.ReadDir(filepath.Dir(p.desk.Path))
		require.NoError(t, err)
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	require.Equal(t, []string{"a.json"}, names())
	p.call("saveRecording", map[string]any{"recording": made.Recording.ID, "name": "../c.har"}, nil)
	p.call("save", map[string]any{"text": "{}", "name": "../d.json", "file": "/tmp/e.json"}, nil)
	require.Equal(t, []string{"a.har", "a.json"}, names())

	reopened := openPage(t, "unused.json", plain)
	reopened.desk.Path = p.desk.Path
	reopened.call("open", nil, &opened)
	require.Equal(t, "a.har", opened.Recording.Name, "the recording beside the file is opened with it")
}

func TestANewFileIsCreatedWhenItIsSaved(t *testing.T) {
	p := openPage(t, "old.json", plain)
	p.desk.Path = filepath.Join(filepath.Dir(p.desk.Path), "new.yaml")
	var opened studio.Opened
	p.call("open", nil, &opened)
	require.Empty(t, opened.Text)
	require.NoFileExists(t, p.desk.Path)
	p.call("save", map[string]any{"text": "api: {}\n"}, nil)
	require.Equal(t, "api: {}\n", p.file())
}

func TestADamagedRecordingBesideTheFileIsToldAndTheFileOpens(t *testing.T) {
	p := openPage(t, "a.json", plain)
	require.NoError(t, os.WriteFile(strings.TrimSuffix(p.desk.Path, ".json")+".har", []byte("{}"), 0o600))
	var opened studio.Opened
	p.call("open", nil, &opened)
	require.Equal(t, plain, opened.Text)
	require.Nil(t, opened.Recording)
	require.Contains(t, opened.Notice, "a.har is not a recording")
}
