package scan

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// A prefix is the text before the value of a member: the brace or the comma, the key, the
// colon, and the whitespace between them. The objects of a list usually
// repeat them in the same order, so each prefix remembers its successors. A wrong guess is
// harmless: wherever a prefix with a comma is valid, every other one with a comma is, too.
type prefix struct {
	low, lowMask, high, highMask uint64 // the text, if it is short: see begins
	size                         int
	blanks                       int    // bytes of whitespace
	text, compact                string // compact is without the whitespace

	next [2]*prefix // prefixes that have followed it, the latest first

	key        string // without its quotes
	parent, to *Node  // node of the last call of child, and its result; both may be nil
}

// noPrefix matches nothing.
var noPrefix = &prefix{low: 1}

// begins reports whether 16 bytes begin with the prefix. The prefix must be short: at most 16 bytes,
// without whitespace.
func (p *prefix) begins(data *[16]byte) bool {
	low, high := binary.LittleEndian.Uint64(data[:8]), binary.LittleEndian.Uint64(data[8:])
	return low&p.lowMask == p.low && high&p.highMask == p.high
}

// child returns the child of a node for the key of the prefix.
func (p *prefix) child(at *Node) *Node {
	if p.parent != at {
		p.parent, p.to = at, at.child([]byte(p.key))
	}
	return p.to
}

const (
	maxPrefixBytes = 64   // longest prefix that is remembered
	maxPrefixes    = 1024 // number of prefixes that are remembered
)

// prefixes holds the prefixes that a scanner has met. The zero value is empty.
type prefixes struct {
	levels [8]prefixLevel // by the depth of the objects
	count  int
	other  prefix // prefix of a member whose prefix is not remembered
}

// A prefixLevel has the prefixes of the objects at a depth. Each depth has its own prefixes, because
// the same key may be followed by other keys at another depth.
type prefixLevel struct {
	start *prefix // precedes the first prefixes of objects; nil if the level is new
	known map[string]*prefix
}

func (p *prefixes) level(depth int) *prefixLevel { return &p.levels[uint(depth)%uint(len(p.levels))] }

// rootStart precedes the first key of the root object. No key is expected in that object: there is
// only one such object, and its keys may be data.
var rootStart = newPrefix("", 0)

// start returns the prefix that precedes the first prefixes of objects at a depth.
func (p *prefixes) start(depth int) *prefix {
	if depth == 1 {
		return rootStart
	}
	l := p.level(depth)
	if l.start == nil {
		l.start, l.known = newPrefix("", 0), map[string]*prefix{}
	}
	return l.start
}

// follow returns the prefix at i, after another one, and expects it there from now on. It
// returns nil if no prefix is there, or if the prefix is not worth remembering.
func (p *prefixes) follow(data []byte, i, depth int, last *prefix) *prefix {
	for n, next := range last.next {
		if next != noPrefix && len(data)-i >= next.size && string(data[i:i+next.size]) == next.text {
			last.next[0], last.next[n] = next, last.next[0]
			return next
		}
	}
	if last == &p.other && p.count == maxPrefixes {
		return nil // in an object whose keys are probably data
	}
	begin := byte(',')
	if last == p.level(depth).start {
		begin = '{'
	}
	size, blanks := measurePrefix(data[i:min(len(data), i+maxPrefixBytes)])
	if size == 0 || data[i] != begin {
		return nil
	}
	text, known := data[i:i+size], p.level(depth).known
	found := known[string(text)]
	if found == nil {
		if p.count == maxPrefixes {
			return nil
		}
		p.count++
		found = newPrefix(string(text), blanks)
		known[found.text] = found
	}
	last.next[0], last.next[1] = found, last.next[0]
	return found
}

// unknown returns a prefix that is not remembered.
func (p *prefixes) unknown() *prefix {
	p.other = prefix{next: [2]*prefix{noPrefix, noPrefix}}
	return &p.other
}

// newPrefix returns a prefix with a number of bytes of whitespace.
func newPrefix(text string, blanks int) *prefix {
	p := &prefix{low: 1, size: len(text), blanks: blanks, text: text, compact: text, next: [2]*prefix{noPrefix, noPrefix}}
	if text == "" {
		return p
	}
	p.key = text[strings.IndexByte(text, '"')+1 : strings.LastIndexByte(text, '"')]
	if blanks > 0 {
		p.compact = text[:1] + `"` + p.key + `":`
	} else if len(text) <= 16 {
		var first, mask [16]byte
		for n := range copy(first[:], text) {
			mask[n] = 0xff
		}
		p.low, p.lowMask = binary.LittleEndian.Uint64(first[:]), binary.LittleEndian.Uint64(mask[:])
		p.high, p.highMask = binary.LittleEndian.Uint64(first[8:]), binary.LittleEndian.Uint64(mask[8:])
	}
	return p
}

// measurePrefix returns the size of the prefix at the beginning of data, after a brace or a
// comma, and the size of the whitespace in it. The size is 0 if data does not begin with a
// prefix, if the prefix may be longer than data, or if its key has anything but plain ASCII without spaces.
func measurePrefix(data []byte) (size, blanks int) {
	key := SkipSpace(data, min(1, len(data)))
	if byteAt(data, key) != '"' {
		return 0, 0
	}
	end := key + 1
	for c := byteAt(data, end); c > ' ' && c < utf8.RuneSelf && c != '"' && c != '\\'; c = byteAt(data, end) {
		end++
	}
	if byteAt(data, end) != '"' {
		return 0, 0
	}
	end++
	colon := SkipSpace(data, end)
	if byteAt(data, colon) != ':' {
		return 0, 0
	}
	if size = SkipSpace(data, colon+1); size == len(data) {
		return 0, 0
	}
	return size, size - len(`{:`) - (end - key)
}

// squeeze removes the whitespace in the prefix at i.
func (s *Scanner) squeeze(i int, p *prefix) {
	s.spaces += p.blanks
	if s.Compact {
		s.move(i)
		s.writePos += copy(s.input[s.writePos:], p.compact)
		s.readPos, s.shift = i+p.size, s.spaces-s.source.base
	}
}
