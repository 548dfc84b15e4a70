package document

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// The members of items without a usual identifier, as the columns of a table. Pages have the same items if a column
// that identifies items and all other columns are the same, apart from numbers that differ from item to item: such
// numbers may be counters. A number that all items share is not left out, nor is a time: it may be that of a snapshot,
// whose other pages have the same items at other times.
const (
	columnItems = 8  // items at either end of a page that are compared
	maxColumns  = 32 // columns beyond that are compared as they are
	manyItems   = 3  // of fewer items, each may be a later version of the same item
)

// An itemColumn has the values of one member of the items, or of a member of an object in them.
type itemColumn struct {
	name    uint64
	isID    bool // whether the name ends with the word id
	n       int  // number of values
	values  [2 * columnItems]uint64
	all     Digest
	texts   bool // whether a value is not a number
	times   bool // whether a value may be a time as a number
	decimal bool // whether a value is not an integer
	counted bool // whether the values are 0, 1, 2, … or 1, 2, 3, …
}

// digestOfColumns returns a digest that pages with the same items share although numbers and tokens in them differ.
// It reports whether a column identifies the items.
func (r *Reader) digestOfColumns(page *Reading) (d Digest, ok bool) {
	n := page.Items.Len()
	if n < manyItems {
		return d, false
	}
	r.columns, d = r.columns[:0], Digest{a: uint64(n)}
	rows := min(n, 2*columnItems)
	for i, item := range page.Compared {
		row, left := i, len(page.Compared)-i
		if i >= columnItems && left > columnItems {
			continue
		}
		if left <= columnItems {
			row = n - left
		}
		if kind := scan.KindOf(item); kind != scan.Object && kind != scan.List || len(item) > maxIdentityBytes {
			return d, false
		}
		d = r.addRow(item, row, zeroDigest, d)
	}
	identified, number := false, -1
	for i := range r.columns {
		c := &r.columns[i]
		switch distinct := c.distinct(rows); {
		case c.texts:
			identified = identified || distinct
			d = d.With(c.all)
		case c.times || c.same():
			d = d.With(c.all)
		case distinct && !c.decimal && (c.isID || !c.counted) && (number < 0 || c.isID && !r.columns[number].isID):
			number = i
		}
	}
	if number >= 0 && (!identified || r.columns[number].isID) {
		identified, d = true, d.With(r.columns[number].all)
	}
	return d, identified
}

// addRow adds the members of an item, which is in a row, to the columns, with those of its objects. It adds all else to a
// digest, which it returns. parent is the path of an object, and zero for the item.
func (r *Reader) addRow(item []byte, row int, parent, d Digest) Digest {
	index := 0
	for key, at := range (scan.Walk{Data: item}).Members(0) {
		name, v := key.Of(item), at.Of(item)
		if !key.Present() {
			name = strconv.AppendInt(nil, int64(index), 10)
		}
		index++
		path := DigestOf(name, parent)
		switch kind := scan.KindOf(v); {
		case kind == scan.Object && parent == zeroDigest:
			d = r.addRow(v, row, path, d)
		case kind == scan.Object, kind == scan.List:
			d = stableDigest(v, d.With(path))
		case kind == scan.String && isVolatile(v):
		default:
			if c := r.column(path.Half(), name); c != nil {
				c.add(v, row)
			} else {
				d = DigestOf(v, d.With(path))
			}
		}
	}
	return d
}

// column returns the column with a name, or nil if there are too many.
func (r *Reader) column(hash uint64, name []byte) *itemColumn {
	for i := range r.columns {
		if r.columns[i].name == hash {
			return &r.columns[i]
		}
	}
	if len(r.columns) == maxColumns {
		return nil
	}
	isID := apinames.EndsWithID(strings.Trim(string(name), `"`))
	r.columns = append(r.columns, itemColumn{name: hash, isID: isID, counted: true, all: Digest{a: hash}})
	return &r.columns[len(r.columns)-1]
}

// add adds the value of an item in a row.
func (c *itemColumn) add(v []byte, row int) {
	if c.n == len(c.values) { // an item has the member twice
		return
	}
	c.all = DigestOf(v, Digest{c.all.a, c.all.b ^ uint64(row)})
	c.values[c.n] = DigestOf(v, zeroDigest).Half()
	number, err := strconv.ParseInt(string(v), 10, 64)
	switch {
	case scan.KindOf(v) != scan.Number:
		c.texts = true
	case err != nil:
		c.decimal = true
	case number >= 1e8:
		c.times = true
	}
	c.counted = c.counted && (number == int64(row) || number == int64(row)+1)
	c.n++
}

// distinct reports whether each of n items has another value.
func (c *itemColumn) distinct(n int) bool {
	for i := range c.n {
		if slices.Contains(c.values[:i], c.values[i]) {
			return false
		}
	}
	return c.n == n
}

// same reports whether all values are the same.
func (c *itemColumn) same() bool {
	for _, v := range c.values[:c.n] {
		if v != c.values[0] {
			return false
		}
	}
	return true
}

// snapshotOf returns the digest of what the first and the last item of a page share that may distinguish the page from
// others with the same identifiers: the day, the whole minute or the number of a snapshot. A time with seconds may be
// that of the response.
func snapshotOf(first, last []byte, d Digest) Digest {
	if scan.KindOf(first) != scan.Object || scan.KindOf(last) != scan.Object || len(first)+len(last) > 2*maxIdentityBytes {
		return d
	}
	for key, at := range scan.Members(first) {
		v := at.Of(first)
		if !isOfSnapshot(v) {
			continue
		}
		for other, place := range scan.Members(last) {
			if bytes.Equal(other.Of(last), key.Of(first)) && bytes.Equal(place.Of(last), v) {
				d = DigestOf(v, DigestOf(key.Of(first), d))
			}
		}
	}
	return d
}

// isOfSnapshot reports whether a value may say which snapshot an item belongs to: a day, a month, a whole minute, or an
// integer.
func isOfSnapshot(v []byte) bool {
	switch scan.KindOf(v) {
	case scan.Number:
		return len(v) <= len("20261231") && !bytes.ContainsAny(v, ".eE")
	case scan.String:
		text := v[1 : len(v)-1]
		return beginsWithYear(text) && (len(text) <= len("2026-12-31T12:00") || bytes.HasPrefix(text[len("2026-12-31T12:00"):], []byte(":00")))
	}
	return false
}
