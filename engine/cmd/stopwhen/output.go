package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// output takes the pages of a run: items to standard output or files, the trace
// beside them. What a page brings is written out before the next page comes.
type output struct {
	engine *engine.Engine
	items  func(job string) (io.Writer, error)
	trace  io.Writer // nil: none
	close  []func() error
}

// newOutput opens what the flags name, before any request.
func (a *app) newOutput(e *engine.Engine) (*output, error) {
	o := &output{engine: e}
	toStdout := a.flags.out == "" || a.flags.out == "-"
	switch {
	case a.flags.trace == "-" && toStdout:
		return nil, &usageError{"--trace - and the items would both go to standard output; send the items to a folder with --out DIR"}
	case a.flags.trace == "-":
		o.trace = a.stdout
	case a.flags.trace != "":
		file, err := os.Create(a.flags.trace)
		if err != nil {
			return nil, outputError(err)
		}
		o.trace, o.close = file, append(o.close, file.Close)
	}
	if toStdout {
		o.items = func(string) (io.Writer, error) { return a.stdout, nil }
		return o, nil
	}
	return o, o.toFolder(a.flags.out)
}

// toFolder sends the items to one file a type of data.
func (o *output) toFolder(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return outputError(err)
	}
	folder, err := os.OpenRoot(path)
	if err != nil {
		return outputError(err)
	}
	o.close = append(o.close, folder.Close)
	files := map[string]io.Writer{}
	names := map[string]string{} // file name -> type of data
	for _, job := range o.engine.Jobs() {
		kind := o.engine.DataType(job)
		if files[kind] != nil {
			continue
		}
		name := fileName(kind)
		for n := 2; names[name] != ""; n++ {
			name = fmt.Sprintf("%s-%d", fileName(kind), n)
		}
		names[name] = kind
		file, err := folder.Create(name + ".ndjson")
		if err != nil {
			return outputError(err)
		}
		files[kind], o.close = file, append(o.close, file.Close)
	}
	o.items = func(job string) (io.Writer, error) { return files[o.engine.DataType(job)], nil }
	return nil
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName makes a type of data safe as the name of a file.
func fileName(kind string) string {
	name := strings.Trim(unsafe.ReplaceAllString(kind, "-"), ".-")
	if len(name) > 128 {
		name = name[:128]
	}
	if name == "" {
		return "items"
	}
	return name
}

// page writes one page.
func (o *output) page(_ context.Context, page *engine.Page) error {
	w, err := o.items(page.Job)
	if err != nil {
		return err
	}
	if _, err := page.Items.WriteTo(w); err != nil {
		return outputError(err)
	}
	if o.trace == nil {
		return nil
	}
	buffered := bufio.NewWriter(o.trace)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(page.Record); err != nil {
		return outputError(err)
	}
	return outputError(buffered.Flush())
}

// Close closes the files; the first error counts.
func (o *output) Close() error {
	var first error
	for _, f := range o.close {
		if err := f(); err != nil && first == nil {
			first = err
		}
	}
	return outputError(first)
}

// outputError is an error of writing, for the exit status.
func outputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		return &engine.Error{Class: runtime.ClassIO, Message: "the reader of the output has gone; the extraction is not complete", Err: err}
	}
	return &engine.Error{Class: runtime.ClassIO, Message: fmt.Sprintf("cannot write: %v", err), Err: err}
}
