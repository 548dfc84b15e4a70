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

	"github.com/stopwhen/stopwhen/runtime/failure"

	"github.com/stopwhen/stopwhen/engine"
)

// output takes the pages of a run: items to standard output or files, the trace
// beside them. What a page brings is written out before the next page comes.
type output struct {
	engine *engine.Engine
	queues map[io.Writer]*queue // where several jobs at once write to one place
	items  func(job string) (io.Writer, error)
	trace  io.Writer  // nil: none
	result io.Writer  // nil: none
	state  *keptState // nil: the run cannot go on later
	close  []func() error
}

// newOutput opens what the flags name, before any request.
func (a *app) newOutput(e *engine.Engine, kept *keptState) (*output, error) {
	o := &output{engine: e, state: kept}
	toStdout := a.flags.out == "" || a.flags.out == "-"
	switch {
	case a.flags.trace == "-" && toStdout:
		return nil, &usageError{"--trace - and the items would both go to standard output; send the items to a folder with --out DIR"}
	case a.flags.trace == "-":
		o.trace = a.stdout
	case a.flags.trace != "":
		file, err := o.create(a.flags.trace, os.Create)
		if err != nil {
			return nil, outputError(err)
		}
		o.trace = file
	}
	if a.flags.result != "" {
		file, err := os.Create(a.flags.result)
		if err != nil {
			return nil, outputError(err)
		}
		o.result, o.close = file, append(o.close, file.Close)
	}
	if a.discard {
		o.items = func(string) (io.Writer, error) { return io.Discard, nil }
		return o, nil
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
	taken := map[string]bool{} // names in lower case: some file systems do not tell a from A
	for _, job := range o.engine.Jobs() {
		kind := o.engine.DataType(job)
		if files[kind] != nil {
			continue
		}
		name := fileName(kind)
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d", fileName(kind), n)
		}
		taken[strings.ToLower(name)] = true
		file, err := o.create(filepath.Join(path, name+".ndjson"), func(string) (*os.File, error) { return folder.Create(name + ".ndjson") })
		if err != nil {
			return outputError(err)
		}
		files[kind] = file
	}
	o.items = func(job string) (io.Writer, error) { return files[o.engine.DataType(job)], nil }
	return nil
}

// create opens a file anew, or where it was with --state.
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

// fileName makes a type of data safe as the name of a file: at most 128 bytes, no
// dot and no dash at its ends, so that neither a shell nor a flag takes it for
// something else.
func fileName(kind string) string {
	name := unsafe.ReplaceAllString(kind, "-")
	name = strings.Trim(name, ".-")
	name = strings.TrimRight(name[:min(len(name), 128)], ".-")
	if name == "" {
		return "items"
	}
	return name
}

// page writes one page.
func (o *output) page(_ context.Context, page *engine.Page) error {
	o.state.begin()
	w, err := o.items(page.Job)
	if err != nil {
		return err
	}
	if q := o.queues[w]; q != nil {
		err = q.page(page)
	} else {
		_, err = page.Items.WriteTo(w)
	}
	if err != nil {
		return outputError(err)
	}
	if err := o.writeTrace(page); err != nil {
		return err
	}
	return o.state.end(page)
}

func (o *output) writeTrace(page *engine.Page) error {
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

// end writes how the run ended.
func (o *output) end(result *engine.Result) error {
	for _, q := range o.queues {
		if err := q.end(); err != nil {
			return outputError(err)
		}
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
	case errors.As(err, new(*engine.Error)):
		return err
	case errors.Is(err, syscall.EPIPE):
		return &engine.Error{Class: failure.IO, Message: "the reader of the output has gone; the extraction is not complete", Err: err}
	}
	return &engine.Error{Class: failure.IO, Message: fmt.Sprintf("cannot write: %v", err), Err: err}
}
