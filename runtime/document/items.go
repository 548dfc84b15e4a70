package document

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Items are the items of a page as NDJSON: each without insignificant
// whitespace and otherwise byte for byte as it was sent, followed by a newline.
// JSON has newlines nowhere else, so an item is always one line. The zero Items
// are none.
//
// The items of a page are in memory that the next page takes over: they are
// valid until the sink returns, or the iteration goes on. [Items.Clone] keeps
// them.
type Items struct {
	block  []byte
	count  int
	window *spool.Window // of a page too large for memory; nil: it is in memory
	at     int           // where the block begins in it
}

// Clone is a copy that stays valid.
func (items Items) Clone() Items { return Items{block: bytes.Clone(items.block), count: items.count} }

// Split makes items of the elements of a list, a valid raw value without space
// around it. Any other value is one item. The items do not refer to raw.
func Split(raw []byte) Items {
	if KindOf(raw) != KindList {
		return One(raw)
	}
	return lines(bytes.Clone(raw[1:]))
}

// One makes an item of a valid raw value.
func One(raw []byte) Items {
	block := make([]byte, len(raw)+1)
	copy(block, raw)
	block[len(raw)] = ']'
	return lines(block)
}

// lines makes items, in place, of the inside of a list and its closing bracket:
// such a block has a byte for every newline already, the comma or the bracket
// behind the item.
func lines(block []byte) Items {
	var kept, run, depth, count int // block[run:i] has yet to move down to kept
	for i := 0; i < len(block); {
		switch structure[block[i]] {
		case isQuote:
			i = textEnd(block, i)
			continue
		case isOpen:
			depth++
		case isClose:
			depth--
			if depth < 0 {
				block[i] = '\n'
				count++
			}
		case isComma:
			if depth == 0 {
				block[i] = '\n'
				count++
			}
		case isBlank:
			kept += copy(block[kept:], block[run:i])
			i = skipSpace(block, i)
			run = i
			continue
		}
		i++
	}
	kept += copy(block[kept:], block[run:])
	if kept == 1 { // the closing bracket alone
		return Items{}
	}
	return Items{block: block[:kept], count: count}
}

// Len counts the items.
func (items Items) Len() int { return items.count }

// Bytes is the NDJSON block; it is not a copy.
func (items Items) Bytes() []byte { return items.block }

// All yields the items in order, as parts of the block.
func (items Items) All() iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		items.window.Rewind()
		for rest := items.block; len(rest) > 0; {
			items.pass(rest)
			end := bytes.IndexByte(rest, '\n')
			if !yield(json.RawMessage(rest[:end:end])) {
				return
			}
			rest = rest[end+1:]
		}
	}
}

// pass lets go of what stands before the rest of the block.
func (items Items) pass(rest []byte) {
	i := items.at + len(items.block) - len(rest)
	items.window.Pass(i, i)
}

// WriteTo writes the NDJSON block.
func (items Items) WriteTo(w io.Writer) (int64, error) {
	if items.window == nil {
		n, err := w.Write(items.block)
		return int64(n), err
	}
	items.window.Rewind()
	written := int64(0)
	for rest := items.block; len(rest) > 0; {
		n, err := w.Write(rest[:min(len(rest), spool.WindowBytes)])
		if written += int64(n); err != nil {
			return written, err
		}
		rest = rest[n:]
		items.pass(rest)
	}
	return written, nil
}
