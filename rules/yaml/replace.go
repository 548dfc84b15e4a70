package yaml

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Replace replaces scalars of a YAML text by other texts in YAML, which are given by the config
// paths of the scalars. All else remains as it is. It fails if the end of a scalar is not clear.
func Replace(text string, replacements map[string]string) (string, error) {
	source := diag.NewSource("", text)
	if _, err := Parse(source); err != nil {
		return "", err
	}
	type span struct {
		start, end int
		by         string
	}
	var spans []span
	for path, replacement := range replacements {
		start := source.ValueAt(path)
		end, ok := scalarEnd(text, start, parentColumn(text, path, source.KeyAt(path)))
		if !source.Has(path) || !ok {
			return "", fmt.Errorf("%s: cannot tell where the value ends; write it in quotes", path)
		}
		spans = append(spans, span{start, end, replacement})
	}
	slices.SortFunc(spans, func(a, b span) int { return b.start - a.start })
	for i, s := range spans {
		if i > 0 && spans[i-1].start < s.end { // an alias may stand for the same scalar twice
			continue
		}
		text = text[:s.start] + s.by + text[s.end:]
	}
	return text, nil
}

// parentColumn returns the column of the key of a value, or of the dash of an element. The lines
// of a text below it are indented more.
func parentColumn(text, path string, at int) int {
	before := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	if strings.HasSuffix(path, "]") {
		return max(strings.LastIndexByte(before, '-'), 0)
	}
	return len(before)
}

var (
	doubleQuoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"(?s:[^"\\]|\\.)*"`) })
	singleQuoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^'(?:[^']|'')*'`) })
	plainLine    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^\n]*?)[ \t]*(?:[ \t]#|\r?\n|$)`) }) // up to a comment
	plainWord    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s,\[\]{}]+`) })
)

// scalarEnd returns the offset after a scalar whose key or dash is in a column.
func scalarEnd(text string, start, column int) (int, bool) {
	rest := text[start:]
	switch {
	case rest == "":
		return 0, false
	case rest[0] == '"':
		return start + len(doubleQuoted().FindString(rest)), doubleQuoted().MatchString(rest)
	case rest[0] == '\'':
		return start + len(singleQuoted().FindString(rest)), singleQuoted().MatchString(rest)
	case rest[0] == '|', rest[0] == '>':
		return start + blockEnd(rest, column), true
	}
	if line := plainLine().FindStringSubmatch(rest)[1]; !strings.ContainsAny(line, ",[]{}") {
		return start + len(line), line != ""
	}
	word := plainWord().FindString(rest)
	after := strings.TrimLeft(rest[len(word):], " \t")
	return start + len(word), word != "" && (after == "" || strings.IndexByte(",]}\r\n#", after[0]) >= 0)
}

// blockEnd returns the length of a literal or folded scalar, up to the end of its last line.
func blockEnd(rest string, column int) int {
	length := 0
	for line := range strings.Lines(rest) {
		content := strings.TrimLeft(line, " ")
		if length > 0 && strings.TrimSpace(content) != "" && len(line)-len(content) <= column {
			break
		}
		length += len(line)
	}
	return len(strings.TrimRight(rest[:length], " \r\n"))
}

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
	tagForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^!(<[^>]*>|[^\s,\[\]{}]*)`) })
	skipped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\s+(#.*)?)*`) }) // space and comments
)

// start returns the position of a node's text, after its anchor and tag, or the
// fallback for a value that is left out.
func (r *reader) start(node *yaml.Node, fallback int) int {
	offset := r.lines.offset(node.Line, node.Column)
	if isPlain(node) && node.Value == "" {
		if node.Anchor == "" && !isTagged(node) {
			return fallback
		}
		return offset
	}
	for {
		rest := r.source.Text[offset:]
		switch {
		case node.Anchor != "" && strings.HasPrefix(rest, "&"+node.Anchor):
			offset += len("&" + node.Anchor)
		case isTagged(node) && strings.HasPrefix(rest, "!"):
			offset += len(tagForm().FindString(rest))
		default:
			return offset
		}
		offset += len(skipped().FindString(r.source.Text[offset:]))
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
