package format

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// convertXML converts XML 1.0 to an object whose only member is the root element:
//
//   - an element with nothing but text becomes that text, unchanged: `<a> x </a>` is " x "
//   - any other element becomes an object: its attributes, as "@name", then its elements
//     by name, in the order in which the names first appear, then its text, without white
//     space around it, as "#text"
//   - elements of one name next to each other, or apart, become a list
//   - names keep their prefix as it is written; declarations of namespaces are left out
//
// Comments, processing instructions and the document type are left out. Only the
// predefined entities and character references are known.
func (c *Converter) convertXML(from *bodySource, to *limitedWriter) error {
	x := &xmlReader{Converter: c, decoder: xml.NewDecoder(from), attributes: map[string]bool{}}
	c.original.Elements = true
	x.heap.most = c.held
	defer x.heap.file.Close()
	x.decoder.CharsetReader = charsetReader
	top := x.push("", c.lists)
	for {
		token, err := x.decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = x.token(token)
		}
		if err != nil {
			return x.located(err)
		}
	}
	switch {
	case x.depth > 1:
		return x.located(fmt.Errorf("the document ends within <%s>", x.top().name))
	case len(top.members) == 0:
		return errors.New("the document has no element")
	}
	var document rope
	if err := x.object(top, &document); err != nil {
		return err
	}
	return x.heap.writeTo(to, &document)
}

// An xmlReader converts one document.
type xmlReader struct {
	*Converter
	decoder    *xml.Decoder
	heap       heap
	depth      int             // number of open elements in Converter.open; the first one holds the root
	attributes map[string]bool // attributes of one element
}

// An element is an open element.
type element struct {
	name    string
	lists   *scan.Node // elements that become lists
	attrs   []byte     // attributes as members of an object
	text    []byte
	members []*member
	index   map[string]*member // members by name
}

// A member holds all elements of one name within an element.
type member struct {
	name  string
	count int
	value rope // JSON, separated by commas
}

func (x *xmlReader) top() *element { return x.open[x.depth-1] }

// push opens an element.
func (x *xmlReader) push(name string, lists *scan.Node) *element {
	if x.depth == len(x.open) {
		x.open = append(x.open, &element{})
	}
	e := x.open[x.depth]
	x.depth++
	if len(e.members) > keptMembers || e.index == nil {
		e.index = map[string]*member{}
	}
	clear(e.index)
	e.name, e.lists, e.attrs, e.text, e.members = name, lists, e.attrs[:0], e.text[:0], e.members[:0]
	return e
}

// token processes one token.
func (x *xmlReader) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return x.start(t)
	case xml.EndElement:
		return x.end(qualified(t.Name))
	case xml.CharData:
		if x.depth > 1 {
			x.top().text = append(x.top().text, t...)
			return nil
		}
		if len(bytes.TrimSpace(t)) > 0 {
			return errors.New("text outside of the root element")
		}
	}
	return nil
}

// start opens an element.
func (x *xmlReader) start(t xml.StartElement) error {
	name := qualified(t.Name)
	if x.depth > x.options.MaxDepth {
		return scan.NewDepthError(int(x.decoder.InputOffset()), x.options.MaxDepth)
	}
	if x.depth == 1 && len(x.top().members) > 0 {
		return fmt.Errorf("a second root element, <%s>", name)
	}
	e := x.push(name, x.top().lists.At(name))
	clear(x.attributes)
	for _, a := range t.Attr {
		name := qualified(a.Name)
		if x.attributes[name] {
			return fmt.Errorf("the attribute %s of <%s> is written twice", name, e.name)
		}
		x.attributes[name] = true
		if name == "xmlns" || a.Name.Space == "xmlns" {
			continue
		}
		if len(e.attrs) > 0 {
			e.attrs = append(e.attrs, ',')
		}
		e.attrs = append(value.AppendText(e.attrs, "@"+name), ':')
		e.attrs = value.AppendText(e.attrs, a.Value)
	}
	return nil
}

// end closes an element, which becomes part of its parent.
func (x *xmlReader) end(name string) error {
	e := x.top()
	if x.depth == 1 {
		return fmt.Errorf("</%s> ends no element", name)
	}
	if e.name != name {
		return fmt.Errorf("</%s> where </%s> should be", name, e.name)
	}
	x.depth--
	outer := x.top()
	m, err := outer.member(name)
	if err != nil {
		return err
	}
	if m.count++; m.count > 1 {
		if leadsToList(e.lists) {
			return fmt.Errorf("<%s> is repeated, but dataField has a name after it: write .%s between the two", name, anyElement)
		}
		x.heap.add(&m.value, []byte(","))
	}
	if err := x.close(e, &m.value); err != nil {
		return err
	}
	return x.spill()
}

// close appends an element as JSON.
func (x *xmlReader) close(e *element, to *rope) error {
	if len(e.attrs) == 0 && len(e.members) == 0 && absentLists(e.lists, nil) == nil {
		before := len(to.tail)
		to.tail = value.AppendText(to.tail, e.text)
		x.heap.held += len(to.tail) - before
		return nil
	}
	return x.object(e, to)
}

// object appends an element as an object.
func (x *xmlReader) object(e *element, to *rope) error {
	h, separator := &x.heap, "{"
	if len(e.attrs) > 0 {
		h.add(to, []byte(separator))
		h.add(to, e.attrs)
		separator = ","
	}
	for _, m := range e.members {
		list := m.count > 1 || isList(e.lists.At(m.name))
		h.add(to, append(value.AppendText([]byte(separator), m.name), ':'))
		if list {
			h.add(to, []byte("["))
		}
		if err := h.join(to, &m.value); err != nil {
			return err
		}
		if list {
			h.add(to, []byte("]"))
		}
		m.value.reset()
		separator = ","
	}
	for _, name := range absentLists(e.lists, e.members) {
		h.add(to, append(value.AppendText([]byte(separator), name), ":[]"...))
		separator = ","
	}
	if text := bytes.TrimSpace(e.text); len(text) > 0 {
		h.add(to, value.AppendText([]byte(separator+`"#text":`), text))
	}
	h.add(to, []byte("}"))
	return nil
}

// spill moves the document from memory to the file if it is large.
func (x *xmlReader) spill() error {
	if x.heap.held < x.heap.most {
		return nil
	}
	for _, e := range x.open[:x.depth] {
		for _, m := range e.members {
			if err := x.heap.spill(&m.value); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	maxMembers  = 100_000 // largest number of different names in one element
	keptMembers = 64      // largest number of names in an index that is reused
)

// member returns the member with a name, adding it if necessary.
func (e *element) member(name string) (*member, error) {
	if m := e.index[name]; m != nil {
		return m, nil
	}
	if len(e.members) == maxMembers {
		return nil, fmt.Errorf("<%s> has elements of more than %d names", e.name, maxMembers)
	}
	m := e.reused()
	m.name, m.count = name, 0
	m.value.reset()
	e.index[name] = m
	return m, nil
}

// reused adds a member, reusing the member of an earlier element if possible.
func (e *element) reused() *member {
	n := len(e.members)
	e.members = slices.Grow(e.members, 1)[:n+1]
	if e.members[n] == nil {
		e.members[n] = &member{}
	}
	return e.members[n]
}

// located adds the line number to an error.
func (x *xmlReader) located(err error) error {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("line %d: %s", syntax.Line, syntax.Msg)
	}
	line, _ := x.decoder.InputPos()
	if encoding, ok := errors.AsType[encodingError](err); ok { // drop the text of encoding/xml
		err = encoding
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// qualified returns a name with its prefix, as written.
func qualified(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}

// An encodingError is the name of an encoding other than UTF-8.
type encodingError string

func (e encodingError) Error() string { return fmt.Sprintf("encoding %s, want UTF-8", string(e)) }

// charsetReader accepts the names of encodings that are subsets of UTF-8.
func charsetReader(label string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf8", "us-ascii", "ascii":
		return input, nil
	}
	return nil, encodingError(label)
}

// anyElement in a path stands for every element of the list before it.
const anyElement = "*"

// newListTree returns the tree of paths. The last element of a path is a list, and so is an element
// that anyElement follows.
func newListTree(paths [][]string) *scan.Node {
	var lists [][]string
	for _, path := range paths {
		var names []string
		for _, name := range path {
			if name == anyElement {
				lists = append(lists, slices.Clone(names))
				continue
			}
			names = append(names, name)
		}
		lists = append(lists, names)
	}
	return scan.NewColumns(lists).Root
}

// isList reports whether an element becomes a list.
func isList(element *scan.Node) bool { return element != nil && element.Selected }

// leadsToList reports whether a list is below an element that is not a list itself.
func leadsToList(element *scan.Node) bool {
	return element != nil && !element.Selected && len(element.Children) > 0
}

// absentLists returns the names of the lists directly below an element that are not among its
// members, in order.
func absentLists(element *scan.Node, members []*member) (names []string) {
	if element == nil {
		return nil
	}
	for _, child := range element.Children {
		if child.Selected && !slices.ContainsFunc(members, func(m *member) bool { return m.name == child.Key }) {
			names = append(names, child.Key)
		}
	}
	slices.Sort(names)
	return names
}
