package yaml

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// searched is how many bytes after a token the next one is looked for: enough
// for blank lines and comments between them, and a bound on the work.
const searched = 4096

// locate finds the byte offset of every token, counted from the start of a
// source of which text is what follows the first base bytes.
//
// The lexer gives lines and columns in characters, and a few of them are off:
// by the spaces at the end of a text, by line ends other than \n. So each is
// checked against the text, and where the token does not stand there it is
// looked for after the token before it.
func locate(text string, tokens token.Tokens, base int) map[*token.Token]int {
	at := make(map[*token.Token]int, len(tokens))
	lines := lineStarts(text)
	floor := 0 // where the token may begin at the earliest
	for _, t := range tokens {
		word := firstWord(t)
		if t.Type == token.CommentType || t.Position.Column < 1 || word == "" {
			continue // nothing points at a comment, nor at the inside of a block of text
		}
		offset := lines.offset(t.Position)
		if offset < floor || !strings.HasPrefix(text[offset:], word) {
			found := strings.Index(text[floor:min(floor+searched, len(text))], word)
			if found < 0 {
				at[t] = base + max(offset, floor)
				continue
			}
			offset = floor + found
		}
		at[t] = base + offset
		floor = offset + len(word)
	}
	return at
}

// firstWord is what the text shows where a token begins, as far as that is
// sure: the lexer rewrites the inside of quoted strings.
func firstWord(t *token.Token) string {
	switch t.Type {
	case token.SingleQuoteType:
		return "'"
	case token.DoubleQuoteType:
		return `"`
	}
	line := strings.TrimSpace(t.Origin)
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	return strings.TrimRight(line, " \t")
}

// lines turns positions in characters into byte offsets.
type lines struct {
	text   string
	starts []int // of each line

	// The last answer, from which the next one in the same line is counted:
	// all of a minified JSON text is one line.
	line, column, at int
}

func lineStarts(text string) *lines {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return &lines{text: text, starts: starts}
}

// offset is the end of the text for a position beyond it.
func (l *lines) offset(p *token.Position) int {
	if p.Line < 1 || p.Line > len(l.starts) {
		return len(l.text)
	}
	if p.Line != l.line || p.Column < l.column {
		l.line, l.column, l.at = p.Line, 1, l.starts[p.Line-1]
	}
	for ; l.column < p.Column; l.column++ {
		_, size := utf8.DecodeRuneInString(l.text[l.at:])
		l.at += size
	}
	return l.at
}

// offset is the byte offset of a token, or the fallback for one that is not in
// the text: the parser makes up a token for a value that is left out.
func (w *walker) offset(t *token.Token, fallback int) int {
	if at, ok := w.at[t]; ok && t != nil {
		return at
	}
	return fallback
}
