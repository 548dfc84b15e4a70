package document

import (
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A Stray is an error below a star of the path of items. With the path data.*.orders, the value denied is
// one in
//
//	{"data": [{"orders": [1, 2]}, {"error": "denied"}]}
type Stray struct {
	Path  []string // path in the response: data, 1, error
	Value any
	Named bool // whether the object that has the error also has an identifier, so that the error may be part of an item

	Numbered string // if the value is no error, but a list in the form of an object (see [IsNumbered]): the path of the items
}

// maxStray is the size of the largest object that is searched for an error, or for signs of more.
const maxStray = 1 << 20

// noticeBeside notices an error, or a sign of more, in an object below a star. The object leads to items
// by the key at a step of their path, whose value is found.
func (g *gatherer) noticeBeside(in, found scan.Span, list rules.ItemList, step int) {
	raw := g.doc.raw
	if len(g.stars) == 0 || in.End-in.Start > maxStray {
		return
	}
	last := step == len(list.Steps)-1
	isList := found.Present() && scan.KindOf(found.Of(raw)) == scan.List
	if g.stray == nil || g.stray.Named {
		g.noticeStray(in, found, list, step)
	}
	if last && isList {
		known := scan.Span{Start: found.Start - in.Start, End: found.End - in.Start}
		signs := signsIn(in.Of(raw), known, func(string, []byte) {})
		signs.lists, signs.list, signs.bare = 1, found.Of(raw), Identity(in.Of(raw)) == nil
		signs.paged = signs.paged || signs.bare ||
			slices.ContainsFunc(signs.found, func(sign nestedSign) bool { return sign.kind == apinames.SignMore })
		nested, ok := signs.nestedIn(nil, list.Steps[step].Key, found.Of(raw))
		if !ok || nested.Sign == nil {
			nested, ok = signs.nested(nil)
		}
		if ok && nested.Sign != nil {
			if g.truncated.Count++; g.truncated.Count == 1 {
				g.truncated.Path, g.truncated.Value = append(g.pathTo(list, step), nested.Sign...), nested.Value
			}
		}
	}
}

// noticeStray notices an error in an object below a star, as noticeBeside does.
func (g *gatherer) noticeStray(in, found scan.Span, list rules.ItemList, step int) {
	raw, kind := g.doc.raw, scan.Kind("")
	if found.Present() {
		kind = scan.KindOf(found.Of(raw))
	}
	switch scan.KindOf(in.Of(raw)) {
	case scan.Object:
	case scan.List:
		if scan.Index(list.Steps[step].Key) < 0 && in.End-in.Start > len("[]") {
			g.addStray(g.pathTo(list, step), in)
		}
		return
	default:
		g.addStray(g.pathTo(list, step), in)
		return
	}
	if kind == scan.Object && step == len(list.Steps)-1 {
		numbered := isNumbered(found.Of(raw))
		if numbered || IsErrorObject(found.Of(raw)) {
			g.addStray(append(g.pathTo(list, step), list.Steps[step].Key), found)
			if numbered {
				g.stray.Numbered = list.Text + ".*"
			}
			return
		}
	}
	hasItems := kind == scan.Object || kind == scan.List && found.End-found.Start > len("[]")
	for key, at := range (scan.Walk{Data: raw, Measured: found}).Members(in.Start) {
		name := string(scan.Unquote(key.Of(raw)))
		if sign, ok := apinames.ErrorSignBeside(name, hasItems); ok && sign.MayMatch(at.Of(raw)) && sign.Matches(decodeSmall(at.Of(raw))) {
			if named := Identity(in.Of(raw)) != nil; !named || g.stray == nil {
				g.addStray(append(g.pathTo(list, step), name), at)
				g.stray.Named = named
			}
			return
		}
	}
	if !hasItems && isErrorBeside(in.Of(raw), list.Steps[step].Key) {
		g.addStray(g.pathTo(list, step), in)
	}
}

// addStray records an error at a path.
func (g *gatherer) addStray(path []string, at scan.Span) {
	g.stray = &Stray{Path: path, Value: decodeSmall(at.Of(g.doc.raw))}
}

// pathTo returns the path, in the response, of the value that is being followed, before a step of a list.
func (g *gatherer) pathTo(list rules.ItemList, step int) (path []string) {
	stars := g.stars
	for _, s := range list.Steps[:step] {
		switch {
		case !s.All:
			path = append(path, s.Key)
			continue
		case stars[0].key.Present():
			path = append(path, string(scan.Unquote(stars[0].key.Of(g.doc.raw))))
		default:
			path = append(path, strconv.Itoa(stars[0].index))
		}
		stars = stars[1:]
	}
	return slices.Clip(path)
}

// IsNumbered reports whether the members of an object are objects whose names are numbers, from 0, as PHP writes a list after
// a filter: {"0": {"id": 1}, "2": {"id": 3}}.
func IsNumbered(object rules.Object) bool {
	_, hasFirst := object.Get("0")
	return hasFirst && !slices.ContainsFunc(object, func(m rules.Member) bool {
		_, err := strconv.ParseUint(m.Name, 10, 32)
		_, isObject := value.Members(m.Value)
		return err != nil || !isObject
	})
}

// isNumbered is IsNumbered for the text of an object. Most objects are not, by their first key.
func isNumbered(raw []byte) bool {
	for key := range scan.Members(raw) {
		if _, err := strconv.ParseUint(string(scan.Unquote(key.Of(raw))), 10, 32); err != nil {
			return false
		}
		break
	}
	object, _ := value.Members(decodeSmall(raw))
	return IsNumbered(object)
}

// IsErrorObject reports whether a value is an object as [apinames.IsErrorObject] describes it. Most
// objects are not, by their first key.
func IsErrorObject(raw []byte) bool { return isErrorBeside(raw, "") }

// isErrorBeside is IsErrorObject for the members of an object apart from the given one.
func isErrorBeside(raw []byte, except string) bool {
	if raw[0] != '{' || len(raw) > maxStray {
		return false
	}
	for key := range scan.Members(raw) {
		name := string(scan.Unquote(key.Of(raw)))
		if name == except {
			continue
		}
		if !apinames.Key(name).NamesErrors() {
			return false
		}
		break
	}
	object, _ := value.Members(decodeSmall(raw))
	return apinames.IsErrorObject(slices.DeleteFunc(object, func(m rules.Member) bool { return m.Name == except }))
}

// decodeSmall decodes a value of at most maxStray bytes. It returns nil if its memory would be too large.
func decodeSmall(raw []byte) any {
	v, err := decode(raw, newAllowance(0))
	if err != nil {
		return nil
	}
	return v
}
