// Package lsp is a language server for configurations: it connects the workbench to editors that speak the
// language server protocol (3.17).
//
// The only files that it reads are recordings: the file beside a configuration that has its name and the ending
// .har, or the file that the key x-recording of the configuration names. It makes no requests.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"github.com/stopwhen/stopwhen/engine/workbench"
)

// A server is a language server with one client.
type server struct {
	bench   *workbench.Workbench
	version string
	rpc     *jrpc2.Server
	leave   context.CancelFunc // ends the server

	checking sync.Mutex // held while diagnostics are computed

	mu          sync.Mutex
	open        map[string]*openFile // by address
	initialized bool
	ended       bool // whether the client has asked for the end
}

// ErrNoShutdown says that the client has left without asking the server to shut down.
var ErrNoShutdown = errors.New("the editor has left without a request to shut down")

// Serve answers a client on two streams, until it says that it leaves, the first stream ends, or the context does.
// The version is that of the program. A read from the first stream may outlast Serve: many editors keep it open
// until the program has ended.
func Serve(ctx context.Context, bench *workbench.Workbench, version string, in io.Reader, out io.WriteCloser) error {
	s := &server{bench: bench, version: version, open: map[string]*openFile{}}
	staying, leave := context.WithCancel(ctx)
	defer leave()
	s.leave = leave
	s.rpc = jrpc2.NewServer(s, &jrpc2.ServerOptions{
		AllowPush: true, DisableBuiltin: true, Concurrency: 4, NewContext: func() context.Context { return ctx },
	})
	s.rpc.Start(channel.LSP(newMessages(in), out))
	ended := make(chan error, 1)
	go func() { ended <- s.rpc.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-staying.Done():
		s.rpc.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("the editor's messages cannot be read: %w", err)
	}
	return ErrNoShutdown
}

// Assign implements [jrpc2.Assigner].
func (s *server) Assign(_ context.Context, method string) jrpc2.Handler {
	handle := handlers[method]
	if handle == nil {
		return nil
	}
	return func(ctx context.Context, r *jrpc2.Request) (result any, err error) {
		defer func() {
			if v := recover(); v != nil { // one question must not end the others
				err = jrpc2.Errorf(jrpc2.InternalError, "%s: %v\n%s", method, v, debug.Stack())
			}
		}()
		s.mu.Lock()
		ready := s.initialized || method == "initialize" || method == "exit"
		s.mu.Unlock()
		if !ready {
			return nil, jrpc2.Errorf(notInitialized, "initialize comes first")
		}
		return handle(s, ctx, r)
	}
}

// notInitialized is the code of the protocol for a request before initialize.
const notInitialized jrpc2.Code = -32002

// A handler answers one kind of message. The server is the receiver of a method.
type handler func(s *server, ctx context.Context, r *jrpc2.Request) (any, error)

// handlers are the messages that are understood, by their methods.
var handlers = map[string]handler{
	"initialize":      (*server).initialize,
	"initialized":     (*server).ignored,
	"shutdown":        (*server).shutdown,
	"exit":            (*server).exit,
	"$/cancelRequest": (*server).cancel,
	"$/setTrace":      (*server).ignored,

	"workspace/didChangeConfiguration": (*server).ignored,
	"workspace/didChangeWatchedFiles":  (*server).ignored,
	"workspace/executeCommand":         (*server).execute,

	"textDocument/didOpen":   (*server).didOpen,
	"textDocument/didChange": (*server).didChange,
	"textDocument/didSave":   (*server).didSave,
	"textDocument/willSave":  (*server).ignored,
	"textDocument/didClose":  (*server).didClose,

	"textDocument/completion":        about((*server).completion),
	"textDocument/hover":             about((*server).hover),
	"textDocument/definition":        about((*server).definition),
	"textDocument/references":        about((*server).references),
	"textDocument/documentHighlight": about((*server).highlights),
	"textDocument/prepareRename":     about((*server).prepareRename),
	"textDocument/rename":            about((*server).rename),
	"textDocument/documentSymbol":    about((*server).symbols),
	"textDocument/inlayHint":         about((*server).inlays),
	"textDocument/codeLens":          about((*server).lenses),
	"textDocument/codeAction":        about((*server).actions),
	"textDocument/formatting":        about((*server).format),
}

func (*server) ignored(context.Context, *jrpc2.Request) (any, error) { return nil, nil }

// A question holds the parameters of a request about a document. Each kind of message has only some of the members.
type question struct {
	Document struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
	At    workbench.Position `json:"position"`
	Range workbench.Range    `json:"range"`
	Name  string             `json:"newName"`

	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

// about returns the handler of a question about an open document. For any other document the answer is empty.
func about(answer func(s *server, ctx context.Context, f *openFile, q question) (any, error)) handler {
	return func(s *server, ctx context.Context, r *jrpc2.Request) (any, error) {
		var q question
		if err := r.UnmarshalParams(&q); err != nil {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
		}
		f := s.file(q.Document.URI)
		if f == nil || !f.document.IsConfiguration() {
			return nil, nil
		}
		return answer(s, ctx, f, q)
	}
}

// file returns an open document, or nil. It is not changed after that.
func (s *server) file(uri string) *openFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[uri]
}

func (s *server) initialize(_ context.Context, _ *jrpc2.Request) (any, error) {
	s.mu.Lock()
	s.initialized = true
	s.mu.Unlock()
	return map[string]any{
		"serverInfo": map[string]string{"name": "stopwhen", "version": s.version},
		"capabilities": map[string]any{
			"positionEncoding": "utf-16",
			"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": true},
			"completionProvider": map[string]any{
				"triggerCharacters": []string{".", "\"", "'", "[", "{"},
			},
			"hoverProvider": true, "definitionProvider": true, "referencesProvider": true, "documentHighlightProvider": true,
			"renameProvider":         map[string]bool{"prepareProvider": true},
			"documentSymbolProvider": true, "inlayHintProvider": true, "documentFormattingProvider": true,
			"codeLensProvider":       map[string]bool{"resolveProvider": false},
			"codeActionProvider":     map[string]any{"codeActionKinds": []string{"quickfix"}},
			"executeCommandProvider": map[string]any{"commands": commandNames()},
		},
	}, nil
}

func (s *server) shutdown(context.Context, *jrpc2.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return nil, nil
}

func (s *server) exit(context.Context, *jrpc2.Request) (any, error) {
	s.leave()
	return nil, nil
}

func (s *server) cancel(_ context.Context, r *jrpc2.Request) (any, error) {
	var params struct {
		ID json.RawMessage `json:"id"`
	}
	if err := r.UnmarshalParams(&params); err != nil {
		return nil, err
	}
	s.rpc.CancelRequest(string(params.ID))
	return nil, nil
}

// notify sends a notification. The client may have left.
func (s *server) notify(method string, params any) {
	_ = s.rpc.Notify(context.Background(), method, params) //nolint:contextcheck // a change outlives its message
}

// The types of messages that are shown.
const (
	showError   = 1
	showWarning = 2
	showInfo    = 3
)

// show shows a message to the user.
func (s *server) show(kind int, text string) {
	s.notify("window/showMessage", map[string]any{"type": kind, "message": text})
}
