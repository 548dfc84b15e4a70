package explain

import (
	"fmt"
	"strings"
)

// A sharing lists things in the order in which they are found, with the positions of the jobs
// that have them. What several jobs have is printed once.
type sharing[T comparable] struct {
	things []T
	jobs   map[T][]int
}

// add adds a thing of a job. Jobs are added one after another.
func (s *sharing[T]) add(thing T, job int) {
	had := s.jobs[thing]
	switch {
	case s.jobs == nil:
		s.jobs = map[T][]int{}
	case had != nil && had[len(had)-1] == job:
		return
	}
	if had == nil {
		s.things = append(s.things, thing)
	}
	s.jobs[thing] = append(had, job)
}

// jobIDs returns the ids of the jobs at some positions.
func (e *Explanation) jobIDs(positions []int) []string {
	ids := make([]string, len(positions))
	for i, at := range positions {
		ids[i] = e.Jobs[at].Job
	}
	return ids
}

// jobsInWords names jobs: "jobs users, orders", or the first of very many.
func jobsInWords(names []string) string {
	const most = 20
	switch n := len(names); {
	case n == 1:
		return "job " + names[0]
	case n > most:
		return fmt.Sprintf("jobs %s and %d others", strings.Join(names[:most], ", "), n-most)
	}
	return "jobs " + strings.Join(names, ", ")
}
