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
	node := nodeOf(root, "")
	var comment []string
	comment = append(comment, "yaml-language-server: $schema="+SchemaFile, "", "What this is based on:")
	for _, text := range d.Evidence {
		comment = append(comment, bullet(text)...)
	}
	if len(d.Doubts) > 0 {
		comment = append(comment, "", "Doubts:")
		for _, text := range d.Doubts {
			comment = append(comment, bullet(text)...)
		}
	}
	if len(d.Advice) > 0 {
		comment = append(comment, "", "What would help:")
		for _, text := range d.Advice {
			comment = append(comment, bullet(text)...)
		}
	}
	head := &strings.Builder{}
	for _, line := range comment {
		fmt.Fprintf(head, "%s\n", strings.TrimRight("# "+line, " "))
	}
	text, err := yaml.Dump(node, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, err
	}
	return append([]byte(head.String()+"\n"), text...), nil
}

// bullet wraps a finding as an item of a list in a comment.
func bullet(text string) []string {
	lines := wrap(printableLine(text), 96)
	for i := range lines {
		if i == 0 {
			lines[i] = "- " + lines[i]
		} else {
			lines[i] = "  " + lines[i]
		}
	}
	return lines
}

// nodeOf returns a value as a node. The pages of tests are written on one line each.
func nodeOf(v any, key string) *yaml.Node {
	switch v := v.(type) {
	case value.Object:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range v {
			node.Content = append(node.Content, nodeOf(m.Name, ""), nodeOf(m.Value, m.Name))
		}
		if len(v) == 0 {
			node.Style = yaml.FlowStyle
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			one := nodeOf(item, "")
			if key == "pages" {
				one.Style = yaml.FlowStyle
			}
			node.Content = append(node.Content, one)
		}
		if len(v) == 0 {
			node.Style = yaml.FlowStyle
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

// wrap breaks a text into lines of at most width characters, at spaces. A longer word has
// a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
