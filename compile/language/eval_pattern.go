package language

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/expr-lang/expr/ast"
)

const (
	maxPattern = 256        // bytes of a regular expression
	maxMatch   = 10_000_000 // instructions of a pattern times bytes of the string
)

// A pattern is a regular expression that is compiled with its rule.
type pattern struct {
	*regexp.Regexp
	instructions int
}

func patternOf(node ast.Node) (*pattern, error) {
	text, ok := node.(*ast.StringNode)
	if !ok {
		return nil, faultAt(node, "matches takes its pattern as a string literal")
	}
	p, err := compilePattern(text.Value)
	if err != nil {
		return nil, faultAt(node, "%v", err)
	}
	return p, nil
}

func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; the limit is %d", len(text), maxPattern)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{compiled, len(program.Inst)}, nil
}

// matches reports whether a string matches a pattern; nil does not.
func matches(m *meter, v any, p *pattern) (any, error) {
	if v == nil {
		return false, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("matches takes a string, got %s", Described(v))
	}
	if len(text) > maxMatch/p.instructions {
		return nil, overBudget("a pattern of that size is applied to a string of %d bytes", len(text))
	}
	m.spend(product(len(text)+16, p.instructions))
	return p.MatchString(text), nil
}
