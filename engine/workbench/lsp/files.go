package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/workbench"
)

// An openFile is an open document. A change makes another one.
type openFile struct {
	uri      string
	version  int
	document *workbench.Document

	recorded recordingFile // its recording
}

// A recordingFile is the file of a recording, as it was when it was read.
type recordingFile struct {
	path string // "" if there is none
	size int64
	time time.Time
	err  error
}

// A change is a part of a message about a change of a document.
type change struct {
	Range *workbench.Range `json:"range"` // nil: the whole text
	Text  string           `json:"text"`
}

func (s *server) didOpen(_ context.Context, r *jrpc2.Request) (any, error) {
	var m struct {
		Document struct {
			URI      string `json:"uri"`
			Language string `json:"languageId"`
			Version  int    `json:"version"`
			Text     string `json:"text"`
		} `json:"textDocument"`
	}
	if err := r.UnmarshalParams(&m); err != nil {
		return nil, err
	}
	f := &openFile{uri: m.Document.URI, version: m.Document.Version}
	f.document = s.bench.Open(nameOf(f.uri, m.Document.Language), m.Document.Text)
	s.replace(f)
	return nil, nil
}

func (s *server) didChange(_ context.Context, r *jrpc2.Request) (any, error) {
	var m struct {
		Document struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
		} `json:"textDocument"`
		Changes []change `json:"contentChanges"`
	}
	if err := r.UnmarshalParams(&m); err != nil {
		return nil, err
	}
	f := s.file(m.Document.URI)
	if f == nil {
		return nil, nil
	}
	text := f.document.Text
	for _, c := range m.Changes {
		if c.Range == nil {
			text = c.Text
			continue
		}
		text = workbench.Apply(text, []workbench.Edit{{Range: *c.Range, Text: c.Text}})
	}
	next := *f
	next.version, next.document = m.Document.Version, f.document.With(text)
	s.replace(&next)
	return nil, nil
}

// didSave reads the recording again: it may have been written, too.
func (s *server) didSave(_ context.Context, r *jrpc2.Request) (any, error) {
	var m struct {
		Document struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	if err := r.UnmarshalParams(&m); err != nil {
		return nil, err
	}
	if f := s.file(m.Document.URI); f != nil {
		next := *f
		s.replace(&next)
	}
	return nil, nil
}

func (s *server) didClose(_ context.Context, r *jrpc2.Request) (any, error) {
	var m struct {
		Document struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	if err := r.UnmarshalParams(&m); err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.open, m.Document.URI)
	s.mu.Unlock()
	s.publish(m.Document.URI, nil, []workbench.Diagnostic{})
	return nil, nil
}

// replace makes a document the current one of its address, and checks it.
func (s *server) replace(f *openFile) {
	f.readRecording()
	s.mu.Lock()
	s.open[f.uri] = f
	s.mu.Unlock()
	go s.check(f)
}

// check publishes the diagnostics of a document, unless it has been changed since.
func (s *server) check(f *openFile) {
	s.checking.Lock()
	defer s.checking.Unlock()
	if s.file(f.uri) != f {
		return
	}
	found := f.diagnostics()
	if s.file(f.uri) == f {
		s.publish(f.uri, &f.version, found)
	}
}

// diagnostics returns the diagnostics of a document and of its recording.
func (f *openFile) diagnostics() []workbench.Diagnostic {
	if !f.document.IsConfiguration() {
		return []workbench.Diagnostic{}
	}
	found := f.document.Diagnostics()
	if f.recorded.err != nil {
		found = append(found, workbench.Diagnostic{
			Severity: "warning", Message: fmt.Sprintf("the recording cannot be read: %v", f.recorded.err), Range: f.document.RecordingKey(),
		})
	}
	return found
}

func (s *server) publish(uri string, version *int, found []workbench.Diagnostic) {
	list := []map[string]any{}
	for _, d := range found {
		list = append(list, diagnosticOf(d))
	}
	params := map[string]any{"uri": uri, "diagnostics": list}
	if version != nil {
		params["version"] = *version
	}
	s.notify("textDocument/publishDiagnostics", params)
}

// nameOf returns the name of a document, whose ending says in which format it is.
func nameOf(uri, language string) string {
	name := filepath.Base(pathOf(uri))
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml":
		return name
	}
	switch language {
	case "yaml":
		return name + ".yaml"
	case "json", "jsonc":
		return name + ".json"
	}
	return "document" // its content says it
}

// pathOf returns the path of a file, or the address itself if it is not a file address.
func pathOf(uri string) string {
	address, err := url.Parse(uri)
	if err != nil || address.Scheme != "file" {
		return uri
	}
	path := address.Path
	if goruntime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// maxRecording is the number of bytes of the largest recording that is read.
const maxRecording = 64 << 20

// readRecording reads the recording of the document, unless it has been read already.
func (f *openFile) readRecording() {
	if !strings.HasPrefix(f.uri, "file:") {
		return
	}
	path := pathOf(f.uri)
	named := f.document.RecordingName()
	beside := strings.TrimSuffix(path, filepath.Ext(path)) + ".har"
	if named != "" && !filepath.IsAbs(named) {
		named = filepath.Join(filepath.Dir(path), named)
	}
	now := recordingFile{path: cmp.Or(named, beside)}
	info, err := os.Stat(now.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && named == "":
		now.path = ""
	case err != nil:
		now.err = err
	case !info.Mode().IsRegular():
		now.err = fmt.Errorf("%s is not a file", filepath.Base(now.path))
	case info.Size() > maxRecording:
		now.err = fmt.Errorf("%s has more than %d bytes", filepath.Base(now.path), maxRecording)
	default:
		now.size, now.time = info.Size(), info.ModTime()
	}
	before := f.recorded
	if now.err == nil && before.path == now.path && before.size == now.size && before.time.Equal(now.time) {
		return
	}
	f.recorded = now
	var tape *recording.Recording
	if now.path != "" && now.err == nil {
		tape, f.recorded.err = readTape(now.path)
	}
	f.document = f.document.WithRecording(tape)
}

func readTape(path string) (*recording.Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return recording.Read(file)
}

// commandNames are the names of the commands of lenses.
func commandNames() []string {
	return slices.Clone([]string{testCommand, stressCommand, replayCommand})
}
