package detect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules/value"
)

// yaml writes a configuration as YAML, with the findings as comments.
func (d *detection) yaml(root value.Object) ([]byte, error) {
	text, err := yaml.Dump(nodeOf(root, ""), yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, err
	}
	head := &strings.Builder{}
	for _, line := range d.comment() {
		fmt.Fprintf(head, "%s\n", strings.TrimRight("# "+line, " "))
	}
	return append([]byte(head.String()+"\n"), text...), nil
}

// comment returns the lines of the comment before a configuration.
func (d *detection) comment() []string {
	lines := []string{"yaml-language-server: $schema=" + SchemaFile}
	for _, part := range []struct {
		title string
		texts []string
	}{{"What this is based on:", d.Evidence}, {"Doubts:", d.Doubts}, {"What would help:", d.Advice}} {
		if len(part.texts) == 0 {
			continue
		}
		lines = append(lines, "", part.title)
		for _, text := range part.texts {
			lines = append(lines, bullet(text, 96, "")...)
		}
	}
	return lines
}

// bullet writes a finding as an item of a list, in lines of at most width characters after the
// mark of the item.
func bullet(text string, width int, indent string) []string {
	lines := wrap(printableLine(text), width)
	mark := indent + "- "
	for i, line := range lines {
		lines[i], mark = mark+line, indent+"  "
	}
	return lines
}

// wrap breaks a text into lines of at most width characters. A longer word has a line of its
// own, and several spaces count as one.
func wrap(text string, width int) []string {
	return value.Wrap(strings.Join(strings.Fields(text), " "), width)
}

// nodeOf returns the value of a key as a node. The pages of tests are written on one line each.
func nodeOf(v any, key string) *yaml.Node {
	switch v := v.(type) {
	case value.Object:
		node := nested(yaml.MappingNode, "!!map", len(v))
		for _, m := range v {
			node.Content = append(node.Content, nodeOf(m.Name, ""), nodeOf(m.Value, m.Name))
		}
		return node
	case []any:
		node := nested(yaml.SequenceNode, "!!seq", len(v))
		for _, item := range v {
			one := nodeOf(item, "")
			if key == "pages" {
				one.Style = yaml.FlowStyle
			}
			node.Content = append(node.Content, one)
		}
		return node
	case string:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		if !isPlain(v) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	}
	text, _ := value.Text(v)
	tag := "!!int"
	if strings.ContainsAny(text, ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// nested returns the node of an object or a list with n elements, which are still to be added. An
// empty one is on one line.
func nested(kind yaml.Kind, tag string, n int) *yaml.Node {
	node := &yaml.Node{Kind: kind, Tag: tag}
	if n == 0 {
		node.Style = yaml.FlowStyle
	}
	return node
}

// plain matches texts that need no quotes, if they are no word with another meaning.
var plain = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_./$?=&-]*( [A-Za-z0-9_./$?=&-]+)*$`)

// isPlain reports whether a text is read as a text without quotes.
func isPlain(text string) bool {
	words := []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
	return plain.MatchString(text) && !slices.Contains(words, strings.ToLower(text))
}

// printableLine returns a text on one line.
func printableLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85 {
			return ' '
		}
		return r
	}, text)
}
