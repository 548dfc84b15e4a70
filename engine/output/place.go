package output

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Place describes the file of the items of one data type.
type Place struct {
	Path     string
	DataType string   // "" stands for all types, on standard output
	Jobs     []string // IDs of the jobs that run
	LeftOut  []string // IDs of jobs left out by [engine.WithJobs] that otherwise write to the file

	unnamed []string // IDs of the jobs, running or not, whose dataType is the default
}

// Places returns the files of all items below a directory. A job has the same file in every run,
// regardless of the selected jobs.
func Places(e *engine.Engine, dir string, format Format) []Place {
	type writer struct {
		job      engine.JobInfo
		dataType string
	}
	var writers []writer
	for _, job := range e.With(engine.WithJobs()).Jobs() {
		info := e.Job(job)
		if !info.Emits {
			continue
		}
		for _, dataType := range info.DataTypes {
			writers = append(writers, writer{info, dataType})
		}
	}
	names := rules.FileNames(value.Map(writers, func(w writer) string { return w.dataType }))
	var places []Place
	indexOf := map[string]int{} // index by data type
	running := map[string]bool{}
	for _, job := range e.Jobs() {
		running[job] = true
	}
	for i, w := range writers {
		index, known := indexOf[w.dataType]
		if !known {
			index = len(places)
			places = append(places, Place{Path: filepath.Join(dir, names[i]+"."+format.String()), DataType: w.dataType})
			indexOf[w.dataType] = index
		}
		places[index].add(w.job, running[w.job.ID])
	}
	return slices.DeleteFunc(places, func(p Place) bool { return p.Jobs == nil })
}

// add records that a job writes to the file, and whether it runs. It may be called repeatedly in a
// row for a job with several lists.
func (p *Place) add(job engine.JobInfo, runs bool) {
	to := &p.LeftOut
	if runs {
		to = &p.Jobs
	}
	if n := len(*to); n > 0 && (*to)[n-1] == job.ID {
		return
	}
	*to = append(*to, job.ID)
	if job.DefaultType == p.DataType {
		p.unnamed = append(p.unnamed, job.ID)
	}
}

// check refuses a file that several jobs share by chance: the jobs have no dataType, and their endpoints
// or ids are alike.
func (p *Place) check() error {
	if len(p.unnamed) < 2 {
		return nil
	}
	return &engine.Error{
		Class: failure.Config, Op: "output",
		Message: fmt.Sprintf("the jobs %s would all write to %s, because they have neither an id nor a dataType",
			strings.Join(p.unnamed, " and "), p.Path),
		Hint: "give each of them an id, or the same dataType if one file is to have the items of all",
	}
}
