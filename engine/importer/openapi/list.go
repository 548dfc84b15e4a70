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

	equal, others []candidate // all lists that are as likely, if there are several, and those that may have items, too
}

// A candidate is a list that may have the items.
type candidate = importer.Candidate[listPlace]

// maxListDepth is the depth to which a list is searched: data.orders.items.
const maxListDepth = 3

// findList finds the list of a response: the response itself, or the array that is nearest to its root
// and has the likeliest name. Arrays of objects come before arrays of scalars, and arrays that hardly have items, such as
// errors, after those that are deeper.
func (r *reader) findList(op *operation) listPlace {
	if r.typeOf(op.response) == "array" {
		return listPlace{found: true, item: r.elements(op.response)}
	}
	nouns := append(importer.NounsOf(op.name), prefixWord(op.path))
	var unlikely listPlace
	level := []listPlace{{item: op.response}}
	for range maxListDepth {
		found, next := r.listsIn(level)
		switch best, others := importer.Likeliest(found, nouns...); {
		case best == nil:
		case !best[0].IsLikely(nouns):
			if !unlikely.found {
				unlikely = best[0].Item
			}
		default:
			out := best[0].Item
			out.others = others
			if len(best) > 1 {
				out.equal = best
			}
			return out
		}
		level = next
	}
	return unlikely
}

// listsIn returns the lists among the members of objects, and the objects among them.
func (r *reader) listsIn(level []listPlace) (found []candidate, next []listPlace) {
	for _, at := range level {
		for _, name := range r.properties(at.item) {
			p := listPlace{keys: append(slices.Clone(at.keys), name), item: r.property(at.item, name)}
			switch r.typeOf(p.item) {
			case "array":
				p.found, p.item = true, r.elements(p.item)
				ref := p.item.get("$ref").text()
				found = append(found, candidate{Path: itemsPath(p.keys), Name: name, Type: ref[strings.LastIndex(ref, "/")+1:], Item: p,
					OfObjects: r.typeOf(p.item) == "object"})
			case "object":
				if apinames.Key(name).ListKind() != apinames.UnlikelyList && len(next) < maxParts {
					next = append(next, p)
				}
			}
		}
	}
	return found, next
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
	list := t.list
	all := list.equal
	if all == nil {
		all = []candidate{{Path: itemsPath(list.keys), Item: list}}
	}
	importer.SetLists(t.out, all, list.others, "responses")
	if t.out.Response != nil {
		t.out.Items = ""
	}
	for _, name := range apinames.IdentifierNames() {
		if p := t.property(list.item, name); p.given() {
			lacks := func(c candidate) bool {
				p := t.property(c.Item.item, name)
				return !p.given() || !isScalarType(t.typeOf(p))
			}
			if !slices.ContainsFunc(all, lacks) {
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
