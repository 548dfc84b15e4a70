package scan

import (
	"encoding/binary"
	"math/bits"
)

// number reads a number.
func (s *Scanner) number(i int) int {
	data := s.data
	if data[i] == '-' {
		i++
	}
	end := digitsEnd(data, i)
	if end == i {
		return s.unexpected(i, "in a number")
	}
	if data[i] == '0' && end > i+1 {
		return s.fail(i, "a number with a leading zero")
	}
	c := byteAt(data, end)
	if c == '.' {
		i = end + 1
		if end = digitsEnd(data, i); end == i {
			return s.unexpected(i, "in a number")
		}
		c = byteAt(data, end)
	}
	if c == 'e' || c == 'E' {
		return s.exponent(end)
	}
	return end
}

// exponent reads the exponent of a number.
func (s *Scanner) exponent(i int) int {
	i++
	if i < len(s.data) && (s.data[i] == '+' || s.data[i] == '-') {
		i++
	}
	end := digitsEnd(s.data, i)
	if end == i {
		return s.unexpected(i, "in a number")
	}
	return end
}

// digitsEnd returns the offset after the digits at i.
func digitsEnd(data []byte, i int) int {
	for i >= 0 && i < len(data)-7 {
		n := countDigits(binary.LittleEndian.Uint64(data[i : i+8]))
		i += n
		if n < 8 {
			return i
		}
	}
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

// countDigits returns the number of digits that the bytes begin with. Without the bits of
// '0', digits are less than 10.
func countDigits(word uint64) int {
	word ^= '0' * everyByte
	return bits.TrailingZeros64((word+(0x80-10)*everyByte|word)&highBits) / 8
}
