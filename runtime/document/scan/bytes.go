package scan

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
