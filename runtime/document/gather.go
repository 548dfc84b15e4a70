package document

import (
	"fmt"
	"iter"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A List is the items of one path of a page.
type List struct {
	DataType string // "" is that of the job
	Items    Items
}

// gatherer collects the items of several paths, or of paths with a star, in a buffer:
// they are not next to each other in the response. A large page is in a file, and so are
// its items.
type gatherer struct {
	doc      *document
	field    *rules.DataField
	maxItems int
	named    bool // the names of members are needed

	out   spool.Buffer
	count int
	names []any // of each item, if named: the member of the innermost object with a star, or nil
	name  any   // of the item that is being added
	err   error
}

// gather sets the items of the document in a reading. The error is an [*ItemsError], says which
// value is not an item, or that the buffer cannot be written.
func (g *gatherer) gather(out *Reading) error {
	g.doc.window.Rewind()
	g.out.Reset(int64(len(g.doc.raw)))
	g.count, g.names, g.name, g.err = 0, nil, nil, nil
	var marks []Mark
	for _, list := range g.field.Lists {
		fixed := list.Fixed()
		at := g.doc.find(fixed)
		if !at.Present() || !g.follow(at, list, len(fixed)) {
			out.Missing = append(out.Missing, list.Text)
		}
		if g.err != nil {
			return g.err
		}
		marks = append(marks, Mark{list.DataType, int(g.out.Len()), g.count})
	}
	block, window, err := g.out.Body()
	out.Items, out.Lists = Lists(block, window, marks)
	out.Members = g.names
	return err
}

// A Mark is the end of a list of items in a block: the offset, and the number of items up
// to there.
type Mark struct {
	DataType string
	End      int
	Count    int
}

// Lists returns all items of a block, and those of each of its lists.
func Lists(block []byte, window *spool.Window, marks []Mark) (all Items, lists []List) {
	end, count := 0, 0
	for _, m := range marks {
		items := NewItems(block[end:m.End:m.End], m.Count-count, window)
		items.at = end
		lists = append(lists, List{m.DataType, items})
		end, count = m.End, m.Count
	}
	return NewItems(block[:end:end], count, window), lists
}

// follow adds the items of a value, at which the steps from step on begin. It reports
// whether there is anything: items, or an empty list or object, or null.
func (g *gatherer) follow(at scan.Span, list rules.ItemList, step int) bool {
	raw := g.doc.raw
	kind := scan.KindOf(raw[at.Start:])
	switch {
	case kind == scan.Null:
		return true
	case step == len(list.Steps):
		return g.add(at, kind, list)
	case list.Steps[step].All:
		return g.all(at, kind, list, step)
	}
	at = g.child(at, kind, list.Steps[step].Key)
	return at.Present() && g.follow(at, list, step+1)
}

// all follows every element of a list, or every member of an object.
func (g *gatherer) all(at scan.Span, kind scan.Kind, list rules.ItemList, step int) bool {
	if kind != scan.List && kind != scan.Object {
		g.fail(fmt.Errorf("%s (dataField) has %s at *, want a list or an object", list.Text, kind))
		return true
	}
	outer := g.name
	defer func() { g.name = outer }()
	present, empty := false, true
	for key, value := range g.members(at) {
		empty = false
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
	return scan.Walk{Data: g.doc.raw, Window: g.doc.window}.Members(at.Start)
}

// child returns the value at a key of an object, or at an index of a list.
func (g *gatherer) child(at scan.Span, kind scan.Kind, key string) (found scan.Span) {
	if kind != scan.List && kind != scan.Object {
		return scan.Span{}
	}
	index, n := scan.Index(key), 0
	for name, value := range g.members(at) {
		switch {
		case kind == scan.List && n == index:
			found = value
		case kind == scan.Object && string(scan.Unquote(name.Of(g.doc.raw))) == key:
			found = value // of duplicate keys the last counts
		}
		n++
	}
	if g.doc.window != nil && at.End-at.Start > spool.WindowBytes {
		g.doc.window.Rewind() // what was found comes before what was passed
	}
	return found
}

// add adds the items of the value at the end of a path: the elements of a list, or an
// object as one item. After a star, any value is an item.
func (g *gatherer) add(at scan.Span, kind scan.Kind, list rules.ItemList) bool {
	last := len(list.Steps) - 1
	switch {
	case kind == scan.List:
		for _, value := range g.members(at) {
			g.item(value)
			if g.err != nil {
				break
			}
		}
	case kind == scan.Object || last >= 0 && list.Steps[last].All:
		g.item(at)
	default:
		g.fail(fmt.Errorf("%s (dataField) is %s, want a list or an object", list.Text, kind))
	}
	return true
}

// item adds one item.
func (g *gatherer) item(at scan.Span) {
	if g.count++; g.maxItems > 0 && g.count > g.maxItems {
		g.fail(&ItemsError{Limit: g.maxItems})
		return
	}
	if g.named {
		g.names = append(g.names, g.name)
	}
	for at.End-at.Start > spool.WindowBytes {
		g.write(g.doc.raw[at.Start : at.Start+spool.WindowBytes])
		at.Start += spool.WindowBytes
	}
	g.write(g.doc.raw[at.Start:at.End])
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
