package workbench

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A tokenKind is a kind of token of an expression.
type tokenKind uint8

const (
	nameToken tokenKind = iota
	numberToken
	textToken     // in quotes
	operatorToken // also a bracket or a comma
	commentToken
)

// A token is a token of an expression.
type token struct {
	kind       tokenKind
	start, end int  // offsets in the source, in bytes
	closed     bool // of a text: whether it ends with its quote
}

func (t token) of(source string) string { return source[t.start:t.end] }

// twoBytes are the operators of two bytes.
var twoBytes = []string{"?.", "??", "==", "!=", "<=", ">=", "&&", "||", "..", "**", "::"}

// lex splits a source into its tokens. It accepts any text.
func lex(source string) (tokens []token) {
	for i := 0; i < len(source); {
		if strings.IndexByte(" \t\r\n", source[i]) >= 0 {
			i++
			continue
		}
		t := firstToken(source[i:])
		t.start, t.end = i, i+t.end
		tokens = append(tokens, t)
		i = t.end
	}
	return tokens
}

// firstToken returns the token at the beginning of a text, which does not begin with a space.
func firstToken(s string) token {
	c, size := utf8.DecodeRuneInString(s)
	switch {
	case strings.HasPrefix(s, "//"):
		comment, _, _ := strings.Cut(s, "\n")
		return token{kind: commentToken, end: len(comment)}
	case strings.HasPrefix(s, "/*"):
		_, after, _ := strings.Cut(s, "*/")
		return token{kind: commentToken, end: len(s) - len(after)}
	case c >= '0' && c <= '9':
		return token{kind: numberToken, end: sizeOfNumber(s)}
	case c == '"' || c == '\'' || c == '`':
		end, closed := sizeOfText(s)
		return token{kind: textToken, end: end, closed: closed}
	case isWord(c):
		return token{kind: nameToken, end: len(s) - len(strings.TrimLeftFunc(s, isWord))}
	case c == '#':
		end := 1
		for end < len(s) && isWord(rune(s[end])) {
			end++
		}
		return token{kind: nameToken, end: end}
	case slices.ContainsFunc(twoBytes, func(two string) bool { return strings.HasPrefix(s, two) }):
		size = 2
	}
	return token{kind: operatorToken, end: size}
}

// sizeOfNumber returns the size of the number at the beginning of a text, which ends before the operator .. of a range.
func sizeOfNumber(s string) (size int) {
	for size < len(s) && (isWord(rune(s[size])) || s[size] == '.' && !strings.HasPrefix(s[size:], "..")) {
		size++
	}
	return size
}

// sizeOfText returns the size of the text in quotes at the beginning of s, and whether it ends with its quote.
func sizeOfText(s string) (size int, closed bool) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i + 1, true
		case s[i] == '\\' && quote != '`':
			i++
		}
	}
	return len(s), false
}

// holes returns the expressions in braces in a text: the offsets between the braces. An unclosed
// expression extends to the end of the text.
func holes(text string) (found [][2]int) {
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], "{{") || strings.HasPrefix(text[i:], "}}") {
			i++
			continue
		}
		if text[i] != '{' {
			continue
		}
		start := i + 1
		if strings.HasPrefix(text[start:], "+") {
			start++
		}
		end := closingBrace(text, start)
		found = append(found, [2]int{start, end})
		i = end
	}
	return found
}

// closingBrace returns the offset of the brace that closes an expression, or of the end of the text.
func closingBrace(text string, from int) int {
	depth := 0
	for _, t := range lex(text[from:]) {
		switch t.of(text[from:]) {
		case "{":
			depth++
		case "}":
			if depth == 0 {
				return from + t.start
			}
			depth--
		}
	}
	return len(text)
}

// A chain is the selection that ends at a place in an expression, such as body.data[0].na: the value that it
// selects from, and the beginning of a name.
type chain struct {
	root string   // the name that it begins with; "" without a chain
	path []string // the names and indexes after it; * is any element of a list

	prefix   string // the part of the name before the place
	from, to int    // of that name, in the source

	text bool   // the place is in a text, a comment or a number, where no name can stand
	call string // within a text: the function whose argument it is; "[" for an index
}

// A chainFinder finds the chains of an expression.
type chainFinder struct {
	source string
	tokens []token
	budget *int // steps that are left
}

// chainAt returns the chain that ends at an offset.
func chainAt(source string, offset int) chain {
	budget := 100
	f := chainFinder{source: source, tokens: lex(source), budget: &budget}
	tokens, i := f.tokens, 0
	for i < len(tokens) && tokens[i].end < offset {
		i++
	}
	c := chain{from: offset, to: offset}
	if i < len(tokens) && tokens[i].start < offset || i < len(tokens) && tokens[i].start == offset && tokens[i].kind == nameToken {
		t := tokens[i]
		switch {
		case t.kind == textToken && t.start < offset && (offset < t.end || !t.closed):
			return f.textChain(i, offset)
		case t.kind == commentToken, t.kind == numberToken && t.start < offset:
			return chain{text: true, from: offset, to: offset}
		case t.kind == nameToken:
			c.prefix, c.from, c.to = source[t.start:offset], t.start, t.end
			i--
		}
	} else {
		i--
	}
	if i >= 0 && i < len(tokens) && isDot(tokens[i].of(source)) {
		c.root, c.path, _ = f.chainBefore(i - 1)
		if c.root == "" {
			c.root = "?"
		}
	}
	return c
}

func isDot(operator string) bool { return operator == "." || operator == "?." }

// choosers are the functions that choose elements of the list that is their first argument.
var choosers = map[string]choice{
	"first": oneElement, "last": oneElement, "find": oneElement, "findLast": oneElement,
	"filter": someElements, "reverse": someElements, "sort": someElements, "sortBy": someElements,
	"take": someElements, "uniq": someElements,
}

// A choice is the result of a function that chooses elements.
type choice uint8

const (
	oneElement   choice = iota // an element
	someElements               // a list of elements
)

// chainBefore returns the chain that ends with a token, and the index of the token before it.
func (f chainFinder) chainBefore(i int) (root string, path []string, before int) {
	source, tokens := f.source, f.tokens
	if *f.budget--; i < 0 || *f.budget < 0 { // a text that is malformed could lead to the same place again
		return "", nil, i
	}
	switch t := tokens[i]; {
	case t.kind == nameToken && t.of(source) == "#":
		root, path, _ := f.elementOf(i - 1)
		return root, path, i - 1
	case t.kind == nameToken:
		if i > 0 && isDot(tokens[i-1].of(source)) {
			root, path, before = f.chainBefore(i - 2)
			return root, append(path, t.of(source)), before
		}
		return t.of(source), nil, i - 1
	case t.of(source) == "]":
		open := f.enclosing(i - 1)
		if open <= 0 {
			return "", nil, open
		}
		key := "*"
		if open+2 == i && tokens[open+1].kind == textToken {
			key = unquoted(tokens[open+1].of(source))
		}
		root, path, before = f.chainBefore(open - 1)
		return root, append(path, key), before
	case t.of(source) == ")":
		open := f.enclosing(i - 1)
		if open <= 0 || tokens[open-1].kind != nameToken {
			return "", nil, open - 1
		}
		choice, known := choosers[tokens[open-1].of(source)]
		if !known {
			return "", nil, open - 2
		}
		root, path = f.argument(open)
		if choice == oneElement {
			path = append(path, "*")
		}
		return root, path, open - 2
	case t.of(source) == "(", t.of(source) == ",", t.kind == operatorToken:
		return f.elementOf(i)
	}
	return "", nil, i
}

// elementOf returns the chain of an element of a list, if the token is in a predicate that is called for each
// element of that list, as in filter(items, #.id > 0). Otherwise root is empty.
func (f chainFinder) elementOf(i int) (root string, path []string, before int) {
	open := f.enclosing(i)
	if open > 0 && f.tokens[open].of(f.source) == "(" && f.tokens[open-1].kind == nameToken {
		if root, path = f.argument(open); root != "" {
			return root, append(path, "*"), open - 2
		}
	}
	return "", nil, open
}

// argument returns the chain that is the first argument of a call. open is the index of its opening parenthesis.
func (f chainFinder) argument(open int) (root string, path []string) {
	source, tokens := f.source, f.tokens
	depth, end := 0, open+1
	for ; end < len(tokens); end++ {
		word := tokens[end].of(source)
		if depth == 0 && (word == "," || word == ")") {
			break
		}
		switch word {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
	}
	root, path, before := chainFinder{f.source, f.tokens[:end], f.budget}.chainBefore(end - 1)
	if before != open {
		return "", nil
	}
	return root, path
}

func unquoted(text string) string { return strings.Trim(text, "\"'`") }

// textChain returns the chain for a place in a text.
func (f chainFinder) textChain(i, at int) chain {
	source, tokens := f.source, f.tokens
	t := tokens[i]
	c := chain{text: true, prefix: source[t.start+1 : at], from: t.start + 1, to: t.end}
	if t.closed {
		c.to--
	}
	if i == 0 {
		return c
	}
	switch tokens[i-1].of(source) {
	case "(":
		if i > 1 && tokens[i-2].kind == nameToken {
			c.call = tokens[i-2].of(source)
		}
	case ",":
		if open := f.enclosing(i - 1); open > 0 && tokens[open-1].kind == nameToken {
			c.call = tokens[open-1].of(source)
			c.root, c.path = f.argument(open)
		}
	case "[":
		c.call = "["
		c.root, c.path, _ = f.chainBefore(i - 2)
	}
	return c
}

// enclosing returns the index of the bracket that is open at a token, or -1.
func (f chainFinder) enclosing(i int) int {
	source, tokens := f.source, f.tokens
	depth := 0
	for ; i >= 0; i-- {
		switch tokens[i].of(source) {
		case ")", "]", "}":
			depth++
		case "(", "[", "{":
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}
