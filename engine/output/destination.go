package output

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Destination describes the file of the items of one data type.
type Destination struct {
	Path     string
	DataType string   // "" stands for all types, on standard output
	Jobs     []string // IDs of the jobs that run
	LeftOut  []string // IDs of jobs left out by [engine.WithJobs] that otherwise write to the file

	unnamed []string // IDs of the jobs, running or not, whose dataType is the default
	other   string   // another type of items that has the same file; "" if there is none
}

// Destinations returns the files of all items below a directory. A job has the same file in every run,
// regardless of the selected jobs.
func Destinations(e *engine.Engine, dir string, format Format) []Destination {
	type writer struct {
		job      engine.JobInfo
		dataType string
	}
	var writers []writer
	for _, job := range e.AllJobs() {
		info := e.Job(job)
		if !info.Emits {
			continue
		}
		for _, dataType := range info.DataTypes {
			writers = append(writers, writer{info, dataType})
		}
	}
	var destinations []Destination
	indexOf, byName := map[string]int{}, map[string]int{} // index by data type, and by name in lower case
	running := map[string]bool{}
	for _, job := range e.Jobs() {
		running[job] = true
	}
	for _, w := range writers {
		index, known := indexOf[w.dataType]
		if !known {
			index = len(destinations)
			name := rules.FileName(w.dataType)
			destination := Destination{Path: filepath.Join(dir, name+"."+format.String()), DataType: w.dataType}
			if other, used := byName[strings.ToLower(name)]; used {
				destinations[other].other, destination.other = w.dataType, destinations[other].DataType
			}
			byName[strings.ToLower(name)] = index
			destinations = append(destinations, destination)
			indexOf[w.dataType] = index
		}
		destinations[index].add(w.job, running[w.job.ID])
	}
	return slices.DeleteFunc(destinations, func(d Destination) bool { return d.Jobs == nil })
}

// add records that a job writes to the file, and whether it runs. It may be called repeatedly in a
// row for a job with several lists.
func (d *Destination) add(job engine.JobInfo, runs bool) {
	to := &d.LeftOut
	if runs {
		to = &d.Jobs
	}
	if n := len(*to); n > 0 && (*to)[n-1] == job.ID {
		return
	}
	*to = append(*to, job.ID)
	if job.DefaultType == d.DataType {
		d.unnamed = append(d.unnamed, job.ID)
	}
}

// Check refuses a file that jobs would share by chance: they have no dataType, and their endpoints or ids are
// alike, or the names of two types of items give one name of a file. A number would tell these apart, but the file
// of a type would be another one as soon as a job is added.
func (d *Destination) Check() error {
	if d.other != "" {
		return &engine.Error{
			Class: failure.Config, Op: "output",
			Message: fmt.Sprintf("items of the types %q and %q would both be written to %s", d.DataType, d.other, d.Path),
			Hint:    "set dataType of a job to another name; the job that keeps its type keeps its file",
		}
	}
	if len(d.unnamed) < 2 {
		return nil
	}
	return &engine.Error{
		Class: failure.Config, Op: "output",
		Message: fmt.Sprintf("the jobs %s would all write to %s, because they have neither an id nor a dataType",
			strings.Join(d.unnamed, " and "), d.Path),
		Hint: "give each of them an id, or the same dataType if one file is to have the items of all",
	}
}
