//go:build !amd64

package scan

// findStops finds the quotes and control characters in data, as bits in stops, and the
// backslashes, as bits in slashes. The size of data is a multiple of 64. It reports whether
// a byte is not ASCII.
func findStops(data, stops []byte, slashes []uint64) (high bool) {
	return findStopsPortably(data, stops, slashes)
}
