package main

import (
	"fmt"
	"log/slog"
	"maps"

	"github.com/stopwhen/stopwhen/engine"
)

// carryover holds the values that `keep` carries over to the next run, by job and name.
type carryover = map[string]map[string]any

// warnForgotten warns of jobs whose values for the next run are not saved.
func warnForgotten(logger *slog.Logger, result *engine.Result) {
	for _, job := range result.Jobs {
		if len(job.Kept) > 0 {
			logger.Warn(fmt.Sprintf("Job '%s': the values of keep are not saved, so the next run starts without them; use --kept FILE", job.Job),
				"event", "warn", "code", "kept_not_saved", "job", job.Job)
		}
	}
}

// continueFrom returns the values that a run continues from; nil: those in the file of --kept.
func (x *extraction) continueFrom(l *loaded, s *state) (carryover, error) {
	values := carryover{}
	maps.Copy(values, l.carryover)
	switch {
	case l.pages != nil:
		return values, x.checkKept(l, s)
	case x.kept != "":
		return nil, nil
	}
	kept, err := s.Kept()
	maps.Copy(values, kept)
	return values, err
}
