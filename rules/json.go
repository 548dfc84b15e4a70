package rules

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

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
// int, float64, and json.Number for numbers of which these would lose digits) and marks the
// position of each in the source. Errors are [diag.Diagnostics] with one error.
func ParseJSON(source *diag.Source) (any, error) {
	p := &jsonParser{source: source, dec: json.NewDecoder(strings.NewReader(source.Text)), diags: diag.NewCollector(source)}
	p.dec.UseNumber()
	if len(source.Text) > MaxConfigBytes {
		p.diags.Errorf(diag.Offset("", 0), "the text has more than %d bytes", MaxConfigBytes)
		return nil, p.diags.Diagnostics().Errors()
	}
	p.syntax()
	if diags := p.diags.Diagnostics().Errors(); len(diags) > 0 {
		return nil, diags
	}
	v, err := p.value("", -1, 0)
	if err != nil {
		return nil, p.diags.Diagnostics().Errors()
	}
	return v, nil
}

// syntax reports text that is not JSON. What follows relies on valid JSON.
func (p *jsonParser) syntax() {
	err := json.Unmarshal([]byte(p.source.Text), new(json.RawMessage))
	syntax := (*json.SyntaxError)(nil)
	if !errors.As(err, &syntax) {
		return
	}
	at, message := int(syntax.Offset)-1, syntax.Error()
	if strings.HasPrefix(message, "unexpected end") {
		at, message = len(p.source.Text), "unexpected end of the text"
	}
	p.diags.Errorf(diag.Offset("", at), "not valid JSON: %s", message)
}

type jsonParser struct {
	source *diag.Source
	dec    *json.Decoder
	diags  *diag.Collector
}

// errReported ends the parse. The collector has the mistake.
var errReported = errors.New("reported")

// next returns the offset at which the next token begins.
func (p *jsonParser) next() int {
	i := int(p.dec.InputOffset())
	for i < len(p.source.Text) && strings.IndexByte(" \t\r\n,:", p.source.Text[i]) >= 0 {
		i++
	}
	return i
}

func (p *jsonParser) token(path string) (json.Token, int, error) {
	start := p.next()
	token, err := p.dec.Token()
	if err != nil {
		p.diags.Errorf(diag.Offset(path, start), "not valid JSON: %v", err)
		return nil, 0, errReported
	}
	return token, start, nil
}

func (p *jsonParser) value(path string, key, depth int) (any, error) {
	token, start, err := p.token(path)
	if err != nil {
		return nil, err
	}
	p.source.Mark(path, start, key)
	if depth > MaxConfigDepth {
		p.diags.Errorf(diag.Offset(path, start), "nested more than %d levels deep", MaxConfigDepth)
		return nil, errReported
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return p.object(path, depth)
		}
		return p.list(path, depth)
	case json.Number:
		return value.Spelled(token), nil
	}
	return token, nil
}

func (p *jsonParser) object(path string, depth int) (any, error) {
	object, seen := Object{}, map[string]bool{}
	for p.dec.More() {
		token, at, err := p.token(path)
		if err != nil {
			return nil, err
		}
		name := token.(string)
		inner := diag.Join(path, name)
		if seen[name] {
			p.diags.Errorf(diag.Offset(inner, at), "duplicate key %q", name).WithHint("remove one of them")
			return nil, errReported
		}
		seen[name] = true
		v, err := p.value(inner, at, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object, Member{Name: name, Value: v})
	}
	_, _, err := p.token(path)
	return object, err
}

func (p *jsonParser) list(path string, depth int) (any, error) {
	list := []any{}
	for p.dec.More() {
		v, err := p.value(diag.Index(path, len(list)), -1, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, _, err := p.token(path)
	return list, err
}
