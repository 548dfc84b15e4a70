package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"

	"github.com/stopwhen/stopwhen/engine"
)

// carryover holds the values that `keep` carries over to the next run, by job
// and name.
type carryover map[string]map[string]any

// readCarryover reads the file of --kept. A missing file is empty: this is the
// first run.
func readCarryover(path string) (carryover, error) {
	text, err := readAtMost(path, maxCarryover)
	if errors.Is(err, fs.ErrNotExist) {
		return carryover{}, nil
	}
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--kept: %v", err)}
	}
	values, err := parseCarryover(text)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--kept: %s was not written by --kept: %v; remove it to start over", path, err)}
	}
	return values, nil
}

// encode returns the values of every job as JSON.
func (c carryover) encode() (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for job, values := range c {
		text, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		all[job] = text
	}
	return all, nil
}

// maxCarryover is the size of the largest file of --kept, in bytes.
const maxCarryover = 16 << 20

// readAtMost reads a file. A file of more than limit bytes is an error, and is not read
// to its end.
func readAtMost(path string, limit int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, err
}

func parseCarryover(text []byte) (carryover, error) {
	var values carryover
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&values)
	return values, err
}

// warnForgotten warns of jobs whose values for the next run are not saved.
func warnForgotten(logger *slog.Logger, result *engine.Result) {
	for _, job := range result.Jobs {
		if len(job.Kept) > 0 {
			logger.Warn(fmt.Sprintf("Job '%s': the values of keep are not saved, so the next run starts without them; use --kept FILE", job.Job),
				"event", "warn", "code", "kept_not_saved", "job", job.Job)
		}
	}
}

// readKept sets the values that the run continues from: those of --kept or, without it,
// those of the state.
func (a *app) readKept(l *loaded, state *checkpointer) (err error) {
	if l.pages != nil {
		return a.checkKept(l, state)
	}
	if a.flags.kept != "" {
		l.carryover, err = readCarryover(a.flags.kept)
		return err
	}
	values := carryover{}
	maps.Copy(values, l.carryover)
	for job, text := range state.Kept() {
		one, err := parseCarryover(fmt.Appendf(nil, `{"kept": %s}`, text))
		if err != nil {
			return err
		}
		values[job] = one["kept"]
	}
	l.carryover = values
	return nil
}
