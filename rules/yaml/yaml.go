// Package yaml reads configurations written in YAML. What it accepts is what
// JSON can say, in YAML's clothes: objects with text keys, lists, and the
// scalars of the YAML 1.2 core schema. So `yes`, `1_000` and `2026-01-01` are
// strings, and the long tail of YAML that a configuration has no use for (other
// tags, merge keys, several documents) is refused with a cure.
//
// It is a package of its own so that who reads JSON alone depends on no YAML.
package yaml

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Limits beside those that [rules] sets on every configuration.
const (
	// maxExpanded bounds the nodes that aliases may bring in, all together:
	// ten nested lists of ten aliases each would make ten thousand million.
	maxExpanded = 10_000
	// maxTokens bounds the parser's work, which grows with the square of the
	// keys in one object: half a second at this size.
	maxTokens = 50_000
	// maxBlankLines in a row and maxTabs bound the lexer's work, which grows with
	// their square inside a block of text and inside quotes: together well below
	// a second.
	maxBlankLines = 1_000
	maxTabs       = 10_000
)

const byteOrderMark = "\ufeff"

// errReported stops the reading; the fault itself is in the collection.
var errReported = errors.New("reported")

// Parse reads the source's text into the values that [rules.ParseJSON] gives
// for the same configuration in JSON ([rules.Object], []any, string, bool, nil,
// int, float64, and [encoding/json.Number] for integers too long for int) and
// marks the position of each value and key in the source. A value that an alias
// brings stands where the alias is; what is inside it, at its anchor. An empty
// text is nil. Errors are [diag.Diagnostics] with one fault.
func Parse(source *diag.Source) (v any, err error) {
	w := &walker{source: source, faults: diag.NewCollector(source), anchors: map[string]ast.Node{}}
	// The YAML parser is not ours and has a history of index errors on odd
	// input; a configuration must not bring the process down.
	defer func() {
		if cause := recover(); cause != nil {
			w.faults.Errorf(diag.Offset("", 0), "not valid YAML: the parser failed on it (%v)", cause)
			v, err = nil, w.faults.Diagnostics().Errors()
		}
	}()
	root, rootAt, err := w.parse()
	if err == nil {
		v, err = w.value(root, "", spot{fallback: rootAt, key: -1})
	}
	if err != nil {
		return nil, w.faults.Diagnostics().Errors()
	}
	return v, nil
}

// parse turns the text into the syntax tree of its one document.
func (w *walker) parse() (ast.Node, int, error) {
	text, size := w.source.Text, len(w.source.Text)
	if size > rules.MaxConfigBytes {
		return nil, 0, w.fault("", 0, "", "a configuration of %d bytes; the limit is %d", size, rules.MaxConfigBytes)
	}
	if at := invalidUTF8(text); at >= 0 {
		return nil, 0, w.fault("", at, "save the file as UTF-8", "not valid YAML: byte 0x%02x is not UTF-8", text[at])
	}
	if err := w.sparse(text); err != nil {
		return nil, 0, err
	}
	text = strings.TrimPrefix(text, byteOrderMark)
	tokens := lexer.Tokenize(text)
	w.at = locate(text, tokens[:min(len(tokens), maxTokens+1)], size-len(text))
	if err := w.bounded(tokens); err != nil {
		return nil, 0, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // duplicates are refused by the walker, in our words
	if err != nil {
		return nil, 0, w.syntax(err)
	}
	return w.document(file.Docs)
}

// document picks the one document. A directive before it is a document to the
// parser.
func (w *walker) document(docs []*ast.DocumentNode) (ast.Node, int, error) {
	var body ast.Node
	for i, doc := range docs {
		if directive, ok := doc.Body.(*ast.DirectiveNode); ok {
			if i == 0 && len(docs) > 1 {
				continue
			}
			return nil, 0, w.fault("", w.offset(directive.GetToken(), 0), "remove the line", "a directive has no use in a configuration")
		}
		if body != nil || i > 0 && docs[i-1].Body == nil {
			at := w.offset(doc.Start, len(w.source.Text))
			return nil, 0, w.fault("", at, "keep one document a file", "a second document begins here")
		}
		body = doc.Body
	}
	return body, 0, nil
}

// sparse refuses texts that would keep the lexer busy for minutes.
func (w *walker) sparse(text string) error {
	at, blank, tabs := 0, 0, 0
	for line := range strings.Lines(text) {
		if blank++; strings.TrimSpace(line) != "" {
			blank = 0
		}
		tabs += strings.Count(line, "\t")
		switch {
		case blank > maxBlankLines:
			return w.fault("", at, "remove them", "more than %d blank lines in a row", maxBlankLines)
		case tabs > maxTabs:
			return w.fault("", at, "indent with spaces", "more than %d tabs", maxTabs)
		}
		at += len(line)
	}
	return nil
}

// bounded refuses texts that would exhaust the recursive parser.
func (w *walker) bounded(tokens token.Tokens) error {
	open, run := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		}
		switch t.Type {
		case token.SequenceEntryType, token.MappingKeyType:
			run++ // - - - - nests one list in another on a single line
		default:
			run = 0
		}
		switch at := w.offset(t, 0); {
		case max(open, run) > rules.MaxConfigDepth+1: // the root is at depth 0
			return w.tooDeep("", at)
		case i >= maxTokens:
			return w.fault("", at, "write it as JSON", "a YAML configuration of more than %d words and signs", maxTokens)
		}
	}
	return nil
}

// syntax reports an error of the YAML parser at its token.
func (w *walker) syntax(err error) error {
	var placed interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &placed) {
		return w.fault("", w.offset(placed.GetToken(), 0), "", "not valid YAML: %s", placed.GetMessage())
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return w.fault("", 0, "", "not valid YAML: %s", message)
}

// fault reports and gives the error that stops the reading.
func (w *walker) fault(path string, at int, hint, format string, args ...any) error {
	w.faults.Errorf(diag.Offset(path, at), format, args...).WithHint(hint)
	return errReported
}

func (w *walker) tooDeep(path string, at int) error {
	return w.fault(path, at, "", "nested more than %d levels deep", rules.MaxConfigDepth)
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}
