package report

import (
	_ "embed" // the templates
	"fmt"
	"io"
	"strings"
	"text/template"

	htmltemplate "html/template"

	"github.com/stopwhen/stopwhen/engine/importer/grade"
	"github.com/stopwhen/stopwhen/rules/wording"
)

//go:embed import.txt
var importTXT string

//go:embed import.html
var importHTML string

var importPage = page(importHTML, htmltemplate.FuncMap{})

// ImportText writes how the streams of a source were translated, for people, in lines of a width in
// columns. It ends with the notes that a user must check.
func ImportText(w io.Writer, r *grade.Report, width int) error {
	return newTextTemplate(importTXT, width, template.FuncMap{}).write(w, "text", newImportView(r))
}

// ImportHTML writes the report as a self-contained HTML page, which loads nothing and runs no
// script.
func ImportHTML(w io.Writer, r *grade.Report) error { return importPage().Execute(w, newImportView(r)) }

// importView is a report as the templates show it.
type importView struct {
	*grade.Report
	Grades []gradeView
	Hand   []grade.Finding // notes that a user must check
	Left   []grade.Finding // keys that were left out
}

// gradeView is the streams of one grade.
type gradeView struct {
	Grade   grade.Grade
	Meaning string
	Streams []grade.StreamReport
	Notes   []grade.Finding // findings because of which the streams have this grade
}

// meanings say what the grades of streams mean.
var meanings = map[grade.Grade]string{
	grade.Exact:       "the same requests and the same items",
	grade.Approximate: "they differ in the cases below",
	grade.Partial:     "a part of the list or of its items is missing",
	grade.Credentials: "all but the credentials was translated",
	grade.Refused:     "not translated",
}

func newImportView(r *grade.Report) importView {
	v := importView{Report: r, Hand: r.Findings(grade.Check), Left: r.Findings(grade.Left)}
	for _, g := range grade.Grades() {
		view := gradeView{Grade: g, Meaning: meanings[g]}
		part := grade.Report{}
		for _, s := range r.Streams {
			if s.Grade == g {
				view.Streams = append(view.Streams, s)
				part.Streams = append(part.Streams, s)
			}
		}
		if view.Streams == nil {
			continue
		}
		if g == grade.Refused {
			view.Notes = part.Findings(grade.Refused)
		} else {
			view.Notes = part.Findings(grade.Grades()[1:]...)
		}
		v.Grades = append(v.Grades, view)
	}
	return v
}

// Summary says how many streams have each grade.
func (v importView) Summary() string {
	var parts []string
	for _, g := range v.Grades {
		parts = append(parts, fmt.Sprintf("%d %s", len(g.Streams), g.Grade))
	}
	return wording.Counted(len(v.Streams), "stream") + ": " + strings.Join(parts, ", ")
}

// Names lists the streams.
func (g gradeView) Names() string {
	var names []string
	for _, s := range g.Streams {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}
