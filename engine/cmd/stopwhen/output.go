package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// output writes the pages of a run: items to standard output or files, and the
// trace. It writes each page before the next one arrives.
type output struct {
	engine *engine.Engine
	queues map[io.Writer]*queue // for writers that concurrent jobs share
	items  func(job string) io.Writer
	trace  io.Writer     // nil: none
	result io.Writer     // nil: none
	state  *checkpointer // nil: none
	close  []func() error
}

// newOutput opens the files that the flags name.
func (a *app) newOutput(e *engine.Engine, state *checkpointer) (*output, error) {
	o := &output{engine: e, state: state}
	for _, open := range []func(*output) error{a.openTrace, a.openResult, a.openItems} {
		if err := open(o); err != nil {
			_ = o.Close()
			return nil, err
		}
	}
	return o, nil
}

func (a *app) openTrace(o *output) (err error) {
	switch {
	case a.flags.trace == "":
		return nil
	case a.flags.trace != "-":
		o.trace, err = o.create(a.flags.trace, os.Create)
		return outputError(err)
	case a.flags.toStdout():
		return &usageError{"--trace - and the items cannot both use standard output; write the items to a directory with --out DIR"}
	}
	o.trace = a.stdout
	return nil
}

func (a *app) openResult(o *output) error {
	if a.flags.result == "" {
		return nil
	}
	file, err := os.Create(a.flags.result)
	if err != nil {
		return outputError(err)
	}
	o.result, o.close = file, append(o.close, file.Close)
	return nil
}

func (a *app) openItems(o *output) error {
	w := a.stdout
	switch {
	case a.discardItems:
		w = io.Discard
	case !a.flags.toStdout():
		return o.openDir(a.flags.out)
	}
	o.items = func(string) io.Writer { return w }
	return nil
}

// openDir opens one file per data type in a directory.
func (o *output) openDir(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return outputError(err)
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return outputError(err)
	}
	o.close = append(o.close, dir.Close)
	files := map[string]io.Writer{}
	used := map[string]bool{} // lower case, since some file systems ignore case
	for _, job := range o.engine.Jobs() {
		dataType := o.engine.DataType(job)
		if files[dataType] != nil {
			continue
		}
		name := fileName(dataType)
		for n := 2; used[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d", fileName(dataType), n)
		}
		used[strings.ToLower(name)] = true
		name += ".ndjson"
		file, err := o.create(filepath.Join(path, name), func(string) (*os.File, error) { return dir.Create(name) })
		if err != nil {
			return outputError(err)
		}
		files[dataType] = file
	}
	o.items = func(job string) io.Writer { return files[o.engine.DataType(job)] }
	return nil
}

// create creates a file, or opens it as an output of the run with --state.
func (o *output) create(path string, create func(string) (*os.File, error)) (io.Writer, error) {
	if o.state != nil {
		return o.state.Output(filepath.Clean(path))
	}
	file, err := create(path)
	if err != nil {
		return nil, err
	}
	o.close = append(o.close, file.Close)
	return file, nil
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName turns a data type into a safe file name of at most 128 bytes. It does
// not begin or end with a dot or a dash, so that no shell hides it and no command
// takes it for a flag.
func fileName(dataType string) string {
	name := unsafe.ReplaceAllString(dataType, "-")
	name = strings.Trim(name, ".-")
	name = strings.TrimRight(name[:min(len(name), 128)], ".-")
	if name == "" {
		return "items"
	}
	return name
}

// page writes one page.
func (o *output) page(_ context.Context, page *engine.Page) error {
	o.state.beginPage()
	if err := o.writeItems(page); err != nil {
		return outputError(err)
	}
	if err := o.writeTrace(&page.Record); err != nil {
		return outputError(err)
	}
	return o.state.endPage(page)
}

func (o *output) writeItems(page *engine.Page) error {
	w := o.items(page.Job)
	if q := o.queues[w]; q != nil {
		return q.page(page)
	}
	_, err := page.Items.WriteTo(w)
	return err
}

func (o *output) writeTrace(record *engine.Record) error {
	if o.trace == nil {
		return nil
	}
	buffered := bufio.NewWriter(o.trace)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return err
	}
	return buffered.Flush()
}

// traceFailures adds the pages on which jobs failed, and which the sink did not receive,
// to the trace.
func (o *output) traceFailures(result *engine.Result) error {
	for _, job := range result.Jobs {
		if page := job.FailedPage(); page != nil {
			if err := o.writeTrace(page); err != nil {
				return err
			}
		}
	}
	return nil
}

// end writes the rest of the run: queued items and the result.
func (o *output) end(result *engine.Result) error {
	for _, q := range o.queues {
		if err := q.end(); err != nil {
			return outputError(err)
		}
	}
	if err := o.traceFailures(result); err != nil {
		return outputError(err)
	}
	if o.result == nil {
		return nil
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	_, err = o.result.Write(append(text, '\n'))
	return outputError(err)
}

// Close closes the files and returns the first error.
func (o *output) Close() error {
	var first error
	for _, closeFile := range o.close {
		if err := closeFile(); err != nil && first == nil {
			first = err
		}
	}
	return outputError(first)
}

// outputError gives an error of writing its class.
func outputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*engine.Error)):
		return err
	case errors.Is(err, syscall.EPIPE):
		return &engine.Error{Class: failure.IO, Message: "output pipe closed; the extraction is incomplete", Err: err}
	}
	return &engine.Error{Class: failure.IO, Message: fmt.Sprintf("cannot write: %v", err), Err: err}
}
