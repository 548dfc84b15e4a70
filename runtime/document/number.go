package document

import "encoding/binary"

// number reads a number.
func (s *scanner) number(i int) int {
	data := s.data
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
		if i < len(data) && isDigit(data[i]) {
			return s.fail(i-1, "a number with a leading zero")
		}
	} else if i = s.digits(i); i < 0 {
		return i
	}
	if i < len(data) && data[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return i
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits reads at least one digit.
func (s *scanner) digits(i int) int {
	start := i
	for i+8 <= len(s.data) && eightDigits(binary.LittleEndian.Uint64(s.data[i:])) {
		i += 8
	}
	for i < len(s.data) && isDigit(s.data[i]) {
		i++
	}
	if i == start {
		return s.unexpected(i, "in a number")
	}
	return i
}
