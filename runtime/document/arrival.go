package document

import (
	"slices"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// An arrival is the source of a document that goes to a file. While the document passes, it sums up the list
// that the scan separates, so that the file need not be read for that: its digest, and the items that are
// drawn to be compared with those of other pages.
type arrival struct {
	from    scan.Source // nil if the document is in memory
	scanner *scan.Scanner
	at      int // bytes that have passed
	list    int // offset of the list; -1 without one

	sum   summer
	items int       // number of items that have passed
	first int       // offset of the item that is passing
	head  []byte    // if part of it has passed before, its first bytes there, at most drawingBytes
	tail  []byte    // and the last ones
	kept  []drawing // items that may be drawn
}

// A drawing is an item that may be drawn.
type drawing struct {
	index int
	at    scan.Span
	hash  uint64
}

// maxKept is the most drawings that are kept at a time.
const maxKept = 16 * drawnItems

func (a *arrival) begin(s *scan.Scanner) {
	a.scanner, a.at = s, 0
	a.beginList(-1)
}

func (a *arrival) beginList(at int) {
	a.list, a.sum, a.items, a.first = at, summer{}, 0, at+1
	a.head, a.tail, a.kept = a.head[:0], a.tail[:0], a.kept[:0]
}

// Next implements [scan.Source].
func (a *arrival) Next(done, rest []byte) (data []byte, more bool, err error) {
	if s := a.scanner; s.Begins >= 0 {
		if s.Begins != a.list {
			a.beginList(s.Begins)
		}
		end := a.at + len(done)
		if s.Ends > 0 {
			end = min(end, s.Ends)
		}
		if start := max(a.at, a.list); start < end {
			a.sum.add(done[start-a.at : end-a.at])
			a.draw(done, end)
		}
	}
	a.at += len(done)
	return a.from.Next(done, rest)
}

// draw notes the items that end in a part, and the beginning of the item after them.
func (a *arrival) draw(part []byte, end int) {
	for _, at := range a.scanner.Breaks {
		if at >= end {
			break
		}
		a.item(part, at)
	}
	if rest := part[max(a.first-a.at, 0):max(end-a.at, a.first-a.at, 0)]; len(rest) > 0 {
		a.hold(rest)
	}
}

// item notes the item that ends at an offset.
func (a *arrival) item(part []byte, end int) {
	var hash uint64
	if len(a.head) == 0 {
		hash = drawingOf(part[a.first-a.at : end-a.at])
	} else {
		a.hold(part[:end-a.at])
		if n := end - a.first; n < drawingBytes {
			hash = drawingOf(a.head)
		} else {
			hash = drawingOfEnds(a.head, a.tail, n)
		}
		a.head, a.tail = a.head[:0], a.tail[:0]
	}
	if hash>>drawingShift(a.items) == 0 {
		if len(a.kept) == maxKept {
			a.kept = slices.DeleteFunc(a.kept, func(d drawing) bool { return d.hash>>drawingShift(a.items) != 0 })
		}
		if len(a.kept) < maxKept {
			a.kept = append(a.kept, drawing{a.items, scan.Span{Start: a.first, End: end}, hash})
		}
	}
	a.items++
	a.first = end + 1
}

// hold keeps the ends of a part of an item that is in several parts of the document.
func (a *arrival) hold(part []byte) {
	a.head = append(a.head, part[:min(len(part), drawingBytes-len(a.head))]...)
	a.tail = append(a.tail, part[max(len(part)-drawingBytes, 0):]...)
	a.tail = slices.Delete(a.tail, 0, max(len(a.tail)-drawingBytes, 0))
}

// has reports whether the document was summed up when it arrived, and its list is at a span.
func (a *arrival) has(d *document, list scan.Span) bool {
	return a.from != nil && a.list >= 0 && list == scan.Span{Start: a.list, End: d.scanner.Ends}
}

// drawn returns the items that are drawn, of a list of n items.
func (a *arrival) drawn(n int) []scan.Span {
	var drawn []scan.Span
	for _, d := range a.kept {
		if d.hash>>drawingShift(n) == 0 && d.index >= edgeItems && d.index < n-edgeItems && len(drawn) < 2*drawnItems {
			drawn = append(drawn, d.at)
		}
	}
	return drawn
}
