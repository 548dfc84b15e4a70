package document

import (
	"encoding/binary"
	"math/bits"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// The functions below examine eight bytes at a time. A mask has the high bit of
// every byte that it marks, and perhaps of bytes above one: only its lowest bit is
// exact.
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

// controls marks the bytes below the space.
func controls(word uint64) uint64 { return (word - ' '*everyByte) &^ word & highBits }

// eightDigits reports whether every byte is a digit: its high half is 3, also
// after 6 is added.
func eightDigits(word uint64) bool {
	return word&(0xf0*everyByte) == 0x30*everyByte && (word+6*everyByte)&(0xf0*everyByte) == 0x30*everyByte
}

// stops marks the bytes that end a run of plain bytes in a string.
var stops = func() (table [256]bool) {
	for c := range ' ' {
		table[c] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

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

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

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
