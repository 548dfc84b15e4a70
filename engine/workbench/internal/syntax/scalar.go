package syntax

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// A decoder collects the text of a scalar, with the place of each of its bytes.
type decoder struct {
	text    []byte
	offsets []int
}

func (d *decoder) add(text string, at int) {
	for i := range len(text) {
		d.text, d.offsets = append(d.text, text[i]), append(d.offsets, at)
	}
}

// copy adds bytes of the source as they are.
func (d *decoder) copy(source string, from, to int) {
	for i := from; i < to; i++ {
		d.text, d.offsets = append(d.text, source[i]), append(d.offsets, i)
	}
}

// set sets the text of a node. end is where the text ends in the source.
func (d *decoder) set(n *Node, end int) {
	d.offsets = append(d.offsets, end)
	n.Text, n.offsets = string(d.text), d.offsets
}

// looksLikeKey matches a line that begins a member or an element of YAML.
var looksLikeKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t]*(-[ \t]|["']?[\w#$.-]+["']?:([ \t\r]|$))`) })

// quoted reads a scalar in quotes. One that is not closed ends with its line.
func (p *parser) quoted(n *Node, parent int) {
	n.begin(Scalar, p.at)
	quote := p.text[p.at]
	n.Style = SingleQuoted
	if quote == '"' {
		n.Style = DoubleQuoted
	}
	end, closed := p.closing(quote, parent)
	d := &decoder{}
	for i := p.at + 1; i < end; {
		switch c := p.text[i]; {
		case c == '\\' && quote == '"' && i+1 < end:
			i += p.escape(d, i, end)
		case c == '\'' && quote == '\'':
			d.add("'", i)
			i += 2
		case c == '\n' || c == '\r':
			i = p.fold(d, i, end)
		default:
			d.copy(p.text, i, i+1)
			i++
		}
	}
	d.set(n, end)
	p.at, n.Closed = end, closed
	if closed {
		p.at++
	}
	n.End = p.at
}

// closing returns the offset of the quote that closes a scalar, or of the end of the line.
func (p *parser) closing(quote byte, parent int) (end int, closed bool) {
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\\' && quote == '"' && p.byteAt(i+1) != '\n':
			i++
		case c == quote && quote == '\'' && p.byteAt(i+1) == '\'':
			i++
		case c == quote:
			return i, true
		case c == '\n' && (p.json || looksLikeKey().MatchString(p.text[i+1:p.lineEnd(i+1)])):
			return p.lineEnd(p.at), false
		case c == '\n' && parent >= 0 && p.outdented(i+1, parent):
			return p.lineEnd(p.at), false
		}
	}
	return p.lineEnd(p.at), false
}

// outdented reports whether a line has text that begins at a column or before it.
func (p *parser) outdented(start, column int) bool {
	line := p.text[start:p.lineEnd(start)]
	content := strings.TrimLeft(line, " \t")
	return content != "" && len(line)-len(content) <= column
}

// fold adds what a line end within quotes stands for, and returns the offset after it and the white space
// around it.
func (p *parser) fold(d *decoder, i, end int) int {
	start := i
	for len(d.text) > 0 && isBlank(d.text[len(d.text)-1]) {
		d.text, d.offsets = d.text[:len(d.text)-1], d.offsets[:len(d.offsets)-1]
	}
	lines := 0
	for i < end && isSpace(p.text[i]) {
		if p.text[i] == '\n' {
			lines++
		}
		i++
	}
	if lines <= 1 {
		d.add(" ", start)
	} else {
		d.add(strings.Repeat("\n", lines-1), start)
	}
	return i
}

var simpleEscapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", '0': "\x00", 'a': "\a", 'v': "\v", 'e': "\x1b", '"': `"`, '\\': `\`, '/': "/",
	' ': " ", '\t': "\t", 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape adds what an escape stands for, and returns its length.
func (p *parser) escape(d *decoder, i, end int) int {
	c := p.text[i+1]
	if text, ok := simpleEscapes[c]; ok {
		d.add(text, i)
		return 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	code, ok := p.hex(i+2, digits, end)
	if digits == 0 || !ok {
		if c == '\n' || c == '\r' { // the line continues
			n := 1
			for i+n < end && isSpace(p.text[i+n]) {
				n++
			}
			return n
		}
		d.copy(p.text, i, i+1)
		return 1
	}
	n := 2 + digits
	if utf16.IsSurrogate(code) && strings.HasPrefix(p.text[i+n:end], `\u`) {
		if second, ok := p.hex(i+n+2, 4, end); ok {
			if pair := utf16.DecodeRune(code, second); pair != utf8.RuneError {
				code, n = pair, n+6
			}
		}
	}
	d.add(string(code), i)
	return n
}

func (p *parser) hex(at, digits, end int) (rune, bool) {
	if at+digits > end {
		return 0, false
	}
	code, err := strconv.ParseUint(p.text[at:at+digits], 16, 32)
	return rune(code), err == nil
}

// plain reads a scalar without quotes that is not in brackets, with the lines that continue it.
func (p *parser) plain(n *Node, parent int) {
	n.begin(Scalar, p.at)
	end := p.plainEnd(p.at)
	d := &decoder{}
	d.copy(p.text, n.Start, end)
	several := false
	for {
		next := p.lineEnd(end)
		blank := 0
		for next < len(p.text) && strings.TrimSpace(p.text[next:p.afterLine(next)]) == "" {
			next = p.afterLine(next)
			if line := p.text[next:p.lineEnd(next)]; strings.TrimSpace(line) != "" {
				break
			}
			if next < len(p.text) {
				blank++
				next = p.lineEnd(next)
			}
		}
		line := p.text[next:p.lineEnd(next)]
		content := strings.TrimLeft(line, " \t")
		if content == "" || next == 0 || p.text[next-1] != '\n' || len(line)-len(content) <= parent || content[0] == '#' ||
			strings.TrimSpace(p.text[end:p.lineEnd(end)]) != "" || looksLikeKey().MatchString(line) ||
			p.colonAfter(next+len(line)-len(content)) >= 0 {
			break
		}
		column := next + len(line) - len(content)
		if blank == 0 {
			d.add(" ", end)
		} else {
			d.add(strings.Repeat("\n", blank), end)
		}
		end = p.plainEnd(column)
		d.copy(p.text, column, end)
		several = true
	}
	n.End, p.at = end, end
	n.Text = string(d.text)
	if several {
		d.set(n, end)
	}
}

// afterLine returns the offset of the next line.
func (p *parser) afterLine(at int) int {
	if n := strings.IndexByte(p.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(p.text)
}

// plainEnd returns the end of the text of a line, without a comment.
func (p *parser) plainEnd(offset int) int {
	end := p.lineEnd(offset)
	if n := strings.Index(p.text[offset:end], " #"); n >= 0 {
		end = offset + n
	}
	return offset + len(strings.TrimRight(p.text[offset:end], " \t\r"))
}

// blockScalar reads a scalar after | or >.
func (p *parser) blockScalar(n *Node, parent int) {
	n.begin(Scalar, p.at)
	n.Style, n.Closed = Block, true
	header := p.text[p.at:p.plainEnd(p.at)]
	folded := header[0] == '>'
	indent := -1
	if i := strings.IndexAny(header, "123456789"); i > 0 {
		indent = max(parent, 0) + int(header[i]-'0')
	}
	d := &decoder{}
	end, offset, blank, more := p.lineEnd(p.at), p.afterLine(p.at), 0, true
	for offset < len(p.text) {
		stop := p.lineEnd(offset)
		line := p.text[offset:stop]
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.TrimSpace(line) == "":
			blank++
			offset = p.afterLine(offset)
			continue
		case indent < 0:
			indent = depth
		}
		if depth < indent || depth <= parent {
			break
		}
		deeper := depth > indent || line[depth] == '\t'
		switch {
		case len(d.text) == 0:
			d.add(strings.Repeat("\n", blank), end)
		case folded && blank == 0 && !deeper && !more:
			d.add(" ", end)
		case folded && !deeper && !more:
			d.add(strings.Repeat("\n", blank), end)
		default:
			d.add(strings.Repeat("\n", blank+1), end)
		}
		d.copy(p.text, offset+indent, stop)
		end, offset, blank, more = stop, p.afterLine(offset), 0, deeper
		if len(d.text) > 0 {
			more = deeper
		}
	}
	switch last := min(blank, 1<<16); {
	case strings.Contains(header, "-") || len(d.text) == 0:
	case strings.Contains(header, "+"):
		d.add(strings.Repeat("\n", 1+last), end)
	default:
		d.add("\n", end)
	}
	d.set(n, end)
	n.End, p.at = end, end
}
