package yaml

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Format writes a value of a configuration, as [Parse] returns it, as YAML that Parse reads as
// the same value. Short lists of words and numbers are on one line; texts of several lines are
// literal where they can be. A float, which Parse returns for few numbers, is written with the digits that JSON has for it.
func Format(v any) ([]byte, error) {
	v = withoutFloats(v)
	return write(nodeOf(v), v, reflect.DeepEqual)
}

// withoutFloats replaces floats by the numbers that Parse returns for their digits.
func withoutFloats(v any) any {
	if members, ok := value.Members(v); ok {
		return value.Object(lists.Map(members, func(m value.Member) value.Member {
			return value.Member{Name: m.Name, Value: withoutFloats(m.Value)}
		}))
	}
	switch v := v.(type) {
	case []any:
		return lists.Map(v, withoutFloats)
	case float64:
		text, _ := value.Text(v)
		number, _ := plain(text) // every float has digits of JSON
		return number
	}
	return v
}

// write writes the node of a value, and checks that it is read as the same value.
func write(node *yaml.Node, v any, same func(a, b any) bool, options ...yaml.Option) ([]byte, error) {
	text, err := yaml.Dump(node, append([]yaml.Option{yaml.WithIndent(2), yaml.WithLineWidth(-1)}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot write YAML: %w", err)
	}
	back, err := Parse(diag.NewSource("", string(text)))
	if err != nil {
		return nil, fmt.Errorf("cannot write YAML: %w", err)
	}
	if !same(back, v) {
		return nil, errors.New("cannot write YAML: a value would be read as another one")
	}
	return text, nil
}

// shortList is the number of characters up to which a list of words is on one line.
const shortList = 60

func nodeOf(v any) *yaml.Node {
	if members, ok := value.Members(v); ok {
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range members {
			node.Content = append(node.Content, textNode(m.Name), nodeOf(m.Value))
		}
		return inOneLine(node)
	}
	if list, ok := v.([]any); ok {
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range list {
			node.Content = append(node.Content, nodeOf(e))
		}
		return inOneLine(node)
	}
	switch v := v.(type) {
	case string:
		return textNode(v)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	}
	return numberNode(v)
}

// numberNode writes a number with the digits that JSON has for it.
func numberNode(v any) *yaml.Node {
	text, _ := value.Text(v)
	tag := "!!int"
	if strings.ContainsAny(text, ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// otherForm matches texts that readers of YAML 1.1 take for a boolean, a number or a time.
var otherForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:y|n|yes|no|on|off|[-+]?[0-9][-0-9_,:.+TZ ]*|[-+]?0b[01_]+)$`)
})

// textNode writes a text without quotes if every reader of YAML takes it for one.
func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	_, problem, _ := unreadable(text)
	reread, wrong := plain(text)
	switch {
	case problem != "" || wrong != "" || reread != any(text) || otherForm().MatchString(text):
		node.Style = yaml.DoubleQuotedStyle
	case isLiteral(text):
		node.Style = yaml.LiteralStyle
	case strings.ContainsAny(text, "\r\n\t"):
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// isLiteral reports whether a text of several lines can be written as it is, below its key.
func isLiteral(text string) bool {
	if !strings.Contains(strings.TrimSuffix(text, "\n"), "\n") || strings.ContainsAny(text, "\r\t") || text[0] == ' ' || text[0] == '\n' {
		return false
	}
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\n") != strings.TrimRight(line, " \n") {
			return false
		}
	}
	return !strings.HasSuffix(text, "\n\n")
}

// isLiteralLine reports whether a text of one line can be written as it is, below its key.
func isLiteralLine(text string) bool {
	return text != "" && text == strings.TrimSpace(text) && !strings.ContainsAny(text, "\r\n\t")
}

// inOneLine makes an empty object, or a short list of words, stand on one line.
func inOneLine(node *yaml.Node) *yaml.Node {
	if len(node.Content) == 0 {
		node.Style = yaml.FlowStyle
		return node
	}
	length := 0
	for _, e := range node.Content {
		length += len(e.Value) + 2
		if e.Kind != yaml.ScalarNode || e.Style&yaml.LiteralStyle != 0 || strings.Contains(e.Value, " ") {
			return node
		}
	}
	if node.Kind == yaml.SequenceNode && length <= shortList {
		node.Style = yaml.FlowStyle
	}
	return node
}
