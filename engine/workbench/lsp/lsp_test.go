package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/lsp"
)

// users is a configuration whose list ends after the first page, because its API answers with fewer items than asked
// for; tape is what the API answered.
const (
	users = `api:
  baseUrl: https://api.example.com/
  pagination: {method: offset, limit: 3}
config:
  jobs:
  - id: users
    endpoint: users
    dataField: data
tests:
- {name: one, pages: [{data: []}], expect: {pages: 1}}
- {name: wrong, pages: [{data: []}], expect: {pages: 2}}
`
	tape = `{"log": {"entries": [{"startedDateTime": "2026-01-01T00:00:00Z",
		"request": {"method": "GET", "url": "https://api.example.com/users?limit=3&offset=0"},
		"response": {"status": 200, "content": {"text": "{\"data\": [{\"id\": 1, \"name\": \"Ann\"}], \"more\": true}"}}}]}}`
)

// A client is an editor.
type client struct {
	t        *testing.T
	rpc      *jrpc2.Client
	messages chan map[string]any // notifications of the server
	ended    chan error          // of the server
}

// start starts a server and its client.
func start(t *testing.T) *client {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	c := &client{t: t, messages: make(chan map[string]any, 1000), ended: make(chan error, 1)}
	go func() {
		c.ended <- lsp.Serve(context.Background(), workbench.New(), "test", toServer, fromServer)
		_ = fromServer.Close()
	}()
	c.rpc = jrpc2.NewClient(channel.LSP(toClient, fromClient), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		m := map[string]any{}
		_ = r.UnmarshalParams(&m)
		m["method"] = r.Method()
		c.messages <- m
	}})
	c.call("initialize", map[string]any{"capabilities": map[string]any{}})
	c.notify("initialized", map[string]any{})
	t.Cleanup(func() { _ = c.rpc.Close() })
	return c
}

func (c *client) call(method string, params any) (result any) {
	c.t.Helper()
	require.NoError(c.t, c.rpc.CallResult(context.Background(), method, params, &result), method)
	return result
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	require.NoError(c.t, c.rpc.Notify(context.Background(), method, params))
}

// open opens a document and returns its address.
func (c *client) open(path, text string) string {
	uri := "file://" + filepath.ToSlash(path)
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": strings.TrimPrefix(filepath.Ext(path), "."), "version": 1, "text": text,
	}})
	return uri
}

// message returns the next notification of a method that a condition holds for.
func (c *client) message(method string, is func(map[string]any) bool) map[string]any {
	c.t.Helper()
	for m := range c.messages {
		if m["method"] == method && is(m) {
			return m
		}
	}
	return nil
}

// diagnostics returns the messages of the diagnostics of a version.
func (c *client) diagnostics(version int) (all []string) {
	m := c.message("textDocument/publishDiagnostics", func(m map[string]any) bool { return m["version"] == float64(version) })
	for _, d := range m["diagnostics"].([]any) {
		all = append(all, d.(map[string]any)["message"].(string))
	}
	return all
}

func at(uri string, line, character int) map[string]any {
	return map[string]any{
		"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": line, "character": character},
		"range":   map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 99, "character": 0}},
		"context": map[string]any{"includeDeclaration": true}, "newName": "people",
	}
}

// in returns JSON as text, to look for something in it.
func in(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func TestAnEditorIsAnswered(t *testing.T) {
	c := start(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "users.har"), []byte(tape), 0o600))
	uri := c.open(filepath.Join(folder, "users.yaml"), users)
	require.Empty(t, c.diagnostics(1))
	require.Contains(t, in(c.call("textDocument/hover", at(uri, 2, 34))), "page size")
	require.Contains(t, in(c.call("textDocument/completion", at(uri, 2, 23))), `"label":"pagenum"`)
	require.Contains(t, in(c.call("textDocument/documentSymbol", at(uri, 0, 0))), `"name":"users"`)
	require.Contains(t, in(c.call("textDocument/inlayHint", at(uri, 0, 0))), "offsetParam")
	require.Contains(t, in(c.call("textDocument/rename", at(uri, 5, 9))), `"newText":"people"`)
	require.Contains(t, in(c.call("textDocument/prepareRename", at(uri, 5, 9))), `"placeholder":"users"`)
	require.Contains(t, in(c.call("textDocument/definition", at(uri, 5, 9))), `"line":5`)
	require.Contains(t, in(c.call("textDocument/references", at(uri, 5, 9))), `"line":5`)
	lenses := in(c.call("textDocument/codeLens", at(uri, 0, 0)))
	require.Contains(t, lenses, "would stop on page 1 of the recording (offset.short)")

	run := func(command, name string) string {
		c.call("workspace/executeCommand", map[string]any{"command": command, "arguments": []any{uri, name}})
		return c.message("window/showMessage", func(map[string]any) bool { return true })["message"].(string)
	}
	require.Equal(t, `test "one" passed`, run("stopwhen.tests", "one"))
	require.Contains(t, run("stopwhen.tests", ""), `test "wrong" failed: pages: want 2, got 1`)
	require.Contains(t, run("stopwhen.replay", "users"), "The list ends: offset.short: count(1) < limit(3)")
	require.Contains(t, run("stopwhen.stress", "users"), "SILENT")

	c.call("shutdown", nil)
	c.notify("exit", nil)
	require.NoError(t, <-c.ended)
}

// An editor may keep the input open until the server has ended.
func TestTheServerEndsWhileItsInputIsOpen(t *testing.T) {
	for name, leave := range map[string]func(send func(string), cancel func()) error{
		"after shutdown": func(send func(string), _ func()) error {
			send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`)
			send(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`)
			send(`{"jsonrpc":"2.0","method":"exit"}`)
			return nil
		},
		"without shutdown": func(send func(string), _ func()) error {
			send(`{"jsonrpc":"2.0","method":"exit"}`)
			return lsp.ErrNoShutdown
		},
		"interrupted": func(_ func(string), cancel func()) error {
			cancel()
			return lsp.ErrNoShutdown
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in, toServer := io.Pipe()
			defer toServer.Close()
			answers, out := io.Pipe()
			defer answers.Close()
			ended := make(chan error, 1)
			go func() { ended <- lsp.Serve(ctx, workbench.New(), "test", in, keptOpen{out}) }()
			editor := channel.LSP(answers, toServer)
			want := leave(func(message string) {
				require.NoError(t, editor.Send([]byte(message)))
				if strings.Contains(message, `"id"`) { // an editor waits for each answer
					_, err := editor.Recv()
					require.NoError(t, err)
				}
			}, cancel)
			require.Equal(t, want, <-ended)
		})
	}
}

// keptOpen is standard output, which the server does not close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

func TestAFixIsACodeAction(t *testing.T) {
	c := start(t)
	uri := c.open("/a/users.json", `{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "ofset"}}, "config": {"jobs": [{"endpoint": "x"}]}}`)
	require.Contains(t, c.diagnostics(1)[0], `did you mean "offset"?`)
	require.Contains(t, in(c.call("textDocument/codeAction", at(uri, 0, 0))), `"newText":"\"offset\""`)
}

func TestAChangeIsAppliedToTheText(t *testing.T) {
	c := start(t)
	uri := c.open("/a/users.yaml", users)
	change := func(version int, changes ...any) []string {
		c.notify("textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": changes,
		})
		return c.diagnostics(version)
	}
	part := func(line, from, to int, text string) any {
		return map[string]any{"text": text, "range": map[string]any{
			"start": map[string]any{"line": line, "character": from}, "end": map[string]any{"line": line, "character": to},
		}}
	}
	require.Contains(t, strings.Join(change(2, part(2, 31, 36, "limt")), "\n"), `unknown key "limt"`)
	require.Empty(t, change(3, part(2, 31, 35, "li"), part(2, 33, 33, "mit")))
	require.Contains(t, change(4, map[string]any{"text": "api: [\nconfig: {}"})[0], "not valid YAML")
	require.Empty(t, change(5, map[string]any{"text": users}))
}

// TestAnyChangesLeadToTheTextOfTheEditor draws edits, and compares the text of the server with that of an editor: a
// mistake at the end of the text tells where the server sees it.
func TestAnyChangesLeadToTheTextOfTheEditor(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "\n", "\r\n", "ä", "💡", "", "x: 1\n", "\t", "\"", "'"}
	text := "x: '💡'\r\ny: ä\nz: 1\n"
	for range 2000 {
		lines := strings.Split(text, "\n")
		position := func() (p workbench.Position, offset int) {
			n := random.IntN(len(lines))
			line := []rune(strings.TrimSuffix(lines[n], "\r"))
			column := random.IntN(len(line) + 1)
			offset = len(strings.Join(lines[:n], "\n")) + min(n, 1) + len(string(line[:column]))
			for _, r := range line[:column] {
				p.Character += len(string([]rune{r})) / 4
				p.Character++
			}
			p.Line = n
			return p, offset
		}
		start, from := position()
		end, to := position()
		if to < from {
			start, end, from, to = end, start, to, from
		}
		piece := pieces[random.IntN(len(pieces))]
		want := text[:from] + piece + text[to:]
		got := workbench.Apply(text, []workbench.Edit{{Range: workbench.Range{Start: start, End: end}, Text: piece}})
		require.Equal(t, want, got)
		if text = want; len(text) > 500 || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
			text = "x: '💡'\r\ny: ä\nz: 1\n"
		}
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	c := start(t)
	uri := c.open("/a/package.json", `{"name": "x", "version": 1}`)
	require.Empty(t, c.diagnostics(1))
	require.Nil(t, c.call("textDocument/completion", at(uri, 0, 2)))
	require.Nil(t, c.call("textDocument/hover", at("file:///never/opened.yaml", 0, 2)))
}

func TestARecordingThatCannotBeReadIsAWarning(t *testing.T) {
	c := start(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bad.har"), []byte("no archive"), 0o600))
	for i, name := range []string{"bad.har", "missing.har", "."} {
		c.open(filepath.Join(folder, fmt.Sprint(i, ".yaml")), users+"x-recording: "+name+"\n")
		require.Contains(t, c.diagnostics(1)[0], "the recording cannot be read")
	}
}

// talk sends messages to a server, one after the answer to the one before, and returns all answers. A message
// without an id has no answer.
func talk(t *testing.T, messages ...string) (answers string, err error) {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended, read := make(chan error, 1), make(chan string, 1000)
	go func() {
		ended <- lsp.Serve(context.Background(), workbench.New(), "test", toServer, fromServer)
		_ = fromServer.Close()
		_ = toServer.Close()
	}()
	go func() {
		defer close(read)
		ch := channel.LSP(toClient, nil)
		for {
			one, err := ch.Recv()
			if err != nil {
				return
			}
			read <- string(one)
		}
	}()
	for _, m := range messages {
		if _, err := io.WriteString(fromClient, m); err != nil {
			break
		}
		for strings.Contains(m, `"id"`) || strings.Contains(m, `[1`) {
			one, more := <-read
			answers += one
			if !more || strings.Contains(one, `"id"`) {
				break
			}
		}
	}
	_ = fromClient.Close()
	return answers, <-ended
}

func TestMalformedMessagesDoNotEndTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		answers string // part of the answers
	}{
		"no JSON":              {frame(`{"jsonrpc": "2.0", "id"`), `"code":-32700`},
		"no request":           {frame(`[1, 2]`), `request is not a JSON object`},
		"unknown method":       {frame(`{"jsonrpc":"2.0","id":5,"method":"textDocument/unheardOf"}`), `"code":-32601`},
		"unknown notification": {frame(`{"jsonrpc":"2.0","method":"$/unheardOf"}`), ``},
		"parameters of another kind": {frame(`{"jsonrpc":"2.0","id":5,"method":"textDocument/hover","params":{"textDocument":7}}`),
			`"code":-32602`},
		"a position beyond all bounds": {frame(opened) + frame(`{"jsonrpc":"2.0","id":5,"method":"textDocument/hover",
			"params":{"textDocument":{"uri":"file:///a.yaml"},"position":{"line":2147483647,"character":-5}}}`), `"id":5,"result":null`},
	} {
		t.Run(name, func(t *testing.T) {
			answers, err := talk(t, frame(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), c.message,
				frame(`{"jsonrpc":"2.0","id":9,"method":"shutdown"}`))
			require.NoError(t, err)
			require.Contains(t, answers, c.answers)
			require.Contains(t, answers, `"id":9`)
		})
	}
	_, err := talk(t, "Hello: 1\r\n\r\n{}")
	require.ErrorContains(t, err, "the editor's messages cannot be read")
}

// The server would reserve memory for such a message before it reads it.
func TestAMessageThatIsTooLargeIsRefused(t *testing.T) {
	for _, length := range []string{"99999999999", "99999999999999999999999"} {
		_, err := talk(t, "content-length: "+length+"\r\n\r\n{}")
		require.ErrorContains(t, err, "a message of "+length+" bytes is larger than 67108864")
	}
	_, err := talk(t, strings.Repeat("a", 1<<16))
	require.ErrorContains(t, err, "a line of a header is too long")
}

const opened = `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":
	{"uri":"file:///a.yaml","languageId":"yaml","version":1,"text":"api:\n  x: 1\n"}}}`

func TestRequestsBeforeInitializeAreRefused(t *testing.T) {
	answers, err := talk(t, frame(`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}`))
	require.ErrorIs(t, err, lsp.ErrNoShutdown)
	require.Contains(t, answers, "-32002")
}

func frame(message string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
}

// A reader may ask for less than a line of the header, or than the message.
func TestMessagesPassUnchangedInSmallParts(t *testing.T) {
	sent := frame(opened) + frame("{}") + frame(opened)
	passed, err := io.ReadAll(iotest.OneByteReader(lsp.NewMessages(strings.NewReader(sent))))
	require.NoError(t, err)
	require.Equal(t, sent, string(passed))
}
