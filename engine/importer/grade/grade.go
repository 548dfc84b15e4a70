// Package grade has the types of the report of an import, which says how each stream, and each part of
// the source, was translated.
package grade

import (
	"cmp"
	"slices"
)

// A Grade says how well a stream, or a part of it, was translated.
type Grade string

// The grades of streams and notes. The grade of a stream is the worst grade of its notes.
const (
	Exact       Grade = "exact"       // the same requests and the same items
	Approximate Grade = "approximate" // differs in a case that a note names
	Partial     Grade = "partial"     // a part of the items' members, or of the list, is missing
	Credentials Grade = "credentials" // all but the credentials was translated
	Refused     Grade = "refused"     // not translated

	// Check is the grade of a note alone: the translation is exact, and the user must look at
	// something by hand, or decide it.
	Check Grade = "check"

	// Left is the grade of a note alone: a key of the source has no effect on requests and items, and
	// was left out.
	Left Grade = "left"
)

// Grades returns the grades of streams, the best first.
func Grades() []Grade { return []Grade{Exact, Approximate, Partial, Credentials, Refused} }

// worse reports whether a grade is worse than another.
func worse(a, b Grade) bool {
	return slices.Index(Grades(), a) > slices.Index(Grades(), b)
}

// A Note says how a part of the source was translated.
type Note struct {
	Grade  Grade  `json:"grade"`
	Text   string `json:"text"`   // one sentence, or several, with the cure
	Source string `json:"source"` // place in the source
	Target string `json:"target"` // config path; "" if the configuration does not have the part
}

// A StreamReport says how a stream was translated.
type StreamReport struct {
	Name  string `json:"name"`
	Grade Grade  `json:"grade"`
	File  string `json:"file"` // the configuration; "" if it was not translated
	Job   string `json:"job"`  // the id of its job; "" if it was not translated
	Notes []Note `json:"notes"`
}

// A Report says how all streams were translated.
type Report struct {
	Version int            `json:"version"` // 1
	Format  string         `json:"format"`
	Streams []StreamReport `json:"streams"`
}

// Count returns how many streams have a grade.
func (r *Report) Count(g Grade) int {
	n := 0
	for _, s := range r.Streams {
		if s.Grade == g {
			n++
		}
	}
	return n
}

// A Finding is a note that several streams have.
type Finding struct {
	Note
	Streams []string
}

// Findings returns the notes of some grades, each once, with the streams that have it. The most
// frequent are first.
func (r *Report) Findings(grades ...Grade) []Finding {
	var findings []Finding
	index := map[string]int{}
	for _, s := range r.Streams {
		for _, n := range s.Notes {
			if !slices.Contains(grades, n.Grade) {
				continue
			}
			i, known := index[string(n.Grade)+n.Text]
			if !known {
				i = len(findings)
				index[string(n.Grade)+n.Text] = i
				findings = append(findings, Finding{Note: n})
			}
			if !slices.Contains(findings[i].Streams, s.Name) {
				findings[i].Streams = append(findings[i].Streams, s.Name)
			}
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(len(b.Streams), len(a.Streams)) })
	return findings
}

// Of returns the worst grade of notes.
func Of(notes []Note) Grade {
	grade := Exact
	for _, n := range notes {
		if worse(n.Grade, grade) {
			grade = n.Grade
		}
	}
	return grade
}

// Unwritten says that no configuration was written.
func (r *Report) Unwritten() {
	for i := range r.Streams {
		r.Streams[i].File, r.Streams[i].Job = "", ""
	}
}

// Rename gives the names of the configurations as they were written.
func (r *Report) Rename(name func(string) string) {
	for i := range r.Streams {
		if r.Streams[i].File != "" {
			r.Streams[i].File = name(r.Streams[i].File)
		}
	}
}
