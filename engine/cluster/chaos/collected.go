//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stopwhen/stopwhen/engine"
)

// collected are the files of a collector: the pages, and the checkpoint with the length of
// the pages that belong to it. They survive the process, not the machine.
type collected struct {
	dir   string
	pages *os.File
	saved savedState
	since int // pages since the checkpoint
}

type savedState struct {
	Length      int64
	Checkpoints map[string]json.RawMessage
}

// An outcome is what a collector has found.
type outcome struct {
	Result *engine.Result
	Error  string
}

// saveEvery is after how many pages a checkpoint is saved.
const saveEvery = 5

func openCollected(dir string) (*collected, error) {
	c := &collected{dir: dir, saved: savedState{Checkpoints: map[string]json.RawMessage{}}}
	text, err := os.ReadFile(c.path("checkpoint"))
	if err == nil {
		err = json.Unmarshal(text, &c.saved)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.pages, err = os.OpenFile(c.path("pages"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = c.pages.Truncate(c.saved.Length)
	}
	if err == nil {
		_, err = c.pages.Seek(c.saved.Length, 0)
	}
	return c, err
}

func (c *collected) path(name string) string { return filepath.Join(c.dir, name) }

// page is a sink.
func (c *collected) page(_ context.Context, page *engine.Page) error {
	text, err := pageText(page)
	if err != nil {
		return err
	}
	if _, err := c.pages.Write(text); err != nil {
		return err
	}
	if c.saved.Checkpoints[page.Root], err = page.Checkpoint(); err != nil {
		return err
	}
	c.saved.Length += int64(len(text))
	if c.since++; c.since < saveEvery && !page.Final {
		return nil
	}
	c.since = 0
	return c.replace("checkpoint", c.saved)
}

// end writes what the collection has ended with.
func (c *collected) end(result *engine.Result, failed error) error {
	o := outcome{Result: result}
	if failed != nil {
		o.Error = failed.Error()
	}
	return errors.Join(c.pages.Close(), c.replace("checkpoint", c.saved), c.replace("outcome", o))
}

// replace writes a file and gives it its name.
func (c *collected) replace(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path(name+".new"), text, 0o600); err != nil {
		return err
	}
	return os.Rename(c.path(name+".new"), c.path(name))
}

// pageText returns a page as it is compared: a line with its partition, and its items.
func pageText(page *engine.Page) ([]byte, error) {
	partition, err := json.Marshal(page.Partition)
	if err != nil {
		return nil, err
	}
	text := append([]byte("#"+page.Job+" "), partition...)
	text = append(append(text, '\n'), page.Items.Bytes()...)
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return text, nil
}

// byPartition returns the items of each partition in their order, from the texts of pages.
func byPartition(pages []byte) map[string]string {
	all, partition := map[string]string{}, ""
	for line := range bytes.Lines(pages) {
		if line[0] == '#' {
			partition = string(bytes.TrimSpace(line))
			all[partition] += ""
			continue
		}
		all[partition] += string(line)
	}
	return all
}
