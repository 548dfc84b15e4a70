package output

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
)

// A Place describes the file of the items of one data type.
type Place struct {
	Path     string
	DataType string   // "" stands for all types, on standard output
	Jobs     []string // IDs of the jobs that run
	LeftOut  []string // IDs of jobs left out by [engine.WithJobs] that otherwise write to the file
}

// Places returns the files of all items below a directory. A job has the same file in every run,
// regardless of the selected jobs.
func Places(e *engine.Engine, dir string, format Format) []Place {
	var all []Place
	known := map[string]int{} // index by data type
	used := map[string]bool{} // in lower case, because some file systems ignore case
	running := map[string]bool{}
	for _, job := range e.Jobs() {
		running[job] = true
	}
	for _, job := range e.With(engine.WithJobs()).Jobs() {
		if !e.Job(job).Emits {
			continue
		}
		for _, dataType := range e.Job(job).DataTypes {
			if i, ok := known[dataType]; ok {
				all[i].add(job, running[job])
				continue
			}
			name := fileName(dataType)
			for n := 2; used[strings.ToLower(name)]; n++ {
				name = fmt.Sprintf("%s-%d", fileName(dataType), n)
			}
			used[strings.ToLower(name)] = true
			known[dataType] = len(all)
			all = append(all, Place{Path: filepath.Join(dir, name+"."+format.String()), DataType: dataType})
			all[len(all)-1].add(job, running[job])
		}
	}
	return slices.DeleteFunc(all, func(p Place) bool { return p.Jobs == nil })
}

// add records that a job writes to the file, and whether it runs. It may be called repeatedly in a
// row for a job with several lists.
func (p *Place) add(job string, runs bool) {
	to := &p.LeftOut
	if runs {
		to = &p.Jobs
	}
	if n := len(*to); n == 0 || (*to)[n-1] != job {
		*to = append(*to, job)
	}
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName converts a data type to a safe file name of at most 128 bytes. The name does not begin
// or end with a dot or a dash, so that no shell hides it and no command takes it for a flag.
func fileName(dataType string) string {
	name := unsafe.ReplaceAllString(dataType, "-")
	name = strings.Trim(name, ".-")
	name = strings.TrimRight(name[:min(len(name), 128)], ".-")
	if name == "" {
		return "items"
	}
	return name
}
