package format

import "github.com/stopwhen/stopwhen/runtime/spool"

// A rope is a text that is put together from others without copying what is in a file:
// the elements of an XML document may come in any order, but the members of an object
// do not.
type rope struct {
	parts []part // in the file
	tail  []byte // what follows them
}

// A part is a piece of a rope in the file.
type part struct{ start, end int64 }

func (r *rope) reset() { r.parts, r.tail = r.parts[:0], r.tail[:0] }

// A heap is the file that large ropes are in.
type heap struct {
	buffer *spool.Buffer // nil until it is needed
	held   int           // bytes of all ropes that are in memory
	most   int           // bytes that are held in memory before they are moved to the file
}

// heldBytes is how many bytes of ropes are held in memory.
const heldBytes = 8 << 20

// add appends a text to a rope.
func (h *heap) add(r *rope, text []byte) {
	r.tail = append(r.tail, text...)
	h.held += len(text)
}

// join appends a rope to another one.
func (h *heap) join(r *rope, other *rope) error {
	if len(other.parts) > 0 {
		if err := h.spill(r); err != nil {
			return err
		}
		r.parts = append(r.parts, other.parts...)
	}
	r.tail = append(r.tail, other.tail...)
	return nil
}

// spill moves the bytes of a rope that are in memory to the file.
func (h *heap) spill(r *rope) error {
	if len(r.tail) == 0 {
		return nil
	}
	if h.buffer == nil {
		h.buffer = &spool.Buffer{}
		h.buffer.Reset(-1)
	}
	start := h.buffer.Len()
	if _, err := h.buffer.Write(r.tail); err != nil {
		return err
	}
	h.held -= len(r.tail)
	r.tail = r.tail[:0]
	r.parts = append(r.parts, part{start, h.buffer.Len()})
	return nil
}

// writeTo writes a rope, and closes the file. No rope can be used after that.
func (h *heap) writeTo(to *writer, r *rope) error {
	if h.buffer != nil {
		defer h.buffer.Release()
		data, window, err := h.buffer.Body()
		if err != nil {
			return err
		}
		window.Rewind()
		passed := int64(0)
		for _, p := range r.parts {
			for at := p.start; at < p.end; {
				end := min(at+spool.WindowBytes, p.end)
				if err := to.write(data[at:end]); err != nil {
					return err
				}
				if passed += end - at; passed >= spool.WindowBytes {
					window.Rewind()
					passed = 0
				}
				at = end
			}
		}
	}
	return to.write(r.tail)
}

// close releases the file.
func (h *heap) close() {
	if h.buffer != nil {
		h.buffer.Release()
	}
}
