package workbench

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/rules"
)

// Format returns the edits that give the expressions of the text their usual spaces. An expression of several
// lines, with a comment, or with a mistake stays as it is.
func (d *Document) Format() []Edit {
	edits := []Edit{}
	d.outline().expressions(func(n *syntax.Node, slot rules.Slot, from, to int) {
		source := n.Text[from:to]
		if slot.Sources == rules.BraceSource && to == len(n.Text) && !strings.HasSuffix(n.Text, "}") {
			return // the brace is not closed
		}
		if n.Style == syntax.Block || strings.ContainsAny(source, "\n") || strings.Contains(source, "//") || strings.Contains(source, "/*") {
			return
		}
		formatted := formatted(source)
		if formatted == source || !n.Verbatim(0, len(n.Text)) && n.Style != syntax.DoubleQuoted && n.Style != syntax.SingleQuoted ||
			!language.Builtin().Same(source, formatted) {
			return
		}
		edits = append(edits, d.sourceEdit(n, from, to, formatted))
	})
	return edits
}

// tight are the tokens around which no space stands.
var tight = []string{".", "?.", "..", "(", ")", "[", "]"}

// formatted returns an expression with its usual spaces.
func formatted(source string) string {
	var b strings.Builder
	tokens := lex(source)
	var open []string // brackets
	previous, unary := "", false
	for i, t := range tokens {
		word := t.of(source)
		if i > 0 && spaced(previous, word, unary, tokens[i-1], open) {
			b.WriteByte(' ')
		}
		switch word {
		case "(", "[", "{":
			open = append(open, word)
		case ")", "]", "}":
			open = open[:max(len(open)-1, 0)]
		}
		operand := i > 0 && (tokens[i-1].kind != operatorToken || slices.Contains([]string{")", "]", "}"}, previous)) && !isOperatorWord(previous)
		unary = (word == "-" || word == "+" || word == "!") && !operand
		b.WriteString(word)
		previous = word
	}
	return b.String()
}

func isOperatorWord(word string) bool {
	return slices.Contains([]string{"and", "or", "not", "in", "contains", "matches", "startsWith", "endsWith", "let", "if", "else"}, word)
}

// spaced reports whether a space stands between two tokens.
func spaced(previous, word string, unary bool, before token, open []string) bool {
	inside := ""
	if len(open) > 0 {
		inside = open[len(open)-1]
	}
	switch {
	case unary, word == ",", word == ";", previous == "{", word == "}":
		return false
	case previous == "," || previous == ";":
		return true
	case word == ":" || previous == ":":
		return inside != "[" && (previous == ":" || inside != "{")
	case word == "(":
		return before.kind == operatorToken && !slices.Contains(tight, previous) || isOperatorWord(previous)
	case word == "[":
		closes := slices.Contains([]string{")", "]", "}"}, previous)
		return before.kind == operatorToken && !closes && !slices.Contains(tight, previous) || isOperatorWord(previous)
	case slices.Contains([]string{".", "?."}, word): // of a predicate, it begins an operand
		return isOperatorWord(previous) || before.kind == operatorToken && !slices.Contains([]string{"(", ")", "[", "]", "{", "}"}, previous)
	case slices.Contains(tight, word):
		return false
	case slices.Contains([]string{".", "?.", "..", "(", "["}, previous):
		return false
	}
	return true
}
