package workbench

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Diagnostic is a mistake in a configuration, or a warning about it.
type Diagnostic struct {
	Range    Range  `json:"range"`
	Severity string `json:"severity"` // "error" or "warning"
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"` // how to fix it, if known
	Path     string `json:"path,omitempty"` // config path
	Fix      *Fix   `json:"fix,omitempty"`  // if the remedy is another word
}

// A Fix is a change of the text.
type Fix struct {
	Title string `json:"title"`
	Edits []Edit `json:"edits"`
}

// Diagnostics returns the mistakes in the text or, if there are none, the warnings about it, in the order of
// their positions.
func (d *Document) Diagnostics() []Diagnostic {
	e, err := d.load()
	found := diag.Diagnostics{}
	switch mistakes, ok := errors.AsType[diag.Diagnostics](err); {
	case err == nil:
		found = e.Warnings()
	case ok:
		found = mistakes
	default:
		found = append(found, &diag.Diagnostic{Message: err.Error()})
	}
	diagnostics := make([]Diagnostic, len(found))
	for i, diagnostic := range found {
		diagnostics[i] = d.diagnostic(diagnostic)
	}
	return diagnostics
}

func (d *Document) diagnostic(dg *diag.Diagnostic) Diagnostic {
	out := Diagnostic{Severity: "error", Message: dg.Message, Hint: dg.Hint, Path: dg.Path}
	if dg.Severity == diag.SeverityWarning {
		out.Severity = "warning"
	}
	start, end := 0, 0
	if dg.Pos.Line > 0 {
		start = d.lines().diagOffset(dg.Pos)
		start, end = d.token(start)
	}
	out.Range = d.lines().span(start, end)
	if word := dg.Remedy.Replacement; word != "" && start < end {
		out.Fix = d.fix(start, end, word)
	}
	return out
}

// token returns the part of the text that a diagnostic at an offset is about: a text in quotes, a word, an
// operator, or one character.
func (d *Document) token(offset int) (start, end int) {
	rest := d.Text[offset:]
	line, _, _ := strings.Cut(rest, "\n")
	line = strings.TrimRight(line, "\r")
	if line == "" {
		return offset, offset
	}
	if quoted := quotedText().FindString(line); quoted != "" {
		return offset, offset + len(quoted)
	}
	first, size := utf8.DecodeRuneInString(line)
	same := func(c rune) bool { return c == first }
	switch {
	case isWord(first):
		same = isWord
	case strings.ContainsRune(operatorCharacters, first):
		same = func(c rune) bool { return strings.ContainsRune(operatorCharacters, c) }
	default:
		return offset, offset + size
	}
	n := strings.IndexFunc(line, func(c rune) bool { return !same(c) })
	if n < 0 {
		n = len(line)
	}
	return offset, offset + n
}

// quotedText matches a text in quotes at the beginning of a line.
var quotedText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`) })

const operatorCharacters = "=!<>&|+-*/%^?~"

func isWord(c rune) bool { return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// fix returns the fix that replaces the part of the text that a diagnostic is about with a word. It returns nil
// if the word contains the quotes around the text.
func (d *Document) fix(start, end int, word string) *Fix {
	written := d.Text[start:end]
	quote := ""
	if strings.HasPrefix(written, `"`) || strings.HasPrefix(written, `'`) {
		quote = written[:1]
	}
	change := Edit{Range: d.lines().span(start, end), Text: quote + word + quote}
	if quote != "" && strings.Contains(word, quote) {
		return nil
	}
	return &Fix{Title: "Replace " + strings.Trim(written, quote) + " by " + word, Edits: []Edit{change}}
}
