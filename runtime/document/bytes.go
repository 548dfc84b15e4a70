package document

import (
	"encoding/binary"
	"math/bits"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

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

// textEnd returns the offset after the string that begins at i, in a valid
// document.
func textEnd(data []byte, i int) int {
	i++
	for {
		for i+8 <= len(data) {
			if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		for i < len(data) && data[i] != '"' && data[i] != '\\' {
			i++
		}
		if i >= len(data) || data[i] == '"' {
			return min(i+1, len(data))
		}
		i += 2
	}
}

// byteAt returns the byte at i, or 0 after the end.
func byteAt(data []byte, i int) byte {
	if uint(i) < uint(len(data)) {
		return data[i]
	}
	return 0
}

// skipSpace returns the offset after the whitespace at i.
func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
		for i+8 <= len(data) && binary.LittleEndian.Uint64(data[i:]) == ' '*everyByte {
			i += 8
		}
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isDigit(c byte) bool { return c-'0' <= 9 }

// valueEnd returns the offset after the value that begins at i, in a valid
// document.
func valueEnd(raw []byte, i int) int { return valueEndIn(raw, i, nil) }

// valueEndIn is valueEnd for a document in a file, of which it holds one window in memory.
func valueEndIn(raw []byte, i int, window *spool.Window) int {
	for depth := 0; i < len(raw); {
		switch structure[raw[i]] {
		case isQuote:
			i = textEnd(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case isOpen:
			depth++
		case isClose:
			window.Pass(i, i)
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case isComma, isBlank:
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// structure classifies the bytes of a valid document outside strings; other bytes
// are 0.
var structure = [256]byte{
	'"': isQuote,
	'{': isOpen, '[': isOpen,
	'}': isClose, ']': isClose,
	',': isComma,
	' ': isBlank, '\n': isBlank, '\r': isBlank, '\t': isBlank,
}

const (
	isQuote = iota + 1
	isOpen
	isClose
	isComma
	isBlank
)
