package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A listPlace is where the items are in a response.
type listPlace struct {
	found bool
	keys  []string // of the path
	item  node     // the schema of an item
}

// maxListDepth is the depth to which a list is searched: data.orders.items.
const maxListDepth = 3

// findList finds the list of a response: the response itself, or the array that is nearest to its root
// and has the likeliest name. Arrays of objects come before arrays of scalars.
func (r *reader) findList(op *operation) listPlace {
	if r.typeOf(op.response) == "array" {
		return listPlace{found: true, item: r.elements(op.response)}
	}
	level := []listPlace{{item: op.response}}
	for range maxListDepth {
		var best listPlace
		rank := -10
		var next []listPlace
		for _, at := range level {
			for _, name := range r.properties(at.item) {
				p := listPlace{keys: append(slices.Clone(at.keys), name), item: r.property(at.item, name)}
				switch r.typeOf(p.item) {
				case "array":
					p.found, p.item = true, r.elements(p.item)
					if likely := r.likelihood(p, name); likely > rank {
						best, rank = p, likely
					}
				case "object":
					if apinames.Key(name).ListKind() != apinames.UnlikelyList && len(next) < maxParts {
						next = append(next, p)
					}
				}
			}
		}
		if best.found {
			return best
		}
		level = next
	}
	return listPlace{}
}

// likelihood says how likely a list has the items.
func (r *reader) likelihood(p listPlace, name string) int {
	out := 2 * int(apinames.Key(name).ListKind())
	if r.typeOf(p.item) == "object" {
		out += 3
	}
	return out
}

// isEnvelope reports whether a response only wraps its list. It does if it is the list, if the list has a
// usual name or the name of the path, or if the response or the parameters are about pages. Otherwise the
// response may be an object that has a list: with an identifier, or at a path that ends with a value.
func (r *reader) isEnvelope(op *operation) bool {
	if len(op.list.keys) == 0 {
		return true
	}
	name := op.list.keys[len(op.list.keys)-1]
	if apinames.Key(name).ListKind() == apinames.LikelyList || apinames.Alike(name, prefixWord(op.path)) {
		return true
	}
	t := &translation{reader: r, operation: op}
	if t.queryNamed(func(n string) bool {
		return apinames.IsPageNumber(n) || apinames.IsItemIndex(n) || isPageSize(n) || apinames.IsPosition(n)
	}) != "" {
		return true
	}
	if len(t.signs()) > 0 {
		return true
	}
	oneThing := strings.HasSuffix(op.path, "}") || slices.ContainsFunc(r.properties(op.response), apinames.IsIdentifier)
	return !oneThing
}

// listAt returns the list at a path that the document names.
func (t *translation) listAt(keys []string) error {
	schema := t.response
	for i, k := range keys {
		if k == "*" {
			schema = t.elements(schema)
			continue
		}
		next := t.property(schema, k)
		if !next.given() && len(t.properties(schema)) > 0 {
			return fmt.Errorf("the response has no member %s", keypath.Join(keys[:i+1]...))
		}
		schema = next
	}
	t.list = listPlace{found: true, keys: keys, item: t.elements(schema)}
	return nil
}

// format sets the format of the responses.
func (t *translation) format() error {
	var format string
	switch {
	case t.media == "" || strings.Contains(t.media, "json") && !strings.Contains(t.media, "ndjson") && !strings.Contains(t.media, "jsonl"),
		t.media == "*/*":
		return nil
	case strings.Contains(t.media, "ndjson"), strings.Contains(t.media, "jsonl"):
		format = "ndjson"
	case strings.Contains(t.media, "csv"):
		format = "csv"
	case strings.Contains(t.media, "xml"):
		return fmt.Errorf("its response is of type %s; write a job with response.format xml and the path of its elements", t.media)
	default:
		return fmt.Errorf("its response is of type %s, in which there are no items", t.media)
	}
	t.out.Response = []importer.Member{{Name: "format", Value: importer.Constant(format)}}
	return nil
}

// keyOfItems sets the key of an item: a property with the name of an identifier.
func (t *translation) keyOfItems() {
	t.out.Items = itemsPath(t.list.keys)
	if t.out.Response != nil {
		t.out.Items = ""
	}
	for _, name := range apinames.IdentifierNames() {
		if p := t.property(t.list.item, name); p.given() {
			if kind := t.typeOf(p); kind != "object" && kind != "array" {
				t.out.Key = []string{keypath.Join(name)}
			}
			return
		}
	}
}

// itemsPath returns the path of the items, in which a star is every element.
func itemsPath(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keypath.Join(keys...)
}
