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

	"github.com/stopwhen/stopwhen/rules/remedy"
)

// A Diagnostic is one mistake in a configuration.
type Diagnostic struct {
	Path     string   // config path: parameters.api.pagination.limit; the name of an option outside of a configuration
	File     string   // file name; empty for a configuration built in Go
	Pos      Position // zero for a configuration built in Go
	Severity Severity
	Message  string // lower case, without the location
	Hint     string // how to fix it, if known: did you mean "limit"?
	Snippet  string // the line and a caret, if the text is known
	Err      error  // the cause, such as the error of reading the file; may be nil

	Remedy remedy.Remedy // what the hint proposes, if an editor can apply it, or a command has other words for it
	Option *remedy.Name  // the option that is wrong, which the path names in Go; nil for a place in a configuration
}

// Unwrap returns the cause, which may be nil.
func (d *Diagnostic) Unwrap() error { return d.Err }

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

// WithHint sets the hint and returns the diagnostic. An empty hint means that there is none.
func (d *Diagnostic) WithHint(hint string) *Diagnostic {
	d.Hint = hint
	return d
}

// WithRemedy sets a remedy, and the hint to its words for a program: see [remedy.New].
func (d *Diagnostic) WithRemedy(format string, args ...any) *Diagnostic {
	d.Remedy = remedy.New(format, args...)
	return d.WithHint(d.Remedy.String())
}

// WithReplacement sets the hint, and says what to write in the place of the word at the position.
func (d *Diagnostic) WithReplacement(word, hint string) *Diagnostic {
	d.Remedy.Replacement = word
	return d.WithHint(hint)
}

// WithNearest proposes the word that is nearest to the one that was written. If none is near, the
// diagnostic keeps its hint.
func (d *Diagnostic) WithNearest(written string, words []string) *Diagnostic {
	if word := Nearest(written, words); word != "" {
		return d.WithReplacement(word, DidYouMean(written, words))
	}
	return d
}

// Hide changes the message, and the hint with its remedy, to hide secrets.
func (d *Diagnostic) Hide(hide func(string) string) {
	d.Message = hide(d.Message)
	if hint := hide(d.Hint); hint != d.Hint {
		d.Hint, d.Remedy = hint, remedy.Remedy{}
	}
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

// Unwrap returns the diagnostics, so that [errors.Is] and [errors.As] find their causes.
func (ds Diagnostics) Unwrap() []error {
	errs := make([]error, len(ds))
	for i, d := range ds {
		errs[i] = d
	}
	return errs
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

// A Collector gathers the diagnostics of one source.
type Collector struct {
	source *Source
	all    Diagnostics
	count  [SeverityWarning + 1]int // the number of all, by severity
}

// NewCollector returns an empty collector. The source is nil for a
// configuration without a text; its diagnostics have no positions.
func NewCollector(source *Source) *Collector { return &Collector{source: source} }

// Clone returns a collector with the diagnostics collected so far, to which others can be added.
func (c *Collector) Clone() *Collector {
	clone := *c
	clone.all = slices.Clip(c.all)
	return &clone
}

// Errorf adds an error. Use [Diagnostic.WithHint] on the result to say how to
// fix it.
func (c *Collector) Errorf(place Place, format string, args ...any) *Diagnostic {
	return c.Report(SeverityError, place, format, args...)
}

// Warnf adds a warning.
func (c *Collector) Warnf(place Place, format string, args ...any) *Diagnostic {
	return c.Report(SeverityWarning, place, format, args...)
}

// Report adds a diagnostic of a severity. Only the first thousand of each severity are
// kept.
func (c *Collector) Report(severity Severity, place Place, format string, args ...any) *Diagnostic {
	d := &Diagnostic{Path: place.path, Option: place.option, Severity: severity, Message: fmt.Sprintf(format, args...)}
	if c.count[severity]++; c.count[severity] > maxReported {
		return d
	}
	if c.source != nil && place.offset != nil {
		d.File = c.source.Name
		if offset := place.offset(c.source); offset >= 0 {
			d.Pos = c.source.Position(offset)
			d.Snippet = c.source.Snippet(d.Pos)
		}
	}
	c.all = append(c.all, d)
	return d
}

// maxReported is how many errors are kept, and how many warnings. Nobody reads more.
const maxReported = 1000

// Source returns the source that the collector was made for.
func (c *Collector) Source() *Source { return c.source }

// Diagnostics returns the diagnostics collected so far, ordered by position.
func (c *Collector) Diagnostics() Diagnostics {
	out := append(Diagnostics(nil), c.all...)
	out.Sort()
	return out
}

// A Place is a config path that a diagnostic points at, and its offset in the source.
type Place struct {
	path   string
	offset func(*Source) int // a byte offset, or -1 if unknown; nil if it is not in the source
	option *remedy.Name
}

// Value is the place of the value at a config path.
func Value(path string) Place {
	return Place{path: path, offset: func(s *Source) int { return s.ValueAt(path) }}
}

// Key is the place of the key at a config path.
func Key(path string) Place {
	return Place{path: path, offset: func(s *Source) int { return s.KeyAt(path) }}
}

// Within is the place at a byte offset in the string at a config path. If the
// source spells the string with escapes, it is the place of the whole string.
func Within(path, text string, offset int) Place {
	return Place{path: path, offset: func(s *Source) int {
		start := s.ValueAt(path)
		if start < 0 {
			return start
		}
		rest := s.Text[start:]
		for _, quote := range []string{"", `"`, "'"} {
			if strings.HasPrefix(rest, quote+text) {
				return start + len(quote) + offset
			}
		}
		return start
	}}
}

// Offset is the place at a byte offset of the source.
func Offset(path string, offset int) Place {
	return Place{path: path, offset: func(*Source) int { return offset }}
}

// Outside is a place that is not in the source, such as an input.
func Outside(name string) Place { return Place{path: name} }

// Option is the place of an option of the caller.
func Option(name remedy.Name) Place { return Place{path: name.Go, option: &name} }

// DidYouMean returns a hint with the word nearest to the one that was written,
// like `did you mean "limit"?`, or "" if no word is near.
func DidYouMean(written string, words []string) string {
	if word := Nearest(written, words); word != "" {
		return fmt.Sprintf("did you mean %q?", word)
	}
	return ""
}

// maxWord bounds the length of the words that are compared, since they may come
// from a response.
const maxWord = 256

// Nearest returns the word with the least edit distance to the one that was
// written. The distance must be at most a third of the length of the written
// word, or 1; otherwise Nearest returns "".
func Nearest(written string, words []string) string {
	if len(written) > maxWord {
		return ""
	}
	written = strings.ToLower(written)
	best, bestDistance := "", max(len(written)/3, 1)+1
	for _, word := range words {
		if len(word) > maxWord {
			continue
		}
		if d := distance(written, strings.ToLower(word)); d < bestDistance {
			best, bestDistance = word, d
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
