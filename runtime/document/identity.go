package document

import (
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Of a page with more items than wholePage, the first and the last edgeItems are
// compared: a list that changes while it is read repeats items where pages meet.
const (
	wholePage = 64
	edgeItems = 16
)

// ends returns the items of a page that are compared with those of other pages.
// They are slices of the document.
func (r *Reader) ends(items Items) [][]byte {
	r.sample = r.sample[:0]
	breaks := r.doc.separators
	if len(breaks) == 0 {
		n := 0
		for item := range items.All() {
			if items.Len() <= wholePage || n < edgeItems || n >= items.Len()-edgeItems {
				r.sample = append(r.sample, item)
			}
			n++
		}
		return r.sample
	}
	start := items.at
	for k, end := range breaks {
		if k == edgeItems && len(breaks) > wholePage {
			start = breaks[len(breaks)-edgeItems-1] + 1
			for _, end := range breaks[len(breaks)-edgeItems:] {
				r.sample = append(r.sample, r.doc.raw[start:end])
				start = end + 1
			}
			break
		}
		r.sample = append(r.sample, r.doc.raw[start:end])
		start = end + 1
	}
	return r.sample
}

// maxIdentityBytes limits the part of an item in which its identifier is looked for.
const maxIdentityBytes = 4096

// Identity returns the identifier of an item as it was sent: the value of the first
// of its keys that names one (see [apinames.IsIdentifier]), or that of its node, as
// in an edge of GraphQL. It returns nil if there is none. The item is a valid JSON
// value without insignificant whitespace.
func Identity(item []byte) []byte {
	if len(item) == 0 || item[0] != '{' {
		return nil
	}
	for key, value := range scan.Members(item) {
		if key.Start >= maxIdentityBytes {
			break
		}
		switch name := string(item[key.Start+1 : key.End-1]); {
		case apinames.IsIdentifier(name):
			if v := value.Of(item); identifies(v) {
				return v
			}
		case name == "node":
			return Identity(value.Of(item))
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
