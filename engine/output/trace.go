package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// maxSkips is the maximum number of skipped pages of a tree that wait for its next page.
const maxSkips = 1000

// A traceWriter writes a line of JSON for each page.
type traceWriter struct {
	to    io.Writer                  // nil if there is no trace
	file  *checkpoint.Output         // nil if the trace is not a file of the store
	skips map[string][]engine.Record // records of pages on which partitions failed, by root
	err   error                      // error of writing such records
}

// page adds a page, after the skipped pages of its tree.
func (t *traceWriter) page(page *engine.Page) error {
	if err := t.flush(page.Root); err != nil {
		return err
	}
	return t.write(&page.Record)
}

func (t *traceWriter) write(record *engine.Record) error {
	if t.to == nil {
		return nil
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return err
	}
	_, err := io.WriteString(t.to, printable.JSON(line.String()))
	return err
}

// skip records the page on which a skipped partition failed. The record is written with the next
// page of the tree, and so is part of the same commit.
func (t *traceWriter) skip(page *engine.Page) {
	if t.to == nil {
		return
	}
	if t.skips == nil {
		t.skips = map[string][]engine.Record{}
	}
	t.skips[page.Root] = append(t.skips[page.Root], page.Record)
	if len(t.skips[page.Root]) >= maxSkips {
		t.err = errors.Join(t.err, t.flush(page.Root))
	}
}

// flush writes the skipped pages of a tree.
func (t *traceWriter) flush(root string) error {
	if t.err != nil {
		return t.err
	}
	skips := t.skips[root]
	delete(t.skips, root)
	for i := range skips {
		if err := t.write(&skips[i]); err != nil {
			return err
		}
	}
	return nil
}

// failures adds the pages on which partitions or jobs failed and that the sink did not receive.
func (t *traceWriter) failures(result *engine.Result) error {
	for _, root := range slices.Sorted(maps.Keys(t.skips)) {
		if err := t.flush(root); err != nil {
			return err
		}
	}
	for _, job := range result.Jobs {
		if page := job.FailedPage; page != nil {
			if err := t.write(page); err != nil {
				return err
			}
		}
	}
	return nil
}
