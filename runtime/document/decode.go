package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/ohler55/ojg"
	"github.com/ohler55/ojg/oj"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Decode decodes a raw value for rules: nil, bool, string, []any,
// map[string]any (of duplicate keys the last counts) and numbers: an integer is
// an int, or a [json.Number] with all its digits where it does not fit; any
// other number is a float64, never negative zero. A number beyond float64, such
// as 1e400, is an error. Bytes that are not UTF-8 stay in the string; a lone
// surrogate is U+FFFD.
func Decode(raw []byte) (any, error) {
	// ojg takes empty and truncated input for a value and knows no depth, so
	// nothing reaches it unseen.
	facts, err := scan(raw, nil, MaxDepth)
	if err != nil {
		return nil, err
	}
	if facts.exponents || facts.escapes && hasSurrogates(raw) {
		if raw, err = plain(raw, facts.root.start); err != nil {
			return nil, err
		}
	}
	decoded, err := oj.Parse(raw, ojg.NumConvNone)
	if err != nil {
		return nil, err
	}
	return normalised(decoded)
}

// DecodeItems decodes every item, as [Decode] does.
func DecodeItems(items Items) ([]any, error) {
	out := make([]any, 0, items.Len())
	for raw := range items.All() {
		item, err := Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", len(out)+1, err)
		}
		out = append(out, item)
	}
	return out, nil
}

func hasSurrogates(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`))
}

// plain writes a valid value that begins at start without what ojg 1.28
// misreads: it makes two U+FFFD of an escaped surrogate pair, loses the sign of
// the exponent behind 19 digits, and takes 1e0 for an integer and 1e400 for
// infinity.
func plain(raw []byte, start int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(raw))
	var fault error
	w := bufio.NewWriter(&b)
	c := canonical{out: w, raw: raw, numbers: func(number []byte) []byte {
		if !bytes.ContainsAny(number, "eE") {
			return number
		}
		f, err := float(string(number))
		if err != nil && fault == nil {
			fault = err
		}
		text := strconv.FormatFloat(f, 'e', -1, 64)
		if !strings.Contains(text, ".") {
			text = strings.Replace(text, "e", ".0e", 1)
		}
		return []byte(text)
	}}
	c.value(start)
	_ = w.Flush() // a bytes.Buffer never fails
	return b.Bytes(), fault
}

func float(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("the number %s is too large to compute with", value.Clip(text, 40))
	}
	return f + 0, nil // -0 becomes 0
}

// normalised turns what ojg returns into the values that rules know, in place.
func normalised(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case int64:
		if i := int(v); int64(i) == v {
			return i, nil
		}
		return json.Number(strconv.FormatInt(v, 10)), nil
	case float64:
		return v + 0, nil
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			f, err := float(string(v))
			if err != nil {
				return nil, err
			}
			return f, nil
		}
		if i, err := strconv.Atoi(string(v)); err == nil {
			return i, nil
		}
	case []any:
		for i := range v {
			if v[i], err = normalised(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, inner := range v {
			if v[key], err = normalised(inner); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// Project builds the body that rules see: nested objects with nothing in them
// but the values of the paths that the document has. A list is never thinned
// out: one that a path leads through is decoded whole, and so is everything
// under a path's end. The path of the root decodes the whole document; without
// any path under a root that is no object the result is nil.
func Project(doc *Document, paths [][]string) (any, error) {
	return project(doc, newPathTree(paths))
}

func project(doc *Document, tree *pathTree) (any, error) {
	if !tree.adopt(doc.tree) {
		doc.fill(tree)
	}
	if !tree.tracked && len(tree.children) == 0 && doc.RootKind() != KindObject {
		return nil, nil
	}
	tree.span = doc.facts.root
	body, _, err := tree.project(doc.raw, nil)
	return body, err
}

// adopt takes the places that another tree has found, and tells whether that
// tree knows all of this one's.
func (t *pathTree) adopt(from *pathTree) bool {
	if from == nil {
		return false
	}
	t.span = from.span
	for _, child := range t.children {
		if !child.adopt(from.child(child.key)) {
			return false
		}
	}
	return true
}

// project decodes what the tree tracks; it reports false for nothing. The path
// that leads here is for errors.
func (t *pathTree) project(data []byte, path []string) (any, bool, error) {
	if !t.span.present() {
		return nil, false, nil
	}
	raw := t.span.of(data)
	kind := KindOf(raw)
	if t.tracked || kind == KindList {
		v, err := Decode(raw)
		if err != nil {
			err = fmt.Errorf("%s: %w", rules.PathOf(path...), err)
		}
		return v, true, err
	}
	if kind != KindObject {
		return nil, false, nil
	}
	object := make(map[string]any, len(t.children))
	for _, child := range t.children {
		v, present, err := child.project(data, append(path, child.key))
		if err != nil {
			return nil, false, err
		}
		if present {
			object[child.key] = v
		}
	}
	return object, true, nil
}

// canonical writes a valid document without insignificant whitespace and with
// every string in one Spelling: escaped is only what must be.
type canonical struct {
	out     *bufio.Writer // the caller flushes it and looks at the error
	raw     []byte
	numbers func(raw []byte) []byte // how to write a number
}

// value writes the value at i and returns the offset behind it.
func (c *canonical) value(i int) int {
	switch c.raw[i] {
	case '{', '[':
		return c.container(i)
	case '"':
		end := textEnd(c.raw, i)
		c.text(c.raw[i:end])
		return end
	}
	end := valueEnd(c.raw, i)
	if number := c.raw[i] == '-' || isDigit(c.raw[i]); number {
		_, _ = c.out.Write(c.numbers(c.raw[i:end]))
	} else {
		_, _ = c.out.Write(c.raw[i:end])
	}
	return end
}

func (c *canonical) container(i int) int {
	open := c.raw[i]
	_ = c.out.WriteByte(open)
	i = skipSpace(c.raw, i+1)
	for c.raw[i] != open+2 { // '}' is '{'+2, and ']' is '['+2
		if c.raw[i] == ',' {
			_ = c.out.WriteByte(',')
			i = skipSpace(c.raw, i+1)
		}
		if open == '{' {
			end := textEnd(c.raw, i)
			c.text(c.raw[i:end])
			_ = c.out.WriteByte(':')
			i = skipSpace(c.raw, skipSpace(c.raw, end)+1)
		}
		i = skipSpace(c.raw, c.value(i))
	}
	_ = c.out.WriteByte(open + 2)
	return i + 1
}

// text writes strings in their one Spelling, and whatever has no backslash as it
// is.
func (c *canonical) text(quoted []byte) {
	for {
		plain := bytes.IndexByte(quoted, '\\')
		if plain < 0 {
			_, _ = c.out.Write(quoted)
			return
		}
		_, _ = c.out.Write(quoted[:plain])
		r, size := unescape(quoted[plain:])
		switch {
		case r == '"' || r == '\\':
			_ = c.out.WriteByte('\\')
			_ = c.out.WriteByte(byte(r))
		case r < ' ' || utf16.IsSurrogate(r):
			const hex = "0123456789abcdef"
			_, _ = c.out.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				_ = c.out.WriteByte(hex[r>>shift&15])
			}
		default:
			_, _ = c.out.WriteRune(r)
		}
		quoted = quoted[plain+size:]
	}
}
