package format

import (
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A rope is a text that is assembled from other texts without copying data in a file. XML elements of
// one name may come apart from each other, but the values of one JSON member may not.
type rope struct {
	parts []filePart // parts in the file
	tail  []byte     // text after the parts
}

// A filePart is a piece of a rope in the file.
type filePart struct{ start, end int64 }

func (r *rope) reset() { r.parts, r.tail = r.parts[:0], r.tail[:0] }

// A heap is the file for large ropes.
type heap struct {
	file spool.File
	held int // size of all ropes in memory
	most int // size in memory at which ropes move to the file
}

// heldBytes is the default size of ropes in memory.
const heldBytes = 8 << 20

// add appends a text to a rope.
func (h *heap) add(r *rope, text []byte) {
	r.tail = append(r.tail, text...)
	h.held += len(text)
}

// join appends one rope to another.
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

// spill moves the text of a rope from memory to the file.
func (h *heap) spill(r *rope) error {
	if len(r.tail) == 0 {
		return nil
	}
	h.file.Holds = "a large response"
	start := h.file.Size()
	if _, err := h.file.Write(r.tail); err != nil {
		return err
	}
	h.held -= len(r.tail)
	r.tail = r.tail[:0]
	r.parts = append(r.parts, filePart{start, h.file.Size()})
	return nil
}

// writeTo writes a rope.
func (h *heap) writeTo(to *limitedWriter, r *rope) error {
	for _, p := range r.parts {
		if err := h.file.CopyTo(to, p.start, p.end); err != nil {
			return err
		}
	}
	return to.write(r.tail)
}
