package syntax

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// content moves to the next text that is neither white space nor a comment, and returns its column. It reports
// false at the end of the document.
func (p *parser) content() (column int, ok bool) {
	for {
		p.skipSpace()
		if p.at >= len(p.text) {
			return 0, false
		}
		column = p.column(p.at)
		rest := p.text[p.at:]
		switch {
		case column == 0 && strings.HasPrefix(rest, "---") && isSpace(p.byteAt(p.at+3)):
			p.at += 3
		case column == 0 && strings.HasPrefix(rest, "...") && isSpace(p.byteAt(p.at+3)):
			p.at = len(p.text)
		case column == 0 && rest[0] == '%':
			p.at = p.lineEnd(p.at)
		default:
			return column, true
		}
	}
}

// isDash reports whether an element of a list begins here.
func (p *parser) isDash() bool { return p.peek() == '-' && isSpace(p.byteAt(p.at+1)) }

// colonAfter returns the offset of the colon after a key that begins at an offset, or -1.
func (p *parser) colonAfter(offset int) int {
	end := p.lineEnd(offset)
	line := p.text[offset:end]
	if line == "" {
		return -1
	}
	isColon := func(i int) bool { return i < end && p.text[i] == ':' && isSpace(p.byteAt(i+1)) }
	switch line[0] {
	case '"', '\'':
		q := *p
		q.at, q.json = offset, true
		var key Node
		q.quoted(&key, -1)
		q.skipBlanks()
		if key.Closed && isColon(q.at) {
			return q.at
		}
		return -1
	case '{', '[', ']', '}', ',', '#', '|', '>', '%', '@', '`':
		return -1
	case '-', '?':
		if isSpace(p.byteAt(offset + 1)) {
			return -1
		}
	}
	for i := offset; i < end; i++ {
		if isColon(i) {
			return i
		}
		if p.text[i] == '#' && i > offset && isBlank(p.text[i-1]) {
			return -1
		}
	}
	return -1
}

// block reads the value that begins here, at a column greater than the column of the enclosing block.
func (p *parser) block(n *Node, parent, column, depth int) {
	if depth > 2*rules.MaxConfigDepth {
		n.begin(Missing, p.at)
		p.at = len(p.text)
		return
	}
	if p.peek() == '?' && isSpace(p.byteAt(p.at+1)) {
		p.at++
		p.skipBlanks()
		p.blockObject(n, column, depth)
		return
	}
	switch {
	case p.isDash():
		p.blockList(n, column, depth)
	case p.colonAfter(p.at) >= 0 && p.peek() != '&' && p.peek() != '!' && p.peek() != '*':
		p.blockObject(n, column, depth)
	default:
		p.inline(n, parent, depth)
	}
}

// inline reads a value that begins in the line of its key or dash, or that is a scalar.
func (p *parser) inline(n *Node, parent, depth int) {
	switch p.peek() {
	case '&', '!':
		p.property(n)
		p.after(n, parent, depth)
	case '|', '>':
		p.blockScalar(n, parent)
	case '{', '[':
		p.flow(n, depth)
		p.restOfLine()
	case '"', '\'':
		p.quoted(n, parent)
		p.restOfLine()
	case '*':
		p.alias(n)
		p.restOfLine()
	default:
		p.plain(n, parent)
		p.restOfLine()
	}
}

// restOfLine skips what stands after a value in its line.
func (p *parser) restOfLine() { p.at = p.lineEnd(p.at) }

// after reads the value after a key, a dash or a property: in the same line, or in those below it.
func (p *parser) after(n *Node, parent, depth int) {
	start := p.at
	p.skipBlanks()
	if c := p.byteAt(p.at); c != '\n' && c != '\r' && c != '#' {
		column := p.column(p.at)
		if n.Index >= 0 && n.Anchor == "" {
			p.block(n, parent, column, depth+1)
		} else {
			p.inline(n, parent, depth+1)
		}
		return
	}
	end := p.at
	column, ok := p.content()
	switch {
	case ok && column > parent && p.column(p.at) == p.firstColumn():
		p.block(n, parent, column, depth+1)
	case ok && column == parent && p.isDash() && n.Index < 0:
		p.blockList(n, column, depth+1)
	default:
		p.at = end
		n.begin(Missing, start)
		n.End = end
		p.restOfLine()
	}
}

// firstColumn returns the column of the first character in the line that is not a blank.
func (p *parser) firstColumn() int {
	start := strings.LastIndexByte(p.text[:p.at], '\n') + 1
	line := p.text[start:p.at]
	if strings.TrimLeft(line, " \t") == "" {
		return len(line)
	}
	return len(line) - len(strings.TrimLeft(line, " \t"))
}

func (p *parser) blockObject(n *Node, column, depth int) {
	n.begin(Object, p.at)
	n.Column = column
	for {
		m := n.add()
		m.KeyStart = p.at
		if p.peek() == '?' && isSpace(p.byteAt(p.at+1)) {
			p.at++
			p.skipBlanks()
			m.KeyStart = p.at
		}
		p.key(m, column, depth)
		n.End = max(n.End, m.End, m.KeyEnd)
		next, ok := p.content()
		for ok && next > column { // more than the value is
			p.stray(m, next, depth)
			n.End = max(n.End, m.End)
			next, ok = p.content()
		}
		if !ok || next < column || p.isDash() {
			return
		}
	}
}

// key reads a key and its value.
func (p *parser) key(m *Node, column, depth int) {
	colon := p.colonAfter(p.at)
	if colon < 0 {
		m.KeyEnd = p.plainEnd(p.at)
		m.Name = strings.Trim(p.text[m.KeyStart:m.KeyEnd], `"'`)
		m.begin(Missing, m.KeyEnd)
		p.at = p.lineEnd(p.at)
		end := p.at
		if next, ok := p.content(); ok && next == column && p.peek() == ':' && isSpace(p.byteAt(p.at+1)) { // after a ?
			m.Colon = true
			p.at++
			p.after(m, column, depth)
			return
		}
		p.at = end
		return
	}
	if c := p.peek(); c == '"' || c == '\'' {
		var key Node
		q := *p
		q.json = true
		q.quoted(&key, -1)
		m.Name, m.KeyEnd = key.Text, key.End
	} else {
		m.KeyEnd = p.at + len(strings.TrimRight(p.text[p.at:colon], " \t"))
		m.Name = p.text[p.at:m.KeyEnd]
	}
	m.Colon = true
	p.at = colon + 1
	p.after(m, column, depth)
}

// stray reads a value that is indented more than its object, and does not belong there. Its members are
// added to the value before it, unless that is a list or in flow style.
func (p *parser) stray(m *Node, column, depth int) {
	start := p.at
	extra := &Node{KeyStart: -1, KeyEnd: -1, Index: -1}
	p.block(extra, column-1, column, depth+1)
	if p.at <= start {
		p.at = p.afterLine(start)
	}
	if extra.Kind != Object || m.Kind == List || m.Flow {
		return
	}
	if m.Kind != Object {
		m.Kind, m.Text, m.offsets, m.Column, m.Inner = Object, "", nil, column, nil
		m.Start = extra.Start
	}
	for _, inner := range extra.Inner {
		inner.Parent = m
		m.Inner = append(m.Inner, inner)
	}
	m.End = max(m.End, extra.End)
}

func (p *parser) blockList(n *Node, column, depth int) {
	n.begin(List, p.at)
	n.Column = column
	for {
		e := n.add()
		p.at++
		p.after(e, column, depth)
		n.End = max(n.End, e.End)
		next, ok := p.content()
		for ok && next > column {
			p.stray(e, next, depth)
			n.End = max(n.End, e.End)
			next, ok = p.content()
		}
		if !ok || next < column || !p.isDash() {
			return
		}
	}
}
