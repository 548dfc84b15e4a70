package evidence

import "github.com/stopwhen/stopwhen/runtime/document"

// A [Recall] maps digests to numbers. The types in this file pack two facts into such a number.

// An itemSighting is the last page that has an item, modulo 1<<16, and 48 bits of the digest of the item's
// content there.
type itemSighting uint64

// newItemSighting returns the sighting of an item on a page.
func newItemSighting(page int, item []byte) itemSighting {
	return newSighting(uint64(page), document.DigestOf(item, document.Digest{}))
}

// newSighting returns the sighting of an item on a page, given the digest of its content.
func newSighting(page uint64, content document.Digest) itemSighting {
	return itemSighting(content.Half()<<16 | page&0xffff)
}

// page returns the page, modulo 1<<16.
func (s itemSighting) page() uint64 { return uint64(s) & 0xffff }

// content returns 48 bits of the digest of the content.
func (s itemSighting) content() uint64 { return uint64(s) >> 16 }

// isOnPageBefore reports whether the page precedes the page of another sighting.
func (s itemSighting) isOnPageBefore(other itemSighting) bool {
	return (s.page()+1)&0xffff == other.page()
}

// A listSighting is the first page with a list of items, and 32 bits of the digest of its request.
type listSighting uint64

// newListSighting returns the sighting of the items on a page that a request has returned.
func newListSighting(page int, request document.Digest) listSighting {
	return listSighting(uint64(page)<<32 | request.Half()>>32)
}

// page returns the number of the page.
func (s listSighting) page() int { return int(s >> 32) }

// request returns 32 bits of the digest of the request.
func (s listSighting) request() uint32 { return uint32(s) }
