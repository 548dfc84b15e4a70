package rules

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The limits of a configuration are far above any real one, and low enough that no
// text exhausts the process.
const (
	MaxConfigBytes = 1 << 20
	MaxConfigDepth = 64
)

// ReadConfig reads the text of a configuration. It reads no more than is needed to
// find that the text is longer than [MaxConfigBytes], which the parsers report.
func ReadConfig(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, MaxConfigBytes+1))
}

// ReadConfigFile is [ReadConfig] of the file at a path.
func ReadConfigFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadConfig(file)
}

// ParseJSON parses the source's text into values ([Object], []any, string, bool, nil,
// int, float64, and json.Number for numbers whose digits these would lose) and marks the
// position of each in the source. Errors are [diag.Diagnostics] with one error.
func ParseJSON(source *diag.Source) (any, error) {
	p := &jsonParser{text: source.Text, diags: diag.NewCollector(source)}
	if len(p.text) > MaxConfigBytes {
		p.diags.Errorf(diag.Offset("", 0), "the text has more than %d bytes", MaxConfigBytes)
		return nil, p.diags.Diagnostics()
	}
	if !p.valid() {
		return nil, p.diags.Diagnostics()
	}
	p.next()
	v, root, err := p.value(0)
	if err != nil {
		return nil, p.diags.Diagnostics()
	}
	source.SetMarks(root)
	return v, nil
}

// A jsonParser reads a text that is known to be JSON.
type jsonParser struct {
	text  string
	at    int // offset of the next byte to read
	diags *diag.Collector

	// The parts so far of the lists and objects around the next value, the outermost first.
	// Each list or object takes its own parts when it ends, so that it is allocated once.
	members  []Member
	elements []any
	marks    []diag.Mark

	path [MaxConfigDepth + 1]step // the path to the next value, up to its depth
}

// A step leads from a list or an object to a value in it.
type step struct {
	name  string
	index int // its position in a list; -1: it is the member name of an object
}

// valid reports whether the text is JSON, and describes its mistake otherwise.
func (p *jsonParser) valid() bool {
	if json.Valid([]byte(p.text)) {
		return true
	}
	syntax, _ := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(p.text), new(json.RawMessage))) // an invalid text has no other error
	offset, message := int(syntax.Offset)-1, syntax.Error()
	if strings.HasPrefix(message, "unexpected end") {
		offset, message = len(p.text), "unexpected end of the text"
	}
	p.diags.Errorf(diag.Offset("", offset), "not valid JSON: %s", message).WithHint(jsonHint(p.text, offset))
	return false
}

// jsonHint returns a hint for a text that is not JSON because of the byte at an offset. It is empty if
// the mistake is not common.
func jsonHint(text string, offset int) string {
	before, rest := strings.TrimRight(text[:offset], " \t\r\n"), text[offset:]
	switch {
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"), strings.HasPrefix(rest, "#"):
		return "JSON has no comments; in a YAML file (.yaml or .yml), they begin with #"
	case strings.HasPrefix(rest, "}") && strings.HasSuffix(before, ","), strings.HasPrefix(rest, "]") && strings.HasSuffix(before, ","):
		return "remove the comma before it"
	case before == "" && rest != "":
		return "JSON begins with {; the name of a YAML file ends with .yaml or .yml"
	}
	return ""
}

// errReported ends the parse. The collector has the mistake.
var errReported = errors.New("reported")

// fail reports a mistake in the value at a depth, and where it is.
func (p *jsonParser) fail(depth, offset int, hint, format string, args ...any) error {
	path := ""
	for _, s := range p.path[:depth] {
		if s.index < 0 {
			path = diag.Join(path, s.name)
		} else {
			path = diag.Index(path, s.index)
		}
	}
	p.diags.Errorf(diag.Offset(path, offset), format, args...).WithHint(hint)
	return errReported
}

// next goes to the next token and returns its first byte.
func (p *jsonParser) next() byte {
	for strings.IndexByte(" \t\r\n,:", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[p.at]
}

// value reads the value that begins here.
func (p *jsonParser) value(depth int) (any, diag.Mark, error) {
	start := diag.Mark{Value: p.at, Key: -1}
	if depth > MaxConfigDepth {
		return nil, start, p.fail(depth, p.at, "", "nested more than %d levels deep", MaxConfigDepth)
	}
	var v any
	var err error
	switch p.text[p.at] {
	case '{':
		v, err = p.object(&start, depth)
	case '[':
		v, err = p.list(&start, depth)
	case '"':
		v = p.string()
	case 't':
		v = true
		p.at += len("true")
	case 'f':
		v = false
		p.at += len("false")
	case 'n':
		p.at += len("null")
	default:
		v = p.number()
	}
	return v, start, err
}

func (p *jsonParser) object(offset *diag.Mark, depth int) (any, error) {
	p.at++
	var names nameSet
	members, marks := len(p.members), len(p.marks)
	for p.next() != '}' {
		start := p.at
		name := p.string()
		p.path[depth] = step{name: name, index: -1}
		if names.repeats(name, p.members[members:]) {
			return nil, p.fail(depth+1, start, "remove one of them", "duplicate key %q", name)
		}
		p.next()
		v, inner, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		inner.Name, inner.Key = name, start
		p.members, p.marks = append(p.members, Member{Name: name, Value: v}), append(p.marks, inner)
	}
	p.at++
	object := append(Object{}, p.members[members:]...)
	p.members = p.members[:members]
	p.closeMarks(offset, marks)
	return object, nil
}

func (p *jsonParser) list(offset *diag.Mark, depth int) (any, error) {
	p.at++
	elements, marks := len(p.elements), len(p.marks)
	for p.next() != ']' {
		p.path[depth] = step{index: len(p.elements) - elements}
		v, inner, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.elements, p.marks = append(p.elements, v), append(p.marks, inner)
	}
	p.at++
	list := append([]any{}, p.elements[elements:]...)
	p.elements = p.elements[:elements]
	p.closeMarks(offset, marks)
	return list, nil
}

// closeMarks moves the marks from a position on into the mark of a list or an object.
func (p *jsonParser) closeMarks(mark *diag.Mark, from int) {
	mark.Contain(slices.Clone(p.marks[from:]))
	p.marks = p.marks[:from]
}

// A nameSet has the names of a large object. It is nil as long as the object is small.
type nameSet map[string]bool

// repeats reports whether one of the members so far has the name, and adds it.
func (n *nameSet) repeats(name string, members Object) bool {
	const large = 16
	if len(members) < large {
		_, exists := members.Get(name)
		return exists
	}
	if *n == nil {
		*n = make(nameSet)
		for _, m := range members {
			(*n)[m.Name] = true
		}
	}
	exists := (*n)[name]
	(*n)[name] = true
	return exists
}

// string reads a text.
func (p *jsonParser) string() string {
	begin := p.at + 1
	end := begin + strings.IndexByte(p.text[begin:], '"')
	text := p.text[begin:end]
	if strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) {
		p.at = end + 1
		return text
	}
	for end = begin; p.text[end] != '"'; end++ {
		if p.text[end] == '\\' {
			end++
		}
	}
	p.at = end + 1
	var unescaped string
	_ = json.Unmarshal([]byte(p.text[begin-1:p.at]), &unescaped) // it is valid
	return unescaped
}

// number reads a number.
func (p *jsonParser) number() any {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789Ee", p.text[p.at]) >= 0 {
		p.at++
	}
	return value.Spelled(json.Number(p.text[begin:p.at]))
}
