package compile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A fault is a mistake in a source.
type fault struct {
	message string
	hint    string // how to fix it; may be empty
	at      int    // position in the source, in characters
}

func (f *fault) Error() string { return f.message }

// at returns a fault at a node.
func at(n ast.Node, format string, args ...any) *fault {
	return &fault{message: fmt.Sprintf(format, args...), at: n.Location().From}
}

func (f *fault) withHint(hint string) *fault {
	f.hint = hint
	return f
}

// asFault converts an error to a fault: a fault, or an error of the expression
// language, whose message and position it takes.
func asFault(err error) *fault {
	if f := (*fault)(nil); errors.As(err, &f) {
		return f
	}
	if e := (*file.Error)(nil); errors.As(err, &e) {
		f := &fault{message: strings.TrimSpace(e.Message), at: e.From}
		return f.withHint(cureOf(f.message))
	}
	return &fault{message: err.Error()}
}

// offset returns the position in bytes.
func (f *fault) offset(source string) int {
	characters := []rune(source)
	return len(string(characters[:min(max(f.at, 0), len(characters))]))
}

// snippet returns the line of the source that the fault is in, with a caret.
func (f *fault) snippet(source string) string {
	s := diag.NewSource("", source)
	return s.Snippet(s.Position(f.offset(source)))
}

// cureOf returns what to do about an error of the expression language, if that is
// known.
func cureOf(message string) string {
	switch {
	case !strings.Contains(message, "mismatched types"):
		return ""
	case strings.Contains(message, "time.Duration"), strings.Contains(message, "time.Time"):
		return `date("2026-01-01") is a time, and duration("1h") a duration`
	case strings.Contains(message, "string"):
		return "write a number without quotes; number(…) converts text to a number, and text(…) a number to text"
	}
	return ""
}
