package yaml

import (
	"encoding/json"

	"github.com/goccy/go-yaml/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// coreTags tells of each tag of the core schema whether a value is of its kind.
var coreTags = map[string]func(v any) bool{
	"!!str":  is[string],
	"!!bool": is[bool],
	"!!null": func(v any) bool { return v == nil },
	"!!int":  func(v any) bool { return is[int](v) || is[json.Number](v) },
	"!!float": func(v any) bool {
		return is[float64](v) || is[int](v) || is[json.Number](v)
	},
	"!!seq": is[[]any],
	"!!map": is[rules.Object],
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// tagged is a value with a tag of the core schema: the tag must name what the
// value is, but for !!str, which makes any scalar the text that was written.
func (w *walker) tagged(node *ast.TagNode, path string, at int, s spot) (any, error) {
	tag := node.Start.Value
	fits, core := coreTags[tag]
	if !core {
		return nil, w.fault(path, w.offset(node.Start, at), "known tags: !!str, !!int, !!float, !!bool, !!null, !!seq, !!map", "unknown tag %s", tag)
	}
	if tag == "!!str" {
		return w.asWritten(node.Value, path, at)
	}
	v, err := w.value(node.Value, path, s)
	if err == nil && !fits(v) {
		return nil, w.fault(path, at, "remove the tag", "the value is not what its tag %s says", tag)
	}
	return v, err
}

// asWritten is the text of a scalar tagged !!str; nothing after the tag is "".
func (w *walker) asWritten(node ast.Node, path string, at int) (any, error) {
	switch node := node.(type) {
	case nil:
		return "", nil
	case *ast.LiteralNode:
		return node.Value.Value, nil
	case *ast.AnchorNode, *ast.AliasNode:
		return nil, w.fault(path, at, "write the anchor first: &name !!str text", "!!str stands before an anchor or alias")
	case ast.ScalarNode:
		if _, written := w.at[node.GetToken()]; !written {
			return "", nil
		}
		return node.GetToken().Value, nil
	}
	return nil, w.fault(path, at, "remove the tag", "the value is not what its tag !!str says")
}
