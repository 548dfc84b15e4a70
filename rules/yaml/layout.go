package yaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Layout says how [Layout.Format] writes a configuration for people.
type Layout struct {
	Line     int               // objects and lists that need at most so many characters are on one line
	Flat     []string          // keys below which each element of a list is on one line, however long
	Block    []string          // keys whose value, and the elements of which, are never on one line
	Shared   []string          // keys whose value is written once and then named, if it occurs again
	Comments map[string]string // comments above a value, by its config path; "" is the whole text
}

// Format writes a value of a configuration, as [Parse] returns it, as YAML that Parse reads as
// the same value.
func (l Layout) Format(v any) ([]byte, error) {
	w := &layoutWriter{Layout: l, first: map[string]*yaml.Node{}, taken: map[string]bool{}}
	root := nodeOf(v)
	w.style(root, "", "")
	if text := l.Comments[""]; text != "" {
		root.HeadComment = commentLines(text)
	}
	return write(root, v, yaml.WithCompactSeqIndent(true))
}

type layoutWriter struct {
	Layout
	first map[string]*yaml.Node // the values that may be shared, by their texts
	taken map[string]bool       // names of anchors
}

// style sets the style of a node and of those within it, and returns the characters that it needs
// on one line.
func (w *layoutWriter) style(node *yaml.Node, path, key string) int {
	if node.Kind == yaml.ScalarNode {
		if node.Tag == "!!float" {
			node.Value = shortFloat(node.Value)
		}
		if node.Style&yaml.LiteralStyle != 0 {
			return w.Line + 1
		}
		quote(node, needsQuotes)
		return len(node.Value) + 2
	}
	length := 2
	for i, child := range node.Content {
		if node.Kind == yaml.SequenceNode {
			length += w.style(child, fmt.Sprintf("%s[%d]", path, i), "") + 2
			continue
		}
		if i%2 == 0 {
			length += len(child.Value) + 4
			continue
		}
		name := node.Content[i-1].Value
		at := diag.Join(path, name)
		need := w.style(child, at, name)
		if text := w.Comments[at]; text != "" {
			node.Content[i-1].HeadComment = commentLines(text)
			need = w.Line + 1
		}
		if need > 2+w.Line/20 && slices.Contains(w.Shared, name) && strings.HasPrefix(path, "config.") {
			node.Content[i] = w.shared(child, name)
		}
		length += need
	}
	switch {
	case key != "" && slices.Contains(w.Flat, key) && node.Kind == yaml.SequenceNode:
		for _, e := range node.Content {
			flatten(e)
		}
	case w.blocked(node, path, key):
		node.Style &^= yaml.FlowStyle
	case length <= w.Line && strings.Contains(path, "."):
		flatten(node)
	default:
		node.Style &^= yaml.FlowStyle
		if len(node.Content) == 0 {
			node.Style |= yaml.FlowStyle
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
		quote(node, func(text string) bool { return strings.ContainsAny(text, ",?[]{}") })
		return
	}
	node.Style |= yaml.FlowStyle
	for _, e := range node.Content {
		flatten(e)
	}
}

// shared returns a reference to an equal value that was written before, and otherwise the value.
func (w *layoutWriter) shared(node *yaml.Node, name string) *yaml.Node {
	var b strings.Builder
	spell(&b, node)
	text := b.String()
	before, known := w.first[text]
	if !known {
		w.first[text] = node
		return node
	}
	if before.Anchor == "" {
		before.Anchor = name
		for n := 2; w.taken[before.Anchor]; n++ {
			before.Anchor = fmt.Sprintf("%s%d", name, n)
		}
		w.taken[before.Anchor] = true
	}
	return &yaml.Node{Kind: yaml.AliasNode, Value: before.Anchor, Alias: before}
}

// spell writes a node as a text that differs for different values.
func spell(b *strings.Builder, node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	fmt.Fprintf(b, "%d %s %q(", node.Kind, node.Tag, node.Value)
	for _, e := range node.Content {
		spell(b, e)
	}
	b.WriteString(")")
}

// commentLines returns a text as lines of a comment.
func commentLines(text string) string {
	return "# " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n# ")
}
