package spool

// A Window limits how much of a mapped file is in memory: bytes that have been
// passed are released, and are read from the file again when they are touched.
// All methods accept a nil Window, that of a body in memory.
type Window struct {
	data []byte // the whole mapping
	low  int    // bytes from low on may be in memory
	at   int    // bytes below at have been passed
}

// WindowBytes is about how much of a large document is in memory at a time.
const WindowBytes = 4 << 20

// Pass reports that the bytes below i are not needed for now. The bytes from low
// on may be touched before the next call.
func (w *Window) Pass(i, low int) {
	if w != nil && i-w.at >= WindowBytes {
		release(w.data, w.low, i)
		w.at, w.low = i, min(low, i)
	}
}

// Rewind releases all bytes and starts again at the beginning.
func (w *Window) Rewind() {
	if w != nil {
		release(w.data, w.low, len(w.data))
		w.at, w.low = 0, 0
	}
}
