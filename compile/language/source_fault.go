package language

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Fault is a mistake in a source.
type Fault struct {
	Message string
	Hint    string // how to fix it; may be empty
	Lists   bool   // the hint lists the known names
	Instead string // what to write in the place of the word that is wrong; may be empty

	at int // position in the source, in characters
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// faultAt returns a fault at a node.
func faultAt(n ast.Node, format string, args ...any) *Fault {
	return &Fault{Message: fmt.Sprintf(format, args...), at: n.Location().From}
}

func (f *Fault) withHint(hint string) *Fault {
	f.Hint = hint
	return f
}

// withNearest proposes the word that is nearest to the one that was written, if one is near.
func (f *Fault) withNearest(written string, words []string) *Fault {
	if f.Instead = diag.Nearest(written, words); f.Instead != "" {
		f.Hint = diag.DidYouMean(written, words)
	}
	return f
}

// AsFault converts an error to a fault: a fault, or an error of the expression
// language, whose message and position it takes.
func AsFault(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if e, ok := errors.AsType[*file.Error](err); ok {
		f := &Fault{Message: strings.TrimSpace(e.Message), at: e.From}
		return f.withHint(cureOf(f.Message))
	}
	return &Fault{Message: err.Error()}
}

// Offset returns the position in a source, in bytes.
func (f *Fault) Offset(source string) int {
	characters := []rune(source)
	return len(string(characters[:min(max(f.at, 0), len(characters))]))
}

// Snippet returns the line of the source that the fault is in, with a caret.
func (f *Fault) Snippet(source string) string {
	s := diag.NewSource("", source)
	return s.Snippet(s.Position(f.Offset(source)))
}

// cureOf returns the remedy for an error of the expression language, or "" for an unknown error.
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
