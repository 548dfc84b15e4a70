package rules

import (
	"fmt"
	"sort"
	"strings"
)

// Error is a fault in a configuration: what is wrong, where, and what would be
// right. All faults of a configuration are reported together, as [Errors].
type Error struct {
	Path    string   // config path: parameters.api.pagination.limit
	File    string   // file name; empty for a configuration built in Go
	At      Position // zero for a configuration built in Go
	Message string   // lower case, without the place
	Hint    string   // the cure, when one is known: did you mean "limit"?
	Snippet string   // the line and a caret, when the text is known
	Warning bool     // true: the configuration is used nevertheless
}

// Error writes path, message and place on one line, then snippet and hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if place := e.Place(); place != "" {
		b.WriteString(" (" + place + ")")
	}
	if e.Snippet != "" {
		b.WriteString("\n" + e.Snippet)
	}
	if e.Hint != "" {
		b.WriteString("\n   " + e.Hint)
	}
	return b.String()
}

// Place is file:line:column, as far as it is known.
func (e *Error) Place() string { return place(e.File, e.At) }

func place(file string, at Position) string {
	if at.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}

// Errors are all faults of one configuration, in order of position.
type Errors []*Error

// Error lists the faults, each as [Error.Error] writes it.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is nil when there is no fault.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Sort orders the faults by position.
func (e Errors) Sort() {
	sort.SliceStable(e, func(i, j int) bool {
		a, b := e[i].At, e[j].At
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
}

// Unique drops repeats: what several jobs report of the pagination they share.
func (all Errors) Unique() Errors {
	seen := map[string]bool{}
	var out Errors
	for _, e := range all {
		if text := e.Error(); !seen[text] {
			seen[text] = true
			out = append(out, e)
		}
	}
	return out
}

// Faults collects what is wrong with a configuration while it is read.
type Faults struct {
	source *Source // nil for a configuration built in Go
	all    Errors
}

// NewFaults returns a collection for faults of one source, which may be nil.
func NewFaults(source *Source) *Faults { return &Faults{source: source} }

// Value reports a fault of the value at a config path.
func (f *Faults) Value(path, hint, format string, args ...any) *Error {
	return f.add(path, f.source.ValueAt(path), hint, fmt.Sprintf(format, args...))
}

// Key reports a fault of the key at a config path.
func (f *Faults) Key(path, hint, format string, args ...any) *Error {
	return f.add(path, f.source.KeyAt(path), hint, fmt.Sprintf(format, args...))
}

// Inside reports a fault at a byte offset in the text that stands at a config
// path, or at the path where the text is written with escapes.
func (f *Faults) Inside(path, text string, at int, hint, format string, args ...any) *Error {
	offset := f.source.ValueAt(path)
	if offset >= 0 {
		written := f.source.Text[offset:]
		if quote := len(written) - len(strings.TrimLeft(written, "\"'")); strings.HasPrefix(written[quote:], text) {
			offset += quote + at
		}
	}
	return f.add(path, offset, hint, fmt.Sprintf(format, args...))
}

// Offset reports a fault at a byte offset of the source.
func (f *Faults) Offset(path string, offset int, hint, format string, args ...any) *Error {
	return f.add(path, offset, hint, fmt.Sprintf(format, args...))
}

func (f *Faults) add(path string, offset int, hint, message string) *Error {
	e := &Error{Path: path, Message: message, Hint: hint}
	if f.source != nil {
		e.File = f.source.Name
		if offset >= 0 {
			e.At = f.source.Position(offset)
			e.Snippet = f.source.Snippet(e.At)
		}
	}
	f.all = append(f.all, e)
	return e
}

// Errors are the faults that forbid the run, in order of position.
func (f *Faults) Errors() Errors { return f.split(false) }

// Warnings are the faults that do not.
func (f *Faults) Warnings() Errors { return f.split(true) }

func (f *Faults) split(warning bool) Errors {
	var out Errors
	for _, e := range f.all {
		if e.Warning == warning {
			out = append(out, e)
		}
	}
	out.Sort()
	return out
}
