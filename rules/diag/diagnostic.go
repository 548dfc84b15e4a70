// Package diag describes the mistakes in a configuration: what is wrong, where
// in the text it is, and how to fix it. A [Collector] gathers [Diagnostics]
// while a configuration is read, checked and compiled, so that one pass
// reports all of them.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Diagnostic is one mistake in a configuration.
type Diagnostic struct {
	Path     string   // config path: parameters.api.pagination.limit
	File     string   // file name; empty for a configuration built in Go
	Pos      Position // zero for a configuration built in Go
	Severity Severity
	Message  string // lower case, without the location
	Hint     string // how to fix it, if known: did you mean "limit"?
	Snippet  string // the line and a caret, if the text is known
}

// Severity says what a diagnostic means for the configuration.
type Severity int

// The severities.
const (
	SeverityError   Severity = iota // the configuration cannot be used
	SeverityWarning                 // the configuration is used, but probably not as intended
)

// Error returns path, message and location on one line, followed by the
// snippet and the hint.
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.Path != "" {
		b.WriteString(d.Path + ": ")
	}
	b.WriteString(d.Message)
	if location := d.Location(); location != "" {
		b.WriteString(" (" + location + ")")
	}
	if d.Snippet != "" {
		b.WriteString("\n" + d.Snippet)
	}
	if d.Hint != "" {
		b.WriteString("\n   " + d.Hint)
	}
	return b.String()
}

// Location returns file:line:column, or as much of it as is known.
func (d *Diagnostic) Location() string { return d.Pos.In(d.File) }

// WithHint sets the hint and returns the diagnostic. An empty hint is no hint.
func (d *Diagnostic) WithHint(hint string) *Diagnostic {
	d.Hint = hint
	return d
}

// Diagnostics is a list of diagnostics. As an error it lists every one of them;
// use [Diagnostics.Err] to get an error only if there is a mistake.
type Diagnostics []*Diagnostic

// Error returns the diagnostics, each as [Diagnostic.Error] writes it.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the diagnostics of [SeverityError].
func (ds Diagnostics) Errors() Diagnostics { return ds.only(SeverityError) }

// Warnings returns the diagnostics of [SeverityWarning].
func (ds Diagnostics) Warnings() Diagnostics { return ds.only(SeverityWarning) }

func (ds Diagnostics) only(severity Severity) Diagnostics {
	return slices.DeleteFunc(slices.Clone(ds), func(d *Diagnostic) bool { return d.Severity != severity })
}

// Err returns the errors as one error, or nil if there are only warnings.
func (ds Diagnostics) Err() error {
	if errs := ds.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Sort orders the diagnostics by position. Those of equal position keep their
// order.
func (ds Diagnostics) Sort() {
	slices.SortStableFunc(ds, func(a, b *Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}

// Unique returns the diagnostics without repetitions: several jobs report the
// same mistake of the pagination that they share.
func (ds Diagnostics) Unique() Diagnostics {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ds), func(d *Diagnostic) bool {
		text := fmt.Sprint(d.Severity, d)
		repeated := seen[text]
		seen[text] = true
		return repeated
	})
}

// Position is a line and a column, both from 1; columns count characters. The
// zero Position is unknown.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// In returns file:line:column, or only the file if the position is unknown.
func (p Position) In(file string) string {
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}
