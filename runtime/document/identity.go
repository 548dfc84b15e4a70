package document

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// If a page has more items than wholePage, only some of them are compared with other pages. These are
// the first and the last edgeItems, because items repeat where pages meet if a list changes while it is
// read, and usually between drawnItems/2 and drawnItems of the others, at most 2*drawnItems. The others
// are drawn by their content, so that two pages with the same items draw the same items in any order.
const (
	wholePage  = 64
	edgeItems  = 16
	drawnItems = 32
)

// comparedItems returns the items of a page that are compared with items of other pages, in the order of
// the page. They are slices of the document.
func (r *Reader) comparedItems(items Items) [][]byte {
	r.sample = r.sample[:0]
	if items.Len() > wholePage && r.doc.arrival.has(&r.doc, scan.Span{Start: items.at - 1, End: items.at + len(items.block)}) {
		for i := range edgeItems {
			r.sample = append(r.sample, items.item(i))
		}
		for _, at := range r.doc.arrival.drawn(items.Len()) {
			r.sample = append(r.sample, at.Of(r.doc.raw))
		}
		for i := range edgeItems {
			r.sample = append(r.sample, items.item(items.Len()-edgeItems+i))
		}
		return r.sample
	}
	shift := drawingShift(items.Len())
	i, drawn := 0, 0
	for item := range items.All() {
		switch {
		case items.Len() <= wholePage || i < edgeItems || i >= items.Len()-edgeItems:
			r.sample = append(r.sample, item)
		case drawn < 2*drawnItems && drawingOf(item)>>shift == 0:
			r.sample = append(r.sample, item)
			drawn++
		}
		i++
	}
	return r.sample
}

// drawingShift returns by how many bits the hashes of items are shifted: an item that is not at an end of a
// page of n items is drawn if that leaves 0.
func drawingShift(n int) int { return 64 - bits.Len(uint(max(n-2*edgeItems, 0)/drawnItems)) }

// drawingBytes is the number of bytes at either end of an item by which it is drawn.
const drawingBytes = 32

// drawingOf returns a hash of the length, the first and the last drawingBytes of an item.
func drawingOf(item []byte) uint64 {
	if len(item) < drawingBytes {
		return DigestOf(item, zeroDigest).Half()
	}
	return drawingOfEnds(item, item[len(item)-drawingBytes:], len(item))
}

// drawingOfEnds returns the hash of an item of n bytes with the given first and last bytes.
func drawingOfEnds(head, tail []byte, n int) uint64 {
	head, tail = head[:drawingBytes:drawingBytes], tail[:drawingBytes:drawingBytes]
	a := mix(binary.LittleEndian.Uint64(head[0:])^key0, binary.LittleEndian.Uint64(head[8:])^key1)
	b := mix(binary.LittleEndian.Uint64(head[16:])^key2, binary.LittleEndian.Uint64(head[24:])^key3)
	c := mix(binary.LittleEndian.Uint64(tail[0:])^key1, binary.LittleEndian.Uint64(tail[8:])^key2)
	d := mix(binary.LittleEndian.Uint64(tail[16:])^key3, binary.LittleEndian.Uint64(tail[24:])^key0)
	return mix(a+bits.RotateLeft64(b, 23)^key4, c+bits.RotateLeft64(d, 23)^uint64(n))
}

// maxIdentityBytes is the length of the part of an item that is searched for its identifier.
const maxIdentityBytes = 4096

// Identity returns the identifier of an item as it was sent: the value of its first key that names
// an identifier (see [apinames.IsIdentifier]), or the identifier of its node, as in an edge of
// GraphQL. It returns nil if the item has no identifier. item is a valid JSON value without insignificant
// whitespace.
func Identity(item []byte) []byte {
	if len(item) == 0 || item[0] != '{' {
		return nil
	}
	for key, span := range scan.Members(item) {
		if key.Start >= maxIdentityBytes {
			break
		}
		switch name := string(item[key.Start+1 : key.End-1]); {
		case apinames.IsIdentifier(name):
			if v := span.Of(item); identifies(v) {
				return v
			}
		case name == "node":
			return Identity(span.Of(item))
		}
	}
	return nil
}

// identifies reports whether a value can be an identifier.
func identifies(raw []byte) bool {
	switch scan.KindOf(raw) {
	case scan.Null, scan.Boolean, scan.List:
		return false
	case scan.String:
		return len(raw) > 2
	}
	return true
}

// fewItems is the number of items below which the identifiers of a page do not suffice: each page may have one
// measurement of each of a few sensors.
const fewItems = 5

// identityDigest returns [Reading.IdentityDigest] of a page. It is the digest of identifiers if there are several items and each has
// another one, and of the time of a snapshot; see [snapshotOf]. If there are few items, or they have no usual identifier,
// it is that of their columns; see [Reader.digestOfColumns]. Equal identifiers do not identify items, and one item that
// comes again may be a later version of it.
func (r *Reader) identityDigest(page *Reading) Digest {
	if page.Items.Len() < 2 {
		return page.ItemsDigest
	}
	if len(r.options.Key) > 0 {
		if same, ok := r.digestOfIdentities(page, r.options.Key); ok {
			return same
		}
	}
	same, ok := r.digestOfIdentities(page, nil)
	if ok && page.Items.Len() >= fewItems {
		return snapshotOf(page.Compared[0], page.Compared[len(page.Compared)-1], same)
	}
	if columns, identified := r.digestOfColumns(page); identified {
		return columns
	}
	if ok {
		return page.stable(same)
	}
	return page.ItemsDigest
}

// digestOfIdentities returns the digest of the number of items and of the identifiers of those that
// are compared or, given paths, of their keys. It reports whether all have one, and no two the same.
func (r *Reader) digestOfIdentities(page *Reading, keys [][]string) (Digest, bool) {
	var buffer [wholePage]uint64
	seen := buffer[:0]
	all := Digest{a: uint64(page.Items.Len())}
	for i, item := range page.Compared {
		if !page.atEnds(i) {
			continue
		}
		id := []byte(nil)
		if len(keys) == 0 {
			id = Identity(item)
		} else if key, found := AppendKey(r.key[:0], item, keys); found {
			id, r.key = key, key
		}
		one := DigestOf(id, zeroDigest).Half()
		if id == nil || slices.Contains(seen, one) {
			return Digest{}, false
		}
		seen, all = append(seen, one), DigestOf(id, all)
	}
	return all, true
}

// atEnds reports whether Compared has, at an index, an item that pages with the same items have in common even if
// other members of these items differ: any item of a small page, and an item at an end of a large one.
func (page *Reading) atEnds(i int) bool {
	return page.Items.Len() <= wholePage || i < edgeItems || i >= len(page.Compared)-edgeItems
}

// Stable returns a digest that is the same for pages with the same items although addresses and tokens in
// them differ. Unlike IdentityDigest, it distinguishes pages whose items have the same identifiers and other content.
func (page *Reading) Stable() Digest {
	if page.IdentityDigest == page.ItemsDigest {
		return page.ItemsDigest
	}
	return page.stable(page.IdentityDigest)
}

// stable adds the stable content of the items of a page to a digest of their identifiers.
func (page *Reading) stable(d Digest) Digest {
	for i, item := range page.Compared {
		if page.atEnds(i) {
			d = stableDigest(item, d)
		}
	}
	return d
}

// volatileBytes is the length of the shortest text, with its quotes, that may differ in each response.
const volatileBytes = 22

// StableDigest returns the digest of an item without its long texts that have no space. They may be addresses with a
// signature and tokens, which differ in each response although the item has not changed. Texts that begin with a year
// are part of the digest: a time usually belongs to the item.
func StableDigest(item []byte) Digest { return stableDigest(item, zeroDigest) }

// stableDigest returns the same digest, of an item that follows other data.
func stableDigest(item []byte, d Digest) Digest {
	begin := 0 // of the bytes that are not part of d yet
	for at := 0; at < len(item); {
		if item[at] != '"' {
			at++
			continue
		}
		end := at + 1
		for item[end] != '"' {
			if item[end] == '\\' {
				end++
			}
			end++
		}
		end++
		isKey := end < len(item) && item[end] == ':'
		if !isKey && isVolatile(item[at:end]) {
			d, begin = DigestOf(item[begin:at], d), end
		}
		at = end
	}
	return DigestOf(item[begin:], d)
}

// isVolatile reports whether a text, which has its quotes, may differ in each response.
func isVolatile(quoted []byte) bool {
	return len(quoted) >= volatileBytes && bytes.IndexByte(quoted, ' ') < 0 && !beginsWithYear(quoted[1:])
}

// beginsWithYear reports whether a text begins like 2026-.
func beginsWithYear(text []byte) bool {
	return len(text) > 4 && text[4] == '-' && !bytes.ContainsFunc(text[:4], func(r rune) bool { return r < '0' || r > '9' })
}

// Find returns the value at a path of a valid JSON value, as it is spelled, or nil if there is no value.
func Find(raw []byte, path []string) []byte {
	for _, key := range path {
		if scan.KindOf(raw) != scan.Object {
			return nil
		}
		var found []byte // if a key occurs twice, the last value counts
		for name, span := range scan.Members(raw) {
			if string(scan.Unquote(name.Of(raw))) == key {
				found = span.Of(raw)
			}
		}
		if raw = found; raw == nil {
			return nil
		}
	}
	return raw
}

// AppendKey appends the values at the paths of a key in an item, as JSON with commas. It reports
// whether the item has a key: not all of these values are absent or null. A text has the same spelling
// whatever its escapes, and a number the same whatever its exponent and its trailing zeros: 100, 100.0 and 1e2
// are one key. A text that is a number, true or false is spelled like that value: if an API begins to send its ids as
// texts, its items are still the same, and the columns of a table do not distinguish these values from texts either. But
// the texts "1.1" and "1.10" are two keys, since they may be versions.
func AppendKey(to []byte, item []byte, paths [][]string) (key []byte, found bool) {
	for _, path := range paths {
		v := Find(item, path)
		switch {
		case v == nil || v[0] == 'n':
			to = append(to, "null,"...)
			continue
		case v[0] == '"' && (isNumber(v[1:len(v)-1]) || isBoolean(v[1:len(v)-1])):
			to = append(to, v[1:len(v)-1]...)
		case v[0] == '"' && bytes.IndexByte(v, '\\') >= 0:
			text, _ := value.Marshal(string(scan.Unquote(v))) // cannot fail for a text
			to = append(to, text...)
		case scan.KindOf(v) == scan.Number:
			to = appendNumber(to, v)
		default:
			to = append(to, v...)
		}
		to, found = append(to, ','), true
	}
	return to, found
}

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(text []byte) bool {
	return len(text) > 0 && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && json.Valid(text)
}

// isBoolean reports whether a text is a boolean as JSON writes it.
func isBoolean(text []byte) bool { return string(text) == "true" || string(text) == "false" }

// maxPlain is the number of digits of the longest integer that appendNumber writes without an exponent.
const maxPlain = 400

// appendNumber appends a number of JSON in the spelling that all numbers of the same value have: an integer, or
// digits and an exponent. Numbers with exponents that no int32 holds keep their spelling.
func appendNumber(to, number []byte) []byte {
	if !bytes.ContainsAny(number, ".eE") && string(number) != "-0" {
		return append(to, number...)
	}
	unsigned, negative := bytes.CutPrefix(number, []byte("-"))
	mantissa, power := unsigned, int64(0)
	if at := bytes.IndexAny(unsigned, "eE"); at >= 0 {
		var err error
		if power, err = strconv.ParseInt(string(unsigned[at+1:]), 10, 32); err != nil {
			return append(to, number...)
		}
		mantissa = unsigned[:at]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := bytes.TrimLeft(slices.Concat(whole, fraction), "0")
	power -= int64(len(fraction))
	n := len(digits)
	digits = bytes.TrimRight(digits, "0")
	power += int64(n - len(digits))
	if len(digits) == 0 {
		return append(to, '0')
	}
	if negative {
		to = append(to, '-')
	}
	to = append(to, digits...)
	if power < 0 || int64(len(digits))+power > maxPlain {
		return strconv.AppendInt(append(to, 'e'), power, 10)
	}
	return append(to, bytes.Repeat([]byte("0"), int(power))...)
}
