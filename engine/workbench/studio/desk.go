package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/session"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// A Desk answers the calls of the page: those of a session, and those about the files. It writes the
// configuration and its recording, and only when the user saves.
type Desk struct {
	Session *session.Session
	Path    string                   // of the configuration; "" if it is not saved
	Case    string                   // name of a built-in case, which is played first; "" for none
	Live    bool                     // whether runs can ask the API
	Version string                   // of the program
	Words   func(remedy.Name) string // words the remedies of messages; nil words them for a program

	masks masks
	mu    sync.Mutex
	seen  []byte // content of the file when it was loaded or saved
}

// Opened is the configuration as the page shows it.
type Opened struct {
	Name       string             `json:"name"`
	Text       string             `json:"text"`
	File       string             `json:"file,omitempty"` // file to which the configuration is saved
	Recording  *session.Recording `json:"recording,omitempty"`
	Case       string             `json:"case,omitempty"` // built-in case whose API answers
	Notice     string             `json:"notice,omitempty"`
	Live       bool               `json:"live"`
	Playground bool               `json:"playground"`
	Version    string             `json:"version"`
}

// Call answers a call of the page.
func (d *Desk) Call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	result, err := d.call(ctx, method, d.masks.showJSON(params))
	if err != nil {
		return nil, d.safe(err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(d.masks.hideJSON(text)), nil
}

// safe returns an error for the page.
func (d *Desk) safe(err error) error {
	problem, ok := errors.AsType[*workbench.Error](err)
	if !ok {
		problem = &workbench.Error{Message: err.Error()}
	}
	hint := problem.Hint
	if d.Words != nil && problem.Remedy.InWords() {
		hint = problem.Remedy.Words(d.Words)
	}
	text := func(s string) string { return string(d.masks.hideJSON([]byte(s))) }
	return &workbench.Error{Message: text(problem.Message), Hint: text(hint)}
}

func (d *Desk) call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var r struct {
		Text      string `json:"text"`
		Force     bool   `json:"force"` // the file is overwritten although it has changed
		Recording string `json:"recording"`
	}
	switch method {
	case "open":
		return d.open(ctx)
	case "save", "saveRecording":
		if err := json.Unmarshal(params, &r); err != nil {
			return nil, err
		}
		if d.Path == "" {
			return nil, &workbench.Error{Message: "the configuration has no file", Hint: "start stopwhen studio with the name of one"}
		}
		if method == "save" {
			return d.save(r.Text, r.Force)
		}
		return d.saveRecording(r.Recording)
	}
	return d.Session.Call(ctx, method, params)
}

// recordingPath returns the path of the recording beside the configuration.
func (d *Desk) recordingPath() string {
	return strings.TrimSuffix(d.Path, filepath.Ext(d.Path)) + ".har"
}

// open loads the configuration, and the recording beside it.
func (d *Desk) open(ctx context.Context) (*Opened, error) {
	out := &Opened{File: d.Path, Live: d.Live, Version: d.Version}
	if d.Path != "" {
		out.Name = filepath.Base(d.Path)
		text, err := rules.ReadConfigFile(d.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		out.Text = string(text)
		d.mu.Lock()
		d.seen = bytes.Clone(text)
		d.mu.Unlock()
		archive, err := os.ReadFile(d.recordingPath())
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			out.Notice = err.Error()
		default:
			if out.Recording, err = d.Session.Record(filepath.Base(d.recordingPath()), archive); err != nil {
				out.Notice = err.Error()
			} else {
				out.Recording.Saved = true
			}
		}
	}
	if d.Case != "" || d.Path == "" {
		play := d.Session.OpenExample
		if d.Case != "" {
			play = func(ctx context.Context) (*session.OpenedCase, error) { return d.Session.OpenCase(ctx, d.Case) }
		}
		opened, err := play(ctx)
		if err != nil {
			return nil, err
		}
		out.Case, out.Recording, out.Notice = opened.Case, opened.Recording, opened.Notice
		if d.Path == "" {
			out.Name, out.Text = opened.Name, opened.Text
		}
	}
	out.Text = d.masks.hide(out.Text, d.Session.Secrets(out.Name, out.Text))
	return out, nil
}

// A saved says whether the configuration was saved.
type saved struct {
	Conflict string `json:"conflict,omitempty"` // why it was not: the file has changed since it was loaded
}

// save writes the configuration, unless its file has changed since it was loaded.
func (d *Desk) save(text string, force bool) (*saved, error) {
	if len(text) > rules.MaxConfigBytes {
		return nil, &workbench.Error{Message: fmt.Sprintf("the configuration has more than %d bytes", rules.MaxConfigBytes)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !force {
		now, err := os.ReadFile(d.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(d.seen) > 0:
			return &saved{Conflict: "It was removed after the studio had loaded it."}, nil
		case err == nil && !bytes.Equal(now, d.seen):
			return &saved{Conflict: "Another program has written it after the studio had loaded it. " +
				"To overwrite it loses those changes, to load it loses yours."}, nil
		}
	}
	path := d.Path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := files.Write(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	d.seen = []byte(text)
	return &saved{}, nil
}

// saveRecording writes a recording beside the configuration. Only its owner can read it, as with stopwhen record.
func (d *Desk) saveRecording(id string) (*session.Recording, error) {
	recorded, err := d.Session.Recorded(id)
	if err != nil {
		return nil, err
	}
	path := d.recordingPath()
	if err := files.Write(path, recorded.Archive, files.Private); err != nil {
		return nil, err
	}
	changed := *recorded
	changed.Name, changed.Saved = filepath.Base(path), true
	return &changed, nil
}
