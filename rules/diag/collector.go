package diag

import (
	"fmt"
	"strings"
)

// A Collector gathers the diagnostics of one source.
type Collector struct {
	source *Source
	all    Diagnostics
	count  [SeverityWarning + 1]int // the number of all, by severity
}

// NewCollector returns an empty collector. The source is nil for a
// configuration without a text; its diagnostics have no positions.
func NewCollector(source *Source) *Collector { return &Collector{source: source} }

// Errorf adds an error. Use [Diagnostic.WithHint] on the result to say how to
// fix it.
func (c *Collector) Errorf(at Place, format string, args ...any) *Diagnostic {
	return c.Report(SeverityError, at, format, args...)
}

// Warnf adds a warning.
func (c *Collector) Warnf(at Place, format string, args ...any) *Diagnostic {
	return c.Report(SeverityWarning, at, format, args...)
}

// Report adds a diagnostic of a severity. Only the first thousand of each severity are
// kept.
func (c *Collector) Report(severity Severity, at Place, format string, args ...any) *Diagnostic {
	d := &Diagnostic{Path: at.path, Severity: severity, Message: fmt.Sprintf(format, args...)}
	if c.count[severity]++; c.count[severity] > maxReported {
		return d
	}
	if c.source != nil && at.offset != nil {
		d.File = c.source.Name
		if offset := at.offset(c.source); offset >= 0 {
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

// Diagnostics returns what has been collected so far, ordered by position.
func (c *Collector) Diagnostics() Diagnostics {
	out := append(Diagnostics(nil), c.all...)
	out.Sort()
	return out
}

// A Place is what a diagnostic points at: a config path, and where in the
// source it is found.
type Place struct {
	path   string
	offset func(*Source) int // a byte offset, or -1 if unknown; nil: not in the source
}

// Value is the place of the value at a config path.
func Value(path string) Place {
	return Place{path, func(s *Source) int { return s.ValueAt(path) }}
}

// Key is the place of the key at a config path.
func Key(path string) Place {
	return Place{path, func(s *Source) int { return s.KeyAt(path) }}
}

// Within is the place at a byte offset in the string at a config path. If the
// source spells the string with escapes, it is the place of the whole string.
func Within(path, text string, offset int) Place {
	return Place{path, func(s *Source) int {
		start := s.ValueAt(path)
		if start < 0 {
			return start
		}
		rest := s.Text[start:]
		unquoted := strings.TrimLeft(rest, "\"'")
		if !strings.HasPrefix(unquoted, text) {
			return start
		}
		return start + len(rest) - len(unquoted) + offset
	}}
}

// Offset is the place at a byte offset of the source.
func Offset(path string, offset int) Place {
	return Place{path, func(*Source) int { return offset }}
}

// Outside is a place that is not in the source, such as an option of the caller.
func Outside(name string) Place { return Place{path: name} }
