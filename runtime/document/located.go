package document

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A LocatedItem is an item with the places of the values at [Options.Places]. It is valid until the iteration
// continues.
type LocatedItem struct {
	Raw json.RawMessage

	cells  []int       // for each path, the index of its cell in the row
	row    []scan.Span // places in the page
	base   int         // where the item begins in the page
	unique bool        // whether it is known that no key on a path occurs twice in its object
}

// Value returns the value at a path of [Options.Places], by the index of the path, as it is spelled. It
// returns nil if the item has no value there.
func (p *LocatedItem) Value(place int) []byte {
	if at := p.span(place); at.Present() {
		return at.Of(p.Raw)
	}
	return nil
}

func (p *LocatedItem) span(place int) scan.Span {
	at := p.row[p.cells[place]]
	return scan.Span{Start: at.Start - p.base, End: at.End - p.base}
}

// Located returns an iterator over the items of a list of the page, in order. It searches an item for its
// values only if they have not been located, as in a page in a file or with several lists.
func (v *Values) Located(items Items) iter.Seq[*LocatedItem] {
	return func(yield func(*LocatedItem) bool) {
		p := LocatedItem{cells: v.places}
		located := v.located && items.at == v.items.at && items.count == v.items.count
		cells := v.cells
		if located {
			p.base, p.unique = v.base, v.unique
		} else {
			cells = make([]scan.Span, v.tree.Width)
		}
		for p.Raw = range items.All() {
			p.row = cells[:v.tree.Width]
			if !located {
				clear(p.row)
				scan.Walk{Data: p.Raw}.Locate(0, v.tree, p.row)
			}
			if !yield(&p) {
				return
			}
			if located {
				p.base += len(p.Raw) + len(newline)
				cells = cells[v.tree.Width:]
			}
		}
	}
}

// An ItemDecoder decodes values at some of the paths of [Options.Places], as the parts of an item that rules
// read. It is for use by one goroutine.
type ItemDecoder struct {
	limit   int  // memory for the values of an item
	whole   bool // whether to decode the whole item
	reads   []itemRead
	objects []map[string]any // the item and the objects within it that hold the values; reused for each item
}

// An itemRead is a value to decode.
type itemRead struct {
	path  []string
	place int   // index of the path in Options.Places
	in    []int // indexes, in ItemDecoder.objects, of the objects on the path, outermost first
}

// NewItemDecoder returns a decoder for paths. Each path must be among places, except for the path
// without keys, which is the whole item. limit is the memory, in bytes, for the values of one item; 0 means
// [MaxValueBytes].
func NewItemDecoder(paths, places [][]string, limit int) *ItemDecoder {
	d := &ItemDecoder{limit: limit, objects: []map[string]any{{}}}
	if d.whole = slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 }); d.whole {
		return d
	}
	prefixes := [][]string{nil} // of the objects: that of the item first
	for _, path := range outermostPaths(paths) {
		read := itemRead{path: path, place: indexOfPath(places, path)}
		for n := range path {
			i := indexOfPath(prefixes, path[:n])
			if i < 0 {
				i = len(prefixes)
				prefixes, d.objects = append(prefixes, path[:n]), append(d.objects, map[string]any{})
			}
			read.in = append(read.in, i)
		}
		d.reads = append(d.reads, read)
	}
	return d
}

func indexOfPath(paths [][]string, path []string) int {
	return slices.IndexFunc(paths, func(other []string) bool { return slices.Equal(other, path) })
}

// Decode returns the parts of an item: nested objects that hold only the values at the paths, by the rules of
// [Decode]. It is nil if the item is not an object or if there are no paths. The objects are valid until the
// next call.
func (d *ItemDecoder) Decode(p *LocatedItem) (any, error) {
	left := newAllowance(d.limit)
	if d.whole {
		return decode(p.Raw, left)
	}
	if len(d.reads) == 0 || scan.KindOf(p.Raw) != scan.Object {
		return nil, nil
	}
	for _, object := range d.objects {
		clear(object)
	}
	for _, read := range d.reads {
		raw := p.Value(read.place)
		if raw == nil {
			continue
		}
		v, err := decode(raw, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keypath.Join(read.path...), err)
		}
		last := len(read.path) - 1
		for n, key := range read.path[:last] {
			d.objects[read.in[n]][key] = d.objects[read.in[n+1]]
		}
		d.objects[read.in[last]][read.path[last]] = v
	}
	return d.objects[0], nil
}
