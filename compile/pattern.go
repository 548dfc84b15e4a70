package compile

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules/value"
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
		return nil, at(node, "matches takes its pattern as a string literal")
	}
	if len(text.Value) > maxPattern {
		return nil, at(node, "the pattern has %d bytes; the limit is %d", len(text.Value), maxPattern)
	}
	compiled, err := regexp.Compile(text.Value)
	if err != nil {
		return nil, at(node, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	parsed, err := syntax.Parse(text.Value, syntax.Perl)
	if err != nil {
		return nil, at(node, "%v", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, at(node, "%v", err)
	}
	return &pattern{compiled, len(program.Inst)}, nil
}

// matches reports whether a string matches a pattern; nil does not.
func matches(v any, p *pattern) (any, error) {
	if v == nil {
		return false, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("matches takes a string, got %s (%s)", value.KindOf(v), value.Preview(v))
	}
	if len(text) > maxMatch/p.instructions {
		return nil, overBudget("a pattern of that size is applied to a string of %d bytes", len(text))
	}
	return p.MatchString(text), nil
}
