package scan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	blockBytes = 4096
	blockWords = blockBytes / 64
	aheadBytes = 57 // number of bytes whose stops block.after returns at least

	escapeBytes = 12 // longest escape, of a surrogate pair: the block of its first byte needs it
)

// A block is a part of the document whose stops the scan knows. A stop is a byte at which a string
// ends or is invalid: an unescaped quote, a control character, the backslash of an invalid escape, or
// the first byte that is not UTF-8. The stops are found before it is known which bytes are in a string.
type block struct {
	start     int                    // offset of the first byte
	stops     [blockBytes/8 + 8]byte // a bit for each byte, the lowest first; the last eight bytes are 0
	slashes   [blockWords]uint64     // a bit for each backslash
	escaped   bool                   // the first byte after the block is escaped
	lowHalf   int                    // offset of the latest escape that is the second half of a surrogate pair
	validated int                    // the bytes before this one are valid UTF-8, or there is a stop among them
}

// rewind goes back to the beginning of the document.
func (b *block) rewind() { b.start, b.escaped, b.lowHalf, b.validated = -blockBytes, false, -1, 0 }

// end returns the offset after the block.
func (b *block) end() int { return b.start + blockBytes }

// after returns the stops among at least aheadBytes bytes at an offset in the block, up to the end
// of the block. The lowest bit stands for the byte at the offset.
func (b *block) after(at uint) uint64 {
	return binary.LittleEndian.Uint64(b.stops[at/8:at/8+8]) >> (at % 8)
}

// stop returns the offset of the first stop at or after i. The end of the document is one.
func (s *Scanner) stop(i int) int {
	for {
		next := uint(i - s.block.start)
		if next >= blockBytes {
			if s.needs(s.block.end() + blockBytes + escapeBytes) {
				i = s.slide(i)
			} else {
				s.advance()
			}
			continue
		}
		if stops := s.block.after(next); stops != 0 {
			return i + bits.TrailingZeros64(stops)
		}
		i = min(i+aheadBytes, s.block.start+blockBytes)
	}
}

// advance goes on to the next block of the document.
func (s *Scanner) advance() {
	b := &s.block
	b.start += blockBytes
	end := min(len(s.input), b.start+blockBytes)
	data := s.input[b.start:end]
	words := len(data) / 64
	high := findStops(data[:words*64], b.stops[:], b.slashes[:])
	if words < blockWords {
		var rest [64]byte // its zeros are stops, the first one at the end of the document
		copy(rest[:], data[words*64:])
		high = findStops(rest[:], b.stops[words*8:], b.slashes[words:]) || high
		words++
	}
	for n, slashes := range b.slashes[:words] {
		if slashes != 0 || b.escaped {
			stops := b.stops[n*8 : n*8+8]
			binary.LittleEndian.PutUint64(stops, s.escapes(binary.LittleEndian.Uint64(stops), slashes, b.start+n*64))
		}
	}
	if high {
		s.validate(end)
	} else {
		b.validated = end
	}
}

// escapes returns the stops of the 64 bytes at i without the characters that are escaped,
// and with the backslashes of the escapes that are not valid.
func (s *Scanner) escapes(stops, slashes uint64, i int) uint64 {
	if s.block.escaped {
		stops, slashes, s.block.escaped = stops&^1, slashes&^1, false
	}
	for slashes != 0 {
		n := bits.TrailingZeros64(slashes)
		if escapeKinds[byteAt(s.input, i+n+1)] == plainEscape || s.escape(i+n) {
			stops &^= 2 << n
		} else {
			stops |= 1 << n
		}
		slashes &^= 3 << n
		s.block.escaped = n == 63
	}
	return stops
}

// validate checks that the bytes before end are UTF-8, and puts a stop at the first that is not. It
// also checks the rest of a character that continues after end.
func (s *Scanner) validate(end int) {
	b := &s.block
	for more := end + utf8.UTFMax - 1; end < min(len(s.input), more) && !utf8.RuneStart(s.input[end]); {
		end++
	}
	rest := s.input[min(b.validated, end):end]
	b.validated = end
	if utf8.Valid(rest) {
		return
	}
	b.validated -= len(rest) - invalidAt(rest)
	if at := b.validated - b.start; at < blockBytes {
		b.stops[at/8] |= 1 << (at % 8)
	}
}

// invalidAt returns the offset of the first byte that is not UTF-8, or the length.
func invalidAt(data []byte) (i int) {
	for i < len(data) {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// findStopsPortably is findStops for processors without a version in assembly.
func findStopsPortably(data, stops []byte, slashes []uint64) (high bool) {
	var combined uint64
	for n := range len(data) / 64 {
		var stop, slash uint64
		for k := range 8 {
			word := binary.LittleEndian.Uint64(data[n*64+k*8:])
			combined |= word
			other := differs(word, '"') & (word | word<<1 | word<<2) // the three highest bits of a control character are 0
			stop |= gather(^other) << (k * 8)
			slash |= gather(^differs(word, '\\')) << (k * 8)
		}
		binary.LittleEndian.PutUint64(stops[n*8:], stop)
		slashes[n] = slash
	}
	return combined&highBits != 0
}

// The functions below examine eight bytes at a time. A mask has the high bit of
// every byte that it marks, and perhaps of bytes above one: only its lowest bit is
// exact, unless a function says otherwise.
const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
)

// special marks quotes and backslashes.
func special(word uint64) uint64 {
	quote := word ^ '"'*everyByte
	slash := word ^ '\\'*everyByte
	return ((quote-everyByte)&^quote | (slash-everyByte)&^slash) & highBits
}

// differs has the high bit of exactly the bytes that differ from c. Its other bits mean nothing.
func differs(word uint64, c uint64) uint64 {
	word ^= c * everyByte
	return word&^highBits + ^uint64(highBits) | word
}

// gather returns the high bits of the eight bytes as the eight lowest bits.
func gather(word uint64) uint64 { return word & highBits >> 7 * 0x0102040810204080 >> 56 }

// byteAt returns the byte at i, or 0 after the end.
func byteAt(data []byte, i int) byte {
	if uint(i) < uint(len(data)) {
		return data[i]
	}
	return 0
}
