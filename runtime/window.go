package runtime

// window lets go of what was passed of a large document, which stands in a file
// that is mapped into memory: what is read again comes back from the file. Its
// methods accept nil, for a document in memory.
type window struct {
	data    []byte // the whole mapping
	low, at int    // what was let go of ends at at; what stands above low may have come back
}

// windowSize is about how much of a large document is in memory at a time.
const windowSize = 4 << 20

// pass says that what stands before i is not needed for now. What stands above
// low, at the next call, was touched in between.
func (w *window) pass(i, low int) {
	if w != nil && i-w.at >= windowSize {
		letGo(w.data, w.low, i)
		w.at, w.low = i, min(low, i)
	}
}

// again begins anew at the beginning.
func (w *window) again() {
	if w != nil {
		letGo(w.data, w.low, len(w.data))
		w.at, w.low = 0, 0
	}
}
