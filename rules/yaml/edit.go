package yaml

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// An Edit changes one value of a text.
type Edit struct {
	Path   []string // keys and indexes from the root
	Value  any      // new value
	Append bool     // whether the value is appended to the list at the path
	Remove bool     // whether the value is removed
}

// Change makes edits in a text in YAML or JSON, one after the other. All else remains as it is,
// comments included. It fails if [Parse] would not read the result as the values after the edits;
// then they have to be made by hand.
func Change(text string, edits []Edit) (string, error) {
	if lines := strings.Count(text, "\n"); lines > 0 && strings.Count(text, "\r\n") == lines {
		changed, err := Change(strings.ReplaceAll(text, "\r\n", "\n"), edits)
		return strings.ReplaceAll(changed, "\n", "\r\n"), err
	}
	for _, e := range edits {
		c := &changer{text: text, source: diag.NewSource("", text)}
		root, err := Parse(c.source)
		if err != nil {
			return "", err
		}
		want := e.apply(root, e.Path)
		out, ok := c.change(root, e)
		if ok {
			after, err := Parse(diag.NewSource("", out))
			ok = err == nil && reflect.DeepEqual(after, want)
		}
		if !ok {
			return "", fmt.Errorf("%s: %w", pathOf(root, e.Path), errNotEdited)
		}
		text = out
	}
	return text, nil
}

// errNotEdited is the error for a change that would change more than one value of the text.
var errNotEdited = errors.New("this text cannot be changed here without writing it anew; make the change by hand")

// apply returns the value after the edit.
func (e Edit) apply(v any, path []string) any {
	if len(path) == 0 {
		if e.Append {
			list, _ := v.([]any)
			return append(slices.Clone(list), e.Value)
		}
		return e.Value
	}
	if list, isList := v.([]any); isList {
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(list) {
			return v
		}
		if list = slices.Clone(list); e.Remove && len(path) == 1 {
			return slices.Delete(list, i, i+1)
		}
		list[i] = e.apply(list[i], path[1:])
		return list
	}
	o, _ := value.Members(v)
	if e.Remove && len(path) == 1 {
		return o.Without(path[0])
	}
	inner, _ := o.Get(path[0])
	return o.With(path[0], e.apply(inner, path[1:]))
}

// pathOf returns keys as the config path of a value in root.
func pathOf(root any, keys []string) string {
	path := ""
	for _, key := range keys {
		if list, isList := root.([]any); isList {
			i, _ := strconv.Atoi(key)
			path += "[" + key + "]"
			root = nil
			if i >= 0 && i < len(list) {
				root = list[i]
			}
			continue
		}
		o, _ := value.Members(root)
		root, _ = o.Get(key)
		path = diag.Join(path, key)
	}
	return path
}

// A changer makes one edit.
type changer struct {
	text   string
	source *diag.Source
}

// change returns the text after an edit, and whether it knows how to make it.
func (c *changer) change(root any, e Edit) (string, bool) {
	n := len(e.Path)
	before, exists := value.At(root, e.Path)
	for !exists && !e.Remove && n > 1 { // the enclosing object is new, too
		if _, around := value.At(root, e.Path[:n-1]); around {
			break
		}
		n--
	}
	if !exists && e.Append {
		e.Append, e.Value = false, []any{e.Value}
	}
	switch {
	case n == 0, e.Remove && !exists:
		return "", false
	case e.Remove:
		return c.remove(root, e.Path)
	case e.Append:
		list, isList := before.([]any)
		return c.add(pathOf(root, e.Path), strconv.Itoa(len(list)-1), len(list), nil, e.Value, isList)
	case exists:
		return c.replace(pathOf(root, e.Path), e.Value)
	}
	inner := e.Value
	for _, key := range slices.Backward(e.Path[n:]) {
		inner = value.Object{{Name: key, Value: inner}}
	}
	around, _ := value.At(root, e.Path[:n-1])
	o, isObject := value.Members(around)
	last := ""
	if len(o) > 0 {
		last = o[len(o)-1].Name
	}
	return c.add(pathOf(root, e.Path[:n-1]), last, len(o), &e.Path[n-1], inner, isObject)
}

// isFlow reports whether the value at an offset is in brackets.
func (c *changer) isFlow(at int) bool {
	return at < len(c.text) && (c.text[at] == '{' || c.text[at] == '[')
}

// inFlow reports whether the value at a path is in brackets of a value around it.
func (c *changer) inFlow(path string) bool {
	for path != "" {
		if path = diag.Parent(path); c.isFlow(c.source.ValueAt(path)) {
			return true
		}
	}
	return false
}

// end returns the offset after the value at a path.
func (c *changer) end(path string) (int, bool) {
	start := c.source.ValueAt(path)
	if c.isFlow(start) {
		return flowEnd(c.text, start)
	}
	key := c.source.KeyAt(path)
	first := strings.LastIndexByte(c.text[:start], '\n') + 1
	if beginning().MatchString(c.text[first:start]) && !isQuoted(c.text[start:]) && !c.inFlow(path) {
		if after, ok := c.blockEnd(start, first); ok {
			return after, true
		}
	}
	return scalarEnd(c.text, start, parentColumn(c.text, path, key))
}

// isQuoted reports whether a text begins with a scalar in quotes, or with one in lines of its own. A key in quotes is no
// scalar: it begins a block.
func isQuoted(text string) bool {
	n := len(doubleQuoted().FindString(text)) + len(singleQuoted().FindString(text))
	if n > 0 {
		return !strings.HasPrefix(strings.TrimLeft(text[n:], " "), ":")
	}
	return text != "" && strings.IndexByte("\"'|>", text[0]) >= 0
}

// blockEnd returns the offset after the last line of the block whose first key is at an offset of a
// line. It reports false if this is the only line, so that the value may be a scalar.
func (c *changer) blockEnd(offset, first int) (int, bool) {
	indent := offset - first
	end, next, several := first, first, false
	for line := range strings.Lines(c.text[first:]) {
		next += len(line)
		content := strings.TrimLeft(line, " ")
		switch depth := len(line) - len(content); {
		case end == first:
			end = next
		case strings.TrimSpace(content) == "":
		case depth == indent && c.text[offset] == '-' && content[0] != '-' && content[0] != '#', depth < indent, isDocumentMark(line):
			return len(strings.TrimRight(c.text[:end], "\r\n")), several || strings.Contains(c.text[offset:end], ": ")
		default:
			end, several = next, true
		}
	}
	return len(strings.TrimRight(c.text[:end], "\r\n")), several || strings.Contains(c.text[offset:end], ": ")
}

// isDocumentMark reports whether a line begins or ends a document.
func isDocumentMark(line string) bool {
	return strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")
}

// flowEnd returns the offset after the bracket that closes the one at an offset.
func flowEnd(text string, at int) (int, bool) {
	depth := 0
	for i := at; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '#':
			if i > 0 && (text[i-1] == ' ' || text[i-1] == '\n') {
				if n := strings.IndexByte(text[i:], '\n'); n > 0 {
					i += n
				}
			}
		case '"', '\'':
			quoted := doubleQuoted()
			if c == '\'' {
				quoted = singleQuoted()
			}
			n := len(quoted.FindString(text[i:]))
			if n == 0 {
				return 0, false
			}
			i += n - 1
		}
	}
	return 0, false
}

// replace writes a value in the place of the one at a path.
func (c *changer) replace(path string, v any) (string, bool) {
	start := c.source.ValueAt(path)
	end, ok := c.end(path)
	if !ok {
		return "", false
	}
	text := inFlowStyle(v)
	if formatted, err := Format(v); err == nil && text[0] == '"' && !c.inFlow(path) && strings.Count(string(formatted), "\n") == 1 {
		text = strings.TrimSuffix(string(formatted), "\n") // without quotes if it needs none
	}
	return c.text[:start] + text + c.text[end:], true
}

// remove leaves out a member or an element.
func (c *changer) remove(root any, keys []string) (string, bool) {
	path := pathOf(root, keys)
	start := c.source.KeyAt(path)
	end, ok := c.end(path)
	if !ok {
		return "", false
	}
	around := c.source.ValueAt(diag.Parent(path))
	if !c.isFlow(around) {
		switch left, _ := value.At(root, keys[:len(keys)-1]); left := left.(type) {
		case []any:
			if len(left) == 1 {
				return c.empty(diag.Parent(path), start, end)
			}
		case value.Object:
			if len(left) == 1 {
				return c.replace(diag.Parent(path), value.Object{})
			}
		}
		start = strings.LastIndexByte(c.text[:start], '\n') + 1
		if n := strings.IndexByte(c.text[end:], '\n'); n >= 0 {
			return c.text[:start] + c.text[end+n+1:], true
		}
		return c.text[:start], true
	}
	rest := strings.TrimLeft(c.text[end:], " \t\r\n")
	if after, found := strings.CutPrefix(rest, ","); found {
		return c.text[:start] + strings.TrimLeft(after, " \t\r\n"), true
	}
	before := strings.TrimRight(c.text[:start], " \t\r\n")
	return strings.TrimSuffix(before, ",") + c.text[end:], true
}

// empty removes the only element of a list that is written in lines. start is where the element begins, and end
// where it ends. The brackets of the empty list stand next to its key, and comments stay.
func (c *changer) empty(list string, start, end int) (string, bool) {
	first := strings.LastIndexByte(c.text[:start], '\n') + 1
	key := c.source.KeyAt(list)
	if key < 0 || key >= first {
		return c.replace(list, []any{})
	}
	n := len(doubleQuoted().FindString(c.text[key:first])) + len(singleQuoted().FindString(c.text[key:first]))
	colon := strings.IndexByte(c.text[key+n:first], ':')
	if colon < 0 {
		return c.replace(list, []any{})
	}
	after := key + n + colon + 1
	if rest := strings.IndexByte(c.text[end:], '\n'); rest >= 0 {
		end += rest + 1
	} else {
		end = len(c.text)
	}
	return c.text[:after] + " []" + c.text[after:first] + c.text[end:], true
}

// add adds v after the last entry of the object or list at a path: as a member if key is not nil,
// otherwise as an element. The object or list has n entries, and last is the key or index of the last
// one. ok is false if the path has neither; add then fails.
func (c *changer) add(path, last string, n int, key *string, v any, ok bool) (string, bool) {
	offset := c.source.ValueAt(path)
	if !ok || offset < 0 {
		return "", false
	}
	lastPath := diag.Join(path, last)
	if key == nil {
		lastPath = path + "[" + last + "]"
	}
	if c.isFlow(offset) {
		text := inFlowStyle(v)
		if key != nil {
			text = inFlowStyle(*key) + ": " + text
		}
		if n == 0 {
			end, ok := flowEnd(c.text, offset)
			return c.text[:offset+1] + text + c.text[max(end-1, 0):], ok
		}
		end, ok := c.end(lastPath)
		if !ok {
			return "", false
		}
		gap := " "
		start := c.source.KeyAt(lastPath)
		line := strings.LastIndexByte(c.text[:start], '\n') + 1
		if strings.TrimSpace(c.text[line:start]) == "" && line > offset {
			gap = "\n" + c.text[line:start]
		}
		return c.text[:end] + "," + gap + text + c.text[end:], true
	}
	end, ok := c.end(path)
	if !ok || n == 0 {
		return "", false
	}
	var block any = []any{v}
	if key != nil {
		block = value.Object{{Name: *key, Value: v}}
	}
	formatted, err := Format(block)
	if err != nil {
		return "", false
	}
	first := c.source.KeyAt(lastPath)
	if key == nil {
		first = strings.LastIndexByte(c.text[:c.source.ValueAt(lastPath)], '-')
	}
	indent := strings.Repeat(" ", max(0, first-strings.LastIndexByte(c.text[:max(first, 0)], '\n')-1))
	var b strings.Builder
	for line := range strings.Lines(string(formatted)) {
		b.WriteString("\n" + indent + strings.TrimRight(line, "\n"))
	}
	lineEnd := end
	if i := strings.IndexByte(c.text[end:], '\n'); i >= 0 {
		lineEnd += i
	} else {
		lineEnd = len(c.text)
	}
	return strings.TrimRight(c.text[:lineEnd], "\r") + b.String() + c.text[lineEnd:], true
}

// inFlowStyle writes a value on one line, as JSON with spaces.
func inFlowStyle(v any) string {
	list, isList := v.([]any)
	members, isObject := value.Members(v)
	switch {
	case isObject:
		return "{" + strings.Join(lists.Map(members, func(m value.Member) string {
			return inFlowStyle(m.Name) + ": " + inFlowStyle(m.Value)
		}), ", ") + "}"
	case isList:
		return "[" + strings.Join(lists.Map(list, inFlowStyle), ", ") + "]"
	}
	text, _ := value.Marshal(v)
	return string(text)
}
