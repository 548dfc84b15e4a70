package syntax

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// Parse reads a text. It returns the root, which has neither a key nor an index.
func Parse(text string) *Node {
	p := &parser{text: text}
	root := &Node{KeyStart: -1, KeyEnd: -1, Index: -1}
	if strings.HasPrefix(text, "\ufeff") {
		p.at = len("\ufeff")
	}
	start := p.at
	p.skipSpace()
	if c := p.peek(); c == '{' || c == '[' {
		p.json = c == '{' && !strings.Contains(text, "\n#")
		p.flow(root, 0)
		return root
	}
	p.at = start
	if column, ok := p.content(); ok {
		p.block(root, -1, column, 0)
	}
	root.End = max(root.End, root.Start)
	return root
}

type parser struct {
	text string
	at   int
	json bool // the text is in brackets, and its strings have one line each
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// byteAt returns the byte at an offset, or a line end beyond the text.
func (p *parser) byteAt(i int) byte {
	if i < len(p.text) {
		return p.text[i]
	}
	return '\n'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// skipBlanks skips spaces and tabs.
func (p *parser) skipBlanks() {
	for isBlank(p.peek()) {
		p.at++
	}
}

// skipSpace skips white space and comments.
func (p *parser) skipSpace() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case isSpace(c):
			p.at++
		case c == '#' && (p.at == 0 || isSpace(p.text[p.at-1])):
			p.at = p.lineEnd(p.at)
		default:
			return
		}
	}
}

// lineEnd returns the offset of the end of a line, without the characters that end it.
func (p *parser) lineEnd(offset int) int {
	if n := strings.IndexByte(p.text[offset:], '\n'); n >= 0 {
		offset += n
		if offset > 0 && p.text[offset-1] == '\r' {
			offset--
		}
		return offset
	}
	return len(p.text)
}

// column returns the number of bytes before an offset in its line.
func (p *parser) column(at int) int { return at - (strings.LastIndexByte(p.text[:at], '\n') + 1) }

// begin sets the kind and the beginning of a node.
func (n *Node) begin(kind Kind, at int) { n.Kind, n.Start, n.End = kind, at, at }

// add adds a node to a list or an object.
func (n *Node) add() *Node {
	inner := &Node{KeyStart: -1, KeyEnd: -1, Index: -1, Parent: n}
	if n.Kind == List {
		inner.Index = len(n.Inner)
	}
	n.Inner = append(n.Inner, inner)
	return inner
}

// flow reads a value within brackets.
func (p *parser) flow(n *Node, depth int) {
	switch c := p.peek(); {
	case depth > rules.MaxConfigDepth, p.at >= len(p.text):
		n.begin(Missing, p.at)
		p.at = len(p.text)
		n.End = p.at
	case c == '{':
		p.flowObject(n, depth)
	case c == '[':
		p.flowList(n, depth)
	case c == '"', c == '\'':
		p.quoted(n, -1)
	case c == '*':
		p.alias(n)
	case c == '&', c == '!':
		p.property(n)
		p.skipSpace()
		if strings.IndexByte(",]}", p.peek()) < 0 {
			p.flow(n, depth+1)
		} else {
			n.begin(Missing, p.at)
		}
	default:
		p.flowPlain(n)
	}
}

// property reads an anchor or a tag.
func (p *parser) property(n *Node) {
	start := p.at
	for p.at < len(p.text) && !isSpace(p.text[p.at]) && strings.IndexByte(",[]{}", p.text[p.at]) < 0 {
		p.at++
	}
	if p.text[start] == '&' {
		n.Anchor = p.text[start+1 : p.at]
	}
	n.text = n.text || p.text[start:p.at] == "!!str"
}

func (p *parser) alias(n *Node) {
	n.begin(Alias, p.at)
	for p.at < len(p.text) && !isSpace(p.text[p.at]) && strings.IndexByte(",[]{}", p.text[p.at]) < 0 {
		p.at++
	}
	n.End, n.Text = p.at, p.text[n.Start+1:p.at]
}

// flowPlain reads a scalar without quotes, up to the end of its line.
func (p *parser) flowPlain(n *Node) {
	n.begin(Scalar, p.at)
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c == '\n' || strings.IndexByte(",[]{}", c) >= 0 || c == '#' && p.at > 0 && isBlank(p.text[p.at-1]) {
			break
		}
		if c == ':' && (isSpace(p.byteAt(p.at+1)) || strings.IndexByte(",[]{}", p.byteAt(p.at+1)) >= 0) {
			break
		}
		p.at++
	}
	n.End = n.Start + len(strings.TrimRight(p.text[n.Start:p.at], " \t\r"))
	n.Text = p.text[n.Start:n.End]
	if p.at == n.Start { // a bracket that closes something else
		p.at++
	}
}

// flowEnds reports whether a list or an object in brackets ends: with its own bracket, before the other
// one, which closes what is around it, or with the text.
func (p *parser) flowEnds(n *Node, own, other byte) bool {
	switch c := p.peek(); {
	case c == own:
		p.at++
		n.Closed = true
	case c != other && (c != 0 || p.at < len(p.text)):
		return false
	}
	n.End = p.at
	return true
}

func (p *parser) flowList(n *Node, depth int) {
	n.begin(List, p.at)
	n.Flow = true
	for p.at++; ; {
		p.skipSpace()
		if p.flowEnds(n, ']', '}') {
			return
		}
		if c := p.peek(); c == ',' || c == 0 {
			p.at++
			continue
		}
		e := n.add()
		p.flow(e, depth+1)
		p.pair(e, depth)
	}
}

// pair reads what follows an element of a list that is the key of an object without brackets.
func (p *parser) pair(e *Node, depth int) {
	at := p.at
	p.skipBlanks()
	if e.Kind != Scalar || p.peek() != ':' {
		p.at = at
		return
	}
	key := *e
	e.begin(Object, key.Start)
	e.Flow, e.Text, e.offsets = true, "", nil
	m := e.add()
	m.Name, m.KeyStart, m.KeyEnd = key.Text, key.Start, key.End
	p.flowValue(m, depth+1)
	e.End = m.End
}

func (p *parser) flowObject(n *Node, depth int) {
	n.begin(Object, p.at)
	n.Flow = true
	for p.at++; ; {
		p.skipSpace()
		if p.flowEnds(n, '}', ']') {
			return
		}
		switch p.peek() {
		case ',', ':', 0:
			p.at++
			continue
		case '?':
			if isSpace(p.byteAt(p.at + 1)) {
				p.at++
				continue
			}
		}
		var key Node
		switch c := p.peek(); c {
		case '"', '\'':
			p.quoted(&key, -1)
		case '{', '[': // not a key
			p.flow(&key, depth+1)
			continue
		default:
			p.flowPlain(&key)
		}
		m := n.add()
		m.Name, m.KeyStart, m.KeyEnd = key.Text, key.Start, key.End
		p.flowValue(m, depth)
	}
}

// flowValue reads the colon and the value after a key.
func (p *parser) flowValue(m *Node, depth int) {
	before := p.at
	p.skipSpace()
	if p.peek() != ':' {
		p.at = before
		m.begin(Missing, m.KeyEnd)
		return
	}
	p.at++
	m.Colon = true
	colon := p.at
	p.skipBlanks()
	end := p.at
	p.skipSpace()
	missing := func() {
		m.begin(Missing, colon)
		m.End = end
	}
	if c := p.peek(); c == 0 || c == ',' || c == '}' || c == ']' {
		missing()
		return
	}
	start := p.at
	p.flow(m, depth+1)
	if start > end && m.Kind == Scalar { // the next key, if the value is missing
		after := p.at
		if p.skipSpace(); p.peek() == ':' {
			*m = Node{
				Name: m.Name, KeyStart: m.KeyStart, KeyEnd: m.KeyEnd, Colon: true, Index: -1, Parent: m.Parent,
			}
			missing()
			after = start
		}
		p.at = after
	}
}
