package runtime

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// Document is a validated response body: one JSON document (RFC 8259) of which
// nothing is decoded yet. It keeps the body and does not change it.
type Document struct {
	raw   []byte // the body without its byte order mark
	limit int    // of nesting
	facts *scanner
	tree  *pathTree
}

// DocumentLimits is what a document may be.
type DocumentLimits struct {
	Depth int // of nesting; 0 is [DefaultDepth], never above [MaxDepth]
}

func (l DocumentLimits) depth() int {
	if l.Depth <= 0 {
		return DefaultDepth
	}
	return min(l.Depth, MaxDepth)
}

// Kind is what a JSON value is, as messages name it.
type Kind string

// The kinds of JSON values.
const (
	KindObject  Kind = "an object"
	KindList    Kind = "a list"
	KindString  Kind = "a string"
	KindNumber  Kind = "a number"
	KindBoolean Kind = "a boolean"
	KindNull    Kind = "null"
)

// KindOf is the kind of a valid raw value without space before it.
func KindOf(raw []byte) Kind {
	switch raw[0] {
	case '{':
		return KindObject
	case '[':
		return KindList
	case '"':
		return KindString
	case 't', 'f':
		return KindBoolean
	case 'n':
		return KindNull
	}
	return KindNumber
}

var byteOrderMark = []byte("\ufeff")

// ParseDocument validates a body and finds the values of the paths (each as
// rules.SplitPath gives it, none of them for the root). A UTF-8 byte order mark
// is passed over. The error is a [*SyntaxError] or a [*DepthError].
func ParseDocument(body []byte, paths [][]string, limits DocumentLimits) (*Document, error) {
	if bytes.HasPrefix(body, []byte{0xFE, 0xFF}) || bytes.HasPrefix(body, []byte{0xFF, 0xFE}) {
		return nil, &SyntaxError{Message: "the document is UTF-16, not UTF-8"}
	}
	d := &Document{raw: bytes.TrimPrefix(body, byteOrderMark), limit: limits.depth(), tree: newPathTree(paths)}
	var err error
	if d.facts, err = scan(d.raw, d.tree, d.limit); err != nil {
		return nil, moved(err, len(body)-len(d.raw))
	}
	return d, nil
}

// moved is the error of a scan that began so many bytes into the body.
func moved(err error, by int) error {
	if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
		return &SyntaxError{Offset: syntax.Offset + by, Message: syntax.Message}
	}
	if depth := (*DepthError)(nil); errors.As(err, &depth) {
		return &DepthError{Offset: depth.Offset + by, Limit: depth.Limit}
	}
	return err
}

// Raw is the root value as it was sent.
func (d *Document) Raw() []byte { return d.facts.root.of(d.raw) }

// RootKind is the kind of the root value.
func (d *Document) RootKind() Kind { return KindOf(d.Raw()) }

// Minified is the document's length in bytes without insignificant whitespace
// (specification 2.3), nothing else being changed.
func (d *Document) Minified() int { return len(d.raw) - d.facts.spaces }

// InvalidUTF8 tells whether a string of the document is not valid UTF-8.
func (d *Document) InvalidUTF8() bool { return d.facts.invalid }

// Lookup returns the value at a path as it was sent, and whether the document
// has it: null is present. A number also indexes a list. Of duplicate keys the
// last counts. A path that was not tracked costs a pass over the document.
func (d *Document) Lookup(path []string) (raw []byte, present bool) {
	node := d.tree.at(path)
	if node == nil {
		tree := newPathTree([][]string{path})
		d.fill(tree)
		node = tree.at(path)
	}
	if !node.span.present() {
		return nil, false
	}
	return node.span.of(d.raw), true
}

// fill finds further paths in the document, which is known to be valid.
func (d *Document) fill(tree *pathTree) { _, _ = scan(d.raw, tree, d.limit) }

// RootArray is a member of the root object whose value is a list.
type RootArray struct {
	Name string
	Raw  []byte
}

// RootArrays lists the members of the root object that are lists, in order:
// the places where the items may be. Of duplicate names the last value decides.
func (d *Document) RootArrays() []RootArray {
	var out []RootArray
	for _, list := range d.facts.lists.found {
		if list.span.present() {
			out = append(out, RootArray{list.name, list.span.of(d.raw)})
		}
	}
	return out
}

// Names lists the keys of the object at a path, each once, in order; none if
// there is no object. It is meant for messages: it passes over the object.
func (d *Document) Names(path []string) []string {
	raw, present := d.Lookup(path)
	if !present || KindOf(raw) != KindObject {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for i := skipSpace(raw, 1); raw[i] == '"'; {
		end := textEnd(raw, i)
		if name := string(unquote(raw[i:end])); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		i = skipSpace(raw, skipSpace(raw, end)+1)
		i = skipSpace(raw, valueEnd(raw, i))
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return names
}

// Hash is a hash of the content, the same in every process: equal for documents
// that differ only in insignificant whitespace and in the escapes of strings.
// Order of keys and spelling of numbers count. The values at the ignored paths
// are left out; their keys are not.
func (d *Document) Hash(ignore [][]string) [sha256.Size]byte {
	if len(ignore) == 0 && !d.facts.escapes && d.facts.spaces == 0 {
		return sha256.Sum256(d.raw)
	}
	var skip *pathTree
	if len(ignore) > 0 {
		skip = newPathTree(ignore)
	}
	hash := sha256.New()
	w := bufio.NewWriterSize(hash, 8<<10)
	c := canonical{out: w, raw: d.raw}
	c.value(d.facts.root.start, skip)
	_ = w.Flush() // a hash never fails
	return [sha256.Size]byte(hash.Sum(nil))
}

// canonical writes a valid document without insignificant whitespace and with
// every string in one spelling: escaped is only what must be.
type canonical struct {
	out     *bufio.Writer // the caller flushes it and looks at the error
	raw     []byte
	numbers func(raw []byte) []byte // how to write a number; nil: as it was sent
}

// value writes the value at i, leaving out what the tree tracks, and returns
// the offset behind it.
func (c *canonical) value(i int, skip *pathTree) int {
	if skip != nil && skip.tracked {
		return valueEnd(c.raw, i)
	}
	switch c.raw[i] {
	case '{', '[':
		return c.container(i, skip)
	case '"':
		end := textEnd(c.raw, i)
		c.text(c.raw[i:end])
		return end
	}
	end := valueEnd(c.raw, i)
	if number := c.raw[i] == '-' || isDigit(c.raw[i]); number && c.numbers != nil {
		_, _ = c.out.Write(c.numbers(c.raw[i:end]))
	} else {
		_, _ = c.out.Write(c.raw[i:end])
	}
	return end
}

func (c *canonical) container(i int, skip *pathTree) int {
	open := c.raw[i]
	_ = c.out.WriteByte(open)
	i = skipSpace(c.raw, i+1)
	for n := 0; c.raw[i] != open+2; n++ { // '}' is '{'+2, and ']' is '['+2
		if c.raw[i] == ',' {
			_ = c.out.WriteByte(',')
			i = skipSpace(c.raw, i+1)
		}
		var inner *pathTree
		if open == '{' {
			end := textEnd(c.raw, i)
			inner = skip.member(c.raw[i:end])
			c.text(c.raw[i:end])
			_ = c.out.WriteByte(':')
			i = skipSpace(c.raw, skipSpace(c.raw, end)+1)
		} else {
			inner = skip.element(n)
		}
		i = skipSpace(c.raw, c.value(i, inner))
	}
	_ = c.out.WriteByte(open + 2)
	return i + 1
}

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
			_, _ = c.out.Write([]byte{'\\', byte(r)})
		case r < ' ' || utf16.IsSurrogate(r):
			const hex = "0123456789abcdef"
			_, _ = c.out.Write([]byte{'\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
		default:
			_, _ = c.out.WriteRune(r)
		}
		quoted = quoted[plain+size:]
	}
}

// unescape reads the escape at the beginning of a valid string's rest, and the
// second half of a surrogate pair with it. A lone surrogate is returned as it is.
func unescape(s []byte) (r rune, size int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hexRune(s[2:6])
		if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if pair := utf16.DecodeRune(r, hexRune(s[8:12])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6
	}
	return rune(s[1]), 2
}

func hexRune(digits []byte) (r rune) {
	for _, c := range digits {
		r = r<<4 | hexDigit(c)
	}
	return r
}

// unquote is the content of a valid string; a lone surrogate becomes U+FFFD.
// Without escapes it is a part of the argument.
func unquote(quoted []byte) []byte {
	rest := quoted[1 : len(quoted)-1]
	plain := bytes.IndexByte(rest, '\\')
	if plain < 0 {
		return rest
	}
	out := make([]byte, 0, len(rest))
	for ; plain >= 0; plain = bytes.IndexByte(rest, '\\') {
		r, size := unescape(rest[plain:])
		out = utf8.AppendRune(append(out, rest[:plain]...), r)
		rest = rest[plain+size:]
	}
	return append(out, rest...)
}

// valueEnd is the offset behind the value that begins at i, in a valid document.
func valueEnd(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch structure[raw[i]] {
		case isQuote:
			i = textEnd(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case isOpen:
			depth++
		case isClose:
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case isComma, isBlank:
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// structure sorts the bytes of a valid document, outside strings.
var structure = [256]byte{
	'"': isQuote,
	'{': isOpen, '[': isOpen,
	'}': isClose, ']': isClose,
	',': isComma,
	' ': isBlank, '\n': isBlank, '\r': isBlank, '\t': isBlank,
}

const (
	isQuote = iota + 1
	isOpen
	isClose
	isComma
	isBlank
)

// Items are the items of a page as NDJSON: each without insignificant
// whitespace and otherwise byte for byte as it was sent, followed by a newline.
// JSON has newlines nowhere else, so an item is always one line. The zero Items
// are none.
type Items struct {
	block []byte
	count int
}

// Split makes items of the elements of a list, a valid raw value without space
// around it. Any other value is one item. The items do not refer to raw.
func Split(raw []byte) Items {
	if KindOf(raw) != KindList {
		return One(raw)
	}
	return lines(bytes.Clone(raw[1:]))
}

// One makes an item of a valid raw value.
func One(raw []byte) Items {
	block := make([]byte, len(raw)+1)
	copy(block, raw)
	block[len(raw)] = ']'
	return lines(block)
}

// lines makes items, in place, of the inside of a list and its closing bracket:
// such a block has a byte for every newline already, the comma or the bracket
// behind the item.
func lines(block []byte) Items {
	var kept, run, depth, count int // block[run:i] has yet to move down to kept
	for i := 0; i < len(block); {
		switch structure[block[i]] {
		case isQuote:
			i = textEnd(block, i)
			continue
		case isOpen:
			depth++
		case isClose:
			depth--
			if depth < 0 {
				block[i] = '\n'
				count++
			}
		case isComma:
			if depth == 0 {
				block[i] = '\n'
				count++
			}
		case isBlank:
			kept += copy(block[kept:], block[run:i])
			i = skipSpace(block, i)
			run = i
			continue
		}
		i++
	}
	kept += copy(block[kept:], block[run:])
	if kept == 1 { // the closing bracket alone
		return Items{}
	}
	return Items{block[:kept], count}
}

// Len counts the items.
func (items Items) Len() int { return items.count }

// Bytes is the NDJSON block; it is not a copy.
func (items Items) Bytes() []byte { return items.block }

// All yields the items in order, as parts of the block.
func (items Items) All() iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for rest := items.block; len(rest) > 0; {
			end := bytes.IndexByte(rest, '\n')
			if !yield(json.RawMessage(rest[:end:end])) {
				return
			}
			rest = rest[end+1:]
		}
	}
}

// WriteTo writes the NDJSON block.
func (items Items) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(items.block)
	return int64(n), err
}

// Hash is a hash of the block, the same in every process: equal for items whose
// bytes are the same apart from insignificant whitespace.
func (items Items) Hash() [sha256.Size]byte { return sha256.Sum256(items.block) }
