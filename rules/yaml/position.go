package yaml

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// lines are the byte offsets of the characters in each line, and of the line's
// end. The parser counts lines and characters.
type lines [][]int

func indexLines(text string) lines {
	index, line := lines{}, []int{}
	for i, c := range text {
		if i == 0 && c == byteOrderMark {
			continue // The parser does not count it.
		}
		line = append(line, i)
		if c == '\n' || c == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			index, line = append(index, line), nil
		}
	}
	return append(index, append(line, len(text)))
}

// offset returns the byte offset of a line and column, both numbered from 1.
// Unknown positions are 0.
func (l lines) offset(line, column int) int {
	if line < 1 || column < 1 {
		return 0
	}
	characters := l[min(line, len(l))-1]
	return characters[min(column, len(characters))-1]
}

var (
	tagForm = regexp.MustCompile(`^!(<[^>]*>|[^\s,\[\]{}]*)`)
	skipped = regexp.MustCompile(`^(\s+(#.*)?)*`) // space and comments
)

// start returns the position of a node's text, after its anchor and tag, or the
// fallback for a value that is left out.
func (r *reader) start(node *yaml.Node, fallback int) int {
	at := r.lines.offset(node.Line, node.Column)
	if isPlain(node) && node.Value == "" {
		if node.Anchor == "" && !isTagged(node) {
			return fallback
		}
		return at
	}
	for {
		rest := r.source.Text[at:]
		switch {
		case node.Anchor != "" && strings.HasPrefix(rest, "&"+node.Anchor):
			at += len("&" + node.Anchor)
		case isTagged(node) && strings.HasPrefix(rest, "!"):
			at += len(tagForm.FindString(rest))
		default:
			return at
		}
		at += len(skipped.FindString(r.source.Text[at:]))
	}
}

// indicator returns the position of an indicator, "-" or "?", if it precedes a
// node in its line, or the position of the node otherwise.
func (r *reader) indicator(sign string, node int) int {
	before := strings.TrimRight(r.source.Text[:node], " \t")
	if strings.HasSuffix(before, sign) {
		return len(before) - len(sign)
	}
	return node
}
