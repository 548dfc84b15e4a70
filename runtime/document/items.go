package document

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"slices"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Items are the items of a page as NDJSON: each item is on one line, without insignificant
// whitespace and otherwise byte for byte as sent. JSON has newlines only in insignificant
// whitespace, so an item is always one line. The zero Items are empty.
//
// The items of a page are in a buffer that is reused for the next page. They are valid until the
// sink returns, or the iteration continues. Use [Items.Clone] to keep them.
type Items struct {
	block   []byte
	count   int
	mapping *spool.Mapping // mapping of a page in a file; nil for a page in memory
	at      int            // offset of block in the mapping's file
}

// NewItems returns the items of an NDJSON block of count lines. mapping is the mapping of a block in
// a file, or nil.
func NewItems(block []byte, count int, mapping *spool.Mapping) Items {
	if count == 0 {
		return Items{}
	}
	return Items{block: block, count: count, mapping: mapping}
}

// Clone returns a copy that stays valid.
func (items Items) Clone() Items { return Items{block: bytes.Clone(items.block), count: items.count} }

// Len returns the number of items.
func (items Items) Len() int { return items.count }

// Bytes returns the NDJSON block. It is not a copy.
func (items Items) Bytes() []byte { return items.block }

// All returns an iterator over the items, in order. They are slices of the block.
func (items Items) All() iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		items.mapping.Rewind()
		for rest := items.block; len(rest) > 0; {
			items.release(rest)
			end := bytes.IndexByte(rest, '\n')
			if !yield(json.RawMessage(rest[:end:end])) {
				return
			}
			rest = rest[end+1:]
		}
	}
}

// item returns the item with index i, searching from the nearer end.
func (items Items) item(i int) []byte {
	block := items.block[:len(items.block)-1] // without the last newline
	if i < items.count/2 {
		for ; i > 0; i-- {
			block = block[bytes.IndexByte(block, '\n')+1:]
		}
		end := bytes.IndexByte(block, '\n')
		if end < 0 {
			end = len(block)
		}
		return block[:end:end]
	}
	for i = items.count - 1 - i; i > 0; i-- {
		block = block[:bytes.LastIndexByte(block, '\n')]
	}
	return block[bytes.LastIndexByte(block, '\n')+1 : len(block) : len(block)]
}

// WriteTo writes the NDJSON block. It calls w.Write even without items, so that the first page
// creates a file of items even if it is empty.
func (items Items) WriteTo(w io.Writer) (int64, error) {
	if len(items.block) == 0 {
		_, err := w.Write(nil)
		return 0, err
	}
	written := int64(0)
	for part := range partsOf(items.block, items.at, items.mapping) {
		n, err := w.Write(part)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// digest returns the digest of the block.
func (items Items) digest() Digest { return digestIn(items.block, items.at, items.mapping, zeroDigest) }

// release releases the data before the rest of the block.
func (items Items) release(rest []byte) {
	i := items.at + len(items.block) - len(rest)
	items.mapping.Pass(i, i)
}

// partsOf iterates over data in parts, which are valid until the iteration continues. offset is the offset
// of data in the file of the mapping.
func partsOf(data []byte, offset int, mapping *spool.Mapping) iter.Seq[[]byte] {
	if mapping == nil {
		return slices.Chunk(data, spool.ResidentBytes)
	}
	return mapping.Parts(offset, offset+len(data))
}

// splitItems returns copies of the elements of a list as items, and a copy of any other value as
// one item. raw is valid JSON without insignificant whitespace.
func splitItems(raw []byte) Items {
	if scan.KindOf(raw) != scan.List {
		return oneItem(raw)
	}
	items := Items{block: make([]byte, 0, len(raw))}
	for _, element := range scan.Members(raw) {
		items.block = append(append(items.block, element.Of(raw)...), '\n')
		items.count++
	}
	return items
}

// oneItem returns a copy of a valid JSON value without insignificant whitespace as one item.
func oneItem(raw []byte) Items {
	return Items{block: slices.Concat(raw, newline), count: 1}
}

// elements returns the elements of a list as items. If the scan has separated them, it does not
// copy them: newlines then replace the separators in the document. Call withCommas to read the
// document after that.
func (d *document) elements(list scan.Span) Items {
	if list.Start != d.scanner.Begins {
		d.undivide()
		return splitItems(list.Of(d.raw))
	}
	d.items = list
	if !d.divided {
		d.separators = d.scanner.Breaks
		d.separate(d.separators, '\n', '\n')
	}
	d.divided = false
	if d.scanner.Count == 0 {
		return Items{}
	}
	return Items{d.raw[list.Start+1 : list.End : list.End], d.scanner.Count, d.mapping, list.Start + 1}
}

// withCommasIn calls f while the items within the value at a span are separated by commas.
func (d *document) withCommasIn(at scan.Span, f func()) {
	if at.Start < d.items.End && at.End > d.items.Start {
		d.withCommas(f)
	} else {
		f()
	}
}

// withCommas calls f while the items of the document are separated by commas instead of newlines. For a
// large page this takes as long as writing the page again.
func (d *document) withCommas(f func()) {
	if d.separators == nil && d.items.Present() { // the scan has separated the items of a page in a file
		d.separators = d.breaks()
	}
	d.separate(d.separators, ',', ']')
	f()
	d.separate(d.separators, '\n', '\n')
}

// newlines iterates over the offsets of the newlines in a list, which are between its elements and at its
// end.
func (d *document) newlines(list scan.Span) iter.Seq[int] {
	return func(yield func(int) bool) {
		d.mapping.Rewind()
		for at := list.Start; at < list.End; at++ {
			i := bytes.IndexByte(d.raw[at:list.End], '\n')
			if at += i; i < 0 || !yield(at) {
				return
			}
			d.mapping.Pass(at, at)
		}
	}
}

// breaks returns the offsets at which the elements of the list end that the scan has separated. For a page
// in a file, it finds the newlines that the scan has put there.
func (d *document) breaks() []int {
	if s := d.scanner; len(s.Breaks) == 0 {
		s.Breaks = slices.AppendSeq(slices.Grow(s.Breaks, s.Count), d.newlines(d.separated()))
	}
	return d.scanner.Breaks
}

// separate writes the separators at offsets, and the last of them, after a list.
func (d *document) separate(at []int, separator, last byte) {
	if len(at) == 0 {
		return
	}
	w := d.mapping
	w.Rewind()
	for _, i := range at[:len(at)-1] {
		d.raw[i] = separator
		w.Pass(i, i)
	}
	d.raw[at[len(at)-1]] = last
}
