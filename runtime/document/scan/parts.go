package scan

import "slices"

// A Source has a document that is not in memory as a whole. It receives the document after the scan,
// with newlines in place of the separators between the elements of the list that is separated, and of
// its closing bracket.
type Source interface {
	// Next receives the part of the document that has been scanned since the last call, and returns
	// rest with the bytes of the document that follow it. rest is the end of the bytes that the last
	// call has returned, which become invalid. At the end of the document, more is false, and nothing
	// follows. Next is not called again after an error. During the call, [Found.Breaks] has the offsets of
	// the newlines in done, and then perhaps one more.
	Next(done, rest []byte) (data []byte, more bool, err error)
}

// parts is the state of a document that comes from a [Source]. Its offsets are in s.input, the part of
// the document that is in memory.
type parts struct {
	Source
	more bool  // whether the source may have more
	err  error // error of the source

	base int // number of bytes of the document before s.input
	done int // number of bytes that the source has received
	pin  int // offset of the first byte that is still needed, or noPin

	replaced []Span // see Scanner.Replaced
}

// noPin is the pin if no byte before the current offset is needed.
const noPin = int(^uint(0) >> 1)

// Replaced returns the lists before the list that was separated in which newlines have replaced
// separators. They must be restored.
func (s *Scanner) Replaced() []Span { return s.source.replaced }

// needs reports whether the data ends before an offset, but not the document. The caller then slides
// and tries again.
func (s *Scanner) needs(end int) bool { return end > len(s.input) && s.source.more }

// slide gets more data, without the bytes before i and the pin. It returns the new offset of i.
func (s *Scanner) slide(i int) int {
	p, b := &s.source, &s.block
	if b.end() < i { // there are no strings in between
		b.start, b.escaped, b.validated = i-blockBytes, false, i
	}
	from := min(i, p.pin)
	s.pass(from)
	s.deliver(s.input[from:])
	p.base += from
	if p.pin != noPin {
		p.pin -= from
	}
	s.shift = -p.base
	if s.Compact {
		s.shift += s.spaces
	}
	b.start, b.lowHalf, b.validated = b.start-from, b.lowHalf-from, b.validated-from
	return i - from
}

// deliver passes the scanned data to the source, which replaces it by the rest with more.
func (s *Scanner) deliver(rest []byte) {
	p, done := &s.source, s.input[:s.writePos]
	separated := 0
	for separated < len(s.Breaks) && s.Breaks[separated]-p.done < len(done) {
		done[s.Breaks[separated]-p.done] = '\n'
		separated++
	}
	p.done += len(done)
	s.writePos, s.readPos = 0, 0
	if p.err == nil {
		s.input, p.more, p.err = p.Next(done, rest)
	}
	s.Breaks = slices.Delete(s.Breaks, 0, separated)
}
