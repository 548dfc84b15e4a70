package document

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// TypedItems are the items at one path of a page.
type TypedItems struct {
	DataType string // type of the items; "" means the type of the job
	Items    Items
}

// A gatherer collects the items of several paths, or of paths with a star, in a buffer, since they
// are not adjacent in the response. The items of a large page are in a file, like the page.
type gatherer struct {
	doc      *document
	field    *rules.DataField
	maxItems int
	named    bool // whether the names of members are needed

	out   spool.Buffer
	count int
	names []any     // if named, for each item, the key of its member in the innermost object with a star, or nil
	name  any       // name for the item that is being added
	stars []element // the elements at the stars of the path that is being followed, outermost first
	null  bool      // whether the path that is being followed leads to a null in place of a list
	err   error

	stray     *Stray
	truncated Truncated
	object    []string // path of the first object that is one item, and may have been meant as a list
}

// An element is an element of a list, or a member of an object.
type element struct {
	key   scan.Span // not present for an element of a list
	index int
}

// gather sets the items of the document in a reading. The error is an [*ItemsError], names the
// value that is not an item, or is a write error of the buffer.
func (g *gatherer) gather(out *Reading) error {
	g.doc.mapping.Rewind()
	g.out.Reset(int64(len(g.doc.raw)))
	g.count, g.names, g.name, g.stars, g.err = 0, nil, nil, g.stars[:0], nil
	g.stray, g.truncated, g.object = nil, Truncated{}, nil
	var ends []ListEnd
	for _, list := range g.field.Lists {
		fixed := list.Fixed()
		found, at, before := g.doc.kindAt(fixed), g.doc.find(fixed), g.count
		g.null = false
		switch {
		case !at.Present() || !g.follow(at, list, len(fixed)):
			found = ""
		case g.null && g.count == before:
			found = scan.Null
		case len(fixed) < len(list.Steps):
			found = scan.List
		}
		if g.err != nil {
			return g.err
		}
		out.Found = append(out.Found, found)
		ends = append(ends, ListEnd{list.DataType, int(g.out.Len()), g.count})
	}
	block, mapping, err := g.out.Body()
	out.Items, out.Lists = Lists(block, mapping, ends)
	out.Members, out.Stray, out.Truncated = g.names, g.stray, g.truncated
	return err
}

// A ListEnd is the end of a list of items in a block: its offset, and the number of items up to it.
type ListEnd struct {
	DataType string `json:"dataType"`
	End      int    `json:"end"`
	Count    int    `json:"count"`
}

// Lists returns all items of a block, and the items of each of its lists.
func Lists(block []byte, mapping *spool.Mapping, ends []ListEnd) (all Items, lists []TypedItems) {
	end, count := 0, 0
	for _, m := range ends {
		items := NewItems(block[end:m.End:m.End], m.Count-count, mapping)
		items.at = end
		lists = append(lists, TypedItems{m.DataType, items})
		end, count = m.End, m.Count
	}
	return NewItems(block[:end:end], count, mapping), lists
}

// ListEnds returns the ends of lists within the block of their items. [Lists] restores the lists from
// them.
func ListEnds(lists []TypedItems) []ListEnd {
	ends := make([]ListEnd, len(lists))
	end, count := 0, 0
	for i, list := range lists {
		end, count = end+len(list.Items.Bytes()), count+list.Items.Len()
		ends[i] = ListEnd{DataType: list.DataType, End: end, Count: count}
	}
	return ends
}

// follow adds the items below a value, following the steps of the path from step on. It reports
// whether the response has anything there: items, an empty list or object, or null.
func (g *gatherer) follow(span scan.Span, list rules.ItemList, step int) bool {
	raw := g.doc.raw
	kind := scan.KindOf(raw[span.Start:])
	switch {
	case kind == scan.Null:
		g.null = true
		return true
	case step == len(list.Steps):
		return g.addItems(span, kind, list)
	case list.Steps[step].All:
		return g.followAll(span, kind, list, step)
	}
	within := span
	span = g.child(span, kind, list.Steps[step].Key)
	g.noticeBeside(within, span, list, step)
	return span.Present() && g.follow(span, list, step+1)
}

// followAll follows every element of a list, or every member of an object.
func (g *gatherer) followAll(span scan.Span, kind scan.Kind, list rules.ItemList, step int) bool {
	if kind != scan.List && kind != scan.Object {
		g.fail(fmt.Errorf("%s (dataField) has %s at *, want a list or an object", list.Text, kind))
		return true
	}
	outer := g.name
	defer func() { g.name = outer }()
	present, empty := false, true
	g.stars = append(g.stars, element{index: -1})
	defer func() { g.stars = g.stars[:len(g.stars)-1] }()
	for key, value := range g.members(span) {
		empty = false
		at := &g.stars[len(g.stars)-1]
		at.key, at.index = key, at.index+1
		if kind == scan.Object && g.named {
			g.name = string(scan.Unquote(key.Of(g.doc.raw)))
		}
		present = g.follow(value, list, step+1) || present
		if g.err != nil {
			return true
		}
	}
	return present || empty
}

// members iterates over the members of an object, or the elements of a list.
func (g *gatherer) members(at scan.Span) iter.Seq2[scan.Span, scan.Span] {
	return scan.Walk{Data: g.doc.raw, Mapping: g.doc.mapping}.Members(at.Start)
}

// child returns the value at a key of an object, or at an index of a list.
func (g *gatherer) child(span scan.Span, kind scan.Kind, key string) (found scan.Span) {
	if kind != scan.List && kind != scan.Object {
		return scan.Span{}
	}
	index, n := scan.Index(key), 0
	for name, value := range g.members(span) {
		switch {
		case kind == scan.List && n == index:
			found = value
		case kind == scan.Object && string(scan.Unquote(name.Of(g.doc.raw))) == key:
			if found.Present() {
				g.doc.duplicate = cmp.Or(g.doc.duplicate, key)
			}
			found = value // if a key occurs twice, the last value counts
		}
		n++
	}
	if g.doc.mapping != nil && span.End-span.Start > spool.ResidentBytes {
		g.doc.mapping.Rewind() // the value comes before the data already read
	}
	return found
}

// addItems adds the items of the value at the end of a path: the elements of a list, or an object
// as one item, unless it is empty. After a star, any value is an item.
func (g *gatherer) addItems(span scan.Span, kind scan.Kind, list rules.ItemList) bool {
	last := len(list.Steps) - 1
	switch {
	case kind == scan.List:
		for _, value := range g.members(span) {
			g.addItem(value)
			if g.err != nil {
				break
			}
		}
	case last >= 0 && list.Steps[last].All, kind == scan.Object && (last < 0 || !isEmptyObject(span.Of(g.doc.raw))):
		if g.object == nil && kind == scan.Object && last >= 0 && !list.Steps[last].All {
			g.noticeObject(span, list)
		}
		g.addItem(span)
	case kind == scan.Object:
	default:
		g.fail(fmt.Errorf("%s (dataField) is %s, want a list or an object", list.Text, kind))
	}
	return true
}

// noticeObject notices an object in the place of a list. Below a star, where elements often wrap one object each, it must
// look like a map of items.
func (g *gatherer) noticeObject(span scan.Span, list rules.ItemList) {
	if len(g.stars) == 0 || isMap(span.Of(g.doc.raw)) {
		g.object = g.pathTo(list, len(list.Steps))
	}
}

// isMap reports whether an object seems to be a map of items: its members are objects, and their names have digits, or they
// begin with the same key.
func isMap(raw []byte) bool {
	n, numbered, alike := 0, true, true
	var first []byte
	for key, at := range scan.Members(raw) {
		if raw[at.Start] != '{' {
			return false
		}
		var begin []byte
		for inner := range scan.Members(at.Of(raw)) {
			begin = inner.Of(at.Of(raw))
			break
		}
		if n++; n == 1 {
			first = begin
		}
		numbered = numbered && bytes.ContainsAny(key.Of(raw), "0123456789")
		alike = alike && bytes.Equal(begin, first)
	}
	return numbered || alike && n > 1
}

// addItem adds one item.
func (g *gatherer) addItem(span scan.Span) {
	if g.count++; g.maxItems > 0 && g.count > g.maxItems {
		g.fail(&ItemsError{Limit: g.maxItems})
		return
	}
	if g.named {
		g.names = append(g.names, g.name)
	}
	for span.End-span.Start > spool.ResidentBytes {
		g.write(g.doc.raw[span.Start : span.Start+spool.ResidentBytes])
		span.Start += spool.ResidentBytes
	}
	g.write(g.doc.raw[span.Start:span.End])
	g.write(newline)
}

var newline = []byte{'\n'}

func (g *gatherer) write(p []byte) {
	if _, err := g.out.Write(p); err != nil {
		g.fail(err)
	}
}

func (g *gatherer) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}
