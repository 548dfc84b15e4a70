package yaml

import (
	"cmp"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// maxExpanded bounds the values that all aliases together expand to. Ten nested
// lists of ten aliases each would otherwise make ten thousand million values.
const maxExpanded = 10_000

// reader turns the tree of a YAML document into values and marks their positions.
type reader struct {
	source   *diag.Source
	faults   *diag.Collector
	lines    lines
	anchors  map[string]*yaml.Node // the complete ones, so that no alias can refer to a value around it
	aliases  int                   // aliases being expanded around the current value
	expanded int                   // values that aliases have expanded to
}

// nodeContext describes the surroundings of a value.
type nodeContext struct {
	fallback int // position if the value has no text
	key      int // position of its key; -1 for the root and in a list
	depth    int // lists and objects around it
}

// value reads a value and marks it.
func (r *reader) value(node *yaml.Node, path string, start *diag.Mark, c nodeContext) (any, error) {
	offset := r.start(node, c.fallback)
	start.Value, start.Key = offset, c.key
	if err := r.bound(path, offset, c.depth); err != nil {
		return nil, err
	}
	switch node.Kind {
	case yaml.MappingNode:
		return r.object(node, path, start, c.depth)
	case yaml.SequenceNode:
		return r.list(node, path, start, c.depth)
	case yaml.AliasNode:
		return r.alias(node, path, start, c)
	}
	return r.scalar(node, path, offset)
}

// bound refuses values that would exhaust the process.
func (r *reader) bound(path string, offset, depth int) error {
	if depth > rules.MaxConfigDepth {
		return r.tooDeep(path, offset)
	}
	if r.aliases == 0 {
		return nil
	}
	if r.expanded++; r.expanded > maxExpanded {
		return r.fault(path, offset, "write the repeated parts out", "the aliases expand to more than %d values", maxExpanded)
	}
	return nil
}

func (r *reader) object(node *yaml.Node, path string, mark *diag.Mark, depth int) (any, error) {
	o := members{own: make(map[string]bool, len(node.Content)/2)}
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], pair[1]
		keyAt := r.indicator("?", r.start(key, r.lines.offset(key.Line, key.Column)))
		if isMerge(key) {
			c := nodeContext{fallback: keyAt, key: keyAt, depth: depth}
			if err := r.merge(value, path, &o, c); err != nil {
				return nil, err
			}
			continue
		}
		name, err := r.key(key, path, keyAt)
		if err != nil {
			return nil, err
		}
		inner := diag.Join(path, name)
		if o.own[name] {
			return nil, r.fault(inner, keyAt, "remove one of them", "the key %q appears twice", name)
		}
		o.own[name] = true
		member := diag.Mark{Name: name}
		v, err := r.value(value, inner, &member, nodeContext{fallback: keyAt, key: keyAt, depth: depth + 1})
		if err != nil {
			return nil, err
		}
		o.add(v, member, false)
	}
	object, marks := o.result()
	mark.Contain(marks)
	return object, r.complete(node, object, path)
}

func (r *reader) list(node *yaml.Node, path string, mark *diag.Mark, depth int) (any, error) {
	list := make([]any, 0, len(node.Content))
	marks := make([]diag.Mark, len(node.Content))
	for i, element := range node.Content {
		dash := r.indicator("-", r.lines.offset(element.Line, element.Column))
		v, err := r.value(element, diag.Index(path, i), &marks[i], nodeContext{fallback: dash, key: -1, depth: depth + 1})
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	mark.Contain(marks)
	return list, r.complete(node, list, path)
}

// key returns the text of a key. A number counts as its text, because status
// codes are written without quotes.
func (r *reader) key(node *yaml.Node, path string, offset int) (string, error) {
	if node.Kind != yaml.ScalarNode {
		return "", r.fault(path, offset, "write the key as plain text", "a key must be text")
	}
	v, err := r.scalar(node, path, offset)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case nil, bool:
		return "", r.fault(path, offset, "put it in quotes", "a key must be text, got %s", cmp.Or(node.Value, "nothing"))
	}
	return node.Value, nil
}

// complete makes the anchor of a value known and checks its tag.
func (r *reader) complete(node *yaml.Node, v any, path string) error {
	if node.Anchor != "" {
		r.anchors[node.Anchor] = node
	}
	if !isTagged(node) {
		return nil
	}
	offset := r.lines.offset(node.Line, node.Column)
	matches, known := coreTags[node.Tag]
	if !known {
		return r.fault(path, offset, "known tags: !!str, !!int, !!float, !!bool, !!null, !!seq, !!map", "unknown tag %s", node.Tag)
	}
	if !matches(v) {
		return r.fault(path, r.start(node, offset), "remove the tag", "the value does not match its tag %s", node.Tag)
	}
	return nil
}

func (r *reader) alias(node *yaml.Node, path string, mark *diag.Mark, c nodeContext) (any, error) {
	name := mark.Value
	target, ok := r.anchors[node.Value]
	if !ok {
		// The name is not printed, since it may be a password.
		hint := cmp.Or(diag.DidYouMean(node.Value, slices.Sorted(maps.Keys(r.anchors))), "put the value in quotes if it is text")
		return nil, r.fault(path, name, hint, "no anchor of this name is defined before this alias")
	}
	r.aliases++
	v, err := r.value(target, path, mark, c)
	r.aliases--
	mark.Value = name
	return v, err
}
