// Package yaml reads configurations written in YAML. It accepts what JSON can
// express: objects with text keys, lists, and the scalars of the YAML 1.2 core
// schema. So `yes`, `1_000` and `2026-01-01` are strings. Anchors, aliases and merge
// keys share what several objects have. Features that a configuration does not need
// (other tags, several documents) are refused with a hint.
//
// The package is separate from rules so that a program that reads only JSON does
// not depend on a YAML parser.
//
// # Decisions
//
// Comments are added to a text line by line. Writing its tree again would lose its blank
// lines, its quotes and the places of its own comments. The result is parsed and compared with
// the values before, so comments never change a configuration.
package yaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Parse reads the source's text into the values that [rules.ParseJSON] returns
// for the same configuration in JSON ([rules.Object], []any, string, bool, nil,
// int, float64, and [encoding/json.Number] for integers too long for int) and
// marks the position of each value and key in the source. The position of an
// aliased value is its alias; the positions inside it are those of its anchor. An
// empty text is nil. Errors are [diag.Diagnostics] with one element.
func Parse(source *diag.Source) (any, error) {
	if len(source.Text) > rules.MaxConfigBytes || json.Valid([]byte(source.Text)) {
		return rules.ParseJSON(source) // The YAML parser refuses some characters that JSON allows.
	}
	r := &reader{source: source, faults: diag.NewCollector(source), anchors: map[string]*yaml.Node{}}
	v, err := r.read()
	if err != nil {
		return nil, r.faults.Diagnostics()
	}
	return v, nil
}

func (r *reader) read() (any, error) {
	text := r.source.Text
	if at, problem, hint := unreadable(text); problem != "" {
		return nil, r.fault("", at, hint, "%s", problem)
	}
	r.lines = indexLines(text)
	root, err := r.load(surrogatePair().ReplaceAllString(acceptVersion(text), hiddenMark+"${1}${2}___"))
	if err != nil {
		return nil, err
	}
	var mark diag.Mark
	v, err := r.value(root, "", &mark, nodeContext{key: -1})
	r.source.SetMarks(mark)
	return v, err
}

// load parses a text into the tree of its one document. The tree of an empty text
// is an empty scalar.
func (r *reader) load(text string) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(policy{}))
	if err != nil {
		return nil, r.syntax(err)
	}
	var document, second yaml.Node
	if err := loader.Load(&document); errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.ScalarNode}, nil
	} else if err != nil {
		return nil, r.syntax(err)
	}
	if err := loader.Load(&second); errors.Is(err, io.EOF) {
		return document.Content[0], nil
	} else if err != nil {
		return nil, r.syntax(err)
	}
	at := r.lines.offset(second.Line, second.Column)
	return nil, r.fault("", at, "keep one document per file", "a second document begins here")
}

// cannotStart is the parser's message for a character that begins no value.
const cannotStart = "found character that cannot start any token"

// syntax reports an error of the YAML parser. An error at the end of the text is
// about a part that is not closed, so it is reported where that part begins.
func (r *reader) syntax(err error) error {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return r.fault("", 0, "", "not valid YAML: %v", err)
	}
	offset := r.lines.offset(e.Mark.Line, e.Mark.Column)
	rest := r.source.Text[offset:]
	switch {
	case e.Message == errTooDeep.Error():
		return r.tooDeep("", offset)
	case e.Message == cannotStart && strings.HasPrefix(rest, "\t"):
		return r.fault("", offset, "indent with spaces", "not valid YAML: a tab is not allowed here")
	case e.Message == cannotStart:
		return r.fault("", offset, "put the text in quotes", "not valid YAML: text cannot begin with %.1s", rest)
	case strings.TrimSpace(rest) == "" && e.ContextMsg != "":
		offset = r.lines.offset(e.ContextMark.Line, e.ContextMark.Column)
	}
	return r.fault("", offset, "", "not valid YAML: %s", strings.TrimSpace(e.Message+" "+e.ContextMsg))
}

// errReported stops the reading; the fault itself is in the collection.
var errReported = errors.New("reported")

// fault reports a fault and returns the error that stops the reading.
func (r *reader) fault(path string, at int, hint, format string, args ...any) error {
	r.faults.Errorf(diag.Offset(path, at), format, args...).WithHint(hint)
	return errReported
}

func (r *reader) tooDeep(path string, at int) error {
	return r.fault(path, at, "", "nested more than %d levels deep", rules.MaxConfigDepth)
}

// errTooDeep reaches the reader as the message of a [yaml.LoadError].
var errTooDeep = errors.New("nested too deep")

// policy makes the YAML parser bound its recursion and accept every alias. The
// reader resolves aliases: it knows the config path for messages, and it bounds
// the values that they expand to.
type policy struct{}

func (policy) CheckDepth(depth int, context *yaml.DepthContext) error {
	limit := rules.MaxConfigDepth + 1 // The root is at depth 0.
	if context.Kind == yaml.DepthKindBlock {
		limit *= 2 // The reader reports block nesting more precisely.
	}
	if depth > limit {
		return errTooDeep
	}
	return nil
}

func (policy) CheckAlias(aliases, values int) error { return nil }

func (p policy) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return p, nil
}

func (policy) BeginDocument() error { return nil }

func (policy) EndDocument() error { return nil }

func (policy) DefineAnchor(name string, node *yaml.Node) error { return nil }

// ResolveAlias returns a target that the reader does not use.
func (policy) ResolveAlias(name string) (target *yaml.Node, found bool, err error) {
	return &yaml.Node{Kind: yaml.ScalarNode}, true, nil
}

const byteOrderMark = '\ufeff'

// unreadable finds the first character that the YAML parser refuses, or treats as
// a line end, as YAML 1.1 did. The problem is empty if there is none.
func unreadable(text string) (at int, problem, hint string) {
	for i, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i, fmt.Sprintf("not valid YAML: byte 0x%02x is not UTF-8", text[i]), "save the file as UTF-8"
		}
		control := c < ' ' && !strings.ContainsRune("\t\n\r", c)
		lineEnd := c == '\u0085' || c == '\u2028' || c == '\u2029'
		noncharacter := c == '\ufffe' || c == '\uffff'
		if control || lineEnd || noncharacter || string(c) == hiddenMark {
			return i, fmt.Sprintf("the character %U must be escaped", c), fmt.Sprintf(`write \U%08x in double quotes`, c)
		}
	}
	return 0, "", ""
}

var versionLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\x{feff}?([ \t]*\r?\n|[#%].*\n)*%YAML[ \t]+1\.[0-9]`)
})

// acceptVersion replaces the version of a %YAML directive with 1.1, the only one
// that the parser accepts, although it reads YAML 1.2.
func acceptVersion(text string) string {
	if end := len(versionLine().FindString(text)); end > 0 {
		return text[:end-1] + "1" + text[end:]
	}
	return text
}

// hiddenMark begins a hidden surrogate pair. JSON writes a character beyond U+FFFF
// as two escapes, \ud83d\ude00, which the parser refuses. The pair is replaced by
// the mark, a noncharacter that no readable text contains, its digits, and as many
// characters as keep all columns the same.
const hiddenMark = "\U0010ffff"

var (
	surrogatePair = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`)
	})
	hiddenPair = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(hiddenMark + `([0-9a-fA-F]{4})([0-9a-fA-F]{4})___`) })
)

// restoreSurrogates returns the text of a scalar with its hidden pairs decoded if
// it is in double quotes, or as they are written otherwise.
func restoreSurrogates(text string, doubleQuoted bool) string {
	return hiddenPair().ReplaceAllStringFunc(text, func(hidden string) string {
		pair := hiddenPair().ReplaceAllString(hidden, `\u${1}\u${2}`)
		if doubleQuoted {
			_ = json.Unmarshal([]byte(`"`+pair+`"`), &pair)
		}
		return pair
	})
}
