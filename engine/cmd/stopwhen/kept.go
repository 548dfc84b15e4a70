package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/stopwhen/stopwhen/engine"
)

// kept is what runs keep for the next one: values by job and name.
type kept map[string]map[string]any

// readKept reads the file of --kept; a first run has none.
func readKept(path string) (kept, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--kept: %v", err)}
	}
	k, err := parseKept(text)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--kept: %s does not hold what a run kept: %v; remove it to begin anew", path, err)}
	}
	return k, nil
}

func parseKept(text []byte) (kept, error) {
	var k kept
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&k)
	return k, err
}

// writeKept puts the jobs of a run in the place of what the file had of them.
// The file is replaced as a whole; it is for its owner alone, since a cursor may
// give access to data.
func writeKept(path string, before kept, result *engine.Result) error {
	all := kept{}
	maps.Copy(all, before)
	for _, job := range result.Jobs {
		if job.Kept != nil {
			all[job.Job] = job.Kept
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".kept-*")
	if err != nil {
		return outputError(err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return outputError(err)
	}
	return outputError(os.Rename(file.Name(), path))
}
