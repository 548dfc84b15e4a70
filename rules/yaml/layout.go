package yaml

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Layout says how [Layout.Format] writes a configuration for people.
type Layout struct {
	Line    int               // objects and lists that need at most so many characters are on one line
	Flat    []string          // keys below which each element of a list is on one line, however long
	Block   []string          // keys whose value, and the elements of which, are never on one line
	Bases   map[string]string // config paths of values, each with that of an earlier value, its base, which it names or merges
	Names   map[string]string // anchors of bases, by their config paths
	Comment string            // above the text
}

// Format writes a value of a configuration, as [Parse] returns it, as YAML that Parse reads as
// the same value.
//
// An object is merged with its base by the merge key. It must have all members of the base; those with other
// values, and further ones, stand next to the merge key. So its members are read in another order.
func (l Layout) Format(v any) ([]byte, error) {
	v = withoutFloats(v)
	w := &layoutWriter{Layout: l, nodes: map[string]*yaml.Node{}, values: map[string]any{}}
	want := w.sorted(v, "")
	root := nodeOf(v)
	w.style(root, "", "")
	if l.Comment != "" {
		root.HeadComment = commentLines(l.Comment)
	}
	same := func(back, _ any) bool { return reflect.DeepEqual(w.sorted(back, ""), want) }
	return write(root, v, same, yaml.WithCompactSeqIndent(true))
}

type layoutWriter struct {
	Layout
	nodes  map[string]*yaml.Node // the values with an anchor, by their config paths
	values map[string]any        // the values with a base, and these bases
}

// sorted returns a value with the members of merged objects in the order of their names. It notes the values on the way.
func (w *layoutWriter) sorted(v any, path string) any {
	if w.Bases[path] != "" || w.Names[path] != "" {
		w.values[path] = v
	}
	if list, isList := v.([]any); isList {
		out := []any{}
		for i, e := range list {
			out = append(out, w.sorted(e, diag.Index(path, i)))
		}
		return out
	}
	object, isObject := v.(rules.Object)
	if !isObject {
		return v
	}
	out := rules.Object{}
	for _, m := range object {
		out = append(out, rules.Member{Name: m.Name, Value: w.sorted(m.Value, diag.Join(path, m.Name))})
	}
	if w.Bases[path] != "" {
		slices.SortFunc(out, func(a, b rules.Member) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

// style sets the style of a node and of those within it.
func (w *layoutWriter) style(node *yaml.Node, path, key string) {
	if node.Kind == yaml.ScalarNode {
		if node.Tag == "!!float" {
			node.Value = shortFloat(node.Value)
		}
		quote(node, needsQuotes)
		if node.Style == 0 && strings.Contains(node.Value, "'") && strings.Contains(node.Value, `"`) && needsQuotes(node.Value) &&
			isLiteralLine(node.Value) {
			node.Style = yaml.LiteralStyle // below its key, without quotes around those that it has
		}
		return
	}
	for i, child := range node.Content {
		at, name := diag.Index(path, i), ""
		if node.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			name = node.Content[i-1].Value
			at = diag.Join(path, name)
		}
		w.style(child, at, name)
		node.Content[i] = w.shared(child, at, name)
	}
	w.lines(node, path, key)
}

// lines decides over how many lines a node is written.
func (w *layoutWriter) lines(node *yaml.Node, path, key string) {
	switch {
	case key != "" && slices.Contains(w.Flat, key) && node.Kind == yaml.SequenceNode:
		for _, e := range node.Content {
			flatten(e)
		}
	case w.blocked(node, path, key):
		node.Style &^= yaml.FlowStyle
	case width(node) <= w.Line && strings.Contains(path, "."):
		flatten(node)
	default:
		node.Style &^= yaml.FlowStyle
		if len(node.Content) == 0 {
			node.Style |= yaml.FlowStyle
		}
	}
}

// width returns the characters that a node needs on one line.
func width(node *yaml.Node) int {
	if node.Kind == yaml.ScalarNode || node.Kind == yaml.AliasNode {
		if node.Style&yaml.LiteralStyle != 0 {
			return math.MaxInt16
		}
		return len(node.Value) + 2
	}
	length := 2
	for i, e := range node.Content {
		length += width(e)
		if node.Kind == yaml.SequenceNode || i%2 == 0 {
			length += 2
		}
	}
	return length
}

// shortFloat writes a number as people do: 1.5 for 1.5e+00.
func shortFloat(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	short := strconv.FormatFloat(f, 'f', -1, 64)
	if err != nil || len(short) > 20 {
		return text
	}
	if !strings.Contains(short, ".") {
		short += ".0"
	}
	return short
}

// quote puts a text that has single quotes and needs quotes into double ones.
func quote(node *yaml.Node, needs func(text string) bool) {
	if node.Style == 0 && strings.Contains(node.Value, "'") && !strings.ContainsAny(node.Value, "\"\\") && needs(node.Value) {
		node.Style = yaml.DoubleQuotedStyle
	}
}

// needsQuotes reports whether a text cannot be written without quotes.
func needsQuotes(text string) bool {
	return strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.ContainsAny(text[:1], "'\"[]{}&*!|>%@#?-,`") ||
		strings.HasSuffix(text, ":")
}

// blocked reports whether a node is written over several lines, however short it is.
func (w *layoutWriter) blocked(node *yaml.Node, path, key string) bool {
	if len(node.Content) == 0 {
		return false
	}
	list := key
	if strings.HasSuffix(path, "]") && key == "" {
		list = path[strings.LastIndex(path, ".")+1 : strings.LastIndex(path, "[")]
	}
	return slices.Contains(w.Block, list) || node.Kind == yaml.SequenceNode && node.Content[0].Kind == yaml.MappingNode
}

// flatten writes a node on one line. Texts of several lines get quotes.
func flatten(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		if node.Style&yaml.LiteralStyle != 0 {
			node.Style = yaml.DoubleQuotedStyle
		}
		quote(node, func(text string) bool { return strings.ContainsAny(text, ",?:[]{}") })
		return
	}
	node.Style |= yaml.FlowStyle
	for _, e := range node.Content {
		flatten(e)
	}
}

// shared returns a value as it is written: a reference to its base, an object that merges its base, or the value itself.
func (w *layoutWriter) shared(node *yaml.Node, path, key string) *yaml.Node {
	if name := w.Names[path]; name != "" {
		node.Anchor = name
		w.nodes[path] = node
	}
	base := w.nodes[w.Bases[path]]
	if base == nil {
		return node
	}
	alias := &yaml.Node{Kind: yaml.AliasNode, Value: base.Anchor, Alias: base}
	v, before := w.values[path], w.values[w.Bases[path]]
	if reflect.DeepEqual(v, before) {
		return alias
	}
	has, _ := value.Members(before)
	merged := *node
	merged.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!merge", Value: "<<"}, alias}
	for i, m := range v.(rules.Object) {
		if same, isMember := has.Get(m.Name); !isMember || !reflect.DeepEqual(same, m.Value) {
			merged.Content = append(merged.Content, node.Content[2*i:2*i+2]...)
		}
	}
	w.lines(&merged, path, key)
	return &merged
}

// commentLines returns a text as lines of a comment.
func commentLines(text string) string {
	return "# " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n# ")
}
