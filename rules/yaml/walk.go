package yaml

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// walker turns a syntax tree into values and marks where they stand.
type walker struct {
	source   *diag.Source
	faults   *diag.Collector
	at       map[*token.Token]int // byte offsets in the source
	anchors  map[string]ast.Node  // those complete so far, so that no alias can reach into itself
	aliases  int                  // aliases being expanded around the current node
	expanded int                  // nodes that aliases brought in
}

// spot is what the surroundings of a value say about it.
type spot struct {
	fallback int // where it stands if it has no text of its own
	key      int // where its key stands; -1 for the root and in a list
	depth    int // lists and objects around it
}

func (w *walker) value(node ast.Node, path string, s spot) (any, error) {
	at := w.start(node, s.fallback)
	w.source.Mark(path, at, s.key)
	if s.depth > rules.MaxConfigDepth {
		return nil, w.tooDeep(path, at)
	}
	if w.aliases > 0 {
		if w.expanded++; w.expanded > maxExpanded {
			return nil, w.fault(path, at, "write the repeated parts out", "the aliases expand to more than %d values", maxExpanded)
		}
	}
	switch node := node.(type) {
	case nil:
		return nil, nil
	case *ast.MappingNode:
		return w.object(node.Values, path, at, s.depth)
	case *ast.MappingValueNode:
		return w.object([]*ast.MappingValueNode{node}, path, at, s.depth)
	case *ast.SequenceNode:
		return w.list(node, path, at, s.depth)
	case *ast.AnchorNode:
		return w.anchor(node, path, s)
	case *ast.AliasNode:
		return w.alias(node, path, at, s)
	case *ast.TagNode:
		return w.tagged(node, path, at, s)
	case *ast.LiteralNode:
		return node.Value.Value, nil
	case ast.ScalarNode:
		v, fault := scalar(node.GetToken())
		if fault != "" {
			return nil, w.fault(path, at, "", "%s", fault)
		}
		return v, nil
	}
	return nil, w.fault(path, at, "", "not valid YAML here: %s", node.Type())
}

func (w *walker) object(members []*ast.MappingValueNode, path string, at, depth int) (any, error) {
	object := rules.Object{}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		keyAt := w.start(m.Key, w.offset(m.Start, at))
		name, err := w.key(m.Key, path, keyAt)
		if err != nil {
			return nil, err
		}
		inner := diag.Join(path, name)
		if seen[name] {
			return nil, w.fault(inner, keyAt, "remove one of them", "the key %q stands here twice", name)
		}
		seen[name] = true
		v, err := w.value(m.Value, inner, spot{fallback: keyAt, key: keyAt, depth: depth + 1})
		if err != nil {
			return nil, err
		}
		object = append(object, rules.Member{Name: name, Value: v})
	}
	return object, nil
}

func (w *walker) list(node *ast.SequenceNode, path string, at, depth int) (any, error) {
	list := make([]any, 0, len(node.Values))
	for i, element := range node.Values {
		dash := at
		if i < len(node.Entries) && node.Entries[i] != nil {
			dash = w.offset(node.Entries[i].Start, at)
		}
		v, err := w.value(element, diag.Index(path, i), spot{fallback: dash, key: -1, depth: depth + 1})
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// key is the text of a key. A number counts as its text: status codes are
// written bare.
func (w *walker) key(node ast.Node, path string, at int) (string, error) {
	if explicit, ok := node.(*ast.MappingKeyNode); ok {
		node = explicit.Value
	}
	switch node := node.(type) {
	case *ast.MergeKeyNode:
		return "", w.fault(path, at, "write the keys out", "merge keys (<<) are not supported")
	case *ast.LiteralNode:
		return node.Value.Value, nil
	case ast.ScalarNode:
		t := node.GetToken()
		v, _ := scalar(t)
		switch v := v.(type) {
		case string:
			return v, nil
		case nil, bool:
			return "", w.fault(path, at, "put it in quotes", "a key must be text, got %s", t.Value)
		}
		return t.Value, nil
	}
	return "", w.fault(path, at, "write the key as plain text", "a key must be text")
}

func (w *walker) anchor(node *ast.AnchorNode, path string, s spot) (any, error) {
	v, err := w.value(node.Value, path, s)
	if err == nil {
		w.anchors[node.Name.GetToken().Value] = node.Value
	}
	return v, err
}

func (w *walker) alias(node *ast.AliasNode, path string, at int, s spot) (any, error) {
	name := node.Value.GetToken().Value
	target, ok := w.anchors[name]
	if !ok {
		names := make([]string, 0, len(w.anchors))
		for known := range w.anchors {
			names = append(names, known)
		}
		return nil, w.fault(path, at, diag.DidYouMean(name, names), "no anchor &%s before this alias", name)
	}
	w.aliases++
	v, err := w.value(target, path, s)
	w.aliases--
	w.source.Mark(path, at, s.key)
	return v, err
}

// start is where the text of a value begins: after its anchor and tag.
func (w *walker) start(node ast.Node, fallback int) int {
	switch node := node.(type) {
	case nil:
		return fallback
	case *ast.MappingNode:
		if !node.IsFlowStyle && len(node.Values) > 0 {
			return w.start(node.Values[0], fallback)
		}
		return w.offset(node.Start, fallback)
	case *ast.MappingValueNode:
		return w.start(node.Key, w.offset(node.Start, fallback))
	case *ast.AnchorNode:
		return w.start(node.Value, w.offset(node.Start, fallback))
	case *ast.TagNode:
		return w.start(node.Value, w.offset(node.Start, fallback))
	case *ast.LiteralNode:
		return w.offset(node.Start, fallback)
	}
	return w.offset(node.GetToken(), fallback)
}
