package scan

// findStops finds the quotes and control characters in data, as bits in stops, and the
// backslashes, as bits in slashes. The size of data is a multiple of 64. It reports whether
// a byte is not ASCII.
func findStops(data, stops []byte, slashes []uint64) (high bool) {
	if len(data) == 0 {
		return false
	}
	_, _ = stops[len(data)/8-1], slashes[len(data)/64-1]
	return markStops(&data[0], len(data)/64, &stops[0], &slashes[0]) != 0
}

// markStops is findStops for a number of words of 64 bytes. It returns a bit for each of 16
// bytes that is not ASCII in any of them.
//
//go:noescape
func markStops(data *byte, words int, stops *byte, slashes *uint64) (high uint64)
