package yaml

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Layout says how [Layout.Format] writes a configuration for people.
type Layout struct {
	Line    int      // objects and lists that need at most so many characters are on one line
	Flat    []string // keys below which each element of a list is on one line, however long
	Block   []string // keys whose value, and the elements of which, are never on one line
	Comment string   // above the text
}

// Format writes a value of a configuration, as [Parse] returns it, as YAML that Parse reads as
// the same value.
func (l Layout) Format(v any) ([]byte, error) {
	v = withoutFloats(v)
	root := nodeOf(v)
	l.style(root, "", "")
	if l.Comment != "" {
		root.HeadComment = commentLines(l.Comment)
	}
	return write(root, v, reflect.DeepEqual, yaml.WithCompactSeqIndent(true))
}

// style sets the style of a node and of those within it.
func (l Layout) style(node *yaml.Node, path, key string) {
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
		l.style(child, at, name)
	}
	l.lines(node, path, key)
}

// lines decides over how many lines a node is written.
func (l Layout) lines(node *yaml.Node, path, key string) {
	switch {
	case key != "" && slices.Contains(l.Flat, key) && node.Kind == yaml.SequenceNode:
		for _, e := range node.Content {
			flatten(e)
		}
	case l.blocked(node, path, key):
		node.Style &^= yaml.FlowStyle
	case width(node) <= l.Line && strings.Contains(path, "."):
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
	if node.Kind == yaml.ScalarNode {
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
func (l Layout) blocked(node *yaml.Node, path, key string) bool {
	if len(node.Content) == 0 {
		return false
	}
	list := key
	if strings.HasSuffix(path, "]") && key == "" {
		list = path[strings.LastIndex(path, ".")+1 : strings.LastIndex(path, "[")]
	}
	return slices.Contains(l.Block, list) || node.Kind == yaml.SequenceNode && node.Content[0].Kind == yaml.MappingNode
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

// commentLines returns a text as lines of a comment.
func commentLines(text string) string {
	return "# " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n# ")
}
