package rules

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An address may hold expressions in braces, as a URI template (RFC 6570):
// orders/{order.id}/lines. The value is percent-encoded, so that it is one segment of a
// path; that of {+expression} is inserted with its reserved characters. {{ and }} are
// braces.

// An addressPart is text, or an expression in braces.
type addressPart struct {
	text       string
	expression bool
	reserved   bool // {+expression}
}

// parseAddress splits an address into its parts.
func parseAddress(text string) ([]addressPart, error) {
	var parts []addressPart
	var plain strings.Builder
	for i := 0; i < len(text); {
		switch two := text[i:min(i+2, len(text))]; {
		case two == "{{" || two == "}}":
			plain.WriteByte(text[i])
			i += 2
			continue
		case text[i] != '{':
			plain.WriteByte(text[i])
			i++
			continue
		}
		end := closingBrace(text, i+1)
		if end < 0 {
			return nil, fmt.Errorf("the brace at character %d is not closed", utf8.RuneCountInString(text[:i])+1)
		}
		source, reserved := strings.CutPrefix(text[i+1:end], "+")
		if strings.TrimSpace(source) == "" {
			return nil, fmt.Errorf("the braces at character %d hold no expression", utf8.RuneCountInString(text[:i])+1)
		}
		parts = append(parts, addressPart{text: plain.String()}, addressPart{text: source, expression: true, reserved: reserved})
		plain.Reset()
		i = end + 1
	}
	return append(parts, addressPart{text: plain.String()}), nil
}

// closingBrace returns the index of the brace that closes an expression which begins at
// an index, or -1. Braces in the strings of the expression do not count.
func closingBrace(text string, from int) int {
	depth, quote := 0, byte(0)
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

// addressSource returns the expression for an address, and whether the address holds expressions.
func addressSource(text string) (source string, computed bool, err error) {
	parts, err := parseAddress(text)
	if err != nil {
		return "", false, err
	}
	var sources []string
	for _, p := range parts {
		switch {
		case p.reserved:
			sources = append(sources, "reserved("+p.text+")")
		case p.expression:
			sources = append(sources, "segment("+p.text+")")
		case p.text != "":
			sources = append(sources, strconv.Quote(p.text))
		}
		computed = computed || p.expression
	}
	return strings.Join(sources, " + "), computed, nil
}

// ExpandAddress replaces the expressions in an address, and the doubled braces.
func ExpandAddress(text string, replacement func(expression string) string) string {
	parts, err := parseAddress(text)
	if err != nil {
		return text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.expression {
			b.WriteString(replacement(p.text))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// sampleAddress returns an address with something harmless in the place of its
// expressions, to check the rest of it.
func sampleAddress(text string) string {
	return ExpandAddress(text, func(string) string { return "x" })
}

// sampleBase is [sampleAddress] for baseUrl, which may begin with an expression for a whole address:
// {+input.url}.
func sampleBase(text string) string {
	if parts, err := parseAddress(text); err == nil && len(parts) > 1 && parts[0].text == "" && parts[1].reserved {
		return "https://x/" + strings.TrimPrefix(sampleAddress(text), "x")
	}
	return sampleAddress(text)
}
